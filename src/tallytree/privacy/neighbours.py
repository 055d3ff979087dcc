"""Which datasets are neighbours: the ones that differ by one person, or by one whole group.

Public are the hierarchy and the sizes or classes. With a *public total*, so is the list of groups, and
their number G; with a *private total*, groups may appear and vanish, and a group of size 0 does not exist.

A *person* has at most ``max_records`` records, each in one group and with a quantity from 0 to
``max_quantity``; the size of a group is the sum of its quantities, and a larger group counts at the largest
size. Adding a person therefore moves at most ``max_records`` groups up, each by at most ``max_quantity``
for each of the person's records in it; with a private total, a group may also appear. Removing a person is
the same the other way round.

A *group* may be of any size. With a private total, neighbours differ by one group more or less; with a
public one, by the size of one group.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import TYPE_CHECKING, Literal

from tallytree.errors import PrivacyError, name_choices, show
from tallytree.sizes import LARGEST, Sizes, count_edges_within, find_place, list_edges

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from tallytree.counts.group_counts import GroupCounts

    Ints = npt.NDArray[np.int64]

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


Protected = Literal["person", "group"]
TotalKind = Literal["public", "private"]
Whom = Literal["person", "group", "listed group"]
"""Who loses privacy: a group of a public list has its size protected, and any other its existence too."""
PROTECTED: tuple[Protected, ...] = ("person", "group")
TOTALS: tuple[TotalKind, ...] = ("public", "private")


@dataclass(frozen=True, kw_only=True)
class Neighbours:
    """Which datasets the promise makes hard to tell apart."""

    protect: Protected = "person"
    total: TotalKind = "public"
    bounds: Bounds = Bounds()
    """What one person can contribute; of no matter where whole groups are protected."""

    @property
    def has_public_total(self) -> bool:
        """Whether the list of groups is public."""
        return self.total == "public"

    @property
    def whom(self) -> Whom:
        """Whose loss an epsilon is: losses of the same can be added up."""
        if self.protect == "person":
            return "person"
        return "listed group" if self.has_public_total else "group"

    @property
    def moves(self) -> int:
        """How many groups change at most: the person's records, or the one group that is protected."""
        return self.bounds.max_records if self.protect == "person" else 1

    def count_crossed(self, sizes: Sizes) -> int:
        """Return how many edges of the classes one record, or one group, crosses at most.

        A person's record raises a group by up to z sizes: it crosses the edges in a window of z sizes, c(z).
        A group that is protected may be of any size: it crosses them all. With a private total the first edge
        counts, since the group may not have existed; with a public total it does not, since every group is
        above it. With a single class nothing is crossed then, but noise of scale 0 would publish the true
        counts of all regions: they get the noise that two classes need.
        """
        edges = list_edges(sizes)
        inner = edges[1:] if self.has_public_total else [min(1, edges[0]), *edges[1:]]
        reach = self.bounds.max_quantity if self.protect == "person" else LARGEST
        return max(1, count_edges_within(inner, reach))


def check_kinds(neighbours: Neighbours) -> Neighbours:
    """Refuse an unknown unit, or an unknown kind of total."""
    for name, value, known in (
        ("protect", neighbours.protect, PROTECTED),
        ("total", neighbours.total, TOTALS),
    ):
        if value not in known:
            raise PrivacyError(f"'{name}' cannot be {show(value)}: {name_choices(value, known)}")
    return neighbours


def check_neighbours(neighbours: Neighbours, sizes: Sizes) -> Neighbours:
    """Refuse what contradicts itself."""
    check_kinds(neighbours)
    if neighbours.protect == "group" and neighbours.bounds != Bounds():
        raise PrivacyError(
            "Whole groups are protected: what one person contributes is of no matter, so leave the bounds on "
            "a person out."
        )
    if not neighbours.has_public_total and list_edges(sizes)[0] == 0:
        raise PrivacyError(
            "With a private total a group of size 0 does not exist: let the sizes begin at 1, or give a "
            "public frame of groups, whose number is public."
        )
    return neighbours


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


ROWS_ARE_PEOPLE = "No column says whose a record is: each record was taken to be a person of its own."
GROUPS_FROM_DATA = "The list of groups was read from the records; it must be public, as a frame would be."
EMPTY_GROUPS_ON_TRUST = (
    "Counts were given, not a frame of groups: that they include every empty group, as a public frame would "
    "list them, was taken on trust."
)


def enumerate_additions(counts: GroupCounts, neighbours: Neighbours | None = None) -> Iterator[GroupCounts]:
    """Yield every dataset that has one person or one group more than ``counts``, as group counts.

    With a public total and whole groups protected, it is every dataset in which one group has another size.
    For small datasets: the sensitivities are checked against it.
    """
    neighbours = neighbours or Neighbours(bounds=counts.bounds)
    leaves = range(counts.hierarchy.leaf_count)
    found: Iterator[Ints]
    if neighbours.protect == "group":
        found = (moved for leaf in leaves for moved in _change_group(counts.leaf, leaf, neighbours))
    else:
        # Records are handed out one at a time, so that two may go to one group.
        moves = [(leaf, q) for leaf in leaves for q in range(neighbours.bounds.max_quantity + 1)]
        persons = combinations_with_replacement(moves, neighbours.bounds.max_records)
        found = (
            moved
            for person in persons
            for moved in _add_records(counts.leaf, person, counts.sizes, neighbours)
        )
    seen: set[bytes] = set()
    for leaf_counts in found:
        key = leaf_counts.tobytes()
        if key not in seen:
            seen.add(key)
            yield counts.replace(leaf_counts)


def _change_group(counts: Ints, leaf: int, neighbours: Neighbours) -> Iterator[Ints]:
    """One group of a leaf more, of any size; or, with a public total, of another size than it was."""
    places = range(counts.shape[1])
    for old in places if neighbours.has_public_total else [None]:
        if old is not None and counts[leaf, old] == 0:
            continue
        for new in places:
            changed = counts.copy()
            changed[leaf, new] += 1
            if old is not None:
                changed[leaf, old] -= 1
            yield changed


def _add_records(
    counts: Ints, records: Sequence[tuple[int, int]], sizes: Sizes, neighbours: Neighbours
) -> Iterator[Ints]:
    """The counts with the records added one after the other, each to a group of any size, or to a new one."""
    if not records:
        yield counts
        return
    (leaf, quantity), *rest = records
    edges = list_edges(sizes)
    # A class holds groups of all its sizes; in the first are the smaller ones too, in the last the larger.
    starts = [0 if neighbours.has_public_total else 1, *edges[1:]]
    ends = [*edges[1:], edges[-1] + 1]
    for place, (start, end) in enumerate(zip(starts, ends, strict=True)):
        if counts[leaf, place] > 0:
            for new in {find_place(sizes, size + quantity) for size in range(start, max(end, start + 1))}:
                moved = counts.copy()
                moved[leaf, place] -= 1
                moved[leaf, new] += 1
                yield from _add_records(moved, rest, sizes, neighbours)
    if not neighbours.has_public_total:
        appeared = counts.copy()
        if quantity:  # a group of size 0 does not exist
            appeared[leaf, find_place(sizes, quantity)] += 1
        yield from _add_records(appeared, rest, sizes, neighbours)
