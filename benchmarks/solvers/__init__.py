"""Other ways to solve the models, all behind one interface: one module each, and one line here."""

from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.solvers import clarabel_solver, highs_solver, osqp_solver, piqp_solver, scip_solver
from benchmarks.solvers.mechanism_solver import prepare_variant
from benchmarks.solvers.outcome import Prepare
from tallytree.research.reproduction.paper_figures import Variant


@dataclass(frozen=True)
class Solver:
    """One of our peers."""

    name: str
    kind: str
    """What it does, in words."""
    prepare: Prepare
    tolerances: Callable[[], str] | None = None
    """None: it is exact, or says so itself."""
    whole: bool = False
    """It finds whole numbers; the others the relaxed optimum."""


RELAXED = (
    Solver("PIQP", "interior point", piqp_solver.prepare, piqp_solver.describe_tolerances),
    Solver("Clarabel", "interior point", clarabel_solver.prepare, clarabel_solver.describe_tolerances),
    Solver("OSQP", "ADMM, first order", osqp_solver.prepare, osqp_solver.describe_tolerances),
    Solver("HiGHS", "active set", highs_solver.prepare, highs_solver.describe_tolerances),
    Solver("SCIP", "cutting planes", scip_solver.prepare, scip_solver.describe_tolerances),
)
"""For either model."""


def _branch(mechanism: str) -> Solver:
    prepare = prepare_variant(Variant(mechanism), "branch_and_bound_nodes")
    return Solver("SCIP, whole numbers", "branch and bound", prepare, whole=True)


DIRECT_SOLVERS = (
    *RELAXED,
    _branch("direct-qip"),
    Solver(
        "cost tables",
        "the paper's dynamic programme",
        prepare_variant(Variant("direct-dp", {"solver": "tables"}), "domain_doublings"),
        whole=True,
    ),
)
JOINT_SOLVERS = (*RELAXED, _branch("cumulative-qip"))
