"""Two-sided geometric draws from random bytes, for as long as the first bytes of the probabilities decide."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tallytree.kernels import kernel

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]


@kernel
def fill_decided(p: Bytes, random: Bytes, at: int, out: Ints, done: int) -> tuple[int, int]:
    """Draws for ``out`` from ``done`` on, made of the bytes from ``at`` on; returns both as they are then.

    ``p`` has a row for each digit and a last one for anything above: the first bytes of its probability.
    It stops before a draw that needs more than that, or perhaps more bytes than are left, as if it had
    not looked at it. A draw depends on its own bytes alone, and the next draw begins after them.
    """
    rows, depth = p.shape
    above = 1 << (rows - 1)
    most = 2 * rows * depth
    while done < len(out) and len(random) - at >= most:
        first, middle = decide_digits(p, random, at)
        second, end = decide_digits(p, random, middle)
        if first < 0 or second < 0 or first >= above or second >= above:
            break
        out[done] = first - second
        done += 1
        at = end
    return done, at


@kernel
def decide_digits(p: Bytes, random: Bytes, at: int) -> tuple[int, int]:
    """One bit per row of ``p``, or -1 if a row does not decide; and where the bytes not looked at begin."""
    bits = 0
    for i in range(len(p)):
        k = 0
        byte = random[at]
        at += 1
        while byte == p[i, k]:
            k += 1
            if k == p.shape[1]:
                return -1, at
            byte = random[at]
            at += 1
        bits |= int(byte < p[i, k]) << i
    return bits, at
