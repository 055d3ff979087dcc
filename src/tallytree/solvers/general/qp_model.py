"""The relaxations of Models M_H and M_c, solved by a general QP solver and rounded, as the paper does.

Variables are the regions and sizes of all levels, level by level. They are given to the solver as
differences from the noisy answers: in the counts themselves the optimal value is so large that relative
tolerances let an interior-point method stop too early.
"""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from tallytree.errors import MechanismError
from tallytree.hierarchy import Hierarchy
from tallytree.solvers.checks import count_inconsistencies
from tallytree.solvers.general.conditions import (
    Conditions,
    write_cumulative_conditions,
    write_sizes_conditions,
)
from tallytree.solvers.solution import Solution, add_weighted_squares, weigh_levels

try:
    import piqp
    from scipy.sparse import csc_matrix
except ImportError:
    raise MechanismError(
        "This mechanism needs a QP solver that is not installed: pip install 'tallytree[solvers]'."
    ) from None

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


def solve_sizes_qp(
    hierarchy: Hierarchy, values: Sequence[Ints], *, total: int, scales: Sequence[Fraction]
) -> Solution:
    """Solve Model M_H without integrality, and round each count to the nearest whole number: M_H^r."""
    conditions = write_sizes_conditions(hierarchy, values[0].shape[1], total)
    relaxed, effort = solve_relaxed(values, scales, conditions)
    counts = [np.rint(level).astype(np.int64) for level in relaxed]
    return _finish(hierarchy, counts, counts, values, scales, effort)


def solve_cumulative_qp(
    hierarchy: Hierarchy, values: Sequence[Ints], *, total: int, scales: Sequence[Fraction]
) -> Solution:
    """Solve Model M_c without integrality, round each count, and take differences: M_c^r."""
    conditions = write_cumulative_conditions(hierarchy, values[0].shape[1], total)
    relaxed, effort = solve_relaxed(values, scales, conditions)
    # Rounding preserves the order, except for errors of the solver.
    cumulative = [np.maximum.accumulate(np.rint(level).astype(np.int64), axis=1) for level in relaxed]
    counts = [np.diff(level, axis=1, prepend=0) for level in cumulative]
    return _finish(hierarchy, counts, cumulative, values, scales, effort)


def solve_relaxed(
    values: Sequence[Ints], scales: Sequence[Fraction], conditions: Conditions
) -> tuple[list[Floats], dict[str, int]]:
    """Return the optimum over real numbers, for each level, and the number of iterations."""
    noisy = np.concatenate([level.ravel() for level in values]).astype(np.float64)
    weights = weigh_levels(scales)
    # Relative to the largest weight: only ratios matter, and the solver works best with numbers near one.
    weight = np.repeat(weights / weights.max(), [level.size for level in values])
    variables = np.arange(len(noisy))
    quadratic = csc_matrix((2.0 * weight, (variables, variables)), shape=(len(noisy),) * 2)
    solver = piqp.SparseSolver()
    solver.setup(
        quadratic,
        np.zeros(len(noisy)),
        conditions.equalities,
        conditions.right - conditions.equalities @ noisy,
        conditions.steps,
        None if conditions.steps is None else -(conditions.steps @ noisy),
        x_l=-noisy,
    )
    status = solver.solve()
    if status != piqp.Status.PIQP_SOLVED:
        raise MechanismError(f"PIQP did not solve the model: it stopped with {status.name}.")
    ends = np.cumsum([level.size for level in values])[:-1]
    relaxed = np.split(solver.result.x + noisy, ends)
    shaped = [part.reshape(level.shape) for part, level in zip(relaxed, values, strict=True)]
    return shaped, {"iterations": solver.result.info.iter}


def _finish(
    hierarchy: Hierarchy,
    counts: list[Ints],
    answers: list[Ints],
    values: Sequence[Ints],
    scales: Sequence[Fraction],
    effort: dict[str, int],
) -> Solution:
    violations = sum(count_inconsistencies(hierarchy, counts))
    return Solution(
        counts=counts,
        objective=add_weighted_squares(answers, values, weigh_levels(scales)),
        certificate=None,
        solver="piqp",
        effort={**effort, "violations": violations},
    )
