"""The public range of group sizes."""

from collections.abc import Iterable
from typing import cast

from tallytree.errors import CountsError
from tallytree.numerals import find_whole

Sizes = tuple[int, int]
"""The least and the largest size, both included; a larger group counts at the largest."""

MOST_SIZES = 2**20
LARGEST = 2**31


def check_sizes(sizes: object) -> Sizes:
    """``sizes`` as a pair of whole numbers, 0 <= low <= high."""
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
    """How many sizes there are: the paper's N."""
    return sizes[1] - sizes[0] + 1
