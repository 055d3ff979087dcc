"""The claims of a manifest, checked against its own bytes, the plan, the receipt and the measurements."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, fields
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
from fastjsonschema import JsonSchemaValueException
from fastjsonschema import compile as compile_schema

from tallytree import __version__
from tallytree.arrays import cut_rows, get_rows, get_shape
from tallytree.errors import InputError, show
from tallytree.ledger.receipts import read_receipt
from tallytree.mechanisms.base import Mechanism
from tallytree.privacy.measurements import Measurements
from tallytree.privacy.neighbours import say_taken_on_trust
from tallytree.privacy.plan import Plan
from tallytree.releases.contrasts import measure_scatter
from tallytree.releases.manifest import Manifest, find_origin, read_schema, seal, state_privacy
from tallytree.releases.statement import ENFORCED
from tallytree.solvers.checks import Check, skip
from tallytree.solvers.solution import Solution
from tallytree.words import read_words

Ints = npt.NDArray[np.int64]

WORDS = ("statement", "public")
"""The parts of a statement that another version may word differently."""
NEWER = ("whole_groups",)
"""The parts that an earlier version did not have."""

FALSE_ALARMS = Fraction(1, 10**6)
"""The largest probability that the check of the noise fails a release whose noise is as stated."""

TOLERANCE = 10**6
"""A general solver, which works in floats, may miss the least objective by one part in TOLERANCE."""


def check_manifest(content: bytes, manifest: Manifest) -> Check:
    """Check that the manifest is, byte for byte, what was written."""
    intact = content == seal(manifest).encode()
    example = "" if intact else "manifest.json is not the file that was written"
    return Check("manifest", "the manifest is the one that was written (SHA-256)", int(not intact), example)


def check_schema(manifest: Manifest) -> Check:
    """Check that the manifest of a folder has the form that its JSON Schema describes, for other readers."""
    schema = read_schema()
    try:
        _compile_schema()(manifest)
    except JsonSchemaValueException as error:
        place = ".".join(error.path[1:])
        example = f"{show(place)} is not as described" if place else "a part is missing or unknown"
    else:
        example = ""
    return Check(
        "schema", f"the manifest fits its JSON Schema ({schema['$id']})", int(bool(example)), example
    )


@cache
def _compile_schema() -> Callable[[Manifest], object]:
    """Return a function that raises an error for a manifest that does not fit.

    The library knows drafts up to 07; the schema uses only what means the same in 2020-12.
    """
    validate: Callable[[Manifest], object] = compile_schema(read_schema(), use_default=False)
    return validate


def check_statement(manifest: Manifest, plan: Plan, total: int) -> tuple[Check, ...]:
    """Check that what the manifest promises is what its plan implies, word for word.

    Another version may have used other words. These are then not checked, and the outcome says so.
    """
    stated = manifest["privacy"]
    assumed = stated.get("assumed")
    assumptions = assumed if isinstance(assumed, list) else []
    has_frame = manifest["data"].get("frame")
    # Bounds are enforced on records of people only, and for these it is known whether a frame was given.
    on_trust = has_frame is None or say_taken_on_trust(plan.bounds) in assumptions
    derived = state_privacy(
        plan,
        total=total,
        noise=stated.get("noise"),
        assumptions=assumptions,
        has_frame=has_frame,
        enforced=stated.get("bounds") == ENFORCED and not on_trust,
        receipt=read_receipt(manifest),
        words=read_words(manifest["data"]),
    )
    version = _read(manifest, "software", "tallytree")
    wrong = [name for name in {**derived, **stated} if stated.get(name) != derived.get(name)]
    other_words = [] if version == __version__ else [name for name in wrong if name in WORDS]
    unstated = [] if version == __version__ else [name for name in NEWER if name not in stated]
    wrong = [name for name in wrong if name not in (*other_words, *unstated)]
    shape = [plan.shape(index)[0] for index in range(len(plan.levels))]
    if _read(manifest, "data", "regions") != shape:
        wrong.append("regions")
    example = f"{show(wrong[0])} is not what the plan gives" if wrong else ""
    check = Check("statement", "what is promised follows from the plan", len(wrong), example)
    if not other_words:
        return (check,)
    names = " and ".join(map(repr, other_words))
    why = (
        f"the wording of {names} is that of version {show(version)} and cannot be checked by version "
        f"{__version__}"
    )
    return check, skip("words", why)


def check_receipt(manifest: Manifest, plan: Plan) -> tuple[Check, ...]:
    """Check that a ledger, if charged, was charged at least the release's cost; only the ledger proves it."""
    receipt = read_receipt(manifest)
    if receipt is None:
        statement = "no ledger was charged, so other releases from the same data are not accounted for"
        return (Check("ledger", statement, 0),)
    loss = plan.loss.count(receipt.unit)
    paid = loss is not None and receipt.charged >= loss and receipt.spent >= receipt.charged
    example = "" if paid else f"entry {receipt.entry} does not cover the release"
    check = Check("ledger", "the charge that the manifest names covers the release", int(not paid), example)
    why = f"entry {receipt.entry} of the ledger is not looked up here: 'tallytree ledger verify' does that"
    return check, skip("receipt", why)


def check_noise(measurements: Measurements) -> Check:
    """Check that the answers of regions and of their subregions differ by the plan's noise."""
    found = measure_scatter(measurements)
    names = [level.name for level in measurements.plan.levels]
    limit = math.log(FALSE_ALARMS / (2 * len(found))) if found else 0.0
    told = [index for index, level in enumerate(found) if level.least_chance <= limit]
    wrong = [
        f"regions of level {show(names[index])} and their subregions differ by "
        f"{'less' if level.excess > 0 else 'more'} than that noise"
        for index, level in enumerate(found)
        if level.chance <= limit
    ]
    if not told and not wrong:
        return skip(
            "noise", "too few regions and sizes, or too little noise, to tell whether it is as stated"
        )
    contrasts = sum(level.contrasts for level in found)
    statement = (
        f"regions differ from their subregions by noise of the stated scale: {contrasts:,} differences, "
        f"one false alarm in {FALSE_ALARMS.denominator:,} at most"
    )
    few = [show(names[index]) for index in range(len(found)) if index not in told]
    if few:
        statement += f"; too few to tell a lack of noise at level {', '.join(few)}"
    return Check("noise", statement, len(wrong), wrong[0] if wrong else "")


def check_mechanism(
    manifest: Manifest, measurements: Measurements, counts: Sequence[Ints], total: int
) -> Check:
    """Check what the manifest says of its mechanism and its solution, as far as the counts show it."""
    statement = "mechanism, objective and certificate are those of these counts"
    try:
        origin = find_origin(manifest)
        method = origin.method
        evidence = method.assess(measurements, counts, total=measurements.plan.hide_total(total))
    except InputError as error:
        return Check("mechanism", statement, 1, str(error).removesuffix("."))
    stated = {**_get_part(manifest, "mechanism"), **_get_part(manifest, "solution")}
    if origin.obstacle:
        # What another revision says of itself cannot be checked here; what it says of these counts can.
        statement, facts = "objective and certificate are those of these counts", {}
    else:
        facts, options = _describe(method), stated.get("options")
        if _read(manifest, "software", "tallytree") != __version__ and isinstance(options, dict):
            # Options that came after another version wrote the manifest have their defaults.
            facts["options"] = {name: getattr(method, name) for name in options}
    facts["objective"] = str(evidence.objective)
    facts["certificate_slack"] = evidence.certificate and str(evidence.certificate.slack)
    wrong = [f"{name!r} is not as stated" for name, value in facts.items() if stated.get(name) != value]
    if method.obstacle:
        wrong.append(f"{method.name} cannot make a release")
    if evidence.certificate is not None and not evidence.certificate.optimal:
        wrong.append("other counts are nearer to the measurements")
    return Check("mechanism", statement, len(wrong), wrong[0] if wrong else "")


def _describe(method: Mechanism) -> dict[str, object]:
    """Return what a manifest says of a mechanism, independent of the data."""
    solver = getattr(method, "solver", None)
    return {
        "symbol": method.symbol,
        "exact": method.exact,
        "options": {field.name: getattr(method, field.name) for field in fields(method)},
        **({} if solver is None else {"solver": solver}),
    }


def check_solution(
    manifest: Manifest, measurements: Measurements, counts: Sequence[Ints], total: int
) -> Check:
    """Check that post-processing the measurements again gives the same counts.

    An exact optimum is computed in whole numbers. A relaxation in floating point may differ slightly on
    another kind of processor, so that a count is rounded the other way: then a difference of one group is
    tolerated, and of a tenth in the stated accuracy.
    """
    statement = "post-processing the measurements again gives these counts"
    try:
        origin = find_origin(manifest)
        if origin.obstacle:
            return skip("solution", f"not recomputed, because {origin.obstacle}")
        method = origin.method
        if method.small:
            return _check_by_twin(method, measurements, counts, total)
        solution = method.postprocess(measurements, total=measurements.plan.hide_total(total))
    except InputError as error:
        return Check("solution", statement, 1, str(error).removesuffix("."))
    problem = _compare_claims(_get_part(manifest, "solution"), solution)
    if problem:
        return Check("solution", statement, 1, problem)
    slack, violations, largest = 0 if method.exact else 1, 0, 0
    for level in range(len(counts)):
        for start, stop in cut_rows(*get_shape(counts, level)):
            again = get_rows(solution.counts, level, start, stop)
            off = np.abs(again - get_rows(counts, level, start, stop))
            violations += int((off > slack).sum())
            largest = max(largest, int(off.max(initial=0)))
    return Check("solution", statement, violations, f"one differs by {largest}" if violations else "")


def _check_by_twin(
    method: Mechanism, measurements: Measurements, counts: Sequence[Ints], total: int
) -> Check:
    """Compare a slow mechanism's counts with those of a fast one for the same model."""
    twin = method.twin
    if twin is None:
        return skip("solution", f"not recomputed, because {method.name} is slow")
    own = method.assess(measurements, counts, total=measurements.plan.hide_total(total)).objective
    best = twin.postprocess(measurements, total=measurements.plan.hide_total(total)).objective
    worse = own - best > best // TOLERANCE
    example = f"their objective is {own}, and {twin.name} finds {best}"
    if twin.exact:
        wrong = worse or own < best
        statement = f"no counts are nearer to the measurements, as {twin.name} finds for the same model"
        return Check("solution", statement, int(wrong), example if wrong else "")
    statement = f"{twin.name} finds no counts that are nearer to the measurements"
    if worse:
        return Check("solution", statement, 1, example)
    return skip("solution", f"not recomputed, because {method.name} is slow; but {statement}")


def _compare_claims(stated: Mapping[str, Any], solution: Solution) -> str:
    """Return the first claim about a solution that is wrong; empty if there is none."""
    if stated.get("solver") != solution.solver:
        return "'solver' is not as stated"
    effort = stated.get("effort")
    if not isinstance(effort, dict) or effort.keys() != solution.effort.keys():
        return "'effort' is not as stated"
    claimed = stated.get("accuracy")
    if solution.accuracy is None:
        return "" if claimed is None else "'accuracy' is not as stated"
    again = asdict(solution.accuracy)
    if not isinstance(claimed, dict) or claimed.keys() != again.keys():
        return "'accuracy' is not as stated"
    for name, value in again.items():
        number = claimed[name]
        if not isinstance(number, (int, float)) or not math.isclose(number, value, rel_tol=0.1, abs_tol=1e-3):
            return f"{name!r} of the accuracy is not as stated"
    return ""


def _read(manifest: Manifest, part: str, name: str) -> Any:
    return _get_part(manifest, part).get(name)


def _get_part(manifest: Manifest, part: str) -> Mapping[str, Any]:
    facts = manifest.get(part)
    return facts if isinstance(facts, dict) else {}
