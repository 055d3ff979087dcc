"""``cumulative-dp``: the paper's M_c^dp."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tallytree.arrays import MAX_GROUPS
from tallytree.mechanisms.base import Ints, Mechanism
from tallytree.privacy.plan import Plan
from tallytree.privacy.queries import CUMULATIVE, Query
from tallytree.solvers.solution import Evidence, Solution


@dataclass(frozen=True, kw_only=True)
class CumulativeDP(Mechanism):
    """Measure the cumulative query; make each region monotone; reconcile the differences (Algorithm 2).

    The cumulative query needs half the noise of the sizes query. Each region's noisy cumulative counts
    are fitted by non-decreasing whole numbers within [0, G]; their differences, group counts again, then
    go through the exact solver of Model M_H, as in ``direct-dp``. Each step is exact, but together they
    do not solve the paper's Model M_c: errors of the differences add up along the sizes. The objective
    and the certificate are those of the second step.
    """

    name: ClassVar[str] = "cumulative-dp"
    symbol: ClassVar[str] = "M_c^dp"
    summary: ClassVar[str] = "cumulative query, isotonic fit per region, then Model M_H on the differences"
    query: ClassVar[Query] = CUMULATIVE
    exact: ClassVar[bool] = False
    consistent: ClassVar[bool] = True
    private_total: ClassVar[bool] = True
    cost: ClassVar[str] = "O(regions x sizes), then as direct-dp"
    reference: ClassVar[str] = "Fioretto, Van Hentenryck, Zhu: section 9.1, Algorithm 2"

    def solve(self, plan: Plan, values: Sequence[Ints], *, total: int | None) -> Solution:
        """Run the paper's Algorithm 2."""
        from tallytree.solvers.tree.tree_model import solve_tree_model

        differences = _find_differences(values, total)
        return solve_tree_model(plan.hierarchy, differences, total=total, scales=plan.scales)

    def draw(
        self, plan: Plan, values: Sequence[Ints], *, total: int | None, seed: int
    ) -> Sequence[Ints] | None:
        """Draw from what ``cumulative-joint`` believes of the same answers.

        Released counts would not do: noise leaves groups at large sizes, and what the mechanism does to
        counts that have some there is not what it did to true ones that have none.
        """
        from tallytree.mechanisms.cumulative_joint import CumulativeJoint

        return CumulativeJoint().draw(plan, values, total=total, seed=seed)

    def evaluate(
        self, plan: Plan, values: Sequence[Ints], counts: Sequence[Ints], *, total: int | None
    ) -> Evidence:
        """Return the objective (H1) of the second step, and whether the counts are its optimum."""
        from tallytree.solvers.tree.tree_model import assess_tree_model

        differences = _find_differences(values, total)
        return assess_tree_model(plan.hierarchy, differences, counts, total=total, scales=plan.scales)


def _find_differences(values: Sequence[Ints], total: int | None) -> list[Ints]:
    """The group counts of the first step: each region's answers made monotone."""
    from tallytree.solvers.isotonic import fit_isotonic_rows

    most = MAX_GROUPS if total is None else total
    return [np.diff(fit_isotonic_rows(level, 0, most), axis=1, prepend=0) for level in values]
