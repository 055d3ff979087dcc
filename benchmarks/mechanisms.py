"""Every mechanism on ever larger data, until it takes too long."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import tallytree as tt
from benchmarks.fits import CHAIN_RATIO, ROWS_RATIO, FitContest, judge_fits
from benchmarks.instances import PLAIN_JOINT, make_nation, measure_counts
from benchmarks.records import Data, write_megabytes, write_seconds, write_table
from benchmarks.settings import Settings
from benchmarks.timing import Timing, best, peak_memory, reset_peak, tell, time_call
from tallytree.errors import MechanismError
from tallytree.research.reproduction.document import Goal
from tallytree.research.reproduction.paper_figures import Variant
from tallytree.research.reproduction.runs import MOST_BYTES, Child, Failure

MORE = (
    PLAIN_JOINT,
    Variant("direct-dp", {"solver": "tables"}),
    Variant("cumulative-chain", {"solver": "tables"}),
    Variant("cumulative-chain", {"solver": "tables", "calibration": "published"}),
)
"""The paper's own algorithms and model; the chain's tables with the noise that it gave them as well."""


def list_variants() -> list[Variant]:
    """Every mechanism that is registered, with its defaults, each followed by its further variants."""
    return [
        variant
        for name in tt.list_mechanisms()
        for variant in (Variant(name), *(more for more in MORE if more.mechanism == name))
    ]


ENOUGH_SECONDS = 0.5
"""A call is made again, for a better time, while all of them together took less."""


@dataclass(frozen=True)
class Case:
    """The data to work on, how many sizes of it, and the epsilon asked for."""

    data: Callable[[int], tt.GroupCounts]
    sizes: int
    epsilon: str

    @property
    def label(self) -> str:
        """As it heads a column."""
        return f"{self.sizes:,} sizes, epsilon {self.epsilon}"


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
class Series:
    """One variant on case after case, up to the first that it could not do."""

    variant: Variant
    runtimes: Sequence[Runtime]
    stopped_at: Case | None = None
    failure: Failure | None = None


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


def measure(settings: Settings) -> Survey:
    """All mechanisms that are not for small problems alone, on the invented nation up to Census size."""
    cases = [
        Case(make_nation, sizes, epsilon)
        for sizes in settings.nation_sizes
        for epsilon in settings.peer_epsilons
    ]
    series = []
    for variant in (variant for variant in list_variants() if not variant.make().small):
        tell(f"{variant.label}, up to {cases[-1].label}")
        series.append(
            measure_series(variant, cases, most_seconds=settings.nation_seconds, calls=settings.calls)
        )
        if failure := series[-1].failure:
            tell(f"  stopped: {failure.reason}")
    return Survey(cases, settings.nation_seconds, series)


def measure_series(variant: Variant, cases: Sequence[Case], *, most_seconds: float, calls: int) -> Series:
    """Time ``variant`` in a process of its own, which has ``most_seconds`` for each case."""
    runtimes: list[Runtime] = []
    with Child(partial(time_cases, variant, cases, calls)) as child:
        outcome = child.receive()  # loaded and warm
        for case in cases:
            if not isinstance(outcome, Failure):
                outcome = child.receive(most_seconds)
            if isinstance(outcome, Failure):
                return Series(variant, runtimes, case, outcome)
            if outcome is not None:
                runtimes.append(outcome)
    return Series(variant, runtimes)


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


QP_RATIO = 100.0


def judge(nation: Survey, fits: Sequence[FitContest]) -> list[Goal]:
    """Their speed."""
    return [
        judge_fits("cumulative-dp", fits, ROWS_RATIO, "the bare isotonic fits of its rows"),
        _judge_qp(nation),
        judge_fits("cumulative-chain", fits, CHAIN_RATIO, "one bare isotonic fit of as many points"),
    ]


def _judge_qp(nation: Survey) -> Goal:
    statement = f"`cumulative-dp`: less than 1/{QP_RATIO:.0f} of the time of `cumulative-qp`"
    slow, fast = nation.find("cumulative-qp"), nation.find("cumulative-dp")
    seconds = {run.case: run.timing.seconds for run in fast.runtimes} if fast else {}
    runs = [run for run in slow.runtimes if run.case in seconds] if slow else []
    if slow is None or not runs:
        return Goal.open(statement)
    sizes = runs[-1].case.sizes
    ratios = [run.timing.seconds / seconds[run.case] for run in runs if run.case.sizes == sizes]
    beyond = ""
    if slow.stopped_at and slow.failure:
        beyond = f"; at {slow.stopped_at.sizes:,} sizes: {slow.failure.reason}"
    return Goal(
        f"{statement}, at the largest size that the latter can do",
        f"1/{min(ratios):,.0f} at {sizes:,} sizes (the least of {len(ratios)} epsilons){beyond}",
        min(ratios) > QP_RATIO,
    )


def record(nation: Survey) -> Data:
    """The data: seconds by case, why a mechanism stopped, and the real epsilon where that is another."""
    series = []
    for each in nation.series:
        last, failure = each.runtimes[-1] if each.runtimes else None, each.failure
        real = float(last.real_epsilon) if last else None
        series.append(
            {
                "mechanism": each.variant.label,
                "s": {run.case.label: run.timing.seconds for run in each.runtimes},
                "process peak": last.peak if last else None,
                "stopped at": each.stopped_at.label if each.stopped_at else None,
                "reason": failure.reason if failure else None,
                "too slow": bool(failure and failure.timed_out),
                "real epsilon": real if last and real != float(last.case.epsilon) else None,
            }
        )
    return {
        "cases": [case.label for case in nation.cases],
        "most seconds": nation.most_seconds,
        "series": series,
    }


def write(data: Data) -> str:
    """Up to Census size: who can do it, in which time, and who cannot, and why."""
    rows, refused, unsound = [], [], []
    for series in data["series"]:
        name, stop, reason = f"`{series['mechanism']}`", series["stopped at"], series["reason"]
        cells = {case: write_seconds(seconds) for case, seconds in series["s"].items()}
        if stop:
            cells[stop] = reason if series["too slow"] else "cannot, see below"
        if stop and not series["too slow"]:
            refused.append(f"- {name} at {stop}: {reason}")
        if real := series["real epsilon"]:
            unsound.append(f"- {name}: its real epsilon is {real:g}, not the one that it states.")
        peak = series["process peak"]
        seconds = [cells.get(case, "") for case in data["cases"]]
        rows.append((name, *seconds, write_megabytes(peak) if peak else ""))
    small = [
        f"- `{variant.label}` was not tried: it is for small problems ({variant.make().cost})."
        for variant in list_variants()
        if variant.make().small
    ]
    notes = "\n".join([*refused, *small, *unsound])
    return f"""## Every mechanism at Census size

Seconds on the invented nation; the paper's Census data has 1,000 sizes. Each mechanism ran in a process of
its own, with at most {data["most seconds"]:.0f} s and {MOST_BYTES / 2**30:.0f} GB for a case; the first
that it could not do was its last. *Tables* are the paper's own dynamic programmes, where ours is another;
*published* is the paper's calibration of the chain, whose noise is too small for the epsilon that it states.
(The paper's own figures, on its datasets, are measured by `tallytree reproduce`.)
The peak is that of the whole process at the last case that it did.

{write_table(("mechanism", *data["cases"], "process peak MB"), rows)}

{notes}"""
