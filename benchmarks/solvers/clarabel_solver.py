"""Clarabel: an interior-point method, with its defaults, whose tolerances are those of PIQP or near them."""

import time

import clarabel
import numpy as np
from scipy.sparse import csc_matrix, diags, triu

from benchmarks.programs import Outcome, Posed, Solve


def prepare(posed: Posed) -> Solve:
    """As A y + s = b, where s is zero or not negative."""
    program = posed.program
    rows, least, _ = program.stack(bounds=True)
    quadratic, equal = csc_matrix(triu(program.quadratic)), len(program.right_side)
    signs = np.where(np.arange(len(least)) < equal, 1.0, -1.0)
    conditions, sides = csc_matrix(diags(signs) @ rows), signs * least

    def solve() -> Outcome:
        start = time.perf_counter()
        cones: list[clarabel.ZeroConeT | clarabel.NonnegativeConeT]
        cones = [clarabel.ZeroConeT(equal), clarabel.NonnegativeConeT(len(sides) - equal)]
        solver = clarabel.DefaultSolver(quadratic, program.linear, conditions, sides, cones, make_settings())
        setup_seconds = time.perf_counter() - start
        solution = solver.solve()
        return Outcome(
            y=np.array(solution.x),
            solved=solution.status == clarabel.SolverStatus.Solved,
            status=str(solution.status).lower(),
            iterations=solution.iterations,
            setup_seconds=setup_seconds,
        )

    return solve


def make_settings() -> clarabel.DefaultSettings:
    """The defaults, silent."""
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    return settings


def describe_tolerances() -> str:
    """Clarabel's default stopping rule, as the installed version has it."""
    settings = make_settings()
    return (
        f"residuals {settings.tol_feas:g}, duality gap {settings.tol_gap_abs:g} absolute and "
        f"{settings.tol_gap_rel:g} relative"
    )
