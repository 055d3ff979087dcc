"""The paper's own algorithm for Model M_H: dynamic programming on cost tables.

The reference implementation: readable, exact, and slow. Its tables have 2 delta + 1 entries for every
region and size, delta = 3 ceil(2 lambda^2), so its time and memory grow with the square of the noise.
``tree_projection`` finds the same optimum without them.

Two corrections. The paper's domains D = {n~ - delta .. n~ + delta}, restricted to numbers >= 0, may be
empty or leave the optimum out (when the total is far from the noisy sum, or a noisy count far below
zero). Here the algorithm starts with them and doubles delta until no value lies at a bound that only
delta imposes: then every single exchange stays within the domains, so the optimum within them is the
optimum (``tree_model``). And line 2 of Algorithm 1 needs the cost of the step *down* from v, for all
v up to the minimum.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Protocol

import numpy as np
import numpy.typing as npt

from tallytree.errors import MechanismError
from tallytree.solvers.layout import Cells, Tree

Ints = npt.NDArray[np.int64]

MOST_ENTRIES = 2**29
"""Table entries over all nodes: about 4 GB."""
MOST_COST = 2**47
"""The largest cost of one cell. With weights up to 2^20, cells of this cost have 2^14 entries each, so that
there are at most 2^15 of them, and their sum fits 64 bits."""


@dataclass(frozen=True)
class CostTable:
    """tau: the least cost of a subtree for each value of its root, from ``low`` on."""

    low: int
    costs: Ints

    @property
    def high(self) -> int:
        """The largest value of the domain."""
        return self.low + len(self.costs) - 1

    @property
    def best(self) -> int:
        """The (first) value of least cost."""
        return self.low + int(np.argmin(self.costs))


class Merged(Protocol):
    """phi: the least cost of a node's children together, for each sum of their values."""

    @property
    def low(self) -> int:
        """The least sum."""
        ...

    @property
    def high(self) -> int:
        """The largest sum."""
        ...

    @property
    def table(self) -> CostTable:
        """The cost of every sum."""
        ...

    def split(self, value: int) -> Ints:
        """Return the children's values that add up to ``value`` at the least cost."""
        ...


Merger = Callable[[Sequence[CostTable]], Merged]


@dataclass(frozen=True)
class MergedTable:
    """phi by Algorithm 1, TableMerge."""

    table: CostTable
    start: Ints
    """v^0: each child's value of least cost."""
    up: Ints
    """The child whose value grows by one at each step up from the sum of v^0: the paper's v^+."""
    down: Ints
    """The child whose value shrinks by one at each step down: the paper's v^-."""

    @property
    def low(self) -> int:
        """The least sum."""
        return self.table.low

    @property
    def high(self) -> int:
        """The largest sum."""
        return self.table.high

    def split(self, value: int) -> Ints:
        """Return the children's values that add up to ``value`` at the least cost."""
        steps = value - int(self.start.sum())
        moved = self.up[:steps] if steps >= 0 else self.down[:-steps]
        change = np.bincount(moved, minlength=len(self.start))
        return self.start + change if steps >= 0 else self.start - change


def own_costs(noisy: int, weight: int, delta: int) -> CostTable:
    """Return the costs of equation (d1): w (v - n~)^2 for v in the node's domain, which is never empty."""
    low, high = max(0, noisy - delta), max(0, noisy + delta)
    if weight * max(high - noisy, noisy - low) ** 2 > MOST_COST:
        raise MechanismError(
            "The noise is too large for cost tables: their entries would overflow. By default, direct-dp and "
            "cumulative-chain do without them."
        )
    return CostTable(low, weight * (np.arange(low, high + 1, dtype=np.int64) - noisy) ** 2)


def merge_tables(children: Sequence[CostTable]) -> MergedTable:
    """Run Algorithm 1, TableMerge: find phi from the children's convex tables, by sorting their slopes."""
    ups, downs, up_ids, down_ids = [], [], [], []
    for child, table in enumerate(children):
        at = table.best - table.low
        ups.append(np.diff(table.costs[at:]))
        downs.append(np.diff(table.costs[: at + 1][::-1]))
        up_ids.append(np.full(len(ups[-1]), child))
        down_ids.append(np.full(len(downs[-1]), child))
    up_slopes, down_slopes = np.concatenate(ups), np.concatenate(downs)
    # A child's slopes grow away from its minimum, so sorting all slopes preserves each child's order.
    by_up = np.argsort(up_slopes, kind="stable")
    by_down = np.argsort(down_slopes, kind="stable")
    least = sum(int(table.costs.min()) for table in children)
    costs = np.concatenate(
        [
            (least + np.cumsum(down_slopes[by_down]))[::-1],
            [least],
            least + np.cumsum(up_slopes[by_up]),
        ]
    )
    return MergedTable(
        table=CostTable(sum(table.low for table in children), costs),
        start=np.array([table.best for table in children]),
        up=np.concatenate(up_ids)[by_up],
        down=np.concatenate(down_ids)[by_down],
    )


def add_costs(own: CostTable, below: CostTable) -> CostTable | None:
    """Add up equation (d): tau = (d1) + phi, where both are defined; None if nowhere."""
    low, high = max(own.low, below.low), min(own.high, below.high)
    if low > high:
        return None
    mine = own.costs[low - own.low : high - own.low + 1]
    return CostTable(low, mine + below.costs[low - below.low : high - below.low + 1])


def solve_with_tables(
    tree: Tree,
    noisy: Cells,
    weights: Ints,
    total: int | None,
    scales: Sequence[Fraction],
    merge: Merger = merge_tables,
) -> tuple[Cells, int]:
    """Return the optimum of Model M_H, and how many times the paper's domains had to be doubled."""
    deltas = [3 * ceil(2 * scale**2) for scale in scales]
    doublings = 0
    while True:
        solution = _solve(tree, noisy, weights, total, deltas, merge)
        if solution is not None and not _at_an_end(tree, noisy, solution, deltas):
            return solution, doublings
        deltas = [2 * delta for delta in deltas]
        doublings += 1


def _solve(
    tree: Tree, noisy: Cells, weights: Ints, total: int | None, deltas: Sequence[int], merge: Merger
) -> Cells | None:
    """Run both phases within the given domains; return None if they admit no solution."""
    _check_entries(tree, noisy, deltas)
    sizes = len(noisy.inner)
    merged: list[list[Merged]] = []
    roots: list[CostTable] = []
    for s in range(sizes):  # bottom-up, each size's subtree separately
        tables = _build_subtree(tree, noisy.inner[s], noisy.leaf[s], weights, deltas, merge)
        if tables is None:
            return None
        merged.append(tables[0])
        roots.append(tables[1])
    counts = Cells(np.zeros_like(noisy.inner), np.zeros_like(noisy.leaf))
    if total is None:
        counts.inner[:, 0] = [table.best for table in roots]
    else:
        top = merge(roots)
        if not top.low <= total <= top.high:
            return None
        counts.inner[:, 0] = top.split(total)
    for s in range(sizes):  # top-down
        for v in range(len(tree.level)):
            values = merged[s][v].split(int(counts.inner[s, v]))
            inner = slice(tree.inner[v], tree.inner[v + 1])
            counts.inner[s, inner] = values[: inner.stop - inner.start]
            counts.leaf[s, tree.family[v] : tree.family[v + 1]] = values[inner.stop - inner.start :]
    return counts


def _build_subtree(
    tree: Tree, noisy_inner: Ints, noisy_leaf: Ints, weights: Ints, deltas: Sequence[int], merge: Merger
) -> tuple[list[Merged], CostTable] | None:
    """Run the bottom-up phase of one size: return phi of every inner node, and tau of the root."""
    tables: dict[int, CostTable] = {}
    merged: dict[int, Merged] = {}
    for v in reversed(range(len(tree.level))):
        level = int(tree.level[v])
        children = [tables.pop(c) for c in range(tree.inner[v], tree.inner[v + 1])]
        children += [
            own_costs(int(noisy_leaf[i]), int(weights[level + 1]), deltas[level + 1])
            for i in range(tree.family[v], tree.family[v + 1])
        ]
        merged[v] = merge(children)
        table = add_costs(own_costs(int(noisy_inner[v]), int(weights[level]), deltas[level]), merged[v].table)
        if table is None:
            return None
        tables[v] = table
    return [merged[v] for v in range(len(tree.level))], tables[0]


def _at_an_end(tree: Tree, noisy: Cells, counts: Cells, deltas: Sequence[int]) -> bool:
    """Return whether any count lies at a bound of its domain set by delta (zero is a real bound)."""
    delta = np.array(deltas)
    inner_delta = delta[tree.level]
    leaf_delta = np.repeat(delta[tree.level + 1], np.diff(tree.family))
    for count, t, d in (
        (counts.inner, noisy.inner, inner_delta),
        (counts.leaf, noisy.leaf, leaf_delta),
    ):
        if ((count >= t + d) | ((count <= t - d) & (count > 0))).any():
            return True
    return False


def _check_entries(tree: Tree, noisy: Cells, deltas: Sequence[int]) -> None:
    families = np.diff(tree.family).tolist()
    entries = sum(
        (2 * deltas[level] + 1) + leaves * (2 * deltas[level + 1] + 1)
        for level, leaves in zip(tree.level.tolist(), families, strict=True)
    )
    if entries * len(noisy.inner) > MOST_ENTRIES:
        raise MechanismError(
            f"The cost tables would need {entries * len(noisy.inner):,} entries, more than "
            f'{MOST_ENTRIES:,}: use direct-dp with solver="projection", which finds the same optimum.'
        )
