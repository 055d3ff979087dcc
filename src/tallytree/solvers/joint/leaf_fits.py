"""Each leaf's non-negative, non-decreasing fit to its answers, at given prices.

Only the *blocks* of a fit are stored, the runs of sizes with one value, and only those that can move with the
prices. Most leaves have few, so work on them (``leaf_responses``) takes time and memory in the number of
blocks, not of sizes; the values are computed again where they are needed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from tallytree.kernels import WORTH_SHARING, kernel, share_work
from tallytree.solvers.layout import Tree

# The leaves of the joint model, in parts that are processed one by one: there may be millions of leaves.
#
# The target of a leaf is stored as *steps*, runs of sizes with one value: few, once answers are smoothed.

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Places = npt.NDArray[np.int32]
Result = TypeVar("Result")

LEAST_PART_CELLS, MOST_PART_CELLS = 2**16, 2**21
"""Leaves x sizes of a part, which one thread works on. Independent of the number of threads, so that sums
come out the same on any machine."""


class StepRows(NamedTuple):
    """Rows of whole numbers as runs: ``heights[b]`` up to ``ends[b]``; row r is first[r] : first[r + 1]."""

    first: Places
    ends: Places
    heights: Ints


class Part(NamedTuple):
    """Some inner nodes of one level, with all their leaf children."""

    first: int
    stop: int
    """The nodes are those from ``first`` to ``stop``."""
    targets: StepRows
    """The target of each leaf."""
    parent: Ints
    """The inner node above each leaf."""
    ease: Floats
    """1 / weight: how far a leaf moves for a price of one."""
    cap: Floats
    """The leaf's number of groups where it is known, else infinity."""


@dataclass(frozen=True, eq=False)
class Leaves:
    """All leaves; those with the same parent are together."""

    parts: Sequence[Part]
    sizes: int

    @property
    def nodes(self) -> int:
        """How many inner nodes there are."""
        return self.parts[-1].stop

    def sum_parts(
        self, work: Callable[[int, Part], Floats], width: int, cells: int = WORTH_SHARING
    ) -> Floats:
        """Assemble an array, inner nodes x ``width``: ``work`` returns the rows of a part's nodes."""
        sums = np.empty((self.nodes, width))

        def fill(number: int, part: Part) -> None:
            sums[part.first : part.stop] = work(number, part)

        self.map(fill, cells)
        return sums

    def map(self, work: Callable[[int, Part], Result], cells: int = WORTH_SHARING) -> list[Result]:
        """Call ``work(number, part)`` for each part, on all processors if the ``cells`` are many."""
        return share_work(work, self.parts, cells)


def cut_nodes(tree: Tree, sizes: int) -> list[tuple[int, int]]:
    """Cut a tree's inner nodes into parts: each on one level, and a single node or with limited leaves."""
    cells = int(tree.family[-1]) * sizes
    most = min(MOST_PART_CELLS, max(LEAST_PART_CELLS, cells // 16))
    cuts = [0]
    ends = np.searchsorted(tree.level, np.arange(int(tree.level[-1]) + 1), side="right").tolist()
    for end in ends:
        while cuts[-1] < end:
            room = tree.family[cuts[-1]] + most // sizes
            reached = int(np.searchsorted(tree.family, room, side="right")) - 1
            cuts.append(min(end, max(reached, cuts[-1] + 1)))
    return list(pairwise(cuts))


@kernel
def find_steps(rows: npt.NDArray[np.signedinteger]) -> StepRows:
    """Return rows as steps, with their values unchanged."""
    count, sizes = rows.shape
    first = np.zeros(count + 1, dtype=np.int32)
    ends, heights = np.empty(count * sizes, dtype=np.int32), np.empty(count * sizes, dtype=np.int64)
    used = 0
    for r in range(count):
        for i in range(sizes):
            if i + 1 == sizes or rows[r, i] != rows[r, i + 1]:
                ends[used], heights[used] = i + 1, rows[r, i]
                used += 1
        first[r + 1] = used
    return StepRows(first, ends[:used].copy(), heights[:used].copy())


@kernel
def sum_targets(part: Part, sizes: int) -> Floats:
    """Add up the targets of each node's leaves; a leaf whose number of groups is known ends there."""
    sums = np.zeros((part.stop - part.first, sizes))
    for r in range(len(part.parent)):
        row = sums[part.parent[r] - part.first]
        begin = 0
        for b in range(part.targets.first[r], part.targets.first[r + 1]):
            for i in range(begin, part.targets.ends[b]):
                row[i] += part.targets.heights[b]
            begin = part.targets.ends[b]
        if part.cap[r] < np.inf:
            row[sizes - 1] += part.cap[r] - part.targets.heights[part.targets.first[r + 1] - 1]
    return sums


@kernel
def sum_slack(part: Part) -> Floats:
    """Add up the ease of each node's leaves, and that of its leaves whose number of groups is not known."""
    sums = np.zeros((part.stop - part.first, 2))
    for r in range(len(part.parent)):
        row = sums[part.parent[r] - part.first]
        row[0] += part.ease[r]
        if not part.cap[r] < np.inf:
            row[1] += part.ease[r]
    return sums


class Fits(NamedTuple):
    """The fits of a part's leaves."""

    start: Places
    """Per leaf: where its first block above zero, which can move with the prices, begins."""
    first: Places
    """Leaves + 1 offsets: the blocks of leaf r that can move are ``first[r] : first[r + 1]``."""
    ends: Places
    """Per block: where it ends."""
    squares: float
    """The sum of (fit - target)^2 / ease over all leaves and sizes."""


class Scratch(NamedTuple):
    """Working memory for fitting one leaf."""

    wanted: Floats
    totals: Floats
    heights: Floats
    ends: Places


@kernel
def make_scratch(sizes: int) -> Scratch:
    """Allocate scratch for this number of sizes."""
    return Scratch(np.empty(sizes), np.empty(sizes), np.empty(sizes), np.empty(sizes, dtype=np.int32))


@kernel
def fit_part(part: Part, prices: Floats, sums: Floats) -> Fits:
    """Fit each leaf: the x nearest to target - ease * price among 0 <= x_1 <= x_2 <= ... <= cap.

    ``prices``, inner nodes x sizes, are the prices of a group below each node. ``sums``, for the part's nodes
    alone, is filled with the sums of the fits of each node's leaf children.
    """
    leaves, sizes = len(part.parent), prices.shape[1]
    scratch = make_scratch(sizes)
    start, offsets = np.zeros(leaves, dtype=np.int32), np.zeros(leaves + 1, dtype=np.int32)
    movable = np.empty(leaves * sizes, dtype=np.int32)
    sums[:] = 0.0
    used, squares = 0, 0.0
    for r in range(leaves):
        blocks, first, stop = fit_leaf(part, r, prices[part.parent[r]], scratch)
        if first > 0:
            start[r] = scratch.ends[first - 1]
        for b in range(first, stop):
            movable[used] = scratch.ends[b]
            used += 1
        offsets[r + 1] = used
        row = sums[part.parent[r] - part.first]
        begin, before = 0, 0.0
        for b in range(blocks):
            row[begin] += scratch.heights[b] - before
            begin, before = scratch.ends[b], scratch.heights[b]
        squares += _sum_squares(part.targets, r, scratch) / part.ease[r]
    accumulate(sums)
    return Fits(start, offsets, movable[:used].copy(), squares)


@kernel
def _sum_squares(targets: StepRows, r: int, scratch: Scratch) -> float:
    """Return the sum over sizes of (fit - target)^2 for leaf r: both are constant between their ends."""
    squares, begin, block = 0.0, 0, 0
    for b in range(targets.first[r], targets.first[r + 1]):
        while begin < targets.ends[b]:
            end = min(scratch.ends[block], targets.ends[b])
            squares += (end - begin) * (scratch.heights[block] - targets.heights[b]) ** 2
            begin = end
            if end == scratch.ends[block]:
                block += 1
    return squares


@kernel
def fit_leaf(part: Part, r: int, price: Floats, scratch: Scratch) -> tuple[int, int, int]:
    """Fill ``scratch`` with the fit of leaf r; return its number of blocks, the first above zero, and one
    past the last below the cap."""
    sizes = len(price)
    wanted, ends, heights = scratch.wanted, scratch.ends, scratch.heights
    ease, cap = part.ease[r], part.cap[r]
    begin = 0
    for b in range(part.targets.first[r], part.targets.first[r + 1]):
        height = np.float64(part.targets.heights[b])
        for i in range(begin, part.targets.ends[b]):
            wanted[i] = height - ease * price[i]
        begin = part.targets.ends[b]
    capped = cap < np.inf
    blocks = pool_adjacent(wanted[: sizes - 1] if capped else wanted, scratch.totals, ends, heights)
    first, stop = 0, blocks
    if capped:  # the last cumulative count is the number of groups, whatever was measured
        while stop > 0 and heights[stop - 1] >= cap:
            stop -= 1
            heights[stop] = cap
        ends[blocks], heights[blocks] = sizes, cap
        blocks += 1
    while first < stop and heights[first] <= 0.0:
        heights[first] = 0.0
        first += 1
    return blocks, first, stop


@kernel
def pool_adjacent(wanted: Floats, totals: Floats, ends: Places, heights: Floats) -> int:
    """Fit ``wanted`` isotonically by pooling adjacent violators; return the number of blocks.

    ``totals`` is scratch. Afterwards the first entries of ``ends`` and ``heights`` are those of the blocks.
    """
    if len(wanted) == 0:
        return 0
    blocks, total, length = 0, wanted[0], 1.0  # the last block is at hand, those before it are stored
    for i in range(1, len(wanted)):
        value = wanted[i]
        if total >= value * length:
            total, length = value + total, 1.0 + length
            while blocks > 0 and totals[blocks - 1] * length >= total * heights[blocks - 1]:
                blocks -= 1
                total += totals[blocks]
                length += heights[blocks]
        else:
            totals[blocks], heights[blocks], ends[blocks] = total, length, i
            blocks += 1
            total, length = value, 1.0
    totals[blocks], heights[blocks], ends[blocks] = total, length, len(wanted)
    blocks += 1
    for b in range(blocks):
        heights[b] = totals[b] / heights[b]
    return blocks


@kernel
def write_fits(part: Part, prices: Floats) -> Floats:
    """Return the values of the fits, leaves x sizes."""
    sizes = prices.shape[1]
    values, scratch = np.empty((len(part.parent), sizes)), make_scratch(sizes)
    for r in range(len(part.parent)):
        blocks, _, _ = fit_leaf(part, r, prices[part.parent[r]], scratch)
        begin = 0
        for b in range(blocks):
            values[r, begin : scratch.ends[b]] = scratch.heights[b]
            begin = scratch.ends[b]
    return values


@kernel
def accumulate(rows: Floats) -> None:
    """Replace each row by its running sums."""
    for v in range(rows.shape[0]):
        for i in range(1, rows.shape[1]):
            rows[v, i] += rows[v, i - 1]
