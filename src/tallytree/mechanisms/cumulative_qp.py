"""``cumulative-qp``: the paper's M_c^r."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tallytree.mechanisms.base import Ints, Mechanism
from tallytree.privacy.plan import Plan
from tallytree.privacy.queries import CUMULATIVE, Query
from tallytree.solvers.solution import Solution


@dataclass(frozen=True, kw_only=True)
class CumulativeQP(Mechanism):
    """Measure the cumulative query; solve Model M_c without integrality, round, and take differences.

    After rounding, counts no longer add up: neither subregions to their region, nor a level to the total.
    """

    name: ClassVar[str] = "cumulative-qp"
    symbol: ClassVar[str] = "M_c^r"
    summary: ClassVar[str] = "cumulative query, relaxation of Model M_c by a QP solver (PIQP), rounded"
    query: ClassVar[Query] = CUMULATIVE
    exact: ClassVar[bool] = False
    consistent: ClassVar[bool] = False
    cost: ClassVar[str] = "that of an interior-point method on a variable for every region and size"
    reference: ClassVar[str] = "Fioretto, Van Hentenryck, Zhu: section 9"
    solver_module: ClassVar[str] = "tallytree.solvers.general.qp_model"
    caveat: ClassVar[str] = (
        "rounding breaks the sums, so it cannot make a release; takes more than ten minutes at Census size; "
        "needs tallytree[solvers]"
    )

    def solve(self, plan: Plan, values: Sequence[Ints], *, total: int | None) -> Solution:
        """Round the relaxed optimum; ``effort`` counts the regions and sizes that do not add up."""
        from tallytree.solvers.general.qp_model import solve_cumulative_qp

        return solve_cumulative_qp(plan.hierarchy, values, total=self.need(total), scales=plan.scales)
