"""The paper's own algorithm for the chain model: its recurrence on cost tables.

The reference implementation of (C6) - (C10): readable, exact, and slow; ``chain`` finds the same optimum
in linear time. As in ``cost_tables``, the paper's domains are widened until no value lies at an end that
only delta set.
"""

from collections.abc import Sequence
from fractions import Fraction
from math import ceil

import numpy as np
import numpy.typing as npt

from tallytree.errors import MechanismError
from tallytree.hierarchy import Hierarchy
from tallytree.postprocess.cost_tables import MOST_ENTRIES, CostTable, own_costs

Ints = npt.NDArray[np.int64]

IMPOSSIBLE = 2**60


def solve_chain_with_tables(
    hierarchy: Hierarchy, values: Sequence[Ints], weights: Ints, total: int, scales: Sequence[Fraction]
) -> tuple[Ints, int]:
    """The fitted chain (leaves in post-order x sizes), and how often the domains were doubled."""
    nodes = list_chain(hierarchy)
    sizes = values[0].shape[1]
    noisy = [int(values[level][region, size]) for size in range(sizes) for level, region in nodes]
    levels = [level for _ in range(sizes) for level, _ in nodes]
    node_weights = [int(weights[level]) for level in levels]
    deltas = [3 * ceil(2 * scale**2) for scale in scales]
    doublings = 0
    while True:
        spread = [deltas[level] for level in levels]
        if sum(2 * delta + 1 for delta in spread) > MOST_ENTRIES:
            raise MechanismError(
                f"The cost tables would need more than {MOST_ENTRIES:,} entries: use "
                'solver="isotonic", which finds the same optimum.'
            )
        found = trace_back(build_tables(noisy, levels, node_weights, spread), levels, total)
        if found is not None and not any(
            x >= t + delta or 0 < x <= t - delta
            for x, t, delta in zip(found[:-1], noisy, spread, strict=False)
        ):
            break
        deltas = [2 * delta for delta in deltas]
        doublings += 1
    chain = np.zeros((hierarchy.leaf_count, sizes), dtype=np.int64)
    for i, x in enumerate(found):
        level, region = nodes[i % len(nodes)]
        chain[hierarchy.last_leaves(level)[region], i // len(nodes)] = x
    return chain, doublings


def list_chain(hierarchy: Hierarchy) -> list[tuple[int, int]]:
    """The nodes of one size in post-order, as (level, region)."""
    ends = [
        (int(last), -level, region)
        for level in range(len(hierarchy.levels))
        for region, last in enumerate(hierarchy.last_leaves(level))
    ]
    # By the last leaf below; where that is the same, the deeper one comes first.
    return [(-level, region) for _, level, region in sorted(ends)]


def build_tables(
    noisy: Sequence[int], levels: Sequence[int], weights: Sequence[int], deltas: Sequence[int]
) -> list[CostTable]:
    """The bottom-up phase: (d5) + (d6) from the head of the chain to its tail."""
    tables = [own_costs(noisy[0], weights[0], deltas[0])]
    for i in range(1, len(noisy)):
        own, before = own_costs(noisy[i], weights[i], deltas[i]), tables[-1]
        equal = levels[i - 1] > levels[i]
        reach = before.costs if equal else np.minimum.accumulate(before.costs)
        at = np.arange(own.low, own.high + 1) - before.low
        below = np.where(at < 0, IMPOSSIBLE, reach[np.clip(at, 0, len(reach) - 1)])
        if equal:
            below = np.where(at >= len(reach), IMPOSSIBLE, below)
        tables.append(CostTable(own.low, np.minimum(own.costs + below, IMPOSSIBLE)))
    return tables


def trace_back(tables: Sequence[CostTable], levels: Sequence[int], total: int) -> list[int] | None:
    """The top-down phase: from the total at the tail to the head; None if the domains do not admit it."""
    found = [total]
    for i in range(len(tables) - 1, -1, -1):
        table, x = tables[i], found[-1]
        if i < len(tables) - 1 and levels[i] <= levels[i + 1]:
            upto = table.costs[: max(0, x - table.low + 1)]
            if not len(upto):
                return None
            x = table.low + int(np.argmin(upto))
        if not table.low <= x <= table.high or table.costs[x - table.low] >= IMPOSSIBLE:
            return None
        found.append(x)
    return found[:0:-1]
