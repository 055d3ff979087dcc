"""The planner: which mechanism, which split of the budget, and what accuracy to expect.

It works on public data that stand in for the sensitive ones, and never sees those: so it costs no budget, and
it may be asked as often as one likes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from fractions import Fraction
from functools import partial
from itertools import permutations
from pathlib import Path
from typing import Any

from tallytree.counts.group_counts import GroupCounts
from tallytree.drawing.charts import Curve, draw_titled
from tallytree.drawing.pictures import Picture
from tallytree.errors import CountsError, MechanismError, PrivacyError
from tallytree.mechanisms.base import Mechanism
from tallytree.mechanisms.registry import find_default, find_mechanism
from tallytree.planning.forecasts import (
    MANY_CELLS,
    Forecast,
    Goal,
    forecast,
    list_candidates,
    parse_goal,
    share_runs,
)
from tallytree.planning.release_settings import state_bounds
from tallytree.planning.stand_ins import set_bounds, settle_neighbours
from tallytree.privacy.budget import MOST_EPSILON, Budget, Exact, check_epsilon, parse_exact, show_exact
from tallytree.privacy.neighbours import Bounds, Neighbours, Protected, TotalKind
from tallytree.privacy.zcdp import check_delta, find_most_delta, parse_delta
from tallytree.progress import Progress, no_progress
from tallytree.releases.statement import warn_of_epsilon
from tallytree.releases.usefulness import warn_of_noise

# The split of the budget over the levels that suits a goal best, in whole percent.

PERCENT = 100


Split = dict[str, int]


def find_split(levels: Sequence[str], score: Callable[[Sequence[Split]], Sequence[float]]) -> Split:
    """Find a split with a small score, by local search that moves percents from level to level.

    From an even split, make the best move of so many percent from one level to another as long as one helps,
    then try smaller moves, down to one percent. ``score`` gives the scores of several splits at once, and
    must always give the same split the same number.
    """
    best = even_split(levels)
    known = {tuple(best.values()): score([best])[0]}
    step = PERCENT // 4
    while step >= 1:
        moved = [
            {name: best[name] + step * ((name == to) - (name == source)) for name in levels}
            for source, to in permutations(levels, 2)
            if best[source] > step
        ]
        new = {tuple(split.values()): split for split in moved}
        new = {key: split for key, split in new.items() if key not in known}
        known |= zip(new, score(list(new.values())), strict=True)
        better = min([best, *moved], key=lambda split: known[tuple(split.values())])
        if better is best:
            step //= 2
        best = better
    return best


def even_split(levels: Sequence[str]) -> Split:
    """Return a split as near to even as whole percents allow; the last levels get the remainder."""
    share, over = divmod(PERCENT, len(levels))
    return {name: share + (place >= len(levels) - over) for place, name in enumerate(levels)}


AROUND = (
    Fraction(1, 10),
    Fraction(1, 4),
    Fraction(1, 2),
    Fraction(1),
    Fraction(2),
    Fraction(4),
    Fraction(10),
)
"""The epsilons of the trade-off, as multiples of the one asked for."""
FINAL_RUNS, FEWER_RUNS = 5, 3
"""How often a plan is simulated; and at other epsilons, where one run takes long."""


@dataclass(frozen=True)
class Advice:
    """What the planner found."""

    goal: Goal
    epsilon: Fraction
    delta: Fraction | None
    """Of Gaussian noise."""
    public_totals: str | None
    neighbours: Neighbours
    """Who is protected, and whether the number of groups is public: the noise depends on it."""
    stand_in: GroupCounts = field(repr=False, compare=False)
    """The public data that it was planned on."""
    planned: Forecast
    """The recommended mechanism with the split that suits the goal."""
    even: Forecast
    """The same mechanism with an even split."""
    others: tuple[Forecast, ...]
    """The other mechanisms with the same split, best first. One may be a little better, as chance has it."""
    trade_off: tuple[Forecast, ...]
    """The recommended mechanism at several epsilons."""

    def write_page(
        self,
        file: str | Path,
        *,
        source: str,
        settings: Mapping[str, Any] | None = None,
        progress: Progress = no_progress,
    ) -> None:
        """Write a page for choosing epsilon: what it buys and what it gives away, with a slider.

        The stand-in is simulated again at some hundred settings, from which the page knows those between. It
        opens in any browser, without a network.

        ``source`` says which public data the stand-in is, in words for the readers of the page. ``settings``
        are those of the release, as a ``release.toml`` has them; None: those of a table of counts like the
        stand-in.
        """
        from tallytree.planning.plan_page import write_page

        write_page(self, Path(file), source=source, settings=settings, progress=progress)

    @property
    def warnings(self) -> list[str]:
        """Warnings about a large epsilon or delta, or noise that drowns the public total, in words."""
        stand_in, most = self.stand_in, find_most_delta(self.stand_in.total)
        budget = Budget(
            epsilon=self.epsilon,
            delta=self.delta,
            split=self.planned.budget,
            public_totals=self.public_totals,
            protect=self.neighbours.protect,
            total=self.neighbours.total,
        )
        plan = find_mechanism(self.planned.mechanism).plan_within(
            budget, stand_in.hierarchy, sizes=stand_in.sizes, bounds=self.neighbours.bounds
        )
        drowned = warn_of_noise(plan, stand_in.total)
        found = [warn_of_epsilon(self.epsilon), drowned]
        # A private number of groups must not decide whether a release is refused.
        if self.neighbours.has_public_total and self.delta is not None and self.delta > most:
            found.append(
                f"WARNING: delta = {show_exact(self.delta)} is too large for as many groups as the stand-in "
                f"has: a release of {stand_in.total:,} groups is refused above {show_exact(most)}."
            )
        return [text for text in found if text]

    @property
    def is_met(self) -> bool:
        """Whether the goal's limit is kept at this epsilon; always so without one."""
        return self.goal.is_met(self.planned)

    @property
    def enough(self) -> Fraction | None:
        """The least epsilon of the trade-off that keeps the limit."""
        return next((case.epsilon for case in self.trade_off if self.goal.is_met(case)), None)

    def to_dict(self) -> dict[str, Any]:
        """Return the advice as a dictionary, for JSON."""
        return {
            "goal": str(self.goal),
            "met": self.is_met,
            "epsilon": str(self.epsilon),
            "delta": self.delta and str(self.delta),
            "public_totals": self.public_totals,
            "protect": self.neighbours.protect,
            "total": self.neighbours.total,
            **state_bounds(self.neighbours),
            "warnings": self.warnings,
            "mechanism": self.planned.mechanism,
            "budget": dict(self.planned.budget),
            "expected": [asdict(level) for level in self.planned.levels],
            "even_split": [asdict(level) for level in self.even.levels],
            "other_mechanisms": [_describe(case) for case in self.others],
            "trade_off": [_describe(case) for case in self.trade_off],
        }


def advise(
    stand_in: GroupCounts,
    *,
    epsilon: Exact,
    goal: str = "l1",
    mechanism: str | None = None,
    bounds: Bounds | None = None,
    public_totals: str | None = None,
    delta: Exact | None = None,
    total: TotalKind | None = None,
    protect: Protected = "person",
    progress: Progress = no_progress,
) -> Advice:
    """Plan a release on public data: choose a mechanism and a split of epsilon, and say what to expect.

    The stand-in must be public: counts of records of people are refused. If the records themselves are
    public, say so by giving their counts as ``GroupCounts(counts.hierarchy, counts.sizes, counts.leaf)``.

    The ``goal`` is what to make small, ``"l1"``, ``"emd"`` or ``"relative"``, or a limit on the errors of a
    level: ``"county<=5%"`` of a region's groups in the mean, or ``"county<=50000"`` groups in all.

    Without ``mechanism``, the split is found for the default one, and all that can make such a release are
    then compared with it. If another is better by more than chance, a split is found for that one too, and
    the better of the two is recommended. With a ``delta``, all have Gaussian noise.

    The ``bounds`` on a person, ``total`` and ``protect`` are those of the release that is planned: see
    :func:`tallytree.release`. Bounds that are None are those of the stand-in, and a total that is None is
    what a release of the stand-in would take it for. If that is not what the release will do, say so: the
    noise is another.

    >>> import tallytree as tt
    >>> regions = tt.Hierarchy.from_paths(["nation", "state"], [("US", "GA"), ("US", "NY")])
    >>> earlier = tt.GroupCounts(regions, sizes=(1, 3), leaf=[[4000, 3000, 2000], [6000, 2000, 1000]])
    >>> advice = advise(earlier, epsilon="1/2", goal="state<=1%", mechanism="cumulative-joint")
    >>> advice.is_met, sum(advice.planned.budget.values())
    (True, 100)
    """
    if not isinstance(stand_in, GroupCounts):
        raise CountsError("The stand-in must be a tallytree.GroupCounts.")
    budget = Budget(epsilon=epsilon, delta=delta, public_totals=public_totals, protect=protect, total=total)
    found = parse_goal(goal, stand_in.hierarchy.levels)
    return advise_within(stand_in, budget, goal=found, mechanism=mechanism, bounds=bounds, progress=progress)


def advise_within(
    stand_in: GroupCounts,
    budget: Budget,
    *,
    goal: Goal,
    mechanism: str | None = None,
    bounds: Bounds | None = None,
    progress: Progress = no_progress,
) -> Advice:
    """Plan a release as :func:`advise` does, with the budget as one value."""
    if budget.rho is not None or budget.split is not None:
        raise PrivacyError("A plan finds the split of an epsilon: give neither a rho nor a split.")
    asked = parse_exact(budget.epsilon, "epsilon")
    check_epsilon(asked, "epsilon")
    delta = None if budget.delta is None else parse_delta(budget.delta)
    if delta is not None:
        check_delta(delta)
    kinds = settle_neighbours(stand_in, bounds=bounds, total=budget.total, protect=budget.protect)
    budget = replace(budget, epsilon=asked, delta=delta, total=kinds.total)
    stand_in = set_bounds(stand_in, kinds.bounds)
    chosen = find_mechanism(find_default(kinds, stand_in.sizes) if mechanism is None else mechanism)
    _check_release(chosen)
    rivals = list_candidates(budget.public_totals, kinds) if mechanism is None else []
    names = list(dict.fromkeys([chosen.name, *rivals]))
    search = _Search(stand_in, budget, goal, names, progress)
    ranked = search.compare(chosen.name)
    usual = next(case for case in ranked if case.mechanism == chosen.name)
    if ranked[0] is not usual and goal.is_surely_better(ranked[0], usual):
        # The split that suits the usual one need not suit the one that is better.
        ranked = min(ranked, search.compare(ranked[0].mechanism), key=lambda cases: goal.score(cases[0]))
        best = ranked[0]
    else:
        best = usual
    around = [asked * factor for factor in AROUND if asked * factor <= MOST_EPSILON]
    runs = FEWER_RUNS if stand_in.leaf.size >= MANY_CELLS else FINAL_RUNS
    report = progress("Forecasting", len(around) * runs)  # also the even split, but not the best again
    run = partial(forecast, stand_in, mechanism=best.mechanism, runs=runs, report=report)
    return Advice(
        goal=goal,
        epsilon=asked,
        delta=delta,
        public_totals=budget.public_totals,
        neighbours=kinds,
        stand_in=stand_in,
        planned=best,
        even=run(budget, split=even_split(stand_in.hierarchy.levels)),
        others=tuple(case for case in ranked if case is not best),
        trade_off=tuple(
            best if other == asked else run(replace(budget, epsilon=other), split=best.budget)
            for other in around
        ),
    )


@dataclass(frozen=True)
class _Search:
    """The search for a split that suits a mechanism, and what all mechanisms make of it."""

    stand_in: GroupCounts
    budget: Budget
    goal: Goal
    names: Sequence[str]
    progress: Progress

    def compare(self, name: str) -> list[Forecast]:
        """Return the forecasts of all mechanisms with the split that suits one of them, best first."""
        run = partial(forecast, self.stand_in, self.budget)
        tries = 1 if self.stand_in.leaf.size >= MANY_CELLS else FINAL_RUNS
        report = self.progress("Trying splits of the budget", 0)

        def score(_: int, split: Split) -> float:
            return self.goal.score(run(mechanism=name, split=split, runs=tries, report=report))

        found = find_split(
            self.stand_in.hierarchy.levels, lambda splits: share_runs(score, splits, self.stand_in)
        )
        report = self.progress("Comparing mechanisms", len(self.names) * FINAL_RUNS)
        cases = [run(mechanism=each, split=found, runs=FINAL_RUNS, report=report) for each in self.names]
        return sorted(cases, key=self.goal.score)


def _check_release(mechanism: Mechanism) -> None:
    if mechanism.obstacle or mechanism.small:
        reason = mechanism.obstacle or "it is for small problems, to compare with"
        raise MechanismError(f"{mechanism.name} cannot be planned for: {reason}.")


def _describe(case: Forecast) -> dict[str, Any]:
    return {
        "mechanism": case.mechanism,
        "epsilon": str(case.epsilon),
        "levels": [asdict(level) for level in case.levels],
    }


LEAST = 0.5
"""Errors below this, which a logarithmic axis cannot show, are drawn here."""


def draw_trade_off(advice: Advice) -> Picture:
    """Draw the L1 error at each level against epsilon."""
    curves = [
        Curve(
            error.level,
            [(float(case.epsilon), max(LEAST, case.levels[place].l1)) for case in advice.trade_off],
        )
        for place, error in enumerate(advice.planned.levels)
    ]
    title = f"Expected error of {advice.planned.mechanism}, by level"
    return draw_titled(title, curves, x="epsilon", y="L1 error, in groups")
