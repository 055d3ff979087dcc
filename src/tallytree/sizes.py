"""The public range of group sizes."""

import operator
import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, cast

from tallytree.errors import CountsError, name_choices, show

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


MOST_SIZES, MOST_CLASSES = 2**20, 1000
LARGEST = 2**31


NAMED_CLASSES = {
    "us-cbp": (1, 5, 10, 20, 50, 100, 250, 500, 1000),
    "eu-sbs": (1, 10, 20, 50, 250),
}


def _find_named(name: str) -> tuple[int, ...]:
    if name not in NAMED_CLASSES:
        raise CountsError(f"There are no classes {show(name)}: {name_choices(name, NAMED_CLASSES)}")
    return NAMED_CLASSES[name]


@dataclass(frozen=True)
class SizeClasses:
    """Classes of sizes by the least size of each, or by their name; the last class has no end.

    Known by name are the employment classes of the US County Business Patterns, "us-cbp", and those of the EU
    Structural Business Statistics, "eu-sbs".

    >>> classes = SizeClasses([1, 5, 10, 20, 50])
    >>> [classes.name(place) for place in range(5)]
    ['1-4', '5-9', '10-19', '20-49', '50+']
    """

    edges: tuple[int, ...]

    def __init__(self, edges: Iterable[int] | str) -> None:
        try:
            found = tuple(map(_whole, _find_named(edges) if isinstance(edges, str) else edges))
        except TypeError:
            raise CountsError(
                "The classes must be a list of whole numbers, the least size of each, such as [1, 5, 10]."
            ) from None
        if not found or not found[0] >= 0 or any(a >= b for a, b in pairwise(found)) or found[-1] > LARGEST:
            raise CountsError(
                f"The least sizes of the classes must rise from 0 or above to {LARGEST} at most."
            )
        if len(found) > MOST_CLASSES:
            raise CountsError(f"There are more than {MOST_CLASSES:,} classes: give a range of sizes.")
        object.__setattr__(self, "edges", found)

    def name(self, place: int) -> str:
        """Return the name of a class, such as 5-9 or 50+."""
        return name_size(self, place)


Sizes = tuple[int, int] | SizeClasses
"""What group sizes are counted in: every size from the first to the second, or classes.

A larger group counts at the last size, and a smaller one at the first.
"""


def list_edges(sizes: Sizes) -> Sequence[int]:
    """Return the least size of each class; a single size is a class of its own.

    >>> list(list_edges((1, 4))), list(list_edges(SizeClasses([1, 5, 10])))
    ([1, 2, 3, 4], [1, 5, 10])
    """
    return sizes.edges if isinstance(sizes, SizeClasses) else range(sizes[0], sizes[1] + 1)


def get_ends(sizes: Sizes) -> tuple[int, int]:
    """Return the first and the last edge."""
    return (sizes.edges[0], sizes.edges[-1]) if isinstance(sizes, SizeClasses) else sizes


def name_size(sizes: Sizes, place: int) -> str:
    """Return what the size or class at a place is called: 3, 5-9, or 50+ for the last class."""
    if not isinstance(sizes, SizeClasses):
        return str(sizes[0] + place)
    first = sizes.edges[place]
    if place == len(sizes.edges) - 1:
        return f"{first}+"
    last = sizes.edges[place + 1] - 1
    return str(first) if first == last else f"{first}-{last}"


def show_sizes(sizes: Sizes) -> str:
    """Return the sizes in words.

    >>> show_sizes((1, 20)), show_sizes(SizeClasses([1, 5, 10]))
    ('1 to 20', '1-4, 5-9, 10+')
    """
    if isinstance(sizes, SizeClasses):
        return ", ".join(name_size(sizes, place) for place in range(count_sizes(sizes)))
    return f"{sizes[0]} to {sizes[1]}"


def state_sizes(sizes: Sizes) -> dict[str, list[int]]:
    """Return the sizes as facts for a file, which :func:`read_sizes` reads."""
    return {"classes": list(sizes.edges)} if isinstance(sizes, SizeClasses) else {"sizes": list(sizes)}


def read_sizes(facts: Mapping[str, Any]) -> Sizes:
    """Return the sizes that a file states."""
    if "classes" in facts and "sizes" in facts:
        raise CountsError("There are both a range and classes of sizes.")
    return SizeClasses(facts["classes"]) if "classes" in facts else check_sizes(facts["sizes"])


def check_sizes(sizes: object) -> Sizes:
    """Return ``sizes`` checked: classes, or a pair of whole numbers, 0 <= low <= high."""
    if isinstance(sizes, SizeClasses):
        return sizes
    try:
        low, high = map(_whole, cast(Iterable[object], sizes))
    except (TypeError, ValueError):
        raise CountsError(
            "The sizes must be a pair of whole numbers (low, high), both included, such as (1, 20), or "
            "tallytree.SizeClasses."
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
    """Return how many sizes or classes there are: the paper's N."""
    return len(sizes.edges) if isinstance(sizes, SizeClasses) else sizes[1] - sizes[0] + 1


def find_class(classes: SizeClasses, text: str) -> int | None:
    """Return the place of the class that a text names as people write it; None if it names none.

    >>> classes = SizeClasses([1, 5, 1000])
    >>> [find_class(classes, text) for text in ("1-4", "5 to 999", "1,000 or more", "1000+", "7")]
    [0, 1, 2, 2, None]
    """
    plain = re.sub(r"[\s,]", "", text.lower())
    plain = re.sub("to|\u2013|\u2014", "-", plain)
    plain = re.sub("(ormore|andmore|andover|andabove)$", "+", plain)
    names = [name_size(classes, place) for place in range(len(classes.edges))]
    return names.index(plain) if plain in names else None


def cut_sizes(sizes: Sizes, place: int) -> Sizes:
    """Return the sizes or classes up to the one at a place.

    >>> cut_sizes((1, 20), 2), cut_sizes(SizeClasses([1, 5, 10]), 1).edges
    ((1, 3), (1, 5))
    """
    if isinstance(sizes, SizeClasses):
        return SizeClasses(sizes.edges[: place + 1])
    return sizes[0], sizes[0] + place


def find_place(sizes: Sizes, size: int) -> int:
    """Return where a group of that size is counted.

    >>> classes = SizeClasses([1, 5, 10])
    >>> [find_place(classes, size) for size in (0, 4, 5, 12)]
    [0, 0, 1, 2]
    """
    return max(0, bisect_right(list_edges(sizes), size) - 1)


def count_edges_within(edges: Sequence[int], window: int) -> int:
    """Return the most edges e with s < e <= s + ``window``, over all s.

    >>> count_edges_within([1, 2, 3, 4], 2), count_edges_within([1, 5, 10, 11], 4)
    (2, 2)
    """
    if edges and window > edges[-1] - edges[0]:
        return len(edges)
    most, first = 0, 0
    for last, edge in enumerate(edges):
        while edges[first] <= edge - window:
            first += 1
        most = max(most, last - first + 1)
        if most == min(window, len(edges)):  # no window holds more
            break
    return most
