"""Models M_H and M_c as they stand, with integrality, for a general solver.

Exact, and slow: it serves for comparison. The solver is given differences from the noisy answers,
x = n^ - n~: the objective is then a plain sum of weighted squares, and as small as the noise, where floats
are most accurate.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from tallytree.errors import MechanismError
from tallytree.hierarchy import Hierarchy
from tallytree.solvers.general import SOLVERS
from tallytree.solvers.general.conditions import (
    Conditions,
    write_cumulative_conditions,
    write_sizes_conditions,
)
from tallytree.solvers.general.qip_program import Program, Row
from tallytree.solvers.solution import Solution, add_weighted_squares, weigh_levels

if TYPE_CHECKING:
    from scipy.sparse import csc_matrix

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


def solve_qip(
    hierarchy: Hierarchy,
    values: Sequence[Ints],
    *,
    cumulative: bool,
    total: int,
    scales: Sequence[Fraction],
    solver: str,
    time_limit: float,
) -> Solution:
    """Solve Model M_H, (H1) - (H4), or, for ``cumulative`` answers, Model M_c, (C1) - (C5)."""
    write_conditions = write_cumulative_conditions if cumulative else write_sizes_conditions
    conditions = write_conditions(hierarchy, values[0].shape[1], total)
    program = _write_program(values, scales, conditions, total)
    answers, nodes = _solve(program, values, solver, time_limit)
    return Solution(
        counts=[np.diff(level, axis=1, prepend=0) for level in answers] if cumulative else answers,
        objective=add_weighted_squares(answers, values, weigh_levels(scales)),
        certificate=None,
        solver=solver,
        effort={"branch_and_bound_nodes": nodes},
    )


def _write_program(
    values: Sequence[Ints], scales: Sequence[Fraction], conditions: Conditions, total: int
) -> Program:
    """Turn conditions on counts from 0 to the total into conditions on their differences from ``values``."""
    noisy = np.concatenate([level.ravel() for level in values])
    steps = conditions.steps
    return Program(
        weights=np.repeat(weigh_levels(scales), [level.size for level in values]).tolist(),
        least=(-noisy).tolist(),
        most=(total - noisy).tolist(),
        equalities=_write_rows(conditions.equalities, conditions.right, noisy),
        steps=[] if steps is None else _write_rows(steps, np.zeros(steps.shape[0]), noisy),
    )


def _write_rows(matrix: csc_matrix, right: Floats, noisy: Ints) -> list[Row]:
    """Write the rows of ``matrix @ (x + noisy)`` compared with ``right``, in whole numbers."""
    terms: list[list[tuple[int, int]]] = [[] for _ in range(matrix.shape[0])]
    entries = matrix.tocoo()
    for row, column, sign in zip(entries.row, entries.col, entries.data, strict=True):
        terms[int(row)].append((int(sign), int(column)))
    return [
        Row(signed, int(whole) - sum(sign * int(noisy[at]) for sign, at in signed))
        for signed, whole in zip(terms, right, strict=True)
    ]


def _solve(
    program: Program, values: Sequence[Ints], solver: str, time_limit: float
) -> tuple[list[Ints], int]:
    """Return the answers of every level nearest to ``values``, and the number of nodes."""
    found = SOLVERS[solver]()(program, time_limit)
    if not program.admits(found.values):
        raise MechanismError(
            f"The noise is too large for the floating-point arithmetic of the solver {solver!r}: the counts "
            "it found do not add up. Use direct-dp or cumulative-dp, which use exact integers."
        )
    parts = np.split(np.array(found.values, dtype=np.int64), np.cumsum([level.size for level in values])[:-1])
    answers = [level + part.reshape(level.shape) for part, level in zip(parts, values, strict=True)]
    return answers, found.nodes
