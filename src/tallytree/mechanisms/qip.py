"""What ``direct-qip`` and ``cumulative-qip`` share: a quadratic integer program by a general solver."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tallytree.errors import MechanismError, name_choices, show
from tallytree.mechanisms.base import Ints, Mechanism
from tallytree.privacy.plan import Plan
from tallytree.privacy.queries import CUMULATIVE
from tallytree.solvers.general import SOLVERS
from tallytree.solvers.solution import Solution


@dataclass(frozen=True, kw_only=True)
class QIP(Mechanism):
    """A mechanism whose model is solved as it stands, with integrality, by a general solver.

    ``solver`` is "scip" or "gurobi"; both find the same optimum. Gurobi is for those who have a licence: the
    restricted one that comes with gurobipy is limited to 2,000 variables (regions x sizes). ``time_limit``
    is in seconds; a model that takes longer raises an error that states the gap.
    """

    exact: ClassVar[bool] = True
    consistent: ClassVar[bool] = True
    cost: ClassVar[str] = "exponential at worst"
    small: ClassVar[bool] = True
    solver_module: ClassVar[str] = "tallytree.solvers.general.qip_model"
    caveat: ClassVar[str] = (
        "exact up to the tolerances of the solver, which works in floats; needs tallytree[solvers], or with "
        'solver="gurobi" tallytree[gurobi] and, for more than 2,000 regions x sizes, a Gurobi licence'
    )

    solver: str = "scip"
    time_limit: float = 300.0

    def __post_init__(self) -> None:
        known = tuple(SOLVERS)
        if self.solver not in known:
            raise MechanismError(
                f"There is no solver {show(self.solver)}: {name_choices(self.solver, known)}"
            )
        seconds = self.time_limit
        number = isinstance(seconds, (int, float)) and not isinstance(seconds, bool)
        if not number or not 0 < seconds <= 1e9:
            raise MechanismError("time_limit must be a number of seconds above zero.")

    def require(self) -> None:
        """Load the chosen solver first, whose error says what to install for it; then the model."""
        SOLVERS[self.solver]()
        super().require()

    def solve(self, plan: Plan, values: Sequence[Ints], *, total: int | None) -> Solution:
        """Find the integer optimum by branch and bound."""
        from tallytree.solvers.general.qip_model import solve_qip

        return solve_qip(
            plan.hierarchy,
            values,
            cumulative=self.query is CUMULATIVE,
            total=self.need(total),
            scales=plan.scales,
            solver=self.solver,
            time_limit=self.time_limit,
        )
