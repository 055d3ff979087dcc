"""``cumulative-joint``: Model M_c itself, for data of any size."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tallytree.errors import MechanismError
from tallytree.mechanisms.base import Ints, Mechanism, RegionTotals
from tallytree.privacy.plan import Plan
from tallytree.privacy.queries import ABOVE, CUMULATIVE, Query
from tallytree.sizes import SizeClasses, list_edges
from tallytree.solvers.solution import Solution


@dataclass(frozen=True, kw_only=True)
class CumulativeJoint(Mechanism):
    """Measure the cumulative query; reconcile cumulative counts as such, over all levels at once.

    The paper's Model M_c, relaxed, is solved to a relative duality gap of 5e-7, and its optimum is rounded
    from the root down so that all conditions hold. Where levels differ in noise by a factor of 20 or more, it
    may end before that; the solution states the gap that was reached. ``cumulative-dp`` reconciles the
    differences instead, whose errors add up along the sizes.

    With ``smooth`` (the default), each region's answers are first smoothed along the sizes and by the shape
    of its siblings, which is more accurate, and much more so where sizes are many or regions small. It pulls
    small regions towards that shape. Without it, the model is the paper's, for the noisy answers as they are.
    """

    name: ClassVar[str] = "cumulative-joint"
    symbol: ClassVar[str] = "ours, on M_c"
    summary: ClassVar[str] = "cumulative query, Model M_c over all levels at once, rounded so that it adds up"
    query: ClassVar[Query] = CUMULATIVE
    exact: ClassVar[bool] = False
    consistent: ClassVar[bool] = True
    private_total: ClassVar[bool] = True
    shrinks: ClassVar[bool] = True
    region_totals: ClassVar[RegionTotals] = "optional"
    cost: ClassVar[str] = "O(regions x sizes) for each of 10 to 20 Newton steps"
    revision: ClassVar[int] = 2  # 1 smoothed each region by itself
    earlier: ClassVar[Mapping[int, Mapping[str, Any]]] = {1: {"smooth": False}}
    reference: ClassVar[str] = "the model: Fioretto, Van Hentenryck, Zhu: section 9; the solver is ours"

    smooth: bool = True

    def __post_init__(self) -> None:
        if not isinstance(self.smooth, bool):
            raise MechanismError("The option 'smooth' must be True or False.")

    def solve(self, plan: Plan, values: Sequence[Ints], *, total: int | None) -> Solution:
        """Round the relaxed optimum."""
        return self._solve(plan, values, total, None)

    def draw(
        self, plan: Plan, values: Sequence[Ints], *, total: int | None, seed: int
    ) -> Sequence[Ints] | None:
        """Reconcile curves that are drawn from their posterior."""
        return self._solve(plan, values, total, seed).counts if self.smooth else None

    def _solve(self, plan: Plan, values: Sequence[Ints], total: int | None, seed: int | None) -> Solution:
        from tallytree.solvers.joint.joint_model import Smoothing, solve_joint_model

        return solve_joint_model(
            plan.hierarchy,
            values,
            total=total,
            scales=plan.scales,
            known_levels=sum(plan.has_public_totals(level) for level in range(len(plan.levels))),
            smoothing=Smoothing(_find_reach(plan), plan.delta is not None, seed) if self.smooth else None,
        )


def _find_reach(plan: Plan) -> Ints:
    """Return how far each size looks along the curve, in the order in which the query counts."""
    from tallytree.solvers.joint.curves import find_reach

    edges = np.array(list_edges(plan.sizes))
    sizes = np.arange(len(edges)) if isinstance(plan.sizes, SizeClasses) else edges
    return find_reach(sizes[::-1] if plan.levels[0].query == ABOVE.name else sizes)
