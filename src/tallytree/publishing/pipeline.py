"""The whole way from counts to a release."""

from __future__ import annotations

import secrets
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from tallytree.arrays import get_total
from tallytree.counts.group_counts import GroupCounts
from tallytree.errors import (
    CheckError,
    CountsError,
    InputError,
    LedgerError,
    MechanismError,
    name_choices,
    show,
)
from tallytree.hierarchy import check_levels
from tallytree.ledger.ledger import Ledger, Place, open_ledger
from tallytree.ledger.receipts import Receipt
from tallytree.mechanisms.base import Mechanism
from tallytree.mechanisms.registry import MECHANISMS, find_default, find_mechanism, list_mechanisms
from tallytree.privacy.budget import Budget, Exact, Loss, check_epsilon
from tallytree.privacy.door import find_noise, measure
from tallytree.privacy.neighbours import (
    GROUPS_FROM_DATA,
    ROWS_ARE_PEOPLE,
    Bounds,
    Protected,
    TotalKind,
    say_taken_on_trust,
)
from tallytree.privacy.noise import ExactNoise
from tallytree.privacy.plan import Draft, Plan
from tallytree.privacy.zcdp import check_delta
from tallytree.progress import Progress, no_progress
from tallytree.publishing.publisher import Release
from tallytree.releases.manifest import state_privacy, write_manifest
from tallytree.releases.release_columns import check_level_names
from tallytree.releases.released import MAKER
from tallytree.releases.usefulness import warn_of_noise
from tallytree.sizes import Sizes, show_sizes
from tallytree.solvers.checks import Verification
from tallytree.words import PLAIN, Words


def release(
    counts: GroupCounts,
    *,
    epsilon: Exact | None = None,
    mechanism: str | Mechanism | None = None,
    budget: Mapping[str, Exact] | None = None,
    public_totals: str | None = None,
    delta: Exact | None = None,
    rho: Exact | None = None,
    total: TotalKind | None = None,
    protect: Protected = "person",
    noise: str | None = None,
    ledger: Ledger | Place | None = None,
    dataset: str | None = None,
    label: str | None = None,
    owner: str | None = None,
    words: Words = PLAIN,
    progress: Progress = no_progress,
) -> Release:
    """Release ``counts`` under differential privacy.

    ``epsilon`` is text, an int, a Fraction or a Decimal; ``budget`` weighs the levels, which share
    epsilon evenly if it is None; ``public_totals`` is the level down to which the regions' numbers of
    groups are public, and are kept by mechanisms that can do so; ``noise`` is the exact sampler,
    "digits" (the default) or "opendp".

    With ``delta`` the noise is discrete Gaussian ("gaussian"), and the release is (epsilon, delta)-DP: the
    loss is counted as the largest rho of zero-concentrated differential privacy that implies it, or as the
    ``rho`` that is given in place of epsilon.

    ``protect`` says whether a "person" is protected (the default) or a whole "group", which needs no bounds
    on persons. The default mechanism is ``cumulative-joint``; for groups, and where a record of a person may
    cross more than four sizes or classes, ``direct-dp``, which needs far less noise then.

    With ``total="private"``, neither the list of groups nor their number is taken as public: groups may
    appear and vanish with a person. The released total is then an estimate. By default it is private for
    records of people without a frame of groups and with sizes from 1 on, and public otherwise.

    Each call spends its budget anew. ``ledger`` (a :class:`tallytree.Ledger`, or its path or URL) remembers
    what was spent on ``dataset``, which may be left out if the ledger holds no other, and refuses to spend
    more than its budget. Without one, nothing remembers, and the manifest says so. A ``label``, such as
    "2026-02", is charged once: a second release with it is refused with a ``DoneAlreadyError``, so that a job
    may run again. ``owner`` says whose release it is. Both are public.

    ``words`` (:class:`tallytree.Words`) say what groups and their members are called, in all that is said
    about the release.

    If the noise is larger than the public total, a warning says so before the ledger is charged; turned into
    an error (``warnings.simplefilter("error")``), it keeps the release from being made.

    An epsilon above 1,000 is refused, and so is a delta above 1 / (10 x the number of groups). From
    epsilon 10 on the release carries a warning.

    Whatever is wrong with the input is found before the ledger is charged, and noise is drawn only after the
    charge is on the disk. What goes wrong after that (a solver for small problems may give up; an
    interruption) has spent epsilon for nothing, and the error says so in a note.

    >>> import tallytree as tt
    >>> regions = tt.Hierarchy.from_paths(["nation", "state"], [("US", "GA"), ("US", "NY")])
    >>> counts = tt.GroupCounts(regions, sizes=(1, 3), leaf=[[40, 30, 20], [60, 20, 10]])
    >>> made = release(counts, epsilon="1/2", budget={"nation": 1, "state": 3})
    >>> made.total
    180
    >>> print(made.epsilon)
    1/2
    """
    if not isinstance(counts, GroupCounts):
        raise CountsError("counts must be a tallytree.GroupCounts.")
    book = None if ledger is None else open_ledger(ledger)
    asked = Budget(
        epsilon=epsilon,
        delta=delta,
        rho=rho,
        split=budget,
        public_totals=public_totals,
        protect=protect,
        total=total,
    )
    order = Order.of(
        asked, mechanism=mechanism, noise=noise, words=words, sizes=counts.sizes, bounds=counts.bounds
    )
    account = Account(book, dataset, label, owner)
    made, _ = release_within(order, counts, account, progress=progress)
    return made


@dataclass(frozen=True)
class Account:
    """What a release is charged to: a ledger's dataset, under a label, for its owner."""

    ledger: Ledger | None
    dataset: str | None = None
    label: str | None = None
    owner: str | None = None

    def __post_init__(self) -> None:
        for what in ("dataset", "label", "owner"):
            if self.ledger is None and getattr(self, what) is not None:
                raise LedgerError(f"The {what} belongs to a ledger: give the ledger as well.")

    def require(self, loss: Loss) -> None:
        """Refuse what a charge would refuse now."""
        if self.ledger is not None:
            self.ledger.require(loss, dataset=self.dataset, label=self.label)


@dataclass(frozen=True)
class Order:
    """How a release is to be made: the budget, the mechanism, the noise, and the words about it."""

    budget: Budget
    mechanism: Mechanism
    sampler: ExactNoise
    words: Words = PLAIN

    @classmethod
    def of(
        cls,
        budget: Budget,
        *,
        mechanism: str | Mechanism | None,
        noise: str | None,
        sizes: Sizes,
        bounds: Bounds,
        words: Words = PLAIN,
    ) -> Order:
        """Find the mechanism and the noise by their names, and refuse those that cannot make a release."""
        default = find_default(budget.find_neighbours(bounds), sizes)
        method = find_mechanism(default if mechanism is None else mechanism)
        if type(method) not in MECHANISMS:  # its post-processing could return anything
            raise MechanismError(
                f"A release is made by a registered mechanism: {name_choices('', list_mechanisms())}"
            )
        if method.obstacle:
            raise MechanismError(f"{method.name} cannot make a release: {method.obstacle}.")
        if not isinstance(words, Words):
            raise InputError("words must be a tallytree.Words.")
        return cls(budget, method, find_noise(noise, budget.delta), words)

    def draft(self, levels: Sequence[str], *, sizes: Sizes, bounds: Bounds) -> Draft:
        """Return what the release will cost, before anything is counted; refuse what is wrong with it."""
        check_level_names(check_levels(levels))
        draft = self.mechanism.draft(self.budget, levels, sizes=sizes, bounds=bounds)
        self._check(draft)
        return draft

    def plan(self, counts: GroupCounts) -> Plan:
        """Return the plan of the release."""
        check_level_names(counts.hierarchy.levels)
        if counts.only not in (None, self.budget.protect):
            raise CountsError(f"These groups were counted to protect a {counts.only}: {WHY[counts.only]}.")
        plan = self.mechanism.plan_within(
            self._settle(counts), counts.hierarchy, sizes=counts.sizes, bounds=counts.bounds
        )
        self._check(plan)
        if plan.delta is not None:
            check_delta(plan.delta, plan.hide_total(counts.total) or 0)
        return plan

    def _settle(self, counts: GroupCounts) -> Budget:
        """The budget with the kind of total that befits the counts, unless one was asked for."""
        return self.budget if self.budget.total is not None else replace(self.budget, total=counts.total_kind)

    def _check(self, cost: Draft | Plan) -> None:
        implied = self.budget.rho is not None
        check_epsilon(cost.epsilon, "The epsilon that rho implies at delta" if implied else "epsilon")
        if cost.delta is not None:
            check_delta(cost.delta)
        self.mechanism.require()


WHY = {
    "person": "which records of a person are kept depends on all groups, so count them without 'person'",
    "group": "nothing bounds what one person adds to them, so give protect='group', or count them anew",
}


def _warn(text: str) -> None:
    """Warn whoever called :func:`release`."""
    warnings.warn(text, stacklevel=4)


def release_within(
    order: Order,
    counts: GroupCounts,
    account: Account,
    *,
    warn: Callable[[str], None] = _warn,
    progress: Progress = no_progress,
) -> tuple[Release, Verification]:
    """Release ``counts`` like :func:`release`, with its settings as two values; also return the checks.

    ``warn`` is told, before anything is charged, that the noise is larger than all that is counted.
    """
    plan = order.plan(counts)
    if drowned := warn_of_noise(plan, counts.total):
        warn(order.words.say(drowned))
    if account.ledger is None:
        return _carry_out(order, plan, counts, progress, None)
    with account.ledger.tell_what_was_spent():
        receipt = account.ledger.charge(
            plan.loss,
            what=_describe_purpose(order.mechanism, plan),
            dataset=account.dataset,
            label=account.label,
            owner=account.owner,
            release=secrets.token_hex(8),
        )
        return _carry_out(order, plan, counts, progress, receipt)


def _carry_out(
    order: Order, plan: Plan, counts: GroupCounts, progress: Progress, receipt: Receipt | None
) -> tuple[Release, Verification]:
    """Draw the noise, make the counts add up, and check them."""
    measurements = measure(plan, counts, noise=order.sampler, progress=progress)
    finish = progress("Making the counts add up", 1)
    solution = order.mechanism.postprocess(measurements, total=plan.hide_total(counts.total))
    finish(1)
    total = get_total(solution.counts, 0)  # the public one, or an estimate
    privacy = state_privacy(
        plan,
        total=total,
        noise=measurements.noise,
        assumptions=_list_assumptions(plan, counts),
        has_frame=counts.has_frame,
        enforced=counts.is_enforced,
        receipt=receipt,
        words=order.words,
    )
    manifest = write_manifest(
        privacy=privacy,
        mechanism=order.mechanism,
        plan=plan,
        total=total,
        has_frame=counts.has_frame,
        solution=solution,
        words=order.words,
    )
    made = Release(measurements, solution.counts, total, manifest, made_by=MAKER)
    verification = made.verify()
    failed = [check for check in verification.checks if check.failed]
    if failed:
        raise CheckError(f"The release fails its check of {failed[0].name}, so it is withheld.")
    return made, verification


def _list_assumptions(plan: Plan, counts: GroupCounts) -> list[str]:
    """What was taken on trust, and matters for what is promised."""
    idle = [GROUPS_FROM_DATA] if not plan.has_public_total else []
    if plan.protect == "group":
        idle += [say_taken_on_trust(counts.bounds), ROWS_ARE_PEOPLE]
    return [note for note in counts.assumptions if note not in idle]


def _describe_purpose(method: Mechanism, plan: Plan) -> str:
    """What epsilon is spent on, for the ledger: public facts, short enough for a label beside them."""
    levels = ", ".join(show(level.name, most=16) for level in plan.levels[:4])
    more = f" and {len(plan.levels) - 4} more" if len(plan.levels) > 4 else ""
    sizes = show(show_sizes(plan.sizes), most=40)[1:-1]
    return f"{method.name}, levels {levels}{more}, sizes {sizes}"
