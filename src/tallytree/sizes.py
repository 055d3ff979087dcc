"""The public range of group sizes."""

import operator
import re
from collections.abc import Iterable
from typing import Any, cast

from tallytree.errors import CountsError

# Numbers as users give them: in plain digits, or as whole numbers of any library.
#
# Python reads ``1_0`` as 10, and the digits of every script; engines differ in what else they read. A
# number that is not written plainly is more likely a mistake than a number, so it is refused, everywhere
# alike.

WHOLE = "[-+]?[0-9]+"
DECIMAL = r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?"
FRACTION = "[-+]?[0-9]+/[0-9]+"
"""How numbers are written, as regular expressions."""


def is_whole_numeral(text: str) -> bool:
    r"""Return whether a text is a whole number in plain digits.

    >>> is_whole_numeral("10"), is_whole_numeral("1_0"), is_whole_numeral("\uff11")
    (True, False, False)
    """
    return bool(re.fullmatch(WHOLE, text))


def is_decimal_numeral(text: str) -> bool:
    """Return whether a text is a whole or decimal number in plain digits."""
    return bool(re.fullmatch(DECIMAL, text))


def is_numeral(text: str) -> bool:
    """Return whether a text is a number in plain digits: whole, decimal, or a fraction such as 1/3."""
    return is_decimal_numeral(text) or bool(re.fullmatch(FRACTION, text))


def find_whole(value: Any) -> int | None:
    """Return a whole number of Python, NumPy or any other library as an int; None for anything else.

    >>> import numpy as np
    >>> find_whole(np.int64(2)), find_whole(2.0), find_whole(True)
    (2, None, None)
    """
    try:
        return None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        return None


Sizes = tuple[int, int]
"""The least and the largest size, both included; a larger group counts at the largest."""

MOST_SIZES = 2**20
LARGEST = 2**31


def check_sizes(sizes: object) -> Sizes:
    """Return ``sizes`` as a pair of whole numbers, 0 <= low <= high; refuse anything else."""
    try:
        low, high = map(_whole, cast(Iterable[object], sizes))
    except (TypeError, ValueError):
        raise CountsError(
            "The sizes must be a pair of whole numbers (low, high), both included, such as (1, 20)."
        ) from None
    if not 0 <= low <= high <= LARGEST:
        raise CountsError(f"The sizes are not a range: 0 <= low <= high <= {LARGEST} must hold.")
    if high - low >= MOST_SIZES:
        raise CountsError(f"The sizes {low} to {high} are {high - low + 1}, more than {MOST_SIZES}.")
    return low, high


def _whole(value: object) -> int:
    if (number := find_whole(value)) is None:
        raise TypeError
    return number


def count_sizes(sizes: Sizes) -> int:
    """Return how many sizes there are: the paper's N."""
    return sizes[1] - sizes[0] + 1
