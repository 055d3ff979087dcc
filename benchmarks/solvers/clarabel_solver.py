"""Clarabel: an interior-point method, with its defaults, whose tolerances are those of PIQP or near them."""

import time

import clarabel
import numpy as np
from scipy.sparse import csc_matrix, identity, triu, vstack

from benchmarks.programs import Outcome, Posed, Solve


def prepare(posed: Posed) -> Solve:
    """As A y + s = b, where s is zero or not negative."""
    program = posed.program
    blocks = [program.equalities, -identity(len(program.lower), format="csc")]
    right = [program.right_side, -program.lower]
    if program.steps is not None and program.least_steps is not None:
        blocks.append(-program.steps)
        right.append(-program.least_steps)
    conditions, sides = csc_matrix(vstack(blocks)), np.concatenate(right)
    quadratic, equal = csc_matrix(triu(program.quadratic)), len(program.right_side)

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
