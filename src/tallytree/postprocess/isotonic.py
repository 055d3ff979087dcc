"""Isotonic regression in whole numbers: the nearest non-decreasing counts to each row."""

import numpy as np
import numpy.typing as npt

from tallytree.postprocess.kernels import RowPool, kernel

Ints = npt.NDArray[np.int64]


def fit_isotonic_rows(noisy: Ints, low: int, high: int) -> Ints:
    """For each row, the non-decreasing fit within [``low``, ``high``], rounded half up.

    Line 2 of the paper's Algorithm 2 and the rounding of its line 3. The bounded fit is the unbounded
    one, clipped. By pooling adjacent violators, in linear time and exact arithmetic: the mean of a
    block is a fraction of whole numbers, and only the result is rounded, so the rounding cannot be led
    astray by an error in the last digit of a mean.
    """
    fitted = np.empty_like(noisy)
    with RowPool(len(noisy)) as pool:
        pool.run(lambda rows: _fit_rows(noisy[rows], low, high, fitted[rows]))
    return fitted


@kernel
def _fit_rows(noisy: Ints, low: int, high: int, fitted: Ints) -> None:
    sums = np.empty(noisy.shape[1], dtype=np.int64)
    lengths = np.empty(noisy.shape[1], dtype=np.int64)
    for r in range(len(noisy)):
        blocks = 0
        for value in noisy[r]:
            total, length = value, 1
            # Pool with the blocks before, while they are not below this one.
            while blocks > 0 and not _is_less(sums[blocks - 1], lengths[blocks - 1], total, length):
                blocks -= 1
                total += sums[blocks]
                length += lengths[blocks]
            sums[blocks], lengths[blocks] = total, length
            blocks += 1
        at = 0
        for b in range(blocks):
            mean = (2 * sums[b] + lengths[b]) // (2 * lengths[b])  # half up
            fitted[r, at : at + lengths[b]] = min(max(mean, low), high)
            at += lengths[b]


@kernel
def _is_less(a: int, m: int, b: int, n: int) -> bool:
    """a / m < b / n for positive m and n: whole parts first, so that no product can overflow."""
    if a // m != b // n:
        return a // m < b // n
    return (a % m) * n < (b % n) * m
