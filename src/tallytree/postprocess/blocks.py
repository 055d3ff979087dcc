"""The blocks of an isotonic fit, pooled in exact arithmetic that never leaves 64 bits.

The points of a block have the weighted mean floor + rest / weight, where 0 <= rest < weight. Their sum may
be far beyond 64 bits, but is never formed: blocks are joined by how far one mean lies above the other.

Exact for points within 2^39 of zero whose weights add up to at most 2^62, which ``limits.py`` grants.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tallytree.kernels import kernel

Ints = npt.NDArray[np.int64]


class Blocks(NamedTuple):
    """Blocks in order. A point is one as well, of length 1."""

    floors: Ints
    rests: Ints
    weights: Ints
    lengths: Ints

    @classmethod
    def empty(cls, count: int) -> Blocks:
        """Room for so many; memory is taken only where blocks are written."""
        return cls(*(np.empty(count, dtype=np.int64) for _ in range(4)))

    def some(self, part: slice) -> Blocks:
        """Some of them."""
        return Blocks(*(column[part] for column in self))


class Steps(NamedTuple):
    """A fit: ``heights[i]`` from where step i - 1 ends up to ``ends[i]``."""

    heights: Ints
    ends: Ints


@kernel
def pool(points: Blocks, blocks: Blocks, count: int) -> int:
    """Go on from the first ``count`` blocks with more points; how many blocks there are then.

    Each new block is joined with those before it for as long as they are not below it. The points may stand
    in the same arrays, further down.
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
    """The mean of p + r/w and q + s/v, weighted by w and v: its floor, its rest, and w + v.

    It is q + n / (w + v) with n = (p - q) w + r + s, which may need more than 64 bits. If (p - q) w is below
    2^61 or so, n is below 2^63, and dividing is all. If not, floats give n / (w + v), which is within 2^40
    of zero, to within 2^40 x 8 x 2^-53 < 1, so the floor of that, k, is right or off by one. Then
    n - k (w + v) is at least -(w + v) and below 2 (w + v), so within 64 bits, and integers that wrap around
    give it exactly, whatever overflowed on the way.
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
    """a / m < b / n, for fractions from 0 up to 1 (m and n are positive).

    Floats give each of the products a n and b m to within 4 x 2^-53 of itself. If that cannot tell, they are
    compared as continued fractions, so that no product can overflow.
    """
    x, y = float(a) * float(n), float(b) * float(m)
    if abs(x - y) > 1e-14 * (x + y):
        return x < y
    less = True  # whether a smaller first fraction means yes; it turns at every step
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
    """The means, rounded half up and kept within [``low``, ``high``]."""
    count = len(blocks.floors)
    steps = Steps(np.empty(count, dtype=np.int64), np.empty(count, dtype=np.int64))
    end = 0
    for b in range(count):
        end += blocks.lengths[b]
        half_up = blocks.rests[b] >= blocks.weights[b] - blocks.rests[b]
        steps.heights[b], steps.ends[b] = min(max(blocks.floors[b] + half_up, low), high), end
    return steps
