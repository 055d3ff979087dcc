"""OSQP: a first-order method (ADMM), asked for the others' tolerances: its own defaults are loose."""

import time

import osqp
from scipy.sparse import csc_matrix, triu

from benchmarks.programs import Outcome, Posed, Solve

TOLERANCE = 1e-8
MOST_ITERATIONS = 10_000_000
"""It is time that ends it."""


def prepare(posed: Posed) -> Solve:
    """As l <= A y <= u."""
    program = posed.program
    conditions, least, most = program.stack(bounds=True)
    quadratic = csc_matrix(triu(program.quadratic))

    def solve() -> Outcome:
        start = time.perf_counter()
        solver = osqp.OSQP()
        solver.setup(
            quadratic,
            program.linear,
            conditions,
            least,
            most,
            verbose=False,
            eps_abs=TOLERANCE,
            eps_rel=TOLERANCE,
            max_iter=MOST_ITERATIONS,
        )
        setup_seconds = time.perf_counter() - start
        result = solver.solve(raise_error=False)
        return Outcome(
            y=result.x,
            solved=result.info.status == "solved",
            status=result.info.status,
            iterations=result.info.iter,
            setup_seconds=setup_seconds,
        )

    return solve


def describe_tolerances() -> str:
    """Not its defaults."""
    return f"residuals {TOLERANCE:g} absolute and relative (its default is 0.001), no polishing"
