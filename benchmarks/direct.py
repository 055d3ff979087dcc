"""``direct-dp``: its growth, its memory, and its peers, PIQP and the paper's cost tables."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import ceil

import tallytree as tt
from benchmarks.growth import (
    Growth,
    Points,
    draw_growth,
    judge_growth,
    judge_memory,
    measure_growth,
    spread_by_sizes,
    write_growth_table,
    write_memory_table,
)
from benchmarks.instances import CALLS, DIRECT, LONG_SECONDS, Contest, compare, make_instance
from benchmarks.markdown import write_megabytes, write_seconds, write_table
from benchmarks.piqp_contests import PiqpRun, judge_piqp, list_piqp_points, run_piqp, write_piqp_times
from benchmarks.programs import DIRECT_FORMS
from benchmarks.settings import Settings
from benchmarks.timing import Missing, attempt_all, peak_memory
from tallytree.errors import MechanismError
from tallytree.research.reproduction.document import Goal
from tallytree.research.reproduction.runs import Failure
from tallytree.solvers.tree.cost_tables import MOST_ENTRIES


@dataclass(frozen=True)
class TablesRun:
    """What the cost tables did with one instance."""

    sizes: int
    epsilon: str
    contest: Contest
    entries: int
    """Of one region and size."""
    objective: int
    doublings: int
    """How often the paper's domains had to be doubled."""
    peak: int

    @property
    def agrees(self) -> bool:
        """Both found a solution of the same cost."""
        return self.objective == self.contest.objective


def run_tables(sizes: int, epsilon: str, rounds: int) -> TablesRun | Failure:
    """To be called in a fresh process."""
    instance = make_instance(sizes, epsilon)
    with_tables = replace(instance, method=tt.mechanism("direct-dp", solver="tables"))
    try:
        contest, solution = compare(instance, with_tables.solve, rounds)
    except MechanismError as error:  # the domains were doubled beyond the limit
        return Failure(str(error))
    with_tables.check(solution)
    return TablesRun(
        sizes,
        epsilon,
        contest,
        entries=max(_entries(instance.measurements.plan)),
        objective=solution.objective,
        doublings=solution.effort["domain_doublings"],
        peak=peak_memory(),
    )


def most_sizes(epsilon: str) -> int:
    """How many sizes of the whole hierarchy the tables may have within their limit on entries."""
    plan = make_instance(1, epsilon).measurements.plan
    regions = [len(plan.hierarchy.regions(level)) for level in plan.hierarchy.levels]
    each_size = sum(n * entries for n, entries in zip(regions, _entries(plan), strict=True))
    return MOST_ENTRIES // each_size


def _entries(plan: tt.Plan) -> list[int]:
    """The paper's domains, level by level: n~ - delta to n~ + delta, delta = 3 ceil(2 lambda^2)."""
    return [2 * 3 * ceil(2 * level.scale**2) + 1 for level in plan.levels]


@dataclass(frozen=True)
class DirectReport:
    """``direct-dp`` and its peers."""

    growth: Growth
    rounds: int
    piqp: Sequence[PiqpRun]
    tables: Sequence[TablesRun]

    @property
    def noisiest_tables(self) -> TablesRun | None:
        """The run of the cost tables at the least epsilon."""
        return min(self.tables, key=lambda run: float(run.epsilon), default=None)


def measure_direct(settings: Settings, missing: list[Missing]) -> DirectReport:
    """Its growth, its memory, and its peers."""
    return DirectReport(
        growth=measure_growth(DIRECT, settings, settings.scaling_repeats, missing),
        rounds=settings.rounds,
        piqp=_measure_piqp(settings, missing),
        tables=_measure_tables(settings, missing),
    )


def _measure_piqp(settings: Settings, missing: list[Missing]) -> list[PiqpRun]:
    return attempt_all(
        [
            (
                f"PIQP {form.label}, {sizes} sizes, epsilon {epsilon}",
                partial(run_piqp, DIRECT, sizes, epsilon, form, settings.rounds),
            )
            for sizes in settings.piqp_sizes
            for epsilon in settings.peer_epsilons
            for form in DIRECT_FORMS
        ],
        missing,
    )


def _measure_tables(settings: Settings, missing: list[Missing]) -> list[TablesRun]:
    jobs = []
    for epsilon in settings.peer_epsilons:
        sizes = min(most_sizes(epsilon), settings.most_table_sizes or settings.largest)
        job = partial(run_tables, sizes, epsilon, settings.rounds)
        jobs.append((f"cost tables, {sizes} sizes, epsilon {epsilon}", job))
    return attempt_all(jobs, missing)


PIQP_RATIO = 100.0
TABLES_RATIO = 1000.0
SPREAD = 1.25
"""What is within the noise of timings; the cost tables' own ratio is that of epsilon squared."""
MEMORY = 3e9


def judge_direct(report: DirectReport) -> list[Goal]:
    """Its speed, its growth, its memory, and that it is right."""
    growth = report.growth
    spread = spread_by_sizes(growth.scaling)[growth.largest]
    return [
        judge_piqp(growth.mechanism, report.piqp, PIQP_RATIO),
        _judge_tables(report),
        judge_growth(growth),
        Goal(
            f"`{growth.mechanism}`: time does not depend on epsilon, slowest / fastest at most {SPREAD} "
            f"at {growth.largest:,} sizes",
            f"{spread:.2f}",
            spread <= SPREAD,
        ),
        judge_memory(growth, MEMORY),
        _judge_relaxation(report),
        Goal(
            "The cost tables' objective is the same, to the last digit",
            f"{sum(run.agrees for run in report.tables)} of {len(report.tables)} runs",
            bool(report.tables) and all(run.agrees for run in report.tables),
        ),
    ]


def _judge_tables(report: DirectReport) -> Goal:
    statement = f"`{report.growth.mechanism}`: at least {TABLES_RATIO:,.0f} times faster than the cost tables"
    run = report.noisiest_tables
    if run is None:
        return Goal.open(statement)
    return Goal(
        f"{statement} at epsilon {run.epsilon}, at the largest size that they can do",
        f"{run.contest.ratio:,.0f} times at {run.sizes:,} sizes",
        run.contest.ratio >= TABLES_RATIO,
    )


def _judge_relaxation(report: DirectReport) -> Goal:
    """Only the centred form is solved accurately enough to say anything about the last digits."""
    centred = [run for run in report.piqp if run.solved and run.form.centred]
    bounded = [run for run in centred if run.excess <= 0]
    return Goal(
        "PIQP's relaxed optimum (centred) is at most our integer optimum",
        f"{len(bounded)} of {len(centred)} runs",
        bool(centred) and len(bounded) == len(centred),
    )


def draw_direct(report: DirectReport) -> str:
    """Time against cells, ``direct-dp`` and its peers."""
    tables: dict[str, Points] = {}
    for run in report.tables:
        point = run.contest.cells, run.contest.peer.seconds
        tables.setdefault(f"cost tables, eps {run.epsilon}", []).append(point)
    piqp = list_piqp_points([run for run in report.piqp if run.form.centred])
    return draw_growth(report.growth, {**piqp, **tables})


def write_growth(report: DirectReport, plot: str | None) -> str:
    """The growth with the cells, and whether epsilon matters; ``plot`` is the picture's file name."""
    picture = f"\n\n![Time against cells, both logarithmic]({plot})" if plot else ""
    return f"""## `direct-dp`: growth, and epsilon

The best of {report.growth.repeats} calls each; all sizes and epsilons took turns. The growth exponent is the
least-squares slope of log time on log cells: 1 is linear, and a fixed cost per call makes it smaller.
*Exchanges* are the single moves from the rounded relaxation to the optimum, in the order of the epsilons.

{write_growth_table(report.growth, "exchanges")}{picture}"""


def write_memory(report: DirectReport) -> str:
    """Memory, stage by stage."""
    return f"## `direct-dp`: memory\n\n{write_memory_table(report.growth)}"


def write_piqp(report: DirectReport, tolerances: str) -> str:
    """Beside PIQP: times, then objectives."""
    quality = [
        (
            f"{run.sizes:,}",
            run.epsilon,
            run.form.label,
            f"{run.objective:,.1f}",
            f"{run.contest.objective:,}",
            f"{run.excess:+.1e}",
            f"{run.violation:.0e}",
        )
        for run in report.piqp
    ]
    quality_header = (
        "sizes", "epsilon", "form", "PIQP (relaxed)", "direct-dp (whole numbers)", "difference",
        "PIQP misses a condition by",
    )  # fmt: skip
    return f"""## `direct-dp` against PIQP

PIQP (`piqp.SparseSolver`) solves the relaxed model: a variable for every region and size, a diagonal
quadratic term, an equation for every parent and size and one for the total, and x >= 0. Rounding its
answer to whole numbers that add up is not part of its time, nor is writing the matrices: set-up and
solve are. Its settings are its defaults:
{tolerances}.

The model is given to it in two forms. *As written*, in the counts x, the linear term makes the optimal
value huge, and the relative tolerances let PIQP stop early. *Centred*, in the differences from the noisy
values, it is solved accurately. The two sides took turns, {report.rounds} times, in a process of their
own: {CALLS} calls of `direct-dp` on all processors, {CALLS} on one, and one of PIQP; where that took more
than {LONG_SECONDS:.0f} s, they did so once. *Processors* is how many PIQP kept busy; the last column compares
with `direct-dp` confined to one.

{write_piqp_times(report.growth.mechanism, report.piqp)}

The objectives on the same instances. The relaxed optimum cannot be above the integer one; where PIQP's
value is, it stopped too early.

{write_table(quality_header, quality)}"""


def write_cost_tables(report: DirectReport, *, quick: bool) -> str:
    """Beside the paper's dynamic programme."""
    rows = [
        (
            run.epsilon,
            f"{run.sizes:,}",
            f"{run.contest.cells:,}",
            f"{run.entries:,}",
            write_seconds(run.contest.peer.seconds),
            write_megabytes(run.peak),
            write_seconds(run.contest.ours.seconds),
            f"**{run.contest.ratio:,.0f}**",
            f"{run.contest.ratio_alone:,.0f}",
            f"{run.objective:,}",
            "the same" if run.agrees else f"**{run.contest.objective:,}**",
        )
        for run in report.tables
    ]
    header = (
        "epsilon", "sizes", "cells", "entries per cell", "tables s", "process peak MB", "direct-dp s",
        "ratio", "ratio, one processor", "objective of the tables", "of direct-dp",
    )  # fmt: skip
    limited = "" if quick else " The sizes below are the most that the limit on entries allows."
    return f"""## `direct-dp` against the paper's cost tables

`direct-dp` with `solver="tables"` is the paper's dynamic programme. Its tables grow with the square of
1 / epsilon.{limited}
Where these are few, so are the cells, and the fixed costs of a call weigh on `direct-dp`. The two sides
took turns as above.

{write_table(header, rows)}"""
