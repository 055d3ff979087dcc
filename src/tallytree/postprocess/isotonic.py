"""Isotonic regression in whole numbers: the nearest non-decreasing counts, exactly.

By pooling adjacent violators, in linear time and exact arithmetic (``blocks``): only the result is rounded,
so that no rounding is led astray by an error in the last digit of a mean. The fit within bounds is the
unbounded one, clipped; and the fit rounded half up is an optimum over whole numbers (tested by enumeration).
"""

from heapq import heappush, heapreplace

import numpy as np
import numpy.typing as npt

from tallytree.kernels import RowPool, kernel
from tallytree.postprocess.blocks import Blocks, pool, round_blocks

Ints = npt.NDArray[np.int64]


def fit_isotonic_rows(noisy: Ints, low: int, high: int) -> Ints:
    """For each row, the non-decreasing fit within [``low``, ``high``], rounded half up.

    Line 2 of the paper's Algorithm 2 and the rounding of its line 3.
    """
    fitted = np.empty_like(noisy)
    pool = RowPool(len(noisy))
    pool.run(lambda rows: _fit_rows(noisy[rows], low, high, Blocks.empty(noisy.shape[1]), fitted[rows]))
    return fitted


def fit_medians_rows(noisy: Ints, low: int, high: int) -> Ints:
    """The same in the sum of distances |fit - noisy|: pooled medians, which are whole by themselves."""
    fitted = np.empty_like(noisy)
    pool = RowPool(len(noisy))
    pool.run(lambda rows: _fit_medians(noisy[rows], low, high, fitted[rows]))
    return fitted


def fit_isotonic(sums: Ints, weights: Ints, low: int, high: int) -> Ints:
    """The same for one row of weighted points: point i has the weight and the mean sum / weight."""
    floors = sums // weights
    fitted = np.empty_like(sums)
    points = Blocks(floors, sums - floors * weights, weights, np.ones_like(sums))
    _fit(points, low, high, Blocks.empty(len(sums)), fitted)
    return fitted


@kernel
def _fit_rows(noisy: Ints, low: int, high: int, blocks: Blocks, fitted: Ints) -> None:
    none, ones = np.zeros(noisy.shape[1], dtype=np.int64), np.ones(noisy.shape[1], dtype=np.int64)
    for r in range(len(noisy)):
        _fit(Blocks(noisy[r], none, ones, ones), low, high, blocks, fitted[r])


@kernel
def _fit_medians(noisy: Ints, low: int, high: int, fitted: Ints) -> None:
    """By the slopes of the cost as a function of the last fitted value.

    That function is convex and piecewise linear: what is best up to x, for every last value x. A heap
    holds the places below its least point where its slope changes, the greatest on top, which is where
    the least point is. A new value to the left of it cuts the slopes off that are then positive. Backwards,
    each fitted value is its least point, or the next fitted value if that is below.
    """
    for r in range(len(noisy)):
        heap = [np.int64(0) for _ in range(0)]
        for i in range(noisy.shape[1]):
            value = noisy[r, i]
            heappush(heap, -value)
            if -heap[0] > value:
                heapreplace(heap, -value)
            fitted[r, i] = -heap[0]
        for i in range(noisy.shape[1] - 2, -1, -1):
            fitted[r, i] = min(fitted[r, i], fitted[r, i + 1])
        for i in range(noisy.shape[1]):
            fitted[r, i] = min(max(fitted[r, i], low), high)


@kernel
def _fit(points: Blocks, low: int, high: int, blocks: Blocks, fitted: Ints) -> None:
    count = pool(points, blocks, 0)
    found = Blocks(
        blocks.floors[:count], blocks.rests[:count], blocks.weights[:count], blocks.lengths[:count]
    )
    steps = round_blocks(found, low, high)
    start = 0
    for b in range(count):
        fitted[start : steps.ends[b]] = steps.heights[b]
        start = steps.ends[b]
