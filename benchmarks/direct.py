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
    record_growth,
    spread_by_sizes,
    write_growth_table,
    write_memory_table,
)
from benchmarks.instances import CALLS, DIRECT, LONG_SECONDS, Contest, compare, make_instance
from benchmarks.piqp_contests import TIMES, PiqpRun, judge_piqp, list_piqp_points, run_piqp
from benchmarks.programs import DIRECT_FORMS
from benchmarks.records import Data, Table, write_megabytes, write_seconds
from benchmarks.settings import Settings
from benchmarks.solvers.piqp_solver import describe_tolerances
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
    """What was measured of it."""

    growth: Growth
    rounds: int
    piqp: Sequence[PiqpRun]
    tables: Sequence[TablesRun]


def measure(settings: Settings, missing: list[Missing]) -> DirectReport:
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


PLOT = "scaling.svg"
PIQP_RATIO = 100.0
TABLES_RATIO = 1000.0
SPREAD = 1.25
"""What is within the noise of timings; the cost tables' own ratio is that of epsilon squared."""
MEMORY = 3e9


def judge(report: DirectReport) -> list[Goal]:
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
    run = min(report.tables, key=lambda run: float(run.epsilon), default=None)
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


def draw(report: DirectReport) -> str:
    """Time against cells, ``direct-dp`` and its peers."""
    tables: dict[str, Points] = {}
    for run in report.tables:
        point = run.contest.cells, run.contest.peer.seconds
        tables.setdefault(f"cost tables, eps {run.epsilon}", []).append(point)
    piqp = list_piqp_points([run for run in report.piqp if run.form.centred])
    return draw_growth(report.growth, {**piqp, **tables})


OBJECTIVES = Table[PiqpRun](
    ("sizes", lambda run: run.sizes, "{:,}"),
    ("epsilon", lambda run: run.epsilon, "{}"),
    ("form", lambda run: run.form.label, "{}"),
    ("PIQP (relaxed)", lambda run: run.objective, "{:,.1f}"),
    ("direct-dp (whole numbers)", lambda run: run.contest.objective, "{:,}"),
    ("difference", lambda run: run.excess, "{:+.1e}"),
    ("PIQP misses a condition by", lambda run: run.violation, "{:.0e}"),
)
COST_TABLES = Table[TablesRun](
    ("epsilon", lambda run: run.epsilon, "{}"),
    ("sizes", lambda run: run.sizes, "{:,}"),
    ("cells", lambda run: run.contest.cells, "{:,}"),
    ("entries per cell", lambda run: run.entries, "{:,}"),
    ("tables s", lambda run: run.contest.peer.seconds, write_seconds),
    ("process peak MB", lambda run: run.peak, write_megabytes),
    ("direct-dp s", lambda run: run.contest.ours.seconds, write_seconds),
    ("ratio", lambda run: run.contest.ratio, "**{:,.0f}**"),
    ("ratio, one processor", lambda run: run.contest.ratio_alone, "{:,.0f}"),
    ("objective of the tables", lambda run: run.objective, "{:,}"),
    (
        "of direct-dp",
        lambda run: "the same" if run.agrees else run.contest.objective,
        lambda value: value if isinstance(value, str) else f"**{value:,}**",
    ),
)


def record(report: DirectReport) -> Data:
    """The data."""
    return {
        "growth": record_growth(report.growth, "exchanges"),
        "rounds": report.rounds,
        "PIQP": TIMES.record(report.piqp),
        "PIQP's objectives": OBJECTIVES.record(report.piqp),
        "PIQP's tolerances": describe_tolerances(),
        "cost tables": COST_TABLES.record(report.tables),
    }


def write(data: Data) -> str:
    """The sections about it."""
    growth = data["growth"]
    return f"""## `direct-dp`: growth, and epsilon

The best of {growth["calls"]} calls each; all sizes and epsilons took turns. The growth exponent is the
least-squares slope of log time on log cells: 1 is linear, and a fixed cost per call makes it smaller.
*Exchanges* are the single moves from the rounded relaxation to the optimum, in the order of the epsilons.

{write_growth_table(growth)}

![Time against cells, both logarithmic]({PLOT})

## `direct-dp`: memory

{write_memory_table(growth)}

## `direct-dp` against PIQP

PIQP (`piqp.SparseSolver`) solves the relaxed model: a variable for every region and size, a diagonal
quadratic term, an equation for every parent and size and one for the total, and x >= 0. Rounding its
answer to whole numbers that add up is not part of its time, nor is writing the matrices: set-up and
solve are. Its settings are its defaults:
{data["PIQP's tolerances"]}.

The model is given to it in two forms. *As written*, in the counts x, the linear term makes the optimal
value huge, and the relative tolerances let PIQP stop early. *Centred*, in the differences from the noisy
values, it is solved accurately. The two sides took turns, {data["rounds"]} times, in a process of their
own: {CALLS} calls of `direct-dp` on all processors, {CALLS} on one, and one of PIQP; where that took more
than {LONG_SECONDS:.0f} s, they did so once. *Processors* is how many PIQP kept busy; the last column compares
with `direct-dp` confined to one.

{TIMES.write(data["PIQP"])}

The objectives on the same instances. The relaxed optimum cannot be above the integer one; where PIQP's
value is, it stopped too early.

{OBJECTIVES.write(data["PIQP's objectives"])}

## `direct-dp` against the paper's cost tables

`direct-dp` with `solver="tables"` is the paper's dynamic programme. Its tables grow with the square of
1 / epsilon. The sizes below are the most that the limit on entries allows.
Where these are few, so are the cells, and the fixed costs of a call weigh on `direct-dp`. The two sides
took turns as above.

{COST_TABLES.write(data["cost tables"])}"""
