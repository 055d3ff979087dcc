"""The claims of a manifest, checked against its own bytes, the plan, the receipt and the measurements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tallytree import __version__
from tallytree.errors import InputError
from tallytree.ledger.receipts import read_receipt
from tallytree.level_arrays import cut_rows, get_rows, get_shape
from tallytree.manifest import Manifest, seal, state_privacy
from tallytree.mechanisms.base import Mechanism
from tallytree.mechanisms.registry import mechanism
from tallytree.privacy.measurements import Measurements
from tallytree.privacy.neighbours import say_taken_on_trust
from tallytree.privacy.plan import Plan
from tallytree.statement import ENFORCED
from tallytree.verification import Check

Ints = npt.NDArray[np.int64]

WORDS = ("statement", "public")
"""What a later version may say in other words."""


def check_manifest(content: bytes, manifest: Manifest) -> Check:
    """The manifest is, byte for byte, what was written."""
    intact = content == seal(manifest).encode()
    example = "" if intact else "manifest.json is not the file that was written"
    return Check("manifest", "the manifest is the one that was written (SHA-256)", int(not intact), example)


def check_statement(manifest: Manifest, plan: Plan, total: int) -> Check:
    """What the manifest promises is what its plan gives, down to the words of this version."""
    stated = manifest["privacy"]
    assumed = stated.get("assumed")
    assumptions = assumed if isinstance(assumed, list) else []
    has_frame = manifest["data"].get("frame")
    # Only records of people have bounds enforced on them, and it is known of these whether a frame was given.
    on_trust = has_frame is None or say_taken_on_trust(plan.bounds) in assumptions
    derived = state_privacy(
        plan,
        total=total,
        noise=stated.get("noise"),
        assumptions=assumptions,
        has_frame=has_frame,
        enforced=stated.get("bounds") == ENFORCED and not on_trust,
        receipt=read_receipt(manifest),
    )
    same_version = _read(manifest, "software", "tallytree") == __version__
    wrong = [
        name
        for name in {**derived, **stated}
        if stated.get(name) != derived.get(name) and (same_version or name not in WORDS)
    ]
    shape = [plan.shape(index)[0] for index in range(len(plan.levels))]
    if _read(manifest, "data", "regions") != shape:
        wrong.append("regions")
    example = f"{wrong[0]!r} is not what the plan gives" if wrong else ""
    return Check("statement", "what is promised follows from the plan", len(wrong), example)


def check_receipt(manifest: Manifest, plan: Plan) -> Check:
    """If a ledger was charged, then with no less than the release costs."""
    receipt = read_receipt(manifest)
    if receipt is None:
        return Check("ledger", "no ledger was charged: what else was released is not known here", 0)
    loss = plan.loss.count(receipt.unit)
    paid = loss is not None and receipt.charged >= loss and receipt.spent >= receipt.charged
    example = "" if paid else f"entry {receipt.entry} does not cover the release"
    statement = "the charge that the manifest names covers the release; 'tallytree ledger verify' looks it up"
    return Check("ledger", statement, int(not paid), example)


def check_solution(
    manifest: Manifest, measurements: Measurements, counts: Sequence[Ints], total: int
) -> Check:
    """The counts come out again when the measurements are post-processed again.

    An exact optimum is a matter of whole numbers. A relaxation in floating point may, on another kind of
    processor, end so slightly elsewhere that a count is rounded the other way: one group is let pass then.
    """
    statement = "post-processing the measurements again gives these counts"
    try:
        method = find_mechanism_of(manifest)
        if method.small:
            return Check("solution", f"not computed again: {method.name} takes long", 0)
        solution = method.postprocess(measurements, total=total)
    except InputError as error:
        return Check("solution", statement, 1, str(error).removesuffix("."))
    slack, violations, largest = 0 if method.exact else 1, 0, 0
    for level in range(len(counts)):
        for start, stop in cut_rows(*get_shape(counts, level)):
            again = get_rows(solution.counts, level, start, stop)
            off = np.abs(again - get_rows(counts, level, start, stop))
            violations += int((off > slack).sum())
            largest = max(largest, int(off.max(initial=0)))
    return Check("solution", statement, violations, f"one differs by {largest}" if violations else "")


def find_mechanism_of(manifest: Manifest) -> Mechanism:
    """The mechanism that a manifest names, with its options."""
    options = _read(manifest, "mechanism", "options")
    return mechanism(
        _read(manifest, "mechanism", "name"),
        **({str(name): value for name, value in options.items()} if isinstance(options, dict) else {}),
    )


def _read(manifest: Manifest, part: str, name: str) -> Any:
    facts = manifest.get(part)
    return facts.get(name) if isinstance(facts, dict) else None
