"""What the numbers were hoped to be, and whether they are."""

from dataclasses import dataclass

from benchmarks.fits import FitContest
from benchmarks.report import Report
from benchmarks.scaling import growth_by_epsilon, spread_by_sizes

PIQP_RATIO = 100.0
TABLES_RATIO = 1000.0
GROWTH = 1.1
"""Linear, with room for caches that no longer hold the data."""
SPREAD = 1.25
"""What is within the noise of timings; the cost tables' own ratio is that of epsilon squared."""
MEMORY = 3e9
ROWS_RATIO = 5.0
CHAIN_RATIO = 2.0
QP_RATIO = 100.0


@dataclass(frozen=True)
class Goal:
    """One goal with its outcome."""

    statement: str
    measured: str
    met: bool


def judge(report: Report) -> list[Goal]:
    """Each goal by the least favourable of the numbers that it is about."""
    growth = max(growth_by_epsilon(report.scaling).values())
    spread = spread_by_sizes(report.scaling)[report.largest]
    return [
        _judge_piqp(report),
        _judge_tables(report),
        Goal(
            f"Time grows linearly with the cells: exponent at most {GROWTH}",
            f"{growth:.2f}, the largest over epsilon",
            growth <= GROWTH,
        ),
        Goal(
            f"Time does not depend on epsilon: slowest / fastest at most {SPREAD} "
            f"at {report.largest:,} sizes",
            f"{spread:.2f}",
            spread <= SPREAD,
        ),
        _judge_memory(report),
        _judge_relaxation(report),
        Goal(
            "The cost tables' objective is the same, to the last digit",
            f"{sum(run.agrees for run in report.tables)} of {len(report.tables)} runs",
            bool(report.tables) and all(run.agrees for run in report.tables),
        ),
        _judge_fits(report, "cumulative-dp", ROWS_RATIO, "the bare isotonic fits of its rows"),
        _judge_qp(report),
        _judge_fits(report, "cumulative-chain", CHAIN_RATIO, "one bare isotonic fit of as many points"),
    ]


def _judge_piqp(report: Report) -> Goal:
    statement = f"At least {PIQP_RATIO:,.0f} times faster than PIQP"
    if not report.largest_piqp:
        return Goal(statement, "not measured", False)
    worst = min(report.largest_piqp, key=lambda run: run.contest.ratio)
    alone = min(run.contest.ratio_alone for run in report.largest_piqp)
    overall = min(report.piqp, key=lambda run: run.contest.ratio)
    return Goal(
        f"{statement}, at the largest size that it solved",
        f"{worst.contest.ratio:,.0f} times at {worst.sizes:,} sizes "
        f"(the least of {len(report.largest_piqp)} runs; {alone:,.0f} with `direct-dp` on one processor); "
        f"the least at any size: {overall.contest.ratio:,.0f}, at {overall.sizes:,} sizes",
        worst.contest.ratio >= PIQP_RATIO,
    )


def _judge_tables(report: Report) -> Goal:
    statement = f"At least {TABLES_RATIO:,.0f} times faster than the cost tables"
    run = report.noisiest_tables
    if run is None:
        return Goal(statement, "not measured", False)
    return Goal(
        f"{statement} at epsilon {run.epsilon}, at the largest size that they can do",
        f"{run.contest.ratio:,.0f} times at {run.sizes:,} sizes",
        run.contest.ratio >= TABLES_RATIO,
    )


def _judge_memory(report: Report) -> Goal:
    statement = f"Peak memory of the whole process below {MEMORY / 1e9:.0f} GB at {report.largest:,} sizes"
    if report.memory is None:
        return Goal(statement, "not measured", False)
    return Goal(statement, f"{report.memory.peak / 1e9:.2f} GB", report.memory.peak < MEMORY)


def _judge_relaxation(report: Report) -> Goal:
    """Only the centred form is solved accurately enough to say anything about the last digits."""
    centred = [run for run in report.piqp if run.solved and run.form == "centred"]
    bounded = [run for run in centred if run.excess <= 0]
    return Goal(
        "PIQP's relaxed optimum (centred) is at most our integer optimum",
        f"{len(bounded)} of {len(centred)} runs",
        bool(centred) and len(bounded) == len(centred),
    )


def _judge_fits(report: Report, mechanism: str, most: float, fits: str) -> Goal:
    """By the faster of the two ways to fit: our own kernels, and SciPy."""
    contests = [contest for contest in report.fits if contest.mechanism == mechanism]
    statement = f"`{mechanism}` takes less than {most:.0f} times {fits}"
    if not contests:
        return Goal(statement, "not measured", False)
    worst: FitContest = max(contests, key=lambda contest: contest.ratio)
    return Goal(
        f"{statement}, at {worst.sizes:,} sizes",
        f"{worst.ratio_to_ours:.1f} times our own, {worst.ratio_to_scipy:.1f} times SciPy's "
        f"(the larger of {len(contests)} epsilons; judged by the larger ratio)",
        worst.ratio < most,
    )


def _judge_qp(report: Report) -> Goal:
    statement = f"`cumulative-dp` takes less than 1/{QP_RATIO:.0f} of the time of `cumulative-qp`"
    slow, fast = report.nation.find("cumulative-qp"), report.nation.find("cumulative-dp")
    seconds = {run.case: run.timing.seconds for run in fast.runtimes} if fast else {}
    runs = [run for run in slow.runtimes if run.case in seconds] if slow else []
    if slow is None or not runs:
        return Goal(statement, "not measured", False)
    sizes = runs[-1].case.sizes
    ratios = [run.timing.seconds / seconds[run.case] for run in runs if run.case.sizes == sizes]
    beyond = f"; at {slow.stop.case.sizes:,} sizes: {slow.stop.failure.reason}" if slow.stop else ""
    return Goal(
        f"{statement}, at the largest size that the latter can do",
        f"1/{min(ratios):,.0f} at {sizes:,} sizes (the least of {len(ratios)} epsilons){beyond}",
        min(ratios) > QP_RATIO,
    )
