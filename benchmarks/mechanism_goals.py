"""What was hoped for the mechanisms that fit by isotonic regression."""

from benchmarks.goals import judge_fits
from benchmarks.report import Report
from tallytree.research.reproduction.document import Goal

ROWS_RATIO = 5.0
CHAIN_RATIO = 2.0
QP_RATIO = 100.0


def judge_mechanisms(report: Report) -> list[Goal]:
    """Their speed."""
    return [
        _judge_fits(report, "cumulative-dp", ROWS_RATIO, "the bare isotonic fits of its rows"),
        _judge_qp(report),
        _judge_fits(report, "cumulative-chain", CHAIN_RATIO, "one bare isotonic fit of as many points"),
    ]


def _judge_fits(report: Report, mechanism: str, most: float, fits: str) -> Goal:
    contests = [contest for contest in report.fits if contest.mechanism == mechanism]
    return judge_fits(mechanism, contests, most, fits)


def _judge_qp(report: Report) -> Goal:
    statement = f"`cumulative-dp`: less than 1/{QP_RATIO:.0f} of the time of `cumulative-qp`"
    slow, fast = report.nation.find("cumulative-qp"), report.nation.find("cumulative-dp")
    seconds = {run.case: run.timing.seconds for run in fast.runtimes} if fast else {}
    runs = [run for run in slow.runtimes if run.case in seconds] if slow else []
    if slow is None or not runs:
        return Goal.open(statement)
    sizes = runs[-1].case.sizes
    ratios = [run.timing.seconds / seconds[run.case] for run in runs if run.case.sizes == sizes]
    beyond = f"; at {slow.stop.case.sizes:,} sizes: {slow.stop.failure.reason}" if slow.stop else ""
    return Goal(
        f"{statement}, at the largest size that the latter can do",
        f"1/{min(ratios):,.0f} at {sizes:,} sizes (the least of {len(ratios)} epsilons){beyond}",
        min(ratios) > QP_RATIO,
    )
