"""SCIP on the relaxed models: a solver for whole numbers, here without them.

A square is told to it as it likes convex objectives: by a variable no less than the square, which SCIP
approaches by cutting planes.
"""

import time

import numpy as np
from pyscipopt import Model, quicksum
from pyscipopt.scip import Variable
from scipy.sparse import csc_matrix

from benchmarks.programs import Floats, Outcome, Posed, Solve

Rows = list[tuple[list[tuple[float, int]], float]]


def prepare(posed: Posed) -> Solve:
    """The conditions row by row."""
    program = posed.program
    equalities = _list_rows(program.equalities, program.right_side)
    steps: Rows = []
    if program.steps is not None and program.least_steps is not None:
        steps = _list_rows(program.steps, program.least_steps)

    def solve() -> Outcome:
        start = time.perf_counter()
        model = Model()
        model.hideOutput()
        y = [model.addVar(lb=least, ub=None) for least in program.lower.tolist()]
        squares = [model.addVar(lb=0) for _ in y]
        for variable, square in zip(y, squares, strict=True):
            model.addCons(variable * variable <= square)
        for terms, right in equalities:
            model.addCons(quicksum(factor * y[at] for factor, at in terms) == right)
        for terms, right in steps:
            model.addCons(quicksum(factor * y[at] for factor, at in terms) >= right)
        weights = program.weights.tolist()
        model.setObjective(quicksum(w * square for w, square in zip(weights, squares, strict=True)))
        setup_seconds = time.perf_counter() - start
        model.optimize()
        return Outcome(
            y=_read(model, y),
            solved=model.getStatus() == "optimal",
            status=model.getStatus(),
            iterations=int(model.getNLPIterations()),
            setup_seconds=setup_seconds,
        )

    return solve


def describe_tolerances() -> str:
    """SCIP's defaults, as the installed version has them."""
    model = Model()
    return (
        f"feasibility {model.getParam('numerics/feastol'):g} primal and "
        f"{model.getParam('numerics/dualfeastol'):g} dual, gap {model.getParam('limits/gap'):g}"
    )


def _list_rows(matrix: csc_matrix, right: Floats) -> Rows:
    by_row = matrix.tocsr()
    factors, columns, ends = by_row.data.tolist(), by_row.indices.tolist(), by_row.indptr.tolist()
    return [
        (list(zip(factors[first:last], columns[first:last], strict=True)), side)
        for first, last, side in zip(ends[:-1], ends[1:], right.tolist(), strict=True)
    ]


def _read(model: Model, y: list[Variable]) -> Floats:
    return np.array([model.getVal(variable) for variable in y])
