"""PIQP, an interior-point solver for quadratic programs, beside our own: relaxed models, its defaults."""

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.growth import Points
from benchmarks.instances import Contest, compare, make_instance
from benchmarks.programs import Form, write_program
from benchmarks.records import Table, write_megabytes, write_seconds
from benchmarks.solvers.piqp_solver import solve_program
from benchmarks.timing import peak_memory
from tallytree.research.reproduction.document import Goal
from tallytree.research.reproduction.paper_figures import Variant


@dataclass(frozen=True)
class PiqpRun:
    """What PIQP did with one instance."""

    sizes: int
    epsilon: str
    form: Form
    contest: Contest
    setup_seconds: float
    """How much of its best time was set-up."""
    solved: bool
    status: str
    iterations: int
    objective: float
    """At PIQP's solution: a relaxation, so at most the integer optimum, up to its tolerance."""
    violation: float
    """By how many groups its solution misses a condition, at most."""
    peak: int

    @property
    def excess(self) -> float:
        """How far the objective is above that of our whole numbers, relatively; below, if negative."""
        return self.objective / self.contest.objective - 1


def run_piqp(variant: Variant, sizes: int, epsilon: str, form: Form, rounds: int) -> PiqpRun:
    """Set-up and solving are timed; writing the matrices is not. To be called in a fresh process."""
    instance = make_instance(sizes, epsilon, variant)
    program = write_program(instance, form)
    contest, outcome = compare(instance, lambda: solve_program(program), rounds)
    return PiqpRun(
        sizes,
        epsilon,
        form,
        contest,
        setup_seconds=outcome.setup_seconds,
        solved=outcome.solved,
        status=outcome.status,
        iterations=outcome.iterations,
        objective=program.objective(outcome.y),
        violation=program.violation(outcome.y),
        peak=peak_memory(),
    )


def find_largest(runs: Sequence[PiqpRun]) -> Sequence[PiqpRun]:
    """Those at the largest number of sizes that PIQP solved."""
    solved = [run for run in runs if run.solved]
    most = max((run.sizes for run in solved), default=0)
    return [run for run in solved if run.sizes == most]


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


def list_piqp_points(runs: Sequence[PiqpRun]) -> dict[str, Points]:
    """PIQP's times against cells, for each epsilon."""
    points: dict[str, Points] = {}
    for run in runs:
        point = run.contest.cells, run.contest.peer.seconds
        points.setdefault(f"PIQP, eps {run.epsilon}", []).append(point)
    return points


TIMES = Table[PiqpRun](
    ("sizes", lambda run: run.sizes, "{:,}"),
    ("epsilon", lambda run: run.epsilon, "{}"),
    ("form", lambda run: run.form.label, "{}"),
    ("status", lambda run: run.status, "{}"),
    ("iterations", lambda run: run.iterations, "{}"),
    ("PIQP s", lambda run: run.contest.peer.seconds, write_seconds),
    ("of it set-up s", lambda run: run.setup_seconds, write_seconds),
    ("processors", lambda run: run.contest.peer.processors, "{:.1f}"),
    ("process peak MB", lambda run: run.peak, write_megabytes),
    ("ours s", lambda run: run.contest.ours.seconds, write_seconds),
    ("ratio", lambda run: run.contest.ratio, "**{:,.0f}**"),
    ("ratio, one processor", lambda run: run.contest.ratio_alone, "{:,.0f}"),
)
"""What PIQP took, and what the mechanism took on the same instances."""
