"""``cyclic-laplace``: the distribution privatizer of Kohli and Laskowski."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tallytree.mechanisms.base import Ints, Mechanism, RegionTotals
from tallytree.privacy.plan import Plan
from tallytree.privacy.queries import CUMULATIVE, Query
from tallytree.solvers.solution import Solution


@dataclass(frozen=True, kw_only=True)
class CyclicLaplace(Mechanism):
    """Measure the cumulative query; take differences, and set negative ones to zero.

    Kohli and Laskowski give each boundary between two neighbouring sizes one draw of noise, which is added to
    the count on one side and subtracted on the other: as noise on the cumulative counts is. They also draw
    for the boundary between the largest and the smallest size. No person crosses it, so it is left out here,
    which makes the first and the last count more accurate. Their noise is Laplace's; ours is geometric.
    There is no fit: regions do not know of each other, and counts set to zero raise the totals.
    """

    name: ClassVar[str] = "cyclic-laplace"
    symbol: ClassVar[str] = "Kohli & Laskowski"
    summary: ClassVar[str] = "cumulative query, differences of the noisy answers, negative ones set to zero"
    query: ClassVar[Query] = CUMULATIVE
    exact: ClassVar[bool] = False
    consistent: ClassVar[bool] = False
    region_totals: ClassVar[RegionTotals] = "needed"
    cost: ClassVar[str] = "O(regions x sizes)"
    reference: ClassVar[str] = "Kohli, Laskowski (PoPETs 2026): section 3"
    caveat: ClassVar[str] = (
        "takes each region's number of groups as public, does not keep it, and does not add up, so it "
        "cannot make a release"
    )

    def solve(self, plan: Plan, values: Sequence[Ints], *, total: int | None) -> Solution:
        """Take differences; ``effort`` counts the regions and sizes that do not add up."""
        from tallytree.solvers.checks import count_inconsistencies

        counts = [np.maximum(np.diff(level, axis=1, prepend=0), 0) for level in values]
        return Solution(
            counts=counts,
            objective=self.evaluate(plan, values, counts, total=total).objective,
            certificate=None,
            solver="differences",
            effort={"violations": sum(count_inconsistencies(plan.hierarchy, counts))},
        )
