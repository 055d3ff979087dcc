"""``cumulative-qip``: the paper's M_c."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from tallytree.hierarchy import Hierarchy
from tallytree.mechanisms.base import Ints, Mechanism
from tallytree.mechanisms.time_limit import check_time_limit
from tallytree.postprocess.solution import Solution
from tallytree.privacy.queries import CUMULATIVE, Query


@dataclass(frozen=True, kw_only=True)
class CumulativeQIP(Mechanism):
    """Measure the cumulative query; solve the quadratic integer program of Model M_c with SCIP.

    ``time_limit`` is in seconds; a model that takes longer is an error that says how near SCIP came.
    """

    name: ClassVar[str] = "cumulative-qip"
    symbol: ClassVar[str] = "M_c"
    summary: ClassVar[str] = "cumulative query, Model M_c by a general integer solver (SCIP)"
    query: ClassVar[Query] = CUMULATIVE
    exact: ClassVar[bool] = True
    consistent: ClassVar[bool] = True
    cost: ClassVar[str] = "exponential at worst"
    reference: ClassVar[str] = "Fioretto, Van Hentenryck, Zhu: section 9"
    small: ClassVar[bool] = True
    solver_module: ClassVar[str] = "tallytree.postprocess.qip_model"
    caveat: ClassVar[str] = (
        "exact up to the tolerances of SCIP, which works in floats; needs tallytree[solvers]"
    )

    time_limit: float = 300.0

    def __post_init__(self) -> None:
        check_time_limit(self.time_limit)

    def solve(
        self, hierarchy: Hierarchy, values: Sequence[Ints], *, total: int, scales: Sequence[Fraction]
    ) -> Solution:
        """The integer optimum by branch and bound."""
        from tallytree.postprocess.qip_model import solve_cumulative_qip

        return solve_cumulative_qip(hierarchy, values, total=total, scales=scales, time_limit=self.time_limit)
