"""PIQP, an interior-point solver for sparse quadratic programs, on the relaxed Model M_H.

Two forms of the same program. "as written" minimises w |x - t|^2 over the counts x >= 0: its linear
term makes the optimal value so large (about -10^15) that PIQP's relative tolerance on the duality gap
is met early. "centred" minimises w |d|^2 over the differences d = x - t >= -t: the optimal value is
that of Model M_H, and PIQP's tolerances mean what they say. All settings are PIQP's defaults.
"""

import time
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import piqp
from scipy.sparse import csc_matrix

from benchmarks.comparison import Contest, compare
from benchmarks.instances import Instance, make_instance
from benchmarks.memory import peak_memory
from tallytree.postprocess.conditions import write_sums
from tallytree.postprocess.objective import weigh_levels

Floats = npt.NDArray[np.float64]

FORMS = ("as written", "centred")


@dataclass(frozen=True)
class Program:
    """Minimise sum w (y - target)^2 with A y = b, y >= lower, where y = x - shift."""

    weights: Floats
    target: Floats
    lower: Floats
    equalities: csc_matrix
    right_side: Floats
    quadratic: csc_matrix
    """Twice the weights, on the diagonal: PIQP minimises y'Py / 2 + c'y."""
    linear: Floats

    def objective(self, y: Floats) -> float:
        """(H1) with level weights."""
        return float(self.weights @ (y - self.target) ** 2)

    def violation(self, y: Floats) -> float:
        """The largest of |A y - b| and of lower - y."""
        residual = self.equalities @ y - self.right_side
        return max(float(np.abs(residual).max()), float((self.lower - y).max()))


@dataclass(frozen=True)
class Outcome:
    """What one call of PIQP came to."""

    y: Floats
    status: piqp.Status
    iterations: int
    setup_seconds: float


@dataclass(frozen=True)
class PiqpRun:
    """What PIQP did with one instance."""

    sizes: int
    epsilon: str
    form: str
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
        """How far the objective is above the integer optimum, relatively; below, if negative."""
        return self.objective / self.contest.objective - 1


def run_piqp(sizes: int, epsilon: str, form: str, rounds: int) -> PiqpRun:
    """Set-up and solving are timed; writing the matrices is not. To be called in a fresh process."""
    instance = make_instance(sizes, epsilon)
    program = write_program(instance, form)
    contest, outcome = compare(instance, lambda: solve_program(program), rounds)
    return PiqpRun(
        sizes,
        epsilon,
        form,
        contest,
        setup_seconds=outcome.setup_seconds,
        solved=outcome.status == piqp.Status.PIQP_SOLVED,
        status=outcome.status.name.removeprefix("PIQP_").lower().replace("_", " "),
        iterations=outcome.iterations,
        objective=program.objective(outcome.y),
        violation=program.violation(outcome.y),
        peak=peak_memory(),
    )


def write_program(instance: Instance, form: str) -> Program:
    """Variables for every region and size, level by level; rows for every parent and size, and G."""
    values = instance.measurements.values
    weights = weigh_levels([level.scale for level in instance.measurements.plan.levels])
    weight = np.repeat(weights.astype(np.float64), [value.size for value in values])
    noisy = np.concatenate([value.reshape(-1) for value in values]).astype(np.float64)
    shift = noisy if form == "centred" else np.zeros_like(noisy)
    sizes = values[0].shape[1]
    hierarchy = instance.measurements.plan.hierarchy
    sums = write_sums(hierarchy, sizes, instance.total, total_columns=range(sizes))
    diagonal = np.arange(len(noisy))
    return Program(
        weights=weight,
        target=noisy - shift,
        lower=-shift,
        equalities=sums.equalities,
        right_side=sums.right - sums.equalities @ shift,
        quadratic=csc_matrix((2 * weight, (diagonal, diagonal)), shape=(len(noisy), len(noisy))),
        linear=2 * weight * (shift - noisy),
    )


def solve_program(program: Program) -> Outcome:
    """Call PIQP with its default settings."""
    solver = piqp.SparseSolver()
    start = time.perf_counter()
    solver.setup(program.quadratic, program.linear, program.equalities, program.right_side, x_l=program.lower)
    setup_seconds = time.perf_counter() - start
    status = solver.solve()
    return Outcome(solver.result.x, status, solver.result.info.iter, setup_seconds)


def describe_tolerances() -> str:
    """PIQP's default stopping rule, as the installed version has it."""
    settings = piqp.SparseSolver().settings
    return (
        f"residuals {settings.eps_abs:g} absolute and {settings.eps_rel:g} relative, "
        f"duality gap {settings.eps_duality_gap_abs:g} absolute and "
        f"{settings.eps_duality_gap_rel:g} relative"
    )
