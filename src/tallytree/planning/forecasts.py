"""What accuracy to expect of a release: the mechanism, run several times on data that stand in for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import sqrt
from statistics import fmean, stdev
from typing import Literal, TypeVar

import numpy as np
import numpy.typing as npt

from tallytree.counts.group_counts import GroupCounts
from tallytree.errors import SpecError, name_choices, show
from tallytree.kernels import share_work
from tallytree.mechanisms.registry import MECHANISMS
from tallytree.planning.stand_ins import refuse_sensitive
from tallytree.privacy.budget import Budget
from tallytree.privacy.neighbours import Neighbours, TotalKind
from tallytree.privacy.plan import Plan
from tallytree.research.evaluation import Simulation, evaluate, simulate_within
from tallytree.sizes import is_decimal_numeral

Ints = npt.NDArray[np.int64]
Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True)
class LevelError:
    """The errors of one level, each a mean over runs, as :func:`tallytree.evaluate` defines them."""

    level: str
    regions: int
    l1: float
    """The sum of |n^ - n| over regions and sizes."""
    l1_deviation: float
    """Its standard deviation from run to run."""
    emd: float
    """The mean over regions of the sum of |c^ - c| over sizes."""
    emd_above: float
    """The same with groups of at least each size, which a number of groups that is off does not fill up."""
    groups_off: float
    """The mean over regions of the error of the number of groups."""
    relative: float
    """The mean, over regions that have groups, of a region's L1 error as a share of its groups."""


@dataclass(frozen=True)
class Forecast:
    """The errors to expect."""

    mechanism: str
    epsilon: Fraction
    """The real epsilon of the plan."""
    budget: Mapping[str, int]
    total: TotalKind
    """Whether the number of groups is public; if not, it is estimated too."""
    levels: tuple[LevelError, ...]
    runs: tuple[tuple[LevelError, ...], ...] = ()
    """The errors of each run, of which those of the levels are the means."""

    @property
    def total_l1(self) -> float:
        """The L1 error over all levels."""
        return sum(level.l1 for level in self.levels)

    @property
    def emds(self) -> list[float]:
        """Each level's EMD: counted from above where the total is private, as a release then counts."""
        return [level.emd if self.total == "public" else level.emd_above for level in self.levels]


def forecast(
    stand_in: GroupCounts,
    budget: Budget,
    *,
    mechanism: str,
    split: Mapping[str, int],
    runs: int,
    report: Callable[[int], None] = lambda done: None,
) -> Forecast:
    """Run ``mechanism`` on the stand-in ``runs`` times, always with the same noise, and average.

    The budget is split over the levels as ``split`` says.
    """
    refuse_sensitive(stand_in)
    asked = replace(budget, split=split)

    def run(_: int, seed: int) -> tuple[Plan, tuple[LevelError, ...]]:
        made = simulate_within(asked, stand_in, mechanism=mechanism, seed=seed)
        report(1)
        return made.measurements.plan, _measure(made, stand_in)

    plans, errors = zip(*share_runs(run, range(runs), stand_in), strict=True)
    levels = tuple(_average(each) for each in zip(*errors, strict=True))
    return Forecast(mechanism, plans[0].epsilon, dict(split), plans[0].total, levels, errors)


MANY_CELLS = 300_000
"""From so many regions x sizes on, runs are made at the same time, and errors hardly vary between them."""


def share_runs(
    run: Callable[[int, Item], Result], items: Sequence[Item], stand_in: GroupCounts
) -> list[Result]:
    """Return ``run(number, item)`` for each item: on all processors where one run takes long enough."""
    if stand_in.leaf.size >= MANY_CELLS:
        return share_work(run, items)
    return [run(number, item) for number, item in enumerate(items)]


def _measure(run: Simulation, truth: GroupCounts) -> tuple[LevelError, ...]:
    return tuple(
        LevelError(
            level=row["level"],
            regions=truth.hierarchy.region_counts[index],
            l1=row["l1"],
            l1_deviation=0.0,
            emd=row["emd"],
            emd_above=row["emd_above"],
            groups_off=row["groups_off"],
            relative=_find_relative(run.counts[index], truth.array(index)),
        )
        for index, row in enumerate(evaluate(run, truth).to_pylist())
    )


def _find_relative(found: Ints, truth: Ints) -> float:
    groups = truth.sum(axis=1)
    own = np.abs(found - truth).sum(axis=1)
    return float((own[groups > 0] / groups[groups > 0]).mean()) if groups.any() else 0.0


def _average(errors: Sequence[LevelError]) -> LevelError:
    l1 = [error.l1 for error in errors]
    return LevelError(
        level=errors[0].level,
        regions=errors[0].regions,
        l1=fmean(l1),
        l1_deviation=stdev(l1) if len(l1) > 1 else 0.0,
        emd=fmean(error.emd for error in errors),
        emd_above=fmean(error.emd_above for error in errors),
        groups_off=fmean(error.groups_off for error in errors),
        relative=fmean(error.relative for error in errors),
    )


def list_candidates(public_totals: str | None, neighbours: Neighbours) -> list[str]:
    """Return the mechanisms that can make a release with these facts public, and fast enough to be tried."""
    wanted = ("unused", "optional") if public_totals is None else ("optional",)
    return [
        kind.name
        for kind in MECHANISMS
        if kind.consistent
        and not kind.small
        and kind.region_totals in wanted
        and (neighbours.has_public_total or kind.private_total)
    ]


# What a release should be good at.

SCORES: dict[str, Callable[[Forecast], float]] = {
    "l1": lambda case: case.total_l1,
    "emd": lambda case: sum(emd * level.regions for emd, level in zip(case.emds, case.levels, strict=True)),
    "relative": lambda case: fmean(level.relative for level in case.levels),
}
"""L1 and EMD added up over all regions of all levels; the relative error as a mean over levels."""

MISS = 1000.0
"""How much worse a limit makes the score of a split that misses it: this times the relative excess."""

MARGIN = 0.98
"""The share of a limit that is aimed at, since errors vary from run to run."""


SURELY = 4.0
"""So many standard errors are more than chance, with few runs and several rivals."""

Limited = Literal["l1", "relative"]


@dataclass(frozen=True)
class Goal:
    """An error to make small, and perhaps a limit to the error of one level."""

    metric: str = "l1"
    level: str = ""
    limit: float = float("inf")
    limited: Limited = "l1"
    """What the limit is on: the level's L1 error, or the mean relative error of its regions."""

    def __str__(self) -> str:
        if not self.level:
            return self.metric
        return (
            f"{self.level}<={f'{100 * self.limit:g}%' if self.limited == 'relative' else f'{self.limit:g}'}"
        )

    def is_met(self, forecast: Forecast) -> bool:
        """Return whether the limit is kept."""
        return self._excess(forecast) == 0.0

    def score(self, forecast: Forecast) -> float:
        """Return the score of a forecast: the smaller, the better."""
        return SCORES[self.metric](forecast) * (1.0 + MISS * self._excess(forecast, MARGIN))

    def is_surely_better(self, forecast: Forecast, other: Forecast) -> bool:
        """Return whether a forecast is better than another by more than chance, run by run."""
        gains = [
            self.score(replace(other, levels=theirs)) - self.score(replace(forecast, levels=mine))
            for mine, theirs in zip(forecast.runs, other.runs, strict=True)
        ]
        return fmean(gains) > SURELY * stdev(gains) / sqrt(len(gains))

    def _excess(self, forecast: Forecast, share: float = 1.0) -> float:
        levels = [level for level in forecast.levels if level.level == self.level]
        errors = [level.relative if self.limited == "relative" else level.l1 for level in levels]
        return max([0.0, *(error / (share * self.limit) - 1.0 for error in errors)])


def parse_goal(text: str, levels: Sequence[str]) -> Goal:
    """Parse a goal: ``"l1"``, ``"emd"``, ``"relative"``; or a limit, ``"county<=50000"`` or ``"county<=5%"``.

    A limit in percent is on the mean relative error of the level's regions, another one on its L1 error.
    """
    level, limited, limit = (part.strip() for part in text.partition("<="))
    if not limited:
        if text not in SCORES:
            raise SpecError(f"There is no goal {show(text)}: {name_choices(text, SCORES)}")
        return Goal(text)
    if level not in levels:
        raise SpecError(f"There is no level {show(level)}: {name_choices(level, levels)}")
    plain = limit.removesuffix("%").strip()
    number = float(plain) if is_decimal_numeral(plain) else 0.0
    if not 0 < number < float("inf"):
        raise SpecError(f"The goal {show(text)} is not a limit such as county<=50000 or county<=5%.")
    return Goal("l1", level, number / 100, "relative") if plain != limit else Goal("l1", level, number)
