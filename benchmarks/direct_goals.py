"""What was hoped for ``direct-dp``."""

from benchmarks.goals import judge_growth, judge_memory, judge_piqp
from benchmarks.report import DirectReport
from benchmarks.scaling import spread_by_sizes
from tallytree.research.reproduction.document import Goal

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
