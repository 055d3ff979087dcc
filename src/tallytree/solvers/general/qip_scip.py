"""A quadratic integer program by SCIP.

The objective is the sum of one variable for each term, bounded from below by the term's square: the form of
convex objectives that suits SCIP.
"""

from tallytree.errors import MechanismError
from tallytree.solvers.general.qip_program import INFINITE, Found, Program, explain_unfinished

try:
    from pyscipopt import Model, quicksum
except ImportError:
    raise MechanismError(
        "This mechanism needs SCIP, which is not installed: pip install 'tallytree[solvers]'."
    ) from None


def solve_program(program: Program, time_limit: float) -> Found:
    """Find the optimum by branch and bound on outer approximations of the squares."""
    model = Model()
    model.hideOutput()
    model.setParam("limits/time", time_limit)
    x = [
        model.addVar(vtype="I", lb=least, ub=most)
        for least, most in zip(program.least, program.most, strict=True)
    ]
    squares = [model.addVar(lb=0) for _ in x]
    for difference, square in zip(x, squares, strict=True):
        model.addCons(difference * difference <= square)
    for row in program.equalities:
        model.addCons(quicksum(sign * x[at] for sign, at in row.terms) == row.right)
    for row in program.steps:
        model.addCons(quicksum(sign * x[at] for sign, at in row.terms) >= row.right)
    model.setObjective(quicksum(w * square for w, square in zip(program.weights, squares, strict=True)))
    model.optimize()
    status = model.getStatus()
    if status == "userinterrupt":
        raise KeyboardInterrupt
    if status != "optimal":
        raise explain_unfinished(
            "SCIP",
            time_limit,
            status,
            best=model.getObjVal() if model.getNSols() else INFINITE,
            bound=model.getDualbound(),
        )
    return Found([round(model.getVal(difference)) for difference in x], int(model.getNNodes()))
