"""``direct-qp``: the paper's M_H^r."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tallytree.mechanisms.base import Ints, Mechanism
from tallytree.privacy.plan import Plan
from tallytree.privacy.queries import SIZES, Query
from tallytree.solvers.solution import Solution


@dataclass(frozen=True, kw_only=True)
class DirectQP(Mechanism):
    """Measure the sizes query; solve Model M_H without integrality, and round every count.

    After rounding, counts no longer add up: neither subregions to their region, nor a level to the total.
    """

    name: ClassVar[str] = "direct-qp"
    symbol: ClassVar[str] = "M_H^r"
    summary: ClassVar[str] = "sizes query, relaxation of Model M_H by a QP solver (PIQP), rounded"
    query: ClassVar[Query] = SIZES
    exact: ClassVar[bool] = False
    consistent: ClassVar[bool] = False
    cost: ClassVar[str] = "that of an interior-point method on a variable for every region and size"
    reference: ClassVar[str] = "Fioretto, Van Hentenryck, Zhu: section 5"
    solver_module: ClassVar[str] = "tallytree.solvers.general.qp_model"
    caveat: ClassVar[str] = "rounding breaks the sums, so it cannot make a release; needs tallytree[solvers]"

    def solve(self, plan: Plan, values: Sequence[Ints], *, total: int | None) -> Solution:
        """Round the relaxed optimum; ``effort`` counts the regions and sizes that do not add up."""
        from tallytree.solvers.general.qp_model import solve_sizes_qp

        return solve_sizes_qp(plan.hierarchy, values, total=self.need(total), scales=plan.scales)
