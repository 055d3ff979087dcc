"""``direct-cp``: the paper's M_dp^OP."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tallytree.mechanisms.base import Ints, Mechanism
from tallytree.privacy.plan import Plan
from tallytree.privacy.queries import SIZES, Query
from tallytree.solvers.solution import Evidence, Solution


@dataclass(frozen=True, kw_only=True)
class DirectCP(Mechanism):
    """Measure the sizes query; the dynamic program on cost tables, each entry by a constraint solver.

    The paper's first version of ``direct-dp``, which does not exploit the convexity of the tables: every
    problem of its equation (d) goes to OR-tools CP-SAT, with a table constraint for each child.
    """

    name: ClassVar[str] = "direct-cp"
    symbol: ClassVar[str] = "M_dp^OP"
    summary: ClassVar[str] = "sizes query, Model M_H by dynamic programming with a constraint solver (CP-SAT)"
    query: ClassVar[Query] = SIZES
    exact: ClassVar[bool] = True
    consistent: ClassVar[bool] = True
    cost: ClassVar[str] = "a constraint problem for every region, size and value"
    reference: ClassVar[str] = "Fioretto, Van Hentenryck, Zhu: section 6"
    small: ClassVar[bool] = True
    solver_module: ClassVar[str] = "tallytree.solvers.tree.cp_tables"
    caveat: ClassVar[str] = "needs tallytree[solvers]"
    solver: ClassVar[str] = "constraints"

    def solve(self, plan: Plan, values: Sequence[Ints], *, total: int | None) -> Solution:
        """Return the exact optimum of Model M_H for these measurements."""
        from tallytree.solvers.tree.tree_model import solve_tree_model

        known = self.need(total)
        return solve_tree_model(plan.hierarchy, values, total=known, scales=plan.scales, solver=self.solver)

    def evaluate(
        self, plan: Plan, values: Sequence[Ints], counts: Sequence[Ints], *, total: int | None
    ) -> Evidence:
        """Return the objective (H1), and whether the counts are an optimum."""
        from tallytree.solvers.tree.tree_model import assess_tree_model

        return assess_tree_model(plan.hierarchy, values, counts, total=total, scales=plan.scales)

    @property
    def twin(self) -> Mechanism:
        """A fast mechanism that finds the same optimum."""
        from tallytree.mechanisms.direct_dp import DirectDP

        return DirectDP()
