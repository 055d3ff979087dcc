"""The general solvers of Models M_H and M_c: a module each, loaded only when it is chosen."""

from collections.abc import Callable

from tallytree.solvers.general.qip_program import SolveProgram


def _load_scip() -> SolveProgram:
    from tallytree.solvers.general.qip_scip import solve_program

    return solve_program


def _load_gurobi() -> SolveProgram:
    from tallytree.solvers.general.qip_gurobi import solve_program

    return solve_program


SOLVERS: dict[str, Callable[[], SolveProgram]] = {"scip": _load_scip, "gurobi": _load_gurobi}
"""Functions that load each solver, by name; they raise MechanismError if its library is not installed."""
