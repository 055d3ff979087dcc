"""A quadratic integer program by Gurobi, for those who have a licence.

On whole numbers, x^2 is the largest of the chords from k to k + 1, (2k + 1) x - k (k + 1). Gurobi is given
chords, as piecewise linear costs. Between whole numbers they are tighter than the parabola: with a quadratic
objective, 130 variables took more than half a minute instead of some hundredths of a second. And with linear
costs the restricted licence that comes with gurobipy is limited to 2,000 variables, not to 200. A few chords
suffice: none is above x^2, so an optimum at which they equal it is the optimum; otherwise, more are added.
"""

from itertools import pairwise
from math import inf, isqrt
from time import monotonic

from tallytree.errors import MechanismError
from tallytree.solvers.general.qip_program import Found, Program, explain_unfinished

try:
    from gurobipy import GRB, Env, GurobiError, Model, Var, quicksum
except ImportError:
    raise MechanismError(
        "This solver needs Gurobi, which is not installed: pip install 'tallytree[gurobi]'."
    ) from None

MOST_EXACT = 2**46
"""The objective beyond which a difference of one may get lost. Floats tell whole numbers apart up to 2^53; of
some 2,000 random programs below that, four missed their optimum due to tolerances, all of them above 2^49."""


def solve_program(program: Program, time_limit: float) -> Found:
    """Find the optimum by branch and bound on chords of the squares."""
    try:
        with Env(params={"OutputFlag": 0}) as environment, Model(env=environment) as model:
            return _optimize(model, program, time_limit)
    except GurobiError as error:
        raise _explain(error, program) from None


def _optimize(model: Model, program: Program, time_limit: float) -> Found:
    """Alternate between optimising and adding chords around the last optimum."""
    end = monotonic() + time_limit
    variables = _write(model, program)
    x, nodes, best, bound = [0] * len(variables), 0, inf, 0.0
    chords = [{-1, 0}] * len(variables)  # at first the cost is weight * |x|
    while True:
        # Costs are relative to those of the last optimum: floats are exact for small differences.
        offset = _add_squares(program, x)
        for variable, weight, known, at in zip(variables, program.weights, chords, x, strict=True):
            model.setPWLObj(variable, *_draw_cost(sorted(known), weight, at))
        model.Params.TimeLimit = max(0.0, end - monotonic())
        model.optimize()
        nodes += int(model.NodeCount)
        bound = max(bound, offset + model.ObjBound)
        if model.SolCount:
            x = [round(value) for value in model.getAttr("X", variables)]
            best = min(best, _add_squares(program, x))
        if model.Status == GRB.INTERRUPTED:
            raise KeyboardInterrupt
        if model.Status != GRB.OPTIMAL:
            status = "timelimit" if model.Status == GRB.TIME_LIMIT else f"status {model.Status}"
            raise explain_unfinished("Gurobi", time_limit, status, best=best, bound=bound)
        if all(at in known or at - 1 in known for known, at in zip(chords, x, strict=True)):
            return Found(x, nodes)
        ranges = _narrow(program, int(best))
        model.setAttr("LB", variables, [least for least, _ in ranges])
        model.setAttr("UB", variables, [most for _, most in ranges])
        chords = [_add_chords(*each) for each in zip(chords, x, ranges, strict=True)]


def _write(model: Model, program: Program) -> list[Var]:
    """Write the program except for its costs."""
    # The objective of every solution is a whole number: a bound within a half of it proves the optimum,
    # and leaves the other half to the errors of floats. These tolerances are the tightest there are.
    model.Params.MIPGap = 0.0
    model.Params.MIPGapAbs = 0.5
    model.Params.IntFeasTol = 1e-9
    model.Params.OptimalityTol = 1e-9
    x = [
        model.addVar(vtype=GRB.INTEGER, lb=least, ub=most)
        for least, most in zip(program.least, program.most, strict=True)
    ]
    for row in program.equalities:
        model.addConstr(quicksum(sign * x[at] for sign, at in row.terms) == row.right)
    for row in program.steps:
        model.addConstr(quicksum(sign * x[at] for sign, at in row.terms) >= row.right)
    return x


def _narrow(program: Program, best: int) -> list[tuple[int, int]]:
    """Bound the optimum's variables: none of its terms exceeds the sum of all terms of a solution."""
    if best >= MOST_EXACT:
        raise MechanismError(
            "The noise is too large for Gurobi's floating-point arithmetic: the optimum cannot be found "
            "exactly. Use direct-dp or cumulative-dp, which use exact integers."
        )
    reaches = [isqrt(best // weight) for weight in program.weights]
    return [
        (max(least, -reach), min(most, reach))
        for least, most, reach in zip(program.least, program.most, reaches, strict=True)
    ]


def _add_chords(chords: set[int], at: int, within: tuple[int, int]) -> set[int]:
    """Add chords around a point: all that are near, and further away those at doubling distances."""
    least, most = within
    centre = min(max(at, least), most)
    far = [1 << double for double in range(4, (most - least).bit_length())]
    steps = [*range(-8, 8), *far, *(-step for step in far)]
    return {k for k in chords.union(centre + step for step in steps) if least - 1 <= k <= most}


def _draw_cost(chords: list[int], weight: int, at: int) -> tuple[list[float], list[float]]:
    """Return the corners of weight * (the largest of the chords - at^2)."""
    corners = [low + high + 1 for low, high in pairwise(chords)]
    doubled = [2 * chords[0] - 1, *corners, 2 * chords[-1] + 3]  # where two chords meet, and both ends
    y = [
        weight * ((2 * k + 1) * x - 2 * k * (k + 1) - 2 * at * at) / 2
        for k, x in zip([chords[0], *chords], doubled, strict=True)
    ]
    return [x / 2 for x in doubled], y


def _add_squares(program: Program, x: list[int]) -> int:
    return sum(weight * value * value for weight, value in zip(program.weights, x, strict=True))


def _explain(error: GurobiError, program: Program) -> MechanismError:
    """Say what to do about an error, without Gurobi's message, which may name files and machines."""
    if error.errno == GRB.Error.SIZE_LIMIT_EXCEEDED:
        return MechanismError(
            f"A model with {len(program.weights):,} variables (regions x sizes) is too large for the "
            'restricted licence that gurobipy brings along: it needs a full one, or solver="scip".'
        )
    if error.errno == GRB.Error.NO_LICENSE:
        return MechanismError(
            "Gurobi found no valid licence: look at GRB_LICENSE_FILE and whether the licence has expired, or "
            'use solver="scip".'
        )
    return MechanismError(f'Gurobi stopped with its error {error.errno}; solver="scip" does without it.')
