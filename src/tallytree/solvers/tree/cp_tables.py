"""The dynamic program without its structure: every problem of equation (d) by a constraint solver.

What the paper starts from (M_dp^OP): the same cost tables as ``cost_tables``, but phi(v) is found by
CP-SAT for each value v, with a table constraint for every child. Only for comparison.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from tallytree.errors import MechanismError
from tallytree.solvers.tree.cost_tables import CostTable

try:
    from ortools.sat.python import cp_model
except ImportError:
    raise MechanismError(
        "This mechanism needs OR-tools, which is not installed: pip install 'tallytree[solvers]'."
    ) from None

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class SolvedTable:
    """phi of a node's children, each value solved on demand."""

    children: tuple[CostTable, ...]
    known: dict[int, tuple[int, list[int]]] = field(default_factory=dict)
    """The values solved so far: the cost and the children's values of each."""

    @property
    def low(self) -> int:
        """The least sum of the children's values."""
        return sum(child.low for child in self.children)

    @property
    def high(self) -> int:
        """The largest sum of the children's values."""
        return sum(child.high for child in self.children)

    @cached_property
    def table(self) -> CostTable:
        """phi(v) for every v: one problem for each entry."""
        costs = [self._find(value)[0] for value in range(self.low, self.high + 1)]
        return CostTable(self.low, np.array(costs, dtype=np.int64))

    def split(self, value: int) -> Ints:
        """Return the children's values that add up to ``value`` at the least cost."""
        return np.array(self._find(value)[1], dtype=np.int64)

    def _find(self, value: int) -> tuple[int, list[int]]:
        if value not in self.known:
            self.known[value] = self._solve(value)
        return self.known[value]

    def _solve(self, value: int) -> tuple[int, list[int]]:
        """Solve equations (d2) - (d4) for one v."""
        model = cp_model.CpModel()
        values, costs = [], []
        for child in self.children:
            x = model.new_int_var(child.low, child.high, "")
            cost = model.new_int_var(int(child.costs.min()), int(child.costs.max()), "")
            rows = [(child.low + i, c) for i, c in enumerate(child.costs.tolist())]
            model.add_allowed_assignments([x, cost], rows)
            values.append(x)
            costs.append(cost)
        model.add(sum(values) == value)
        model.minimize(sum(costs))
        solver = cp_model.CpSolver()
        solver.parameters.num_workers = 1
        solver.parameters.catch_sigint_signal = False  # an interruption must stop all problems, not only this
        status = solver.solve(model)
        if status != cp_model.OPTIMAL:
            raise MechanismError(f"CP-SAT did not solve a problem: {solver.status_name(status)}.")
        return round(solver.objective_value), [solver.value(x) for x in values]


def merge_by_constraints(children: Sequence[CostTable]) -> SolvedTable:
    """Merge the children's tables by a constraint solver, in place of TableMerge."""
    return SolvedTable(tuple(children))
