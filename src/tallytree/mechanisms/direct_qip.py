"""``direct-qip``: the paper's M_H."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tallytree.mechanisms.base import Ints, Mechanism
from tallytree.mechanisms.qip import QIP
from tallytree.privacy.plan import Plan
from tallytree.privacy.queries import SIZES, Query
from tallytree.solvers.solution import Solution


@dataclass(frozen=True, kw_only=True)
class DirectQIP(QIP):
    """Measure the sizes query; solve the quadratic integer program of Model M_H with a general solver.

    ``solver`` is "scip" or "gurobi"; both find the same optimum. Gurobi is for those who have a licence: the
    restricted one that comes with gurobipy is limited to 2,000 variables (regions x sizes). ``time_limit``
    is in seconds; a model that takes longer raises an error that states the gap.
    """

    name: ClassVar[str] = "direct-qip"
    symbol: ClassVar[str] = "M_H"
    summary: ClassVar[str] = "sizes query, Model M_H by a general integer solver (SCIP or Gurobi)"
    query: ClassVar[Query] = SIZES
    reference: ClassVar[str] = "Fioretto, Van Hentenryck, Zhu: section 5"

    def solve(self, plan: Plan, values: Sequence[Ints], *, total: int | None) -> Solution:
        """Find the integer optimum by branch and bound."""
        from tallytree.solvers.general.qip_model import solve_sizes_qip

        return solve_sizes_qip(
            plan.hierarchy,
            values,
            total=self.need(total),
            scales=plan.scales,
            solver=self.solver,
            time_limit=self.time_limit,
        )

    @property
    def twin(self) -> Mechanism:
        """A fast mechanism that finds the same optimum."""
        from tallytree.mechanisms.direct_dp import DirectDP

        return DirectDP()
