"""PIQP, an interior-point solver for sparse quadratic programs, on the relaxed Model M_H.

Two ways to write the same program. "as written": minimise w |x - t|^2 over the counts x >= 0. Its
linear term is so large (10^15, against an optimum of 10^8) that relative tolerances are met early.
"centred": minimise w |d|^2 over the differences d = x - t >= -t, which PIQP solves accurately. All
settings are PIQP's own defaults.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import piqp
from scipy.sparse import csc_matrix

from benchmarks.comparison import Contest, compare
from benchmarks.instances import Instance, make_instance
from benchmarks.memory import peak_memory
from tallytree.postprocess.objective import weigh_levels

Floats = npt.NDArray[np.float64]

FORMS = ("as written", "centred")


@dataclass(frozen=True)
class Program:
    """Minimise sum w (x - t)^2 over x >= 0 with A x = b."""

    weights: Floats
    noisy: Floats
    equalities: csc_matrix
    right_side: Floats


@dataclass(frozen=True)
class PiqpRun:
    """What PIQP did with one instance."""

    sizes: int
    epsilon: str
    form: str
    contest: Contest
    solved: bool
    status: str
    iterations: int
    objective: float
    """At PIQP's solution: a relaxation, so at most the integer optimum, up to its tolerance."""
    violation: float
    """The largest of |A x - b| and of -x."""
    peak: int

    @property
    def excess(self) -> float:
        """How far the objective is above the integer optimum, relatively; negative is below."""
        return self.objective / self.contest.objective - 1


def run_piqp(sizes: int, epsilon: str, form: str, rounds: int) -> PiqpRun:
    """Set-up and solving are timed; writing the matrices is not. To be called in a fresh process."""
    instance = make_instance(sizes, epsilon)
    program = write_program(instance)
    contest, solver = compare(instance, lambda: solve_program(program, form), rounds)
    counts = solver.result.x + (program.noisy if form == "centred" else 0.0)
    residual = program.equalities @ counts - program.right_side
    status = solver.status
    return PiqpRun(
        sizes,
        epsilon,
        form,
        contest,
        solved=status is piqp.Status.PIQP_SOLVED,
        status=status.name.removeprefix("PIQP_").lower(),
        iterations=solver.result.info.iter,
        objective=float(program.weights @ (counts - program.noisy) ** 2),
        violation=max(float(np.abs(residual).max()), -float(counts.min())),
        peak=peak_memory(),
    )
