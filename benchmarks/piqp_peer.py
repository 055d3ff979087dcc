"""PIQP, an interior-point solver for sparse quadratic programs: our relaxed models, its default settings."""

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.comparison import Contest, compare
from benchmarks.instances import make_instance
from benchmarks.memory import peak_memory
from benchmarks.programs import Form, write_program
from benchmarks.solvers.piqp_solver import solve_program
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
