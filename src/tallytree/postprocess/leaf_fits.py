"""The leaves' side of the joint model: each leaf's non-decreasing fit to its answers, at given prices.

A fit is kept as its *blocks*, the runs of sizes with one value. Most leaves have few, so what is done with
fits (adding them up, or asking how they follow prices: ``leaf_responses``) takes time in the number of
blocks, not of sizes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tallytree.postprocess.kernels import RowPool, kernel

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


ROUNDING = 1e-15
"""The relative error of a float that is taken for none."""


class Leaves(NamedTuple):
    """What is known of the leaves: a row for each, those with one parent together."""

    noisy: Ints
    """Leaves x sizes."""
    parent: Ints
    """The inner node above each leaf."""
    ease: Floats
    """1 / weight: how far a leaf moves for a price of one."""
    cap: Floats
    """The leaf's number of groups where it is known, else infinity."""


class Fits(NamedTuple):
    """The leaves' fits, as blocks."""

    ends: npt.NDArray[np.int32]
    """Leaves x sizes: where each block ends; only the first ones of a row are in use."""
    heights: Floats
    """Leaves x sizes: the value of each block."""
    blocks: Ints
    """How many blocks a leaf has."""
    first: Ints
    """The first block that is above zero, and so moves with the prices."""
    stop: Ints
    """One past the last block that is below the cap."""
    squares: Floats
    """Per leaf: the sum of (fit - noisy)^2 / ease."""

    @classmethod
    def empty(cls, leaves: Leaves) -> Fits:
        """Room for the fits of ``leaves``."""
        rows, sizes = leaves.noisy.shape
        blocks, first, stop = np.zeros((3, rows), dtype=np.int64)
        ends = np.empty((rows, sizes), dtype=np.int32)
        return cls(ends, np.empty((rows, sizes)), blocks, first, stop, np.empty(rows))


def fit_leaves(leaves: Leaves, prices: Floats, fits: Fits, pool: RowPool) -> None:
    """For each leaf, the x nearest to noisy - ease * price among 0 <= x_1 <= x_2 <= ... <= cap.

    ``prices`` are inner nodes x sizes: what a group costs below each node.
    """
    pool.run(lambda rows: _fit_rows(leaves, prices, fits, rows.start, rows.stop))


@kernel
def _fit_rows(leaves: Leaves, prices: Floats, fits: Fits, start: int, stop: int) -> None:
    sizes = leaves.noisy.shape[1]
    wanted = np.empty(sizes)
    totals = np.empty(sizes)
    for r in range(start, stop):
        price, ease, cap = prices[leaves.parent[r]], leaves.ease[r], leaves.cap[r]
        noisy, ends, heights = leaves.noisy[r], fits.ends[r], fits.heights[r]
        capped = cap < np.inf
        open_sizes = sizes - 1 if capped else sizes
        for i in range(open_sizes):
            wanted[i] = noisy[i] - ease * price[i]
        blocks = max(0, fits.blocks[r] - capped)
        if not _still_fits(wanted, ends[:blocks], heights):
            blocks = pool_adjacent(wanted[:open_sizes], totals, ends, heights)
        first, last = 0, blocks
        if capped:  # the last cumulative count is the number of groups, whatever was measured
            while last > 0 and heights[last - 1] >= cap:
                last -= 1
                heights[last] = cap
            ends[blocks], heights[blocks] = sizes, cap
            blocks += 1
        while first < last and heights[first] <= 0.0:
            heights[first] = 0.0
            first += 1
        fits.blocks[r], fits.first[r], fits.stop[r] = blocks, first, last
        begin, squares = 0, 0.0
        for b in range(blocks):
            height = heights[b]
            for i in range(begin, ends[b]):
                squares += (height - noisy[i]) ** 2
            begin = ends[b]
        fits.squares[r] = squares / ease


@kernel
def _still_fits(wanted: Floats, ends: npt.NDArray[np.int32], heights: Floats) -> bool:
    """Whether the blocks of the fit before are still those of the fit: it saves pooling them anew.

    They are if their means go up, and the first so many of a block have no mean below that of all of it.
    Then ``heights`` are the means.
    """
    begin, before = 0, -np.inf
    for b in range(len(ends)):
        end = ends[b]
        total = 0.0
        for i in range(begin, end):
            total += wanted[i] - wanted[begin]
        mean = wanted[begin] + total / (end - begin)
        if mean <= before:
            return False
        excess, least = 0.0, 0.0
        for i in range(begin, end):
            excess += wanted[i] - mean
            least = min(least, excess)
        if least < -ROUNDING * (end - begin) * (1.0 + abs(mean)):
            return False
        heights[b] = mean
        begin, before = end, mean
    return len(ends) > 0


@kernel
def pool_adjacent(wanted: Floats, totals: Floats, ends: npt.NDArray[np.int32], heights: Floats) -> int:
    """The isotonic fit to ``wanted`` by pooling adjacent violators: the number of its blocks.

    ``totals`` is scratch. Afterwards the first ``ends`` and ``heights`` are the blocks'.
    """
    blocks = 0
    for i in range(len(wanted)):
        total, length = wanted[i], 1.0
        while blocks > 0 and totals[blocks - 1] * length >= total * heights[blocks - 1]:
            blocks -= 1
            total += totals[blocks]
            length += heights[blocks]
        totals[blocks], heights[blocks], ends[blocks] = total, length, i + 1
        blocks += 1
    for b in range(blocks):
        heights[b] = totals[b] / heights[b]
    return blocks


@kernel
def add_fits(leaves: Leaves, fits: Fits, sums: Floats) -> None:
    """``sums`` (inner nodes x sizes): the fits of each node's own leaf children, added up."""
    sums[:] = 0.0
    for r in range(len(fits.blocks)):
        row = sums[leaves.parent[r]]
        begin, before = 0, 0.0
        for b in range(fits.blocks[r]):
            row[begin] += fits.heights[r, b] - before
            begin, before = fits.ends[r, b], fits.heights[r, b]
    accumulate(sums)


@kernel
def accumulate(rows: Floats) -> None:
    """Running sums along each row."""
    for v in range(rows.shape[0]):
        for i in range(1, rows.shape[1]):
            rows[v, i] += rows[v, i - 1]


@kernel
def write_fits(fits: Fits, values: Floats) -> None:
    """The fits as they are, leaves x sizes."""
    for r in range(len(fits.blocks)):
        begin = 0
        for b in range(fits.blocks[r]):
            values[r, begin : fits.ends[r, b]] = fits.heights[r, b]
            begin = fits.ends[r, b]
