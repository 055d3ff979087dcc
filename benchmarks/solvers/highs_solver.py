"""HiGHS: for a quadratic objective it has an active-set method, with its defaults.

It is loaded when it is used, in a process of its own: OR-tools brings another version of its library under
the same name, and a process can only have one of them.
"""

import time

import numpy as np

from benchmarks.programs import Outcome, Posed, Solve
from tallytree.research.reproduction.runs import Failure, run_in_child


def prepare(posed: Posed) -> Solve:
    """As l <= A y <= u with bounds on y."""
    import highspy

    program = posed.program
    conditions, least, most = program.stack(bounds=False)
    columns = len(program.lower)

    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = columns, len(least)
    lp.col_cost_, lp.col_lower_ = program.linear, program.lower
    lp.col_upper_ = np.full(columns, highspy.kHighsInf)
    lp.row_lower_, lp.row_upper_ = least, most
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_, lp.a_matrix_.index_ = conditions.indptr, conditions.indices
    lp.a_matrix_.value_ = conditions.data
    hessian = highspy.HighsHessian()
    hessian.dim_, hessian.format_ = columns, highspy.HessianFormat.kTriangular
    hessian.start_, hessian.index_ = program.quadratic.indptr, program.quadratic.indices
    hessian.value_ = program.quadratic.data
    model = highspy.HighsModel()
    model.lp_, model.hessian_ = lp, hessian

    def solve() -> Outcome:
        start = time.perf_counter()
        solver = highspy.Highs()
        solver.setOptionValue("output_flag", False)
        solver.passModel(model)
        setup_seconds = time.perf_counter() - start
        solver.run()
        status = solver.getModelStatus()
        return Outcome(
            y=np.array(solver.getSolution().col_value),
            solved=status == highspy.HighsModelStatus.kOptimal,
            status=solver.modelStatusToString(status).lower(),
            iterations=solver.getInfo().qp_iteration_count,
            setup_seconds=setup_seconds,
        )

    return solve


def describe_tolerances() -> str:
    """HiGHS's defaults, as the installed version has them."""
    found = run_in_child(_read_tolerances)
    return found.reason if isinstance(found, Failure) else found


def _read_tolerances() -> str:
    import highspy

    solver = highspy.Highs()
    primal, dual = (solver.getOptionValue(f"{side}_feasibility_tolerance")[1] for side in ("primal", "dual"))
    return f"feasibility {primal:g} primal and {dual:g} dual"
