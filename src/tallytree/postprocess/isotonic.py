"""Isotonic regression in whole numbers: the nearest non-decreasing counts, exactly.

By pooling adjacent violators, in linear time and exact arithmetic: the mean of a block is a fraction of
whole numbers, and only the result is rounded, so that no rounding is led astray by an error in the last
digit of a mean. The fit within bounds is the unbounded one, clipped; and the fit rounded half up is an
optimum over whole numbers (tested by enumeration).
"""

from heapq import heappush, heapreplace

import numpy as np
import numpy.typing as npt

from tallytree.postprocess.kernels import RowPool, kernel

Ints = npt.NDArray[np.int64]


def fit_isotonic_rows(noisy: Ints, low: int, high: int) -> Ints:
    """For each row, the non-decreasing fit within [``low``, ``high``], rounded half up.

    Line 2 of the paper's Algorithm 2 and the rounding of its line 3.
    """
    fitted = np.empty_like(noisy)
    with RowPool(len(noisy)) as pool:
        pool.run(lambda rows: _fit_rows(noisy[rows], low, high, fitted[rows]))
    return fitted


def fit_medians_rows(noisy: Ints, low: int, high: int) -> Ints:
    """The same in the sum of distances |fit - noisy|: pooled medians, which are whole by themselves."""
    fitted = np.empty_like(noisy)
    with RowPool(len(noisy)) as pool:
        pool.run(lambda rows: _fit_medians(noisy[rows], low, high, fitted[rows]))
    return fitted


def fit_isotonic(sums: Ints, weights: Ints, low: int, high: int) -> Ints:
    """The same for one row of weighted points: point i has the weight and the mean sum / weight."""
    if max(np.abs(sums).sum(dtype=np.float64), weights.sum(dtype=np.float64)) >= 2**61:
        return np.array(fit_large(sums.tolist(), weights.tolist(), low, high), dtype=np.int64)
    fitted = np.empty_like(sums)
    _fit(sums, weights, low, high, fitted)
    return fitted


def fit_large(sums: list[int], weights: list[int], low: int, high: int) -> list[int]:
    """The same in Python's own numbers, for those that 64 bits cannot add up: slow, and never wrong."""
    blocks: list[tuple[int, int, int]] = []  # sum, weight, length
    for point_sum, point_weight in zip(sums, weights, strict=True):
        block = (point_sum, point_weight, 1)
        while blocks and blocks[-1][0] * block[1] >= block[0] * blocks[-1][1]:
            before = blocks.pop()
            block = (before[0] + block[0], before[1] + block[1], before[2] + block[2])
        blocks.append(block)
    fitted: list[int] = []
    for total, weight, length in blocks:
        fitted += [min(max((2 * total + weight) // (2 * weight), low), high)] * length
    return fitted


@kernel
def _fit_rows(noisy: Ints, low: int, high: int, fitted: Ints) -> None:
    weights = np.ones(noisy.shape[1], dtype=np.int64)
    for r in range(len(noisy)):
        _fit(noisy[r], weights, low, high, fitted[r])


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
def _fit(sums: Ints, weights: Ints, low: int, high: int, fitted: Ints) -> None:
    block_sums = np.empty(len(sums), dtype=np.int64)
    block_weights = np.empty(len(sums), dtype=np.int64)
    ends = np.empty(len(sums), dtype=np.int64)
    blocks = 0
    for i in range(len(sums)):
        total, weight = sums[i], weights[i]
        # Pool with the blocks before, while they are not below this one.
        while blocks > 0 and not _is_less(block_sums[blocks - 1], block_weights[blocks - 1], total, weight):
            blocks -= 1
            total += block_sums[blocks]
            weight += block_weights[blocks]
        block_sums[blocks], block_weights[blocks], ends[blocks] = total, weight, i + 1
        blocks += 1
    start = 0
    for b in range(blocks):
        mean = (2 * block_sums[b] + block_weights[b]) // (2 * block_weights[b])  # half up
        fitted[start : ends[b]] = min(max(mean, low), high)
        start = ends[b]


@kernel
def _is_less(a: int, m: int, b: int, n: int) -> bool:
    """a / m < b / n for positive m and n, as continued fractions, so that no product can overflow."""
    less = True  # whether a smaller first fraction means yes; it turns at every step
    while True:
        if a // m != b // n:
            return (a // m < b // n) == less
        a, b = a % m, b % n
        if a == 0 or b == 0:
            return a != b and (a == 0) == less
        # a/m < b/n, both below one, is the same as m/a > n/b.
        a, m, b, n, less = m, a, n, b, not less
