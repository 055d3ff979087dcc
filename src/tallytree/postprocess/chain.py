"""The paper's chain model (C6) - (C10), by isotonic regression.

Every count of the chain query says how many groups there are up to some leaf cell, in the order of the
chain: size by size, the tree in post-order. A region and its last child end at the same leaf, so their
counts are equal (C9); such nodes are merged into one point, weighted by their levels. What is left is
non-decreasing from leaf cell to leaf cell, with G at the end (C7): weighted isotonic regression, whose
fit rounded half up is the exact integer optimum.

(C8) leaves out the case lev(a_i) < lev(a_{i+1}); the paper's recurrence has it ("otherwise"), and it is
needed: it is the step from one region to the first leaf of the next.

The processors share the sizes, and take a few at a time, as many as a cache holds.
"""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from tallytree.hierarchy import Hierarchy
from tallytree.kernels import RowPool, kernel
from tallytree.level_arrays import get_shape, take_rows
from tallytree.limits import MAX_CHAIN_WEIGHT_SUM, MAX_MEASURED
from tallytree.postprocess.blocks import Blocks, Steps, join, pool, round_blocks
from tallytree.postprocess.chain_counts import SIZES_AT_A_TIME, count_groups, take_sizes
from tallytree.postprocess.chain_tables import solve_chain_with_tables
from tallytree.postprocess.objective import sum_squares, weigh_levels
from tallytree.postprocess.solution import Evidence, Solution

Ints = npt.NDArray[np.int64]


def solve_chain_model(
    hierarchy: Hierarchy,
    values: Sequence[Ints],
    *,
    total: int,
    scales: Sequence[Fraction],
    solver: str = "isotonic",
) -> Solution:
    """The exact integer optimum of (C6) - (C10); a level weighs 1 / scale^2."""
    values = list(values)  # a large level is written out once, and not anew for every few sizes
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
    """The objective of (C6) at given counts, of which those of the leaves decide."""
    leaf = np.empty((hierarchy.leaf_count, get_shape(values, 0)[1]), dtype=np.int64)
    for level in range(len(values)):
        rows = np.flatnonzero(~hierarchy.has_children(level))
        leaf[hierarchy.last_leaves(level)[rows]] = take_rows(counts, level, rows)
    chain = np.cumsum(leaf.T, dtype=np.int64).reshape(leaf.T.shape)
    weights = weigh_levels(scales, most=MAX_CHAIN_WEIGHT_SUM).tolist()
    squares = (sum_squares(chain[:, hierarchy.last_leaves(at)].T - noisy) for at, noisy in enumerate(values))
    return Evidence(sum(weight * square for weight, square in zip(weights, squares, strict=True)))


def _fit_chain(hierarchy: Hierarchy, values: Sequence[Ints], weights: Ints, total: int) -> Steps:
    """The fitted chain. The processors share the sizes; then their blocks are pooled in turn."""
    leaves, sizes = hierarchy.leaf_count, values[0].shape[1]
    blocks = Blocks.empty(leaves * sizes)
    ends = [hierarchy.last_leaves(level) for level in range(len(values))]
    before = _add_weights(ends, weights, leaves)
    found: dict[int, int] = {}  # how many blocks, by where they start

    def pool_part(part: slice) -> None:
        own = blocks.some(slice(part.start * leaves, part.stop * leaves))
        count = 0
        room = np.empty((2, SIZES_AT_A_TIME, leaves), dtype=np.int64)
        for some in take_sizes(part):
            floors, rests = room[:, : some.stop - some.start]
            for level, noisy in enumerate(values):
                _merge(noisy, some.start, ends[level], before[level], weights[level], floors, rests)
            if some.stop == sizes:
                # The last point is the total (C7): above all others it stays alone, and is then cut to it.
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
    """Levels + 1 x leaves: the weights of the nodes that end at a leaf, of the levels before each."""
    sums = np.zeros((len(ends) + 1, leaves), dtype=np.int64)
    for level, places in enumerate(ends):
        sums[level + 1] = sums[level]
        sums[level + 1, places] += weights[level]  # no two regions of a level end at the same leaf
    return sums


@kernel
def _merge(noisy: Ints, first: int, ends: Ints, before: Ints, weight: int, floors: Ints, rests: Ints) -> None:
    """Merge a level's answers of a few sizes into the points; ``before`` is what these weigh so far."""
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
    """Go on pooling with the points of a few sizes."""
    ones = np.ones_like(weights)
    for s in range(len(floors)):
        count = pool(Blocks(floors[s], rests[s], weights, ones), blocks, count)
    return count
