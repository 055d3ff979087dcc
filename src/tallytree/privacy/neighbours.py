"""Which datasets are neighbours: the ones that differ by one person.

Public: the hierarchy, the list of groups (so also their number G) and the range of sizes. A person has
at most ``max_records`` records, each in one group and with a quantity from 0 to ``max_quantity``; the
size of a group is the sum of its quantities, and a larger group counts at the largest size. Adding a
person therefore moves at most ``max_records`` groups up, each by at most ``max_quantity`` for each of
the person's records in it. Removing a person is the same the other way round.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import TYPE_CHECKING

from tallytree.errors import PrivacyError

if TYPE_CHECKING:
    from tallytree.counts.group_counts import GroupCounts

MOST = 2**20


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """What one person can contribute at most.

    >>> Bounds(max_records=2)
    Bounds(max_records=2, max_quantity=1)
    """

    max_records: int = 1
    """m: how many records a person has at most."""
    max_quantity: int = 1
    """z: the largest quantity of a record."""

    def __post_init__(self) -> None:
        for name in ("max_records", "max_quantity"):
            value = getattr(self, name)
            try:
                number = 0 if isinstance(value, bool) else operator.index(value)
            except TypeError:
                number = 0
            if not 1 <= number <= MOST:
                raise PrivacyError(f"{name} must be a whole number from 1 to {MOST}.")
            # NumPy integers overflow, and noise scales are computed from these.
            object.__setattr__(self, name, number)


def check_bounds(bounds: Bounds | None) -> Bounds:
    """Return the given bounds, or the default ones: a person has one record of quantity 1."""
    if bounds is None:
        return Bounds()
    if not isinstance(bounds, Bounds):
        raise PrivacyError("The bounds on a person must be tallytree.Bounds.")
    return bounds


def say_taken_on_trust(bounds: Bounds) -> str:
    """Describe what is assumed where counts were given instead of records, so bounds cannot be enforced."""
    return (
        f"Counts were given, not records of people: that a person adds at most {bounds.max_records} "
        f"record(s) of quantity at most {bounds.max_quantity} was taken on trust."
    )


EMPTY_GROUPS_ON_TRUST = (
    "Counts were given, not a frame of groups: that they include every empty group, as a public frame would "
    "list them, was taken on trust."
)


def enumerate_additions(counts: GroupCounts) -> Iterator[GroupCounts]:
    """Yield every dataset that has one person more than ``counts``, as group counts.

    For small datasets: the sensitivities are checked against it. A person's records are assigned one at a
    time, each to any group with any quantity, so that two records may go to one group.
    """
    moves = [
        (leaf, quantity)
        for leaf in range(counts.hierarchy.leaf_count)
        for quantity in range(counts.bounds.max_quantity + 1)
    ]
    seen: set[bytes] = set()
    for person in combinations_with_replacement(moves, counts.bounds.max_records):
        for leaf_counts in _apply(counts, list(person)):
            key = leaf_counts.leaf.tobytes()
            if key not in seen:
                seen.add(key)
                yield leaf_counts


def _apply(counts: GroupCounts, records: list[tuple[int, int]]) -> Iterator[GroupCounts]:
    """Add the records one after the other, each to a group of any size that its region has."""
    if not records:
        yield counts
        return
    (leaf, quantity), rest = records[0], records[1:]
    last = counts.leaf.shape[1] - 1
    for size in range(last + 1):
        if counts.leaf[leaf, size] > 0:
            moved = counts.leaf.copy()
            moved[leaf, size] -= 1
            moved[leaf, min(size + quantity, last)] += 1
            yield from _apply(counts.replace(moved), rest)
