"""``direct-dp``: the paper's M_H^dp."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tallytree.errors import MechanismError, name_choices, show
from tallytree.mechanisms.base import Ints, Mechanism
from tallytree.privacy.plan import Plan
from tallytree.privacy.queries import SIZES, Query
from tallytree.solvers.solution import Evidence, Solution

SOLVERS = ("projection", "tables")


@dataclass(frozen=True, kw_only=True)
class DirectDP(Mechanism):
    """Measure the sizes query; take the nearest whole counts that add up (Model M_H), exactly.

    Minimises (H1), each level weighted by its inverse variance (all 1 for an even split, as in the
    paper), subject to (H2) - (H4). ``solver`` is "projection" (fast at any epsilon) or "tables"
    (the paper's cost tables, for reference). Both return the same optimum, with a certificate.
    """

    name: ClassVar[str] = "direct-dp"
    symbol: ClassVar[str] = "M_H^dp"
    summary: ClassVar[str] = "sizes query, exact integer optimum of Model M_H"
    query: ClassVar[Query] = SIZES
    exact: ClassVar[bool] = True
    consistent: ClassVar[bool] = True
    private_total: ClassVar[bool] = True
    cost: ClassVar[str] = "O(regions x sizes) a pass, about ten passes"
    reference: ClassVar[str] = "Fioretto, Van Hentenryck, Zhu: sections 6 and 7"

    solver: str = "projection"

    def __post_init__(self) -> None:
        if self.solver not in SOLVERS:
            raise MechanismError(
                f"There is no solver {show(self.solver)}: {name_choices(self.solver, SOLVERS)}"
            )

    def solve(self, plan: Plan, values: Sequence[Ints], *, total: int | None) -> Solution:
        """Return the exact optimum of Model M_H for these measurements."""
        # Imported here: the kernels bring their compiler along.
        from tallytree.solvers.tree.tree_model import solve_tree_model

        return solve_tree_model(plan.hierarchy, values, total=total, scales=plan.scales, solver=self.solver)

    def draw(
        self, plan: Plan, values: Sequence[Ints], *, total: int | None, seed: int
    ) -> Sequence[Ints] | None:
        """Draw counts without the groups that noise leaves in empty cells."""
        from tallytree.solvers.tree.tree_draws import draw_tree_counts

        return draw_tree_counts(plan, values, total=total, seed=seed)

    def evaluate(
        self, plan: Plan, values: Sequence[Ints], counts: Sequence[Ints], *, total: int | None
    ) -> Evidence:
        """Return the objective (H1), and whether the counts are an optimum."""
        from tallytree.solvers.tree.tree_model import assess_tree_model

        return assess_tree_model(plan.hierarchy, values, counts, total=total, scales=plan.scales)
