"""The same models given to general solvers: quadratic programs, with and without integrality.

The solvers of integer programs are a module each, loaded only when it is chosen.
"""

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
