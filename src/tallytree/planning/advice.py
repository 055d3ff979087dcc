"""The planner: which mechanism, which split of the budget, and what accuracy to expect.

It works on public data that stand in for the sensitive ones, and never sees those: so it costs no budget, and
it may be asked as often as one likes.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import partial
from typing import Any

from tallytree.counts import GroupCounts
from tallytree.errors import MechanismError
from tallytree.mechanisms.base import Mechanism
from tallytree.mechanisms.registry import DEFAULT, MECHANISMS, find_mechanism
from tallytree.planning.forecasts import Forecast, forecast
from tallytree.planning.goals import Goal
from tallytree.planning.splits import even_split, find_split
from tallytree.planning.stand_ins import set_bounds
from tallytree.privacy.budget import MOST_EPSILON, Exact, check_epsilon, parse_exact, show_exact
from tallytree.privacy.neighbours import Bounds
from tallytree.privacy.zcdp import check_delta, find_most_delta, parse_delta
from tallytree.progress import Progress, no_progress
from tallytree.statement import warn_of_epsilon

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
"""From here on, one run for each split that is tried: errors over so many cells hardly vary."""


@dataclass(frozen=True)
class Advice:
    """What the planner found."""

    goal: Goal
    epsilon: Fraction
    delta: Fraction | None
    """Of Gaussian noise."""
    public_totals: str | None
    bounds: Bounds
    """What a person contributes at most: the noise depends on it."""
    groups: int
    """Of the stand-in."""
    planned: Forecast
    """The recommended mechanism with the split that suits the goal."""
    even: Forecast
    """The same mechanism with an even split."""
    others: tuple[Forecast, ...]
    """The other mechanisms with the same split, best first."""
    trade_off: tuple[Forecast, ...]
    """The recommended one over epsilon."""

    @property
    def warnings(self) -> list[str]:
        """What is large about epsilon and delta, in words."""
        found, most = [warn_of_epsilon(self.epsilon)], find_most_delta(self.groups)
        if self.delta is not None and self.delta > most:
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
        """For JSON."""
        return {
            "goal": str(self.goal),
            "met": self.is_met,
            "epsilon": str(self.epsilon),
            "delta": self.delta and str(self.delta),
            "public_totals": self.public_totals,
            "max_records": self.bounds.max_records,
            "max_quantity": self.bounds.max_quantity,
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
    goal: Goal,
    mechanism: str | None = None,
    public_totals: str | None = None,
    delta: Exact | None = None,
    bounds: Bounds | None = None,
    progress: Progress = no_progress,
) -> Advice:
    """Find the split of ``epsilon`` that does best on the stand-in, and what to expect of it.

    The stand-in must be public: counts of records of people are refused. If the records themselves are
    public, say so by giving their counts as ``GroupCounts(counts.hierarchy, counts.sizes, counts.leaf)``.

    Without ``mechanism``, the split is found for the default one, and all that can make a release are then
    compared with it; the best is recommended. With ``delta``, all have Gaussian noise. ``bounds`` are those
    on a person in the release that is planned; if None, those of the stand-in.
    """
    asked = parse_exact(epsilon, "epsilon")
    check_epsilon(asked, "epsilon")
    settled = None if delta is None else parse_delta(delta)
    if settled is not None:
        check_delta(settled)
    stand_in = set_bounds(stand_in, bounds)
    levels = stand_in.hierarchy.levels
    chosen = find_mechanism(mechanism or DEFAULT)
    _check_release(chosen)
    run = partial(forecast, stand_in, public_totals=public_totals, delta=settled)
    tries = 1 if stand_in.leaf.size >= MANY_CELLS else FINAL_RUNS
    report = progress("Trying splits of the budget", 0)
    split = find_split(
        levels,
        lambda budget: goal.score(
            run(epsilon=asked, mechanism=chosen.name, budget=budget, runs=tries, report=report)
        ),
    )
    rivals = [] if mechanism else _find_rivals(chosen, public_totals)
    around = [asked * factor for factor in AROUND if asked * factor <= MOST_EPSILON]
    cases = 1 + len(rivals) + len(around)  # the even split; the rivals; the chosen one at each epsilon
    report = progress("Forecasting", cases * FINAL_RUNS)
    run = partial(run, runs=FINAL_RUNS, report=report)
    ranked = sorted(
        (run(epsilon=asked, mechanism=name, budget=split) for name in (chosen.name, *rivals)), key=goal.score
    )
    best = ranked[0]
    return Advice(
        goal=goal,
        epsilon=asked,
        delta=settled,
        public_totals=public_totals,
        bounds=stand_in.bounds,
        groups=stand_in.total,
        planned=best,
        even=run(epsilon=asked, mechanism=best.mechanism, budget=even_split(levels)),
        others=tuple(ranked[1:]),
        trade_off=tuple(
            best if other == asked else run(epsilon=other, mechanism=best.mechanism, budget=split)
            for other in around
        ),
    )


def _check_release(mechanism: Mechanism) -> None:
    if mechanism.obstacle or mechanism.small:
        reason = mechanism.obstacle or "it is for small problems, to compare with"
        raise MechanismError(f"{mechanism.name} cannot be planned for: {reason}.")


def _find_rivals(chosen: Mechanism, public_totals: str | None) -> list[str]:
    """The other mechanisms that could make this release, with the same facts public."""
    wanted = ("unused", "optional") if public_totals is None else ("optional",)
    return [
        kind.name
        for kind in MECHANISMS
        if kind.name != chosen.name and kind.consistent and not kind.small and kind.region_totals in wanted
    ]


def _describe(case: Forecast) -> dict[str, Any]:
    return {
        "mechanism": case.mechanism,
        "epsilon": str(case.epsilon),
        "levels": [asdict(level) for level in case.levels],
    }
