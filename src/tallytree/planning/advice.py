"""The planner: which mechanism, which split of the budget, and what accuracy to expect.

It works on public data that stand in for the sensitive ones, and never sees those: so it costs no budget, and
it may be asked as often as one likes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import permutations
from typing import Any

from tallytree.counts.group_counts import GroupCounts
from tallytree.drawing.charts import Curve, draw_titled
from tallytree.drawing.pictures import Picture
from tallytree.errors import MechanismError, PrivacyError
from tallytree.mechanisms.base import Mechanism
from tallytree.mechanisms.registry import MECHANISMS, find_default, find_mechanism
from tallytree.planning.forecasts import Forecast, Goal, forecast
from tallytree.planning.stand_ins import set_bounds, settle_neighbours
from tallytree.privacy.budget import MOST_EPSILON, Budget, check_epsilon, parse_exact, show_exact
from tallytree.privacy.neighbours import Bounds, Neighbours
from tallytree.privacy.zcdp import check_delta, find_most_delta, parse_delta
from tallytree.progress import Progress, no_progress
from tallytree.releases.statement import warn_of_epsilon

# The split of the budget over the levels that suits a goal best, in whole percent.

PERCENT = 100


def find_split(levels: Sequence[str], score: Callable[[dict[str, int]], float]) -> dict[str, int]:
    """Find a split with a small ``score``, by local search that moves percents from level to level.

    From an even split, make the best move of so many percent from one level to another as long as one helps,
    then try smaller moves, down to one percent. ``score`` must always give the same split the same number.
    """
    best = even_split(levels)
    known = {tuple(best.values()): score(best)}
    step = PERCENT // 4
    while step >= 1:
        moved = [
            {name: best[name] + step * ((name == to) - (name == source)) for name in levels}
            for source, to in permutations(levels, 2)
            if best[source] > step
        ]
        for split in moved:
            if tuple(split.values()) not in known:
                known[tuple(split.values())] = score(split)
        better = min([best, *moved], key=lambda split: known[tuple(split.values())])
        if better is best:
            step //= 2
        best = better
    return best


def even_split(levels: Sequence[str]) -> dict[str, int]:
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
FINAL_RUNS = 5
MANY_CELLS = 300_000
"""From so many cells on, each split is tried in only one run: errors over so many hardly vary."""


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
    groups: int
    """The number of groups of the stand-in."""
    planned: Forecast
    """The recommended mechanism with the split that suits the goal."""
    even: Forecast
    """The same mechanism with an even split."""
    others: tuple[Forecast, ...]
    """The other mechanisms with the same split, best first."""
    trade_off: tuple[Forecast, ...]
    """The recommended mechanism at several epsilons."""

    @property
    def warnings(self) -> list[str]:
        """Warnings about a large epsilon or delta, in words."""
        found, most = [warn_of_epsilon(self.epsilon)], find_most_delta(self.groups)
        # A private number of groups must not decide whether a release is refused.
        if self.neighbours.has_public_total and self.delta is not None and self.delta > most:
            found.append(
                f"WARNING: delta = {show_exact(self.delta)} is too large for as many groups as the stand-in "
                f"has: a release of {self.groups:,} groups is refused above {show_exact(most)}."
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
            **_state_bounds(self.neighbours),
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
    budget: Budget,
    *,
    goal: Goal,
    mechanism: str | None = None,
    bounds: Bounds | None = None,
    progress: Progress = no_progress,
) -> Advice:
    """Find the split of the budget's epsilon that does best on the stand-in, and what to expect of it.

    The stand-in must be public: counts of records of people are refused. If the records themselves are
    public, say so by giving their counts as ``GroupCounts(counts.hierarchy, counts.sizes, counts.leaf)``.

    Without ``mechanism``, the split is found for the default one, and all that can make such a release are
    then compared with it. If another is better, a split is found for that one too; the best of all is
    recommended. With a ``delta`` in the budget, all have Gaussian noise.

    The ``bounds`` on a person, and the ``total`` and ``protect`` of the budget, are those of the release that
    is planned: see :func:`tallytree.release`. Bounds that are None are those of the stand-in, and a total
    that is None is what a release of the stand-in would take it for. If that is not what the release will do,
    say so: the noise is another.
    """
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
    levels = stand_in.hierarchy.levels
    chosen = find_mechanism(find_default(kinds, stand_in.sizes) if mechanism is None else mechanism)
    _check_release(chosen)
    run = partial(forecast, stand_in)
    tries = 1 if stand_in.leaf.size >= MANY_CELLS else FINAL_RUNS
    names = [chosen.name, *(_find_rivals(chosen, budget.public_totals, kinds) if mechanism is None else [])]

    def compare(name: str) -> list[Forecast]:
        """All mechanisms with the split that suits one of them, best first."""
        report = progress("Trying splits of the budget", 0)
        split = find_split(
            levels,
            lambda split: goal.score(run(budget, mechanism=name, split=split, runs=tries, report=report)),
        )
        report = progress("Comparing mechanisms", len(names) * FINAL_RUNS)
        cases = [run(budget, mechanism=other, split=split, runs=FINAL_RUNS, report=report) for other in names]
        return sorted(cases, key=goal.score)

    ranked = compare(chosen.name)
    if ranked[0].mechanism != chosen.name:  # whose split need not suit the one that is better
        ranked = min(ranked, compare(ranked[0].mechanism), key=lambda cases: goal.score(cases[0]))
    best = ranked[0]
    around = [asked * factor for factor in AROUND if asked * factor <= MOST_EPSILON]
    report = progress("Forecasting", len(around) * FINAL_RUNS)  # also the even split, but not the best again
    run = partial(run, mechanism=best.mechanism, runs=FINAL_RUNS, report=report)
    return Advice(
        goal=goal,
        epsilon=asked,
        delta=delta,
        public_totals=budget.public_totals,
        neighbours=kinds,
        groups=stand_in.total,
        planned=best,
        even=run(budget, split=even_split(levels)),
        others=tuple(ranked[1:]),
        trade_off=tuple(
            best if other == asked else run(replace(budget, epsilon=other), split=best.budget)
            for other in around
        ),
    )


def _check_release(mechanism: Mechanism) -> None:
    if mechanism.obstacle or mechanism.small:
        reason = mechanism.obstacle or "it is for small problems, to compare with"
        raise MechanismError(f"{mechanism.name} cannot be planned for: {reason}.")


def _find_rivals(chosen: Mechanism, public_totals: str | None, neighbours: Neighbours) -> list[str]:
    """The other mechanisms that could make this release, with the same facts public."""
    is_public = neighbours.has_public_total
    wanted = ("unused", "optional") if public_totals is None else ("optional",)
    return [
        kind.name
        for kind in MECHANISMS
        if kind.name != chosen.name
        and kind.consistent
        and not kind.small
        and kind.region_totals in wanted
        and (is_public or kind.private_total)
    ]


def _state_bounds(neighbours: Neighbours) -> dict[str, int]:
    """The bounds on a person: of no matter where whole groups are protected."""
    return asdict(neighbours.bounds) if neighbours.protect == "person" else {}


def _describe(case: Forecast) -> dict[str, Any]:
    return {
        "mechanism": case.mechanism,
        "epsilon": str(case.epsilon),
        "levels": [asdict(level) for level in case.levels],
    }


# What a plan leaves behind: a ``release.toml`` ready to run, and a picture of accuracy against epsilon.

LEAST = 0.5
"""Errors below this, which a logarithmic axis cannot show, are drawn here."""


def write_spec(advice: Advice, settings: Mapping[str, Any]) -> str:
    """Return a ``release.toml``: these settings, with the mechanism and the split that were found."""
    found: dict[str, Any] = {
        **settings,
        "protect": advice.neighbours.protect,
        "total": advice.neighbours.total,  # what a release would take it for depends on its source
        "epsilon": show_exact(advice.epsilon),
        "mechanism": advice.planned.mechanism,
    }
    if advice.delta is not None:
        found["delta"] = show_exact(advice.delta)
    if advice.public_totals is not None:
        found["public_totals"] = advice.public_totals
    if advice.neighbours.bounds != Bounds():  # the default ones need not be stated
        found |= _state_bounds(advice.neighbours)
    lines = [
        "# Written by `tallytree plan`, from public data: it never saw the sensitive ones.",
        "# Run it with: tallytree release --spec FILE",
        *(f"{name} = {_write(value)}" for name, value in found.items()),
        "",
        "[budget]",
        *(f"{_write(level)} = {share}" for level, share in advice.planned.budget.items()),
        "",
    ]
    return "\n".join(lines)


def _write(value: object) -> str:
    """Write texts, numbers and lists of them, which are in TOML as in JSON, but for one character."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


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
