"""What the runs say: means and standard deviations, and the order that they put the mechanisms in."""

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from benchmarks.accuracy.contenders import find_figures
from benchmarks.accuracy.measuring import Measured
from benchmarks.accuracy.published import Figures, Published
from benchmarks.accuracy.runs import Run
from benchmarks.variants import Variant


@dataclass(frozen=True)
class Spread:
    """The mean of several runs, with their standard deviation."""

    mean: float
    deviation: float
    runs: int

    @property
    def error(self) -> float:
        """The standard error of the mean, which one run does not tell."""
        return self.deviation / math.sqrt(self.runs) if self.runs > 1 else math.inf


def spread(values: Iterable[float]) -> Spread:
    """Of one run the deviation is not known, and given as 0."""
    known = list(values)
    deviation = statistics.stdev(known) if len(known) > 1 else 0.0
    return Spread(statistics.fmean(known), deviation, len(known))


@dataclass(frozen=True)
class Result:
    """One mechanism at one epsilon. L1 errors are in thousands, as in the paper."""

    variant: Variant
    epsilon: str
    real_epsilon: Fraction
    leaf_scale: Fraction
    """Of the last level's noise."""
    l1: Sequence[Spread]
    """Level by level from the root."""
    total: Spread
    """The L1 error over all levels."""
    leaf_to_seven: Spread
    """The part of the last level's L1 error that is in the sizes up to 7."""
    emd: Sequence[Spread]
    violations: Spread
    paper: Figures | None

    @property
    def label(self) -> str:
        """The mechanism's name, with its options."""
        return self.variant.label

    @property
    def is_private(self) -> bool:
        """Whether its epsilon is the one asked for."""
        return self.real_epsilon == Fraction(self.epsilon)

    @property
    def is_told_more(self) -> bool:
        """Whether every region's number of groups is public to it, and not only that of the root."""
        return self.variant.make().region_totals == "needed"


def summarise(measured: Iterable[Measured], published: Published) -> list[Result]:
    """A result for each mechanism and epsilon that has runs."""
    return [
        _summarise(one.variant, epsilon, [run for run in one.runs if run.job.epsilon == epsilon], published)
        for one in measured
        for epsilon in dict.fromkeys(run.job.epsilon for run in one.runs)
    ]


def rank(results: Iterable[Result]) -> list[Result]:
    """The most accurate first, by total L1 error."""
    return sorted(results, key=lambda result: result.total.mean)


def select(results: Iterable[Result], epsilon: str) -> list[Result]:
    """Those at one epsilon."""
    return [result for result in results if result.epsilon == epsilon]


def _summarise(variant: Variant, epsilon: str, runs: Sequence[Run], published: Published) -> Result:
    levels = range(len(runs[0].l1))
    return Result(
        variant=variant,
        epsilon=epsilon,
        real_epsilon=runs[0].real_epsilon,
        leaf_scale=runs[0].leaf_scale,
        l1=[spread(run.l1[level] / 1e3 for run in runs) for level in levels],
        total=spread(sum(run.l1) / 1e3 for run in runs),
        leaf_to_seven=spread(run.leaf_l1_to_seven / 1e3 for run in runs),
        emd=[spread(run.emd[level] for run in runs) for level in levels],
        violations=spread(run.violations for run in runs),
        paper=find_figures(variant, epsilon, published),
    )
