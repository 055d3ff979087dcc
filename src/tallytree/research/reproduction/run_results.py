"""What the runs say: means and standard deviations, and the order that they put the mechanisms in."""

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from tallytree.research.reproduction.paper_figures import (
    Figures,
    Published,
    Variant,
    find_figures,
    find_variants,
)
from tallytree.research.reproduction.runs import Failure, Job, Run
from tallytree.research.reproduction.study_data import Dataset

# What became of a job: a run, or a mechanism that did not manage.


@dataclass(frozen=True)
class Outcome:
    """A finished job, with when it was done and what else the machine was doing."""

    job: Job
    result: Run | Failure
    limit: float
    """How many seconds it had."""
    day: str
    load: float
    """The load average over a minute, just before."""
    is_passing: bool = False
    """It did not even begin, as without its solver: another time it may."""

    def rules_out(self, job: Job) -> bool:
        """Whether it fails so that ``job`` need not be tried: no more privacy asked for, on no more sizes.

        With a smaller epsilon there is more noise, and more for cost tables to hold.
        """
        return (
            isinstance(self.result, Failure)
            and self.job.variant == job.variant
            and float(job.epsilon) <= float(self.job.epsilon)
            and job.sizes >= self.job.sizes
        )

    def is_settled(self, limit: float) -> bool:
        """Whether it would be the same with this limit: only one that ran out of time may not be."""
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
    """Instance by instance, from the first on."""

    @property
    def error(self) -> float:
        """The standard error of the mean, which one run does not tell."""
        return self.deviation / math.sqrt(self.runs) if self.runs > 1 else math.inf


def spread(values: Iterable[float]) -> Spread:
    """Of one run the deviation is not known, and given as 0."""
    known = list(values)
    deviation = statistics.stdev(known) if len(known) > 1 else 0.0
    return Spread(statistics.fmean(known), deviation, len(known), tuple(known))


STUDENT = (math.inf, 12.71, 4.31, 3.19, 2.78, 2.58, 2.45, 2.37, 2.31, 2.27)
"""So many standard errors are clear with 1, 2, ... runs: Student's t at 95 %, two-sided."""
STUDENT_MANY = 2.23


def is_clear(a: Spread, b: Spread) -> bool:
    """Whether their order is more than the noise of the runs, by Student's t.

    Where the runs are known one by one, by the differences on the instances that both have, which have the
    same seeds; these must not say the opposite of the means.
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
    """Of the last level's noise."""
    l1: Sequence[Spread]
    """Level by level from the root."""
    total: Spread
    """The L1 error over all levels."""
    small_leaf: Spread
    """The part of the last level's L1 error that is in the small sizes."""
    emd: Sequence[Spread]
    violations: Spread
    seconds: Spread
    """Of the post-processing."""
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

    @property
    def is_fair(self) -> bool:
        """Whether it has the epsilon asked for, and is told the total number of groups only."""
        return self.is_private and not self.is_told_more

    @property
    def small_share(self) -> float:
        """How much of the last level's error is in the small sizes."""
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
    """All about one dataset."""

    dataset: Dataset
    timed: Sequence[Result]
    missing: Sequence[Missing]

    @property
    def results(self) -> list[Result]:
        """Those whose accuracy is compared: without a second solver that finds the same optimum."""
        return [result for result in self.timed if "solver" not in result.variant.options]

    def find(self, label: str, epsilon: str) -> Result | None:
        """One mechanism at one epsilon."""
        return next((one for one in self.timed if (one.label, one.epsilon) == (label, epsilon)), None)

    def find_missing(self, label: str, epsilon: str) -> Missing | None:
        """Why it is not there."""
        return next(
            (one for one in self.missing if one.variant.label == label and epsilon in one.epsilons), None
        )


def summarise(dataset: Dataset, outcomes: Sequence[Outcome], epsilons: Sequence[str]) -> Summary:
    """A result for each mechanism and epsilon whose runs all succeeded.

    One that failed once has none: the runs that it managed may well be the easier ones.
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
        small_leaf=spread(run.small_l1[-1] / 1e3 for run in runs),
        emd=[spread(run.emd[level] for run in runs) for level in levels],
        violations=spread(run.violations for run in runs),
        seconds=spread(run.seconds for run in runs),
        paper=find_figures(variant, epsilon, published),
    )
