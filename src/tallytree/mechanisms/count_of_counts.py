"""``count-of-counts``: the hierarchical method of Kuo et al."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tallytree.errors import MechanismError, name_choices, show
from tallytree.mechanisms.base import Ints, Mechanism, RegionTotals
from tallytree.privacy.plan import Plan
from tallytree.privacy.queries import CUMULATIVE, Query
from tallytree.solvers.solution import Evidence, Solution

NORMS = ("l1", "l2")


@dataclass(frozen=True, kw_only=True)
class CountOfCounts(Mechanism):
    """Measure the cumulative query (their H_c); match the groups of a region with its subregions' groups.

    Each region's noisy cumulative counts are fitted by non-decreasing ones that end at its public number
    of groups, nearest in the sum of distances (``norm="l1"``) or of squares (``"l2"``). Then, from the
    root down, the groups of a region are matched in order of size with those of its subregions, and the
    two estimates of a group's size are averaged by their inverse variances. The sizes in the leaves,
    rounded, are the release; every other region is the sum of its leaves. What is not in the published
    description is settled in ``solvers/matching.py``.
    """

    name: ClassVar[str] = "count-of-counts"
    symbol: ClassVar[str] = "Kuo et al."
    summary: ClassVar[str] = "cumulative query, isotonic fits, groups matched by size and merged from the top"
    query: ClassVar[Query] = CUMULATIVE
    exact: ClassVar[bool] = False
    consistent: ClassVar[bool] = True
    region_totals: ClassVar[RegionTotals] = "needed"
    cost: ClassVar[str] = "O(regions x sizes x (log sizes + levels))"
    reference: ClassVar[str] = "Kuo, Chiu, Kifer, Hay, Machanavajjhala (VLDB 2018)"
    caveat: ClassVar[str] = "takes each region's number of groups as public, and keeps it exactly"

    norm: str = "l1"

    def __post_init__(self) -> None:
        if self.norm not in NORMS:
            raise MechanismError(f"There is no norm {show(self.norm)}: {name_choices(self.norm, NORMS)}")

    def solve(self, plan: Plan, values: Sequence[Ints], *, total: int | None) -> Solution:
        """Fit, match and merge from the top, add up from the leaves."""
        from tallytree.solvers.matching import solve_count_of_counts

        known = self.need(total)
        return solve_count_of_counts(plan.hierarchy, values, total=known, scales=plan.scales, norm=self.norm)

    def evaluate(
        self, plan: Plan, values: Sequence[Ints], counts: Sequence[Ints], *, total: int | None
    ) -> Evidence:
        """Return the sum of distances, or of their squares."""
        from tallytree.solvers.matching import assess_count_of_counts

        return assess_count_of_counts(values, counts, norm=self.norm)
