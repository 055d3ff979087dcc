"""The whole way from counts to a release."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from datetime import UTC, datetime

from tallytree.counts.group_counts import GroupCounts
from tallytree.errors import (
    CheckError,
    CountsError,
    LedgerError,
    MechanismError,
    name_choices,
    show,
)
from tallytree.hierarchy import Hierarchy
from tallytree.ledger.ledger import Ledger, Place, open_ledger
from tallytree.ledger.receipts import Receipt
from tallytree.mechanisms.base import Mechanism
from tallytree.mechanisms.registry import DEFAULT, MECHANISMS, find_mechanism, list_mechanisms
from tallytree.privacy.budget import Exact, check_epsilon
from tallytree.privacy.door import find_noise, measure
from tallytree.privacy.neighbours import Bounds
from tallytree.privacy.noise import ExactNoise
from tallytree.privacy.plan import Plan
from tallytree.privacy.zcdp import check_delta
from tallytree.progress import Progress, no_progress
from tallytree.releases.manifest import write_manifest
from tallytree.releases.release_columns import check_level_names
from tallytree.releases.released import MAKER, Release
from tallytree.sizes import Sizes


def release(
    counts: GroupCounts,
    *,
    epsilon: Exact | None = None,
    mechanism: str | Mechanism = DEFAULT,
    budget: Mapping[str, Exact] | None = None,
    public_totals: str | None = None,
    delta: Exact | None = None,
    rho: Exact | None = None,
    noise: str | None = None,
    ledger: Ledger | Place | None = None,
    dataset: str | None = None,
    progress: Progress = no_progress,
) -> Release:
    """Release ``counts`` under differential privacy.

    ``epsilon`` is text, an int, a Fraction or a Decimal; ``budget`` weighs the levels, which share
    epsilon evenly if it is None; ``public_totals`` is the level down to which the regions' numbers of
    groups are public, and are kept, by mechanisms that can; ``noise`` is the exact sampler to draw with,
    "digits" (the default) or "opendp".

    With ``delta`` the noise is discrete Gaussian ("gaussian"), and the release is (epsilon, delta)-DP: the
    loss is counted as the largest rho of zero-concentrated differential privacy that implies it, or as the
    ``rho`` that is given in place of epsilon.

    Each call spends its budget anew. ``ledger`` (a :class:`tallytree.Ledger`, or its path or URL) remembers
    what was spent on ``dataset``, which may be left out if the ledger holds no other, and refuses to spend
    more than its budget. Without one, nothing remembers, and the manifest says so.

    An epsilon above 1,000 is refused, and so is a delta above one in ten times the number of groups. From
    epsilon 10 on the release carries a warning.

    Whatever is wrong with the input is found before the ledger is charged, and noise is drawn only after the
    charge is on the disk. What goes wrong after that (a solver for small problems may give up; an
    interruption) has spent epsilon for nothing, and the error says so in a note.
    """
    if not isinstance(counts, GroupCounts):
        raise CountsError("A release is made from GroupCounts.")
    if ledger is None and dataset is not None:
        raise LedgerError("A dataset is one of a ledger: give the ledger as well.")
    book = None if ledger is None else open_ledger(ledger)
    method, plan, sampler = prepare(
        counts.hierarchy,
        sizes=counts.sizes,
        bounds=counts.bounds,
        epsilon=epsilon,
        mechanism=mechanism,
        budget=budget,
        public_totals=public_totals,
        delta=delta,
        rho=rho,
        noise=noise,
    )
    if plan.delta is not None:
        check_delta(plan.delta, counts.total)
    if book is None:
        return _carry_out(method, plan, counts, sampler, progress, None)
    with book.tell_what_was_spent():
        receipt = book.charge(plan.loss, what=_describe_purpose(method, plan), dataset=dataset)
        return _carry_out(method, plan, counts, sampler, progress, receipt)


def prepare(
    hierarchy: Hierarchy,
    *,
    sizes: Sizes,
    bounds: Bounds | None,
    epsilon: Exact | None,
    mechanism: str | Mechanism,
    budget: Mapping[str, Exact] | None,
    public_totals: str | None,
    delta: Exact | None,
    rho: Exact | None,
    noise: str | None,
) -> tuple[Mechanism, Plan, ExactNoise]:
    """All that a release takes besides the counts; what is wrong with it is found out here."""
    method, sampler = _find_release_mechanism(mechanism), find_noise(noise, delta)
    check_level_names(hierarchy)
    plan = method.plan(
        hierarchy,
        sizes=sizes,
        epsilon=epsilon,
        budget=budget,
        bounds=bounds,
        public_totals=public_totals,
        delta=delta,
        rho=rho,
    )
    check_epsilon(plan.epsilon, "epsilon" if rho is None else "The epsilon that rho implies at delta")
    if plan.delta is not None:
        check_delta(plan.delta)
    method.require()
    return method, plan, sampler


def _carry_out(
    method: Mechanism,
    plan: Plan,
    counts: GroupCounts,
    sampler: ExactNoise,
    progress: Progress,
    receipt: Receipt | None,
) -> Release:
    """Draw the noise, make the counts add up, and check them."""
    measurements = measure(plan, counts, noise=sampler, progress=progress)
    finish = progress("Making the counts add up", 1)
    solution = method.postprocess(measurements, total=counts.total)
    finish(1)
    manifest = write_manifest(
        mechanism=method,
        plan=plan,
        total=counts.total,
        noise=measurements.noise,
        assumptions=counts.assumptions,
        has_frame=counts.has_frame,
        enforced=counts.is_enforced,
        solution=solution,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        receipt=receipt,
    )
    made = Release(measurements, solution.counts, counts.total, manifest, made_by=MAKER)
    failed = [check for check in made.verify().checks if check.failed]
    if failed:
        raise CheckError(f"The release fails its check of {failed[0].name}, so it is withheld.")
    return made


def _describe_purpose(method: Mechanism, plan: Plan) -> str:
    """What epsilon is spent on, for the ledger: public facts, and a random name for the release."""
    levels = ", ".join(show(level.name, most=40) for level in plan.levels[:8])
    more = f" and {len(plan.levels) - 8} more" if len(plan.levels) > 8 else ""
    low, high = plan.sizes
    return f"release {secrets.token_hex(8)}: {method.name}, levels {levels}{more}, sizes {low} to {high}"


def _find_release_mechanism(mechanism: str | Mechanism) -> Mechanism:
    """A mechanism, refused if what it makes may not be released."""
    method = find_mechanism(mechanism)
    if type(method) not in MECHANISMS:  # its post-processing could return anything
        raise MechanismError(
            f"A release is made by a registered mechanism: {name_choices('', list_mechanisms())}"
        )
    if method.obstacle:
        raise MechanismError(f"{method.name} cannot make a release: {method.obstacle}.")
    return method
