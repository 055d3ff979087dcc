"""What accuracy to expect of a release: the mechanism, run several times on data that stand in for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from statistics import fmean, stdev

import numpy as np
import numpy.typing as npt

from tallytree.counts.group_counts import GroupCounts
from tallytree.errors import SpecError, name_choices, show
from tallytree.planning.stand_ins import refuse_sensitive
from tallytree.privacy.budget import Budget
from tallytree.privacy.neighbours import TotalKind
from tallytree.research.evaluation import Simulation, evaluate, simulate_within
from tallytree.sizes import is_decimal_numeral

Ints = npt.NDArray[np.int64]


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
    errors = []
    for seed in range(runs):
        run = simulate_within(replace(budget, split=split), stand_in, mechanism=mechanism, seed=seed)
        errors.append(_measure(run, stand_in))
        report(1)
    plan = run.measurements.plan
    levels = tuple(_average(each) for each in zip(*errors, strict=True))
    return Forecast(mechanism, plan.epsilon, dict(split), plan.total, levels)


def _measure(run: Simulation, truth: GroupCounts) -> list[LevelError]:
    return [
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
    ]


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


@dataclass(frozen=True)
class Goal:
    """An error to make small, and perhaps a limit to the L1 error of one level."""

    metric: str = "l1"
    level: str = ""
    limit: float = float("inf")

    def __str__(self) -> str:
        return f"{self.level}<={self.limit:g}" if self.level else self.metric

    def is_met(self, forecast: Forecast) -> bool:
        """Return whether the limit is kept."""
        return self._excess(forecast) == 0.0

    def score(self, forecast: Forecast) -> float:
        """Return the score of a forecast: the smaller, the better."""
        return SCORES[self.metric](forecast) * (1.0 + MISS * self._excess(forecast, MARGIN))

    def _excess(self, forecast: Forecast, share: float = 1.0) -> float:
        limit = share * self.limit
        return max([0.0, *(error.l1 / limit - 1.0 for error in forecast.levels if error.level == self.level)])


def parse_goal(text: str, levels: Sequence[str]) -> Goal:
    """Parse a goal from ``"l1"``, ``"emd"``, ``"relative"``, or a limit such as ``"county<=50000"``."""
    level, limited, limit = text.partition("<=")
    if not limited:
        if text not in SCORES:
            raise SpecError(f"There is no goal {show(text)}: {name_choices(text, SCORES)}")
        return Goal(text)
    if level.strip() not in levels:
        raise SpecError(f"There is no level {show(level.strip())}: {name_choices(level.strip(), levels)}")
    number = float(limit) if is_decimal_numeral(limit.strip()) else 0.0
    if not 0 < number < float("inf"):
        raise SpecError(f"The goal {show(text)} is not a limit such as county<=50000.")
    return Goal("l1", level.strip(), number)
