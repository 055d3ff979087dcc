"""Other ways to solve the models, all behind one interface: one module each, and one line here."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from benchmarks.programs import Outcome, Posed, Prepare, Solve
from benchmarks.solvers import clarabel_solver, highs_solver, osqp_solver, piqp_solver, scip_solver
from tallytree.privacy.queries import CUMULATIVE
from tallytree.research.reproduction.paper_figures import Variant
from tallytree.solvers.solution import Solution


def prepare_variant(variant: Variant, effort: str) -> Prepare:
    """The mechanism instead of the instance's own; ``effort`` is what it counts."""
    return partial(_prepare, variant, effort)


def _prepare(variant: Variant, effort: str, posed: Posed) -> Solve:
    instance = replace(posed.instance, method=variant.make())

    def solve() -> Outcome:
        solution = instance.solve()
        return Outcome(
            y=_list_answers(solution, cumulative=instance.method.query == CUMULATIVE) + posed.program.lower,
            solved=True,
            status="optimal",
            iterations=solution.effort[effort],
            setup_seconds=0.0,
        )

    return solve


def _list_answers(solution: Solution, *, cumulative: bool) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    levels = [level.cumsum(axis=1) if cumulative else level for level in solution.counts]
    return np.concatenate([level.reshape(-1) for level in levels])


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
