"""What numbers were hoped to be, and whether they are: for any mechanism."""

from collections.abc import Sequence

from benchmarks.fits import FitContest
from benchmarks.markdown import write_table
from benchmarks.piqp_peer import PiqpRun, find_largest
from benchmarks.report import Growth
from benchmarks.scaling import growth_by_epsilon
from tallytree.research.reproduction.document import Goal

GROWTH = 1.1
"""Linear, with room for caches that no longer hold the data."""


def write_goals(goals: Sequence[Goal]) -> str:
    """A table."""
    rows = [(goal.statement, goal.measured, "yes" if goal.met else "**no**") for goal in goals]
    return write_table(("goal", "measured", "met"), rows)


def judge_growth(growth: Growth) -> Goal:
    """Linear in the cells."""
    exponent = max(growth_by_epsilon(growth.scaling).values())
    return Goal(
        f"`{growth.mechanism}`: time grows linearly with the cells, exponent at most {GROWTH}",
        f"{exponent:.2f}, the largest over epsilon",
        exponent <= GROWTH,
    )


def judge_memory(growth: Growth, most: float) -> Goal:
    """The whole process."""
    statement = (
        f"`{growth.mechanism}`: peak memory of the whole process below {most / 1e9:.0f} GB "
        f"at {growth.largest:,} sizes"
    )
    if growth.memory is None:
        return Goal.open(statement)
    return Goal(statement, f"{growth.memory.peak / 1e9:.2f} GB", growth.memory.peak < most)


def judge_piqp(mechanism: str, runs: Sequence[PiqpRun], least: float) -> Goal:
    """So many times faster."""
    statement = f"`{mechanism}`: at least {least:,.0f} times faster than PIQP"
    largest = find_largest(runs)
    if not largest:
        return Goal.open(statement)
    worst = min(largest, key=lambda run: run.contest.ratio)
    alone = min(run.contest.ratio_alone for run in largest)
    overall = min(runs, key=lambda run: run.contest.ratio)
    return Goal(
        f"{statement}, at the largest size that it solved",
        f"{worst.contest.ratio:,.0f} times at {worst.sizes:,} sizes "
        f"(the least of {len(largest)} runs; {alone:,.0f} with `{mechanism}` on one processor); "
        f"the least at any size: {overall.contest.ratio:,.0f}, at {overall.sizes:,} sizes",
        worst.contest.ratio >= least,
    )


def judge_fits(mechanism: str, contests: Sequence[FitContest], most: float, fits: str) -> Goal:
    """By the faster of the two ways to fit: our own kernels, and SciPy."""
    statement = f"`{mechanism}`: less than {most:.0f} times {fits}"
    if not contests:
        return Goal.open(statement)
    worst = max(contests, key=lambda contest: contest.ratio)
    return Goal(
        f"{statement}, at {worst.sizes:,} sizes",
        f"{worst.ratio_to_ours:.1f} times our own, {worst.ratio_to_scipy:.1f} times SciPy's "
        f"(the most of {len(contests)} runs; judged by the larger ratio)",
        worst.ratio < most,
    )
