"""The paper's chain model (C6) - (C10), by isotonic regression.

Every count of the chain query says how many groups there are up to some leaf cell, in the order of the
chain: size by size, the tree in post-order. A region and its last child end at the same leaf, so their
counts are equal (C9); such nodes are merged into one point, weighted by their levels. The resulting points
are non-decreasing from leaf cell to leaf cell, with G at the end (C7): a weighted isotonic regression,
whose fit rounded half up is the exact integer optimum.

(C8) leaves out the case lev(a_i) < lev(a_{i+1}); the paper's recurrence has it ("otherwise"), and it is
needed: it is the step from one region to the first leaf of the next.

The processors share the sizes, and process a few at a time, as many as a cache holds.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import ceil

import numpy as np
import numpy.typing as npt

from tallytree.arrays import MAX_CHAIN_WEIGHT_SUM, MAX_MEASURED, get_shape, take_rows
from tallytree.errors import MechanismError
from tallytree.hierarchy import Hierarchy
from tallytree.kernels import RowPool, kernel
from tallytree.solvers.isotonic import Blocks, Steps, join, pool, round_blocks
from tallytree.solvers.solution import Evidence, Solution, sum_squares, weigh_levels
from tallytree.solvers.tree.cost_tables import MOST_ENTRIES, CostTable, own_costs

# The paper's own algorithm for the chain model: its recurrence on cost tables.
#
# The reference implementation of (C6) - (C10): readable, exact, and slow; ``chain`` finds the same optimum
# in linear time. As in ``cost_tables``, the paper's domains are widened until no value lies at a bound that
# only delta imposes.

Ints = npt.NDArray[np.int64]

IMPOSSIBLE = 2**60


def solve_chain_with_tables(
    hierarchy: Hierarchy, values: Sequence[Ints], weights: Ints, total: int, scales: Sequence[Fraction]
) -> tuple[Ints, int]:
    """Return the fitted chain (leaves in post-order x sizes), and how often the domains were doubled."""
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
    """Return the nodes of one size in post-order, as (level, region)."""
    ends = [
        (int(last), -level, region)
        for level in range(len(hierarchy.levels))
        for region, last in enumerate(hierarchy.last_leaves(level))
    ]
    # Sorted by the last leaf below; of nodes with the same one, the deeper comes first.
    return [(-level, region) for _, level, region in sorted(ends)]


def build_tables(
    noisy: Sequence[int], levels: Sequence[int], weights: Sequence[int], deltas: Sequence[int]
) -> list[CostTable]:
    """Run the bottom-up phase: (d5) + (d6) from the head of the chain to its tail."""
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
    """Run the top-down phase: from the total at the tail to the head; None if the domains do not admit it."""
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


# Sums of squares that need more than 64 bits, as four digits: their places are 1, 2^20, 2^40 and 2^80.

DIGITS = 4


def read_digits(digits: Ints) -> int:
    """Return the number that the digits stand for."""
    low, mid, high, top = digits.tolist()
    return int(low + (mid << 20) + (high << 40) + (top << 80))


@kernel
def add_digits(digits: Ints, low: int, mid: int, high: int) -> None:
    """Add low + 2^20 mid + 2^40 high; each of the three is from 0 up to 2^62."""
    low += digits[0]
    mid += digits[1] + (low >> 20)
    high += digits[2] + (mid >> 20)
    digits[0], digits[1], digits[2] = low & (2**20 - 1), mid & (2**20 - 1), high & (2**40 - 1)
    digits[3] += high >> 40


# From the fitted chain back to group counts, and to the objective.
#
# The chain is stored as steps, which are few where there is much noise.

SIZES_AT_A_TIME = 8


def take_sizes(part: slice) -> Iterator[slice]:
    """Yield a few sizes at a time: their data fit into a cache, and answers are read in whole cache lines."""
    for start in range(part.start, part.stop, SIZES_AT_A_TIME):
        yield slice(start, min(start + SIZES_AT_A_TIME, part.stop))


def count_groups(hierarchy: Hierarchy, values: Sequence[Ints], steps: Steps) -> tuple[list[Ints], list[int]]:
    """Invert the chain query; also return the sum of (c^ - c~)^2 for each level.

    There are groups where the chain rises: in the leaf at which a step begins, and in the regions above it.
    """
    leaves, sizes = hierarchy.leaf_count, values[0].shape[1]
    rows, parents = _number_regions(hierarchy)
    counts = np.zeros((len(parents), sizes), dtype=np.int64)
    squares: list[Ints] = []

    def count_part(part: slice) -> None:
        digits = np.zeros((len(values), DIGITS), dtype=np.int64)
        chain = np.empty((SIZES_AT_A_TIME, leaves), dtype=np.int64)
        step = int(np.searchsorted(steps.ends, part.start * leaves, side="right"))
        for some in take_sizes(part):
            here = chain[: some.stop - some.start]
            step = _climb(steps, step, rows, parents, here, counts, some.start)
            for level, noisy in enumerate(values):
                _add_squares(noisy, some.start, hierarchy.last_leaves(level), here, digits[level])
        squares.append(digits)

    processors = RowPool(sizes)
    processors.run(count_part)
    lengths = [len(level) for level in values]
    return (
        np.split(counts, np.cumsum(lengths)[:-1]),
        [sum(read_digits(part[level]) for part in squares) for level in range(len(values))],
    )


def _number_regions(hierarchy: Hierarchy) -> tuple[Ints, Ints]:
    """Number all levels' regions consecutively: the numbers of the leaves (in post-order), and of parents."""
    rows = np.empty(hierarchy.leaf_count, dtype=np.int64)
    parents = [np.array([-1])]
    start = above = 0
    for level in range(len(hierarchy.levels)):
        inner = hierarchy.has_children(level)
        rows[hierarchy.last_leaves(level)[~inner]] = start + np.flatnonzero(~inner)
        if level:
            parents.append(above + hierarchy.parents(level))
        start, above = start + len(inner), start
    return rows, np.concatenate(parents)


@kernel
def _climb(steps: Steps, step: int, rows: Ints, parents: Ints, chain: Ints, counts: Ints, first: int) -> int:
    """Write the chain of a few sizes, and count the groups where it rises; return the step to continue at."""
    leaves = chain.shape[1]
    flat = chain.reshape(-1)
    at, start = 0, first * leaves
    while at < len(flat):
        begin, below = (steps.ends[step - 1], steps.heights[step - 1]) if step > 0 else (0, 0)
        rise = steps.heights[step] - below
        if rise > 0 and begin == start + at:
            row = rows[at % leaves]
            while row >= 0:
                counts[row, first + at // leaves] += rise
                row = parents[row]
        end = min(steps.ends[step] - start, len(flat))
        flat[at:end] = steps.heights[step]
        at = end
        step += steps.ends[step] == start + end
    return step


@kernel
def _add_squares(noisy: Ints, first: int, ends: Ints, chain: Ints, digits: Ints) -> None:
    """Add up a level's (c^ - c~)^2 over a few sizes; no term is above 2^80."""
    for r in range(len(ends)):
        low, mid, high = 0, 0, 0
        for s in range(len(chain)):
            d = abs(chain[s, ends[r]] - noisy[r, first + s])
            a, b = d >> 20, d & (2**20 - 1)
            low, mid, high = low + b * b, mid + 2 * a * b, high + a * a
        add_digits(digits, low, mid, high)


def solve_chain_model(
    hierarchy: Hierarchy,
    values: Sequence[Ints],
    *,
    total: int,
    scales: Sequence[Fraction],
    solver: str = "isotonic",
) -> Solution:
    """Find the exact integer optimum of (C6) - (C10); a level weighs 1 / scale^2."""
    values = list(values)  # a large level is expanded once, not again for every few sizes
    weights = weigh_levels(scales, most=MAX_CHAIN_WEIGHT_SUM)
    effort = {}
    if solver == "tables":
        chain, doublings = solve_chain_with_tables(hierarchy, values, weights, total, scales)
        steps = Steps(chain.T.ravel(), np.arange(chain.size) + 1)
        effort = {"domain_doublings": doublings}
    else:
        steps = _fit_chain(hierarchy, values, weights, total)
    counts, squares = count_groups(hierarchy, values, steps)
    return Solution(
        counts=counts,
        objective=sum(int(weight) * square for weight, square in zip(weights, squares, strict=True)),
        certificate=None,
        solver=solver,
        effort=effort,
    )


def assess_chain_model(
    hierarchy: Hierarchy, values: Sequence[Ints], counts: Sequence[Ints], *, scales: Sequence[Fraction]
) -> Evidence:
    """Return the objective of (C6) at given counts, which depends on those of the leaves."""
    leaf = np.empty((hierarchy.leaf_count, get_shape(values, 0)[1]), dtype=np.int64)
    for level in range(len(values)):
        rows = np.flatnonzero(~hierarchy.has_children(level))
        leaf[hierarchy.last_leaves(level)[rows]] = take_rows(counts, level, rows)
    chain = np.cumsum(leaf.T, dtype=np.int64).reshape(leaf.T.shape)
    weights = weigh_levels(scales, most=MAX_CHAIN_WEIGHT_SUM).tolist()
    squares = (sum_squares(chain[:, hierarchy.last_leaves(at)].T - noisy) for at, noisy in enumerate(values))
    return Evidence(sum(weight * square for weight, square in zip(weights, squares, strict=True)))


def _fit_chain(hierarchy: Hierarchy, values: Sequence[Ints], weights: Ints, total: int) -> Steps:
    """Fit the chain. The processors share the sizes; then their blocks are pooled in turn."""
    leaves, sizes = hierarchy.leaf_count, values[0].shape[1]
    blocks = Blocks.empty(leaves * sizes)
    ends = [hierarchy.last_leaves(level) for level in range(len(values))]
    before = _add_weights(ends, weights, leaves)
    found: dict[int, int] = {}  # number of blocks of each part, by the part's start

    def pool_part(part: slice) -> None:
        own = blocks.some(slice(part.start * leaves, part.stop * leaves))
        count = 0
        room = np.empty((2, SIZES_AT_A_TIME, leaves), dtype=np.int64)
        for some in take_sizes(part):
            floors, rests = room[:, : some.stop - some.start]
            for level, noisy in enumerate(values):
                _merge(noisy, some.start, ends[level], before[level], weights[level], floors, rests)
            if some.stop == sizes:
                # The last point is the total (C7): set above all others, it stays alone, and is then clipped.
                floors[-1, -1], rests[-1, -1] = 2 * MAX_MEASURED, 0
            count = _pool_sizes(floors, rests, before[-1], own, count)
        found[part.start * leaves] = count

    processors = RowPool(sizes)
    processors.run(pool_part)
    (_, count), *others = sorted(found.items())
    for start, more in others:
        count = pool(blocks.some(slice(start, start + more)), blocks, count)
    return round_blocks(blocks.some(slice(0, count)), 0, total)


def _add_weights(ends: Sequence[Ints], weights: Ints, leaves: int) -> Ints:
    """Sum the weights of the nodes ending at each leaf, over the levels before each: levels + 1 x leaves."""
    sums = np.zeros((len(ends) + 1, leaves), dtype=np.int64)
    for level, places in enumerate(ends):
        sums[level + 1] = sums[level]
        sums[level + 1, places] += weights[level]  # no two regions of a level end at the same leaf
    return sums


@kernel
def _merge(noisy: Ints, first: int, ends: Ints, before: Ints, weight: int, floors: Ints, rests: Ints) -> None:
    """Merge a level's answers of a few sizes into the points; ``before`` is the points' weight so far."""
    for r in range(len(ends)):
        end = ends[r]
        if before[end] == 0:
            for s in range(len(floors)):
                floors[s, end], rests[s, end] = noisy[r, first + s], 0
        else:
            for s in range(len(floors)):
                floors[s, end], rests[s, end], _ = join(
                    floors[s, end], rests[s, end], before[end], noisy[r, first + s], 0, weight
                )


@kernel
def _pool_sizes(floors: Ints, rests: Ints, weights: Ints, blocks: Blocks, count: int) -> int:
    """Continue pooling with the points of a few sizes."""
    ones = np.ones_like(weights)
    for s in range(len(floors)):
        count = pool(Blocks(floors[s], rests[s], weights, ones), blocks, count)
    return count
