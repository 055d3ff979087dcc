"""``topdown``: the US Census Bureau's algorithm of the 2018 end-to-end test."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tallytree.mechanisms.base import Ints, Mechanism
from tallytree.privacy.plan import Plan
from tallytree.privacy.queries import SIZES, Query
from tallytree.solvers.solution import Evidence, Solution


@dataclass(frozen=True, kw_only=True)
class TopDown(Mechanism):
    """Measure the sizes query; fix the counts level by level from the root, each within the one above.

    As the paper describes it: least squares with non-negativity on two consecutive levels, then a rounding
    that keeps the sums, down to the leaves. Measurements of a lower level never correct a higher one.
    """

    name: ClassVar[str] = "topdown"
    symbol: ClassVar[str] = "TopDown"
    summary: ClassVar[str] = "sizes query, each level fitted within the counts of the level above"
    query: ClassVar[Query] = SIZES
    exact: ClassVar[bool] = False
    consistent: ClassVar[bool] = True
    private_total: ClassVar[bool] = True
    cost: ClassVar[str] = "O(regions x sizes)"
    reference: ClassVar[str] = "Abowd (2018), as described by Fioretto, Van Hentenryck, Zhu: section 10"

    def solve(self, plan: Plan, values: Sequence[Ints], *, total: int | None) -> Solution:
        """Level by level from the root; scales do not matter, since no level is weighed against another."""
        from tallytree.solvers.tree.tree_rounding import solve_top_down

        return solve_top_down(plan.hierarchy, values, total=total)

    def evaluate(
        self, plan: Plan, values: Sequence[Ints], counts: Sequence[Ints], *, total: int | None
    ) -> Evidence:
        """Return the sum of squares; scales do not matter."""
        from tallytree.solvers.tree.tree_rounding import assess_top_down

        return assess_top_down(values, counts)
