"""Sums of squares that need more than 64 bits, as four digits: their places are 1, 2^20, 2^40 and 2^80."""

import numpy as np
import numpy.typing as npt

from tallytree.kernels import kernel

Ints = npt.NDArray[np.int64]

DIGITS = 4


def read_digits(digits: Ints) -> int:
    """The number."""
    low, mid, high, top = digits.tolist()
    return int(low + (mid << 20) + (high << 40) + (top << 80))


@kernel
def add_digits(digits: Ints, low: int, mid: int, high: int) -> None:
    """Add low + 2^20 mid + 2^40 high, each from 0 up to 2^62."""
    low += digits[0]
    mid += digits[1] + (low >> 20)
    high += digits[2] + (mid >> 20)
    digits[0], digits[1], digits[2] = low & (2**20 - 1), mid & (2**20 - 1), high & (2**40 - 1)
    digits[3] += high >> 40
