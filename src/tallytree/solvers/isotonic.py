"""Isotonic regression in whole numbers: the nearest non-decreasing counts, exactly.

By pooling adjacent violators, in linear time and exact arithmetic: only the result is rounded, so that an
error in the last digit of a mean cannot change how it is rounded. The fit within bounds is the unbounded
one, clipped; and the fit rounded half up is an optimum over whole numbers (tested by enumeration).
"""

from __future__ import annotations

import math
from heapq import heappush, heapreplace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tallytree.kernels import RowPool, kernel

# The blocks of an isotonic fit, pooled in exact arithmetic that never leaves 64 bits.
#
# The points of a block have the weighted mean floor + rest / weight, where 0 <= rest < weight. Their sum
# may be far beyond 64 bits, but is never formed: blocks are joined by how far one mean lies above the
# other.
#
# Exact for points within 2^39 of zero whose weights add up to at most 2^62, as ``arrays.py`` ensures.

Ints = npt.NDArray[np.int64]


class Blocks(NamedTuple):
    """Blocks in order. A point is a block of length 1."""

    floors: Ints
    rests: Ints
    weights: Ints
    lengths: Ints

    @classmethod
    def empty(cls, count: int) -> Blocks:
        """Allocate room for ``count`` blocks; memory is used only where blocks are written."""
        return cls(*(np.empty(count, dtype=np.int64) for _ in range(4)))

    def some(self, part: slice) -> Blocks:
        """Return some of the blocks."""
        return Blocks(*(column[part] for column in self))


class Steps(NamedTuple):
    """A fit: ``heights[i]`` from where step i - 1 ends up to ``ends[i]``."""

    heights: Ints
    ends: Ints


@kernel
def pool(points: Blocks, blocks: Blocks, count: int) -> int:
    """Continue from the first ``count`` blocks with more points; return the new number of blocks.

    Each new block is joined with those before it as long as they are not below it. The points may be stored
    further down in the same arrays.
    """
    for i in range(len(points.floors)):
        floor, rest, weight = points.floors[i], points.rests[i], points.weights[i]
        length = points.lengths[i]
        while count > 0:
            last = count - 1
            p, r, w = blocks.floors[last], blocks.rests[last], blocks.weights[last]
            if p < floor or (p == floor and is_less(r, w, rest, weight)):
                break
            floor, rest, weight = join(p, r, w, floor, rest, weight)
            length += blocks.lengths[last]
            count = last
        blocks.floors[count], blocks.rests[count], blocks.weights[count] = floor, rest, weight
        blocks.lengths[count] = length
        count += 1
    return count


@kernel
def join(p: int, r: int, w: int, q: int, s: int, v: int) -> tuple[int, int, int]:
    """Return the mean of p + r/w and q + s/v, weighted by w and v: its floor, its rest, and w + v.

    It is q + n / (w + v) with n = (p - q) w + r + s, which may need more than 64 bits. If (p - q) w is below
    about 2^61, n is below 2^63, and division suffices. If not, floats give n / (w + v), which is within 2^40
    of zero, to within 2^40 x 8 x 2^-53 < 1, so the floor of that, k, is right or off by one. Then
    n - k (w + v) is at least -(w + v) and below 2 (w + v), so within 64 bits, and integers that wrap around
    give it exactly, even if intermediate results overflow.
    """
    both = w + v
    gap = float(p - q) * float(w)
    n = (p - q) * w + r + s
    if abs(gap) < 2.0**61:
        k = n // both
        return q + k, n - k * both, both
    k = math.floor((gap + float(r) + float(s)) / float(both))
    rest = n - k * both
    if rest < 0:
        k, rest = k - 1, rest + both
    elif rest >= both:
        k, rest = k + 1, rest - both
    return q + k, rest, both


@kernel
def is_less(a: int, m: int, b: int, n: int) -> bool:
    """Return whether a / m < b / n, for fractions from 0 up to 1 (m and n are positive).

    Floats give each product, a n and b m, to a relative error of 4 x 2^-53. If that does not decide, the
    fractions are compared as continued fractions, so that no product can overflow.
    """
    x, y = float(a) * float(n), float(b) * float(m)
    if abs(x - y) > 1e-14 * (x + y):
        return x < y
    less = True  # whether a smaller first fraction means yes; it flips at every step
    while True:
        if a // m != b // n:
            return (a // m < b // n) == less
        a, b = a % m, b % n
        if a == 0 or b == 0:
            return a != b and (a == 0) == less
        # a/m < b/n, both below one, is the same as m/a > n/b.
        a, m, b, n, less = m, a, n, b, not less


@kernel
def round_blocks(blocks: Blocks, low: int, high: int) -> Steps:
    """Return the means, rounded half up and clipped to [``low``, ``high``]."""
    count = len(blocks.floors)
    steps = Steps(np.empty(count, dtype=np.int64), np.empty(count, dtype=np.int64))
    end = 0
    for b in range(count):
        end += blocks.lengths[b]
        half_up = blocks.rests[b] >= blocks.weights[b] - blocks.rests[b]
        steps.heights[b], steps.ends[b] = min(max(blocks.floors[b] + half_up, low), high), end
    return steps


def fit_isotonic_rows(noisy: Ints, low: int, high: int) -> Ints:
    """Fit each row by a non-decreasing one within [``low``, ``high``], rounded half up.

    Line 2 of the paper's Algorithm 2 and the rounding of its line 3.
    """
    fitted = np.empty_like(noisy)
    pool = RowPool(len(noisy))
    pool.run(lambda rows: _fit_rows(noisy[rows], low, high, Blocks.empty(noisy.shape[1]), fitted[rows]))
    return fitted


def fit_medians_rows(noisy: Ints, low: int, high: int) -> Ints:
    """Fit each row in the sum of distances |fit - noisy|: by pooled medians, which are whole already."""
    fitted = np.empty_like(noisy)
    pool = RowPool(len(noisy))
    pool.run(lambda rows: _fit_medians(noisy[rows], low, high, fitted[rows]))
    return fitted


def fit_isotonic(sums: Ints, weights: Ints, low: int, high: int) -> Ints:
    """Fit one row of weighted points: point i has weight ``weights[i]`` and mean ``sums[i] / weights[i]``."""
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
    """Fit by the slopes of the cost as a function of the last fitted value (slope trick).

    That function, the least cost for each last value x, is convex and piecewise linear. A heap holds the
    places up to its minimum where its slope changes, the greatest on top, which is where the minimum is. A
    new value to the left of it cuts off the slopes that are then positive. Backwards, each fitted value is
    its minimum, or the next fitted value if that is smaller.
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
