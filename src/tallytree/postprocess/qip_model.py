"""Models M_H and M_c as they stand, with integrality, by a general solver: SCIP.

Exact, and slow: it is here to be compared with. The objective is the sum of one variable for each term,
bounded from below by the term's square, which is how SCIP likes convex objectives.
"""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from tallytree.errors import MechanismError
from tallytree.hierarchy import Hierarchy
from tallytree.postprocess.objective import add_weighted_squares, weigh_levels
from tallytree.postprocess.qp_model import Conditions, write_steps, write_sums
from tallytree.postprocess.solution import Solution

try:
    from pyscipopt import Model, quicksum
    from scipy.sparse import csc_matrix
except ImportError:
    raise MechanismError(
        "This mechanism needs SCIP, which is not installed: pip install 'tallytree[solvers]'."
    ) from None

Ints = npt.NDArray[np.int64]


def solve_sizes_qip(
    hierarchy: Hierarchy,
    values: Sequence[Ints],
    *,
    total: int,
    scales: Sequence[Fraction],
    time_limit: float,
) -> Solution:
    """Model M_H: (H1) - (H4)."""
    sizes = values[0].shape[1]
    sums = write_sums(hierarchy, sizes, total, total_columns=range(sizes))
    counts, nodes = _solve(values, scales, sums, total, time_limit)
    return _finish(counts, counts, values, scales, nodes)


def solve_cumulative_qip(
    hierarchy: Hierarchy,
    values: Sequence[Ints],
    *,
    total: int,
    scales: Sequence[Fraction],
    time_limit: float,
) -> Solution:
    """Model M_c: (C1) - (C5), then the differences."""
    sizes = values[0].shape[1]
    sums = write_sums(hierarchy, sizes, total, total_columns=[sizes - 1])
    steps = write_steps(hierarchy.region_count, sizes)
    conditions = Conditions(sums.equalities, sums.right, steps)
    cumulative, nodes = _solve(values, scales, conditions, total, time_limit)
    counts = [np.diff(level, axis=1, prepend=0) for level in cumulative]
    return _finish(counts, cumulative, values, scales, nodes)


def _solve(
    values: Sequence[Ints],
    scales: Sequence[Fraction],
    conditions: Conditions,
    total: int,
    time_limit: float,
) -> tuple[list[Ints], int]:
    weights = weigh_levels(scales)
    model = Model()
    model.hideOutput()
    model.setParam("limits/time", time_limit)
    noisy = np.concatenate([level.ravel() for level in values]).tolist()
    weight = np.repeat(weights, [level.size for level in values]).tolist()
    counts = [model.addVar(vtype="I", lb=0, ub=total) for _ in noisy]
    squares = [model.addVar(lb=0) for _ in noisy]
    for count, square, t in zip(counts, squares, noisy, strict=True):
        model.addCons((count - t) * (count - t) <= square)
    for terms, right in zip(_list_rows(conditions.equalities), conditions.right.tolist(), strict=True):
        model.addCons(quicksum(sign * counts[at] for at, sign in terms) == right)
    for terms in _list_rows(conditions.steps):
        model.addCons(quicksum(sign * counts[at] for at, sign in terms) >= 0)
    model.setObjective(quicksum(w * square for w, square in zip(weight, squares, strict=True)))
    model.optimize()
    _check_status(model, time_limit)
    found = np.array([round(model.getVal(count)) for count in counts], dtype=np.int64)
    parts = np.split(found, np.cumsum([level.size for level in values])[:-1])
    shaped = [part.reshape(level.shape) for part, level in zip(parts, values, strict=True)]
    return shaped, int(model.getNNodes())


def _list_rows(matrix: csc_matrix | None) -> list[list[tuple[int, float]]]:
    """A sparse matrix as rows of (column, value)."""
    rows: list[list[tuple[int, float]]] = [[] for _ in range(0 if matrix is None else matrix.shape[0])]
    if matrix is not None:
        entries = matrix.tocoo()
        for row, column, value in zip(entries.row, entries.col, entries.data, strict=True):
            rows[int(row)].append((int(column), float(value)))
    return rows


def _check_status(model: Model, time_limit: float) -> None:
    if model.getStatus() == "optimal":
        return
    best = f"{model.getObjVal():,.0f}" if model.getNSols() else "none"
    raise MechanismError(
        f"SCIP did not finish within {time_limit:g} seconds ({model.getStatus()}): best solution {best}, "
        f"bound {model.getDualbound():,.0f}, gap {100 * model.getGap():.3g} %. Allow more with time_limit."
    )


def _finish(
    counts: list[Ints],
    answers: list[Ints],
    values: Sequence[Ints],
    scales: Sequence[Fraction],
    nodes: int,
) -> Solution:
    return Solution(
        counts=counts,
        objective=add_weighted_squares(answers, values, weigh_levels(scales)),
        certificate=None,
        solver="scip",
        effort={"branch_and_bound_nodes": nodes},
    )
