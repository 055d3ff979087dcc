"""The results of the runs: means and standard deviations, and the ranking of the mechanisms."""

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from tallytree.research.reproduction.paper_figures import (
    Figures,
    Published,
    Variant,
    find_figures,
    find_variants,
)
from tallytree.research.reproduction.runs import Failure, Job, Run
from tallytree.research.reproduction.study_data import Dataset

# The outcome of a job: a run, or a mechanism that failed.


@dataclass(frozen=True)
class Outcome:
    """A finished job, with its date and the load of the machine."""

    job: Job
    result: Run | Failure
    limit: float
    """Its time limit, in seconds."""
    day: str
    load: float
    """The load average over a minute, just before."""
    is_passing: bool = False
    """The job could not start, for example without its solver: it may another time."""

    def rules_out(self, job: Job) -> bool:
        """Return whether it failed with no more privacy and sizes than ``job``, which then need not be tried.

        With a smaller epsilon there is more noise, and cost tables are larger.
        """
        return (
            isinstance(self.result, Failure)
            and self.job.variant == job.variant
            and float(job.epsilon) <= float(self.job.epsilon)
            and job.sizes >= self.job.sizes
        )

    def is_settled(self, limit: float) -> bool:
        """Return whether it would be the same with this limit: only one that ran out of time may differ."""
        if isinstance(self.result, Failure) and self.result.timed_out:
            return self.limit >= limit
        return True


@dataclass(frozen=True)
class Spread:
    """The mean of several runs, with their standard deviation."""

    mean: float
    deviation: float
    runs: int
    values: tuple[float, ...] = field(default=(), compare=False, repr=False)
    """The values of each instance, from the first on."""

    @property
    def error(self) -> float:
        """The standard error of the mean, which is unknown from one run."""
        return self.deviation / math.sqrt(self.runs) if self.runs > 1 else math.inf


def spread(values: Iterable[float]) -> Spread:
    """Compute mean and standard deviation; for one run, the deviation is unknown, and given as 0."""
    known = list(values)
    deviation = statistics.stdev(known) if len(known) > 1 else 0.0
    return Spread(statistics.fmean(known), deviation, len(known), tuple(known))


STUDENT = (math.inf, 12.71, 4.31, 3.19, 2.78, 2.58, 2.45, 2.37, 2.31, 2.27)
"""The significant number of standard errors with 1, 2, ... runs: Student's t at 95 %, two-sided.

SciPy's, rounded up, as a test checks: so a reproduction does not need SciPy for eleven numbers.
"""
STUDENT_MANY = 2.23


def is_clear(a: Spread, b: Spread) -> bool:
    """Return whether the order of two means is significant, by Student's t.

    Where single runs are known, the test is on the differences on the instances that both have, which share
    their seeds; these must not contradict the order of the means.
    """
    common = min(len(a.values), len(b.values))
    if not common:
        return abs(a.mean - b.mean) > _find_limit(min(a.runs, b.runs)) * math.hypot(a.error, b.error)
    gap = spread(one - other for one, other in zip(a.values[:common], b.values[:common], strict=True))
    if common < 2 or gap.mean * (a.mean - b.mean) <= 0:
        return False
    return abs(gap.mean) > _find_limit(common) * gap.error


def _find_limit(runs: int) -> float:
    return STUDENT[runs - 1] if runs <= len(STUDENT) else STUDENT_MANY


@dataclass(frozen=True)
class Result:
    """One mechanism at one epsilon. L1 errors are in thousands, as in the paper."""

    variant: Variant
    epsilon: str
    real_epsilon: Fraction
    leaf_scale: Fraction
    """The scale of the last level's noise."""
    l1: Sequence[Spread]
    """The L1 errors, level by level from the root."""
    total: Spread
    """The L1 error over all levels."""
    small_leaf: Spread
    """The part of the last level's L1 error that is in the small sizes."""
    emd: Sequence[Spread]
    violations: Spread
    seconds: Spread
    """The seconds of the post-processing."""
    paper: Figures | None

    @property
    def label(self) -> str:
        """The mechanism's name, with its options."""
        return self.variant.label

    @property
    def is_private(self) -> bool:
        """Whether its epsilon is the requested one."""
        return self.real_epsilon == Fraction(self.epsilon)

    @property
    def is_told_more(self) -> bool:
        """Whether it knows every region's number of groups, and not only that of the root."""
        return self.variant.make().region_totals == "needed"

    @property
    def is_fair(self) -> bool:
        """Whether it has the requested epsilon, and knows only the total number of groups."""
        return self.is_private and not self.is_told_more

    @property
    def small_share(self) -> float:
        """The share of the last level's error that is in the small sizes."""
        return self.small_leaf.mean / self.l1[-1].mean if self.l1[-1].mean else 0.0


@dataclass(frozen=True)
class Missing:
    """A mechanism without results at some epsilons, and why."""

    variant: Variant
    epsilons: Sequence[str]
    reason: str
    timed_out: bool
    limit: float


@dataclass(frozen=True)
class Summary:
    """The results on one dataset."""

    dataset: Dataset
    timed: Sequence[Result]
    missing: Sequence[Missing]

    @property
    def results(self) -> list[Result]:
        """The results whose accuracy is compared: without a second solver that finds the same optimum."""
        return [result for result in self.timed if "solver" not in result.variant.options]

    def find(self, label: str, epsilon: str) -> Result | None:
        """Find the result of one mechanism at one epsilon."""
        return next((one for one in self.timed if (one.label, one.epsilon) == (label, epsilon)), None)

    def find_missing(self, label: str, epsilon: str) -> Missing | None:
        """Find why there is no such result."""
        return next(
            (one for one in self.missing if one.variant.label == label and epsilon in one.epsilons), None
        )


def summarise(dataset: Dataset, outcomes: Sequence[Outcome], epsilons: Sequence[str]) -> Summary:
    """Summarise the runs: a result for each mechanism and epsilon whose runs all succeeded.

    A mechanism that failed once has no result: the runs that succeeded may well be the easier ones.
    """
    results, missing = [], []
    for variant in find_variants(outcome.job.variant.label for outcome in outcomes):
        failed: dict[tuple[str, bool, float], list[str]] = {}
        for epsilon in epsilons:
            here = [each for each in outcomes if each.job.variant == variant and each.job.epsilon == epsilon]
            failures = [each for each in here if isinstance(each.result, Failure)]
            for each in failures[:1]:
                assert isinstance(each.result, Failure)
                why = each.result.reason, each.result.timed_out, each.limit
                failed.setdefault(why, []).append(epsilon)
            runs = [each.result for each in here if isinstance(each.result, Run)]
            if runs and not failures:
                results.append(_summarise(variant, epsilon, runs, dataset.published))
        missing += [Missing(variant, where, *why) for why, where in failed.items()]
    return Summary(dataset, results, missing)


def record(summary: Summary) -> list[dict[str, Any]]:
    """Return what was found as data for JSON: a row for each mechanism and epsilon."""
    levels = summary.dataset.facts.levels
    found = [
        {
            "mechanism": result.label,
            "epsilon": result.epsilon,
            "true epsilon": str(result.real_epsilon),
            "runs": result.total.runs,
            "L1, thousands": _record_levels(levels, result.l1),
            "EMD": _record_levels(levels, result.emd),
            "s": [result.seconds.mean, result.seconds.deviation],
        }
        for result in summary.timed
    ]
    missing = [
        {
            "mechanism": each.variant.label,
            "epsilon": epsilon,
            "given up after s": each.limit if each.timed_out else None,
        }
        for each in summary.missing
        for epsilon in each.epsilons
    ]
    return found + missing


def _record_levels(levels: Sequence[str], spreads: Sequence[Spread]) -> dict[str, list[float]]:
    """Return mean and standard deviation by level."""
    return {level: [each.mean, each.deviation] for level, each in zip(levels, spreads, strict=True)}


def rank(results: Iterable[Result]) -> list[Result]:
    """Sort the results by total L1 error, the most accurate first."""
    return sorted(results, key=lambda result: result.total.mean)


def select(results: Iterable[Result], epsilon: str) -> list[Result]:
    """Return the results at one epsilon."""
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
        small_leaf=spread(run.small_l1[-1] / 1e3 for run in runs),
        emd=[spread(run.emd[level] for run in runs) for level in levels],
        violations=spread(run.violations for run in runs),
        seconds=spread(run.seconds for run in runs),
        paper=find_figures(variant, epsilon, published),
    )
