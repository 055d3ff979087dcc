"""PIQP: an interior-point method, with its defaults."""

import time

import piqp

from benchmarks.programs import Outcome, Posed, Program, Solve


def prepare(posed: Posed) -> Solve:
    """The program is written in PIQP's form."""
    return lambda: solve_program(posed.program)


def solve_program(program: Program) -> Outcome:
    """Call PIQP with its default settings."""
    solver = piqp.SparseSolver()
    start = time.perf_counter()
    solver.setup(
        program.quadratic,
        program.linear,
        program.equalities,
        program.right_side,
        program.steps,
        program.least_steps,
        x_l=program.lower,
    )
    setup_seconds = time.perf_counter() - start
    status = solver.solve()
    return Outcome(
        y=solver.result.x,
        solved=status == piqp.Status.PIQP_SOLVED,
        status=status.name.removeprefix("PIQP_").lower().replace("_", " "),
        iterations=solver.result.info.iter,
        setup_seconds=setup_seconds,
    )


def describe_tolerances() -> str:
    """PIQP's default stopping rule, as the installed version has it."""
    settings = piqp.SparseSolver().settings
    return (
        f"residuals {settings.eps_abs:g} absolute and {settings.eps_rel:g} relative, "
        f"duality gap {settings.eps_duality_gap_abs:g} absolute and "
        f"{settings.eps_duality_gap_rel:g} relative"
    )
