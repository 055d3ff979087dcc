"""How long the post-processing of any mechanism takes, on ever larger data, until it takes too long."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import tallytree as tt
from benchmarks.instances import measure_counts
from benchmarks.memory import peak_memory, reset_peak
from benchmarks.timing import Timing, best, time_call
from tallytree.errors import MechanismError
from tallytree.research.reproduction.paper_figures import Variant
from tallytree.research.reproduction.runs import Child, Failure

ENOUGH_SECONDS = 0.5
"""A call is made again, for a better time, while all of them together took less."""


@dataclass(frozen=True)
class Case:
    """The data to work on, how many sizes of it, and the epsilon asked for."""

    data: Callable[[int], tt.GroupCounts]
    sizes: int
    epsilon: str


@dataclass(frozen=True)
class Runtime:
    """The best time on one case."""

    case: Case
    timing: Timing
    real_epsilon: Fraction
    """What the noise is worth; other than asked for only where a calibration is not sound."""
    peak: int
    """Bytes of the whole process."""


@dataclass(frozen=True)
class Stop:
    """The case that a variant could not do."""

    case: Case
    failure: Failure


@dataclass(frozen=True)
class Series:
    """One variant on case after case, up to the first that it could not do."""

    variant: Variant
    runtimes: Sequence[Runtime]
    stop: Stop | None


@dataclass(frozen=True)
class Survey:
    """All variants on the same cases."""

    cases: Sequence[Case]
    most_seconds: float
    """For one case."""
    series: Sequence[Series]

    def find(self, label: str) -> Series | None:
        """What a variant did."""
        return next((series for series in self.series if series.variant.label == label), None)


def measure_series(variant: Variant, cases: Sequence[Case], *, most_seconds: float, calls: int) -> Series:
    """Time ``variant`` in a process of its own, which has ``most_seconds`` for each case."""
    runtimes: list[Runtime] = []
    with Child(partial(time_cases, variant, cases, calls)) as child:
        outcome = child.receive()  # loaded and warm
        for case in cases:
            if not isinstance(outcome, Failure):
                outcome = child.receive(most_seconds)
            if isinstance(outcome, Failure):
                return Series(variant, runtimes, Stop(case, outcome))
            if outcome is not None:
                runtimes.append(outcome)
    return Series(variant, runtimes, stop=None)


def time_cases(variant: Variant, cases: Sequence[Case], calls: int) -> Iterator[Runtime | Failure | None]:
    """To be called in a fresh process. The first thing that it yields says that it is warm."""
    try:
        method = variant.make()
        measure_counts(method, _make_tiny_counts(), "1").solve()
        yield None
        for case in cases:
            yield _time_case(method, case, calls)
    except MechanismError as error:
        yield Failure(str(error))


def _time_case(method: tt.Mechanism, case: Case, calls: int) -> Runtime:
    instance = measure_counts(method, case.data(case.sizes), case.epsilon)
    reset_peak()
    timing, solution = time_call(instance.solve)
    peak = peak_memory()
    instance.check(solution)
    timings = [timing]
    while len(timings) < calls and sum(timing.seconds for timing in timings) < ENOUGH_SECONDS:
        timings.append(time_call(instance.solve)[0])
    return Runtime(case, best(timings), instance.measurements.plan.epsilon, peak)


def _make_tiny_counts() -> tt.GroupCounts:
    """Enough to load all that a mechanism needs: libraries, compiled kernels."""
    hierarchy = tt.Hierarchy.from_paths(["all", "half"], [("all", "one"), ("all", "other")])
    return tt.GroupCounts(hierarchy, (1, 2), [[1, 2], [3, 4]])
