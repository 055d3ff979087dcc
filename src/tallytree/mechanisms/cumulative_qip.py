"""``cumulative-qip``: the paper's M_c."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tallytree.mechanisms.base import Ints, Mechanism
from tallytree.mechanisms.qip import QIP
from tallytree.privacy.plan import Plan
from tallytree.privacy.queries import CUMULATIVE, Query
from tallytree.solvers.solution import Solution


@dataclass(frozen=True, kw_only=True)
class CumulativeQIP(QIP):
    """Measure the cumulative query; solve the quadratic integer program of Model M_c with a general solver.

    ``solver`` is "scip" or "gurobi"; both find the same optimum. Gurobi is for those who have a licence: the
    restricted one that comes with gurobipy is limited to 2,000 variables (regions x sizes). ``time_limit``
    is in seconds; a model that takes longer raises an error that states the gap.
    """

    name: ClassVar[str] = "cumulative-qip"
    symbol: ClassVar[str] = "M_c"
    summary: ClassVar[str] = "cumulative query, Model M_c by a general integer solver (SCIP or Gurobi)"
    query: ClassVar[Query] = CUMULATIVE
    reference: ClassVar[str] = "Fioretto, Van Hentenryck, Zhu: section 9"

    def solve(self, plan: Plan, values: Sequence[Ints], *, total: int | None) -> Solution:
        """Find the integer optimum by branch and bound."""
        from tallytree.solvers.general.qip_model import solve_cumulative_qip

        return solve_cumulative_qip(
            plan.hierarchy,
            values,
            total=self.need(total),
            scales=plan.scales,
            solver=self.solver,
            time_limit=self.time_limit,
        )

    @property
    def twin(self) -> Mechanism:
        """A mechanism for the same model, whose counts are near its optimum and never better."""
        from tallytree.mechanisms.cumulative_joint import CumulativeJoint

        return CumulativeJoint(smooth=False)
