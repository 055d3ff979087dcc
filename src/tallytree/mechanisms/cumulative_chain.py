"""``cumulative-chain``: the paper's M_c^ch."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from tallytree.errors import MechanismError, name_choices, show
from tallytree.mechanisms.base import Ints, Mechanism
from tallytree.privacy.plan import Plan
from tallytree.privacy.queries import CHAIN, CUMULATIVE, Query
from tallytree.solvers.solution import Evidence, Solution

CALIBRATIONS = ("sound", "published")
SOLVERS = ("isotonic", "tables")


@dataclass(frozen=True, kw_only=True)
class CumulativeChain(Mechanism):
    """Measure cumulative counts along a chain through the whole tree; fit the chain (C6) - (C10).

    ``calibration`` sets the scale of the noise. "sound" is what the chain query needs, whose sensitivity is
    the number of regions at the level. "published" is the paper's, which assumes a sensitivity of 1: its
    real privacy loss is (regions of all levels) / (levels) times the requested epsilon, 1,066 times on the
    paper's Census hierarchy. The plan states the real epsilon. It exists to reproduce the paper's table,
    and cannot make a release. ``solver`` is "isotonic" (linear time) or "tables" (the paper's
    recurrence, for reference); both find the same optimum.
    """

    name: ClassVar[str] = "cumulative-chain"
    symbol: ClassVar[str] = "M_c^ch"
    summary: ClassVar[str] = "cumulative query along a chain through the tree, exact integer optimum"
    query: ClassVar[Query] = CHAIN
    exact: ClassVar[bool] = True
    consistent: ClassVar[bool] = True
    cost: ClassVar[str] = "O(regions x sizes)"
    reference: ClassVar[str] = "Fioretto, Van Hentenryck, Zhu: section 9.2"
    caveat: ClassVar[str] = (
        'calibration="published" is the paper\'s: its real epsilon is (regions of all levels) / (levels) '
        "times the stated one, and it cannot make a release"
    )

    calibration: str = "sound"
    solver: str = "isotonic"

    def __post_init__(self) -> None:
        for what, value, known in (
            ("calibration", self.calibration, CALIBRATIONS),
            ("solver", self.solver, SOLVERS),
        ):
            if value not in known:
                raise MechanismError(f"There is no {what} {show(value)}: {name_choices(value, known)}")

    @property
    def obstacle(self) -> str | None:
        """Why it cannot make a release."""
        return (
            None if self.calibration == "sound" else "its published noise is too small for the stated epsilon"
        )

    def calibrate(self, plan: Plan) -> Plan:
        """Return the plan unchanged if sound; if published, with the paper's noise and its real epsilon."""
        if self.calibration == "sound":
            return plan
        unit = plan.unit
        claimed = unit.find_sensitivity(CUMULATIVE, plan.neighbours, plan.sizes, 1)
        levels = []
        for level in plan.levels:
            scale = unit.find_scale(claimed, level.loss)
            levels.append(replace(level, scale=scale, loss=unit.find_loss(level.sensitivity, scale)))
        return replace(plan, levels=tuple(levels))

    def solve(self, plan: Plan, values: Sequence[Ints], *, total: int | None) -> Solution:
        """Return the exact optimum of the chain model for these measurements."""
        from tallytree.solvers.chain import solve_chain_model

        known = self.need(total)
        return solve_chain_model(plan.hierarchy, values, total=known, scales=plan.scales, solver=self.solver)

    def evaluate(
        self, plan: Plan, values: Sequence[Ints], counts: Sequence[Ints], *, total: int | None
    ) -> Evidence:
        """Return the objective (C6)."""
        from tallytree.solvers.chain import assess_chain_model

        return assess_chain_model(plan.hierarchy, values, counts, scales=plan.scales)
