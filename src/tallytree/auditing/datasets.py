"""The small hierarchies and invented group counts on which privacy losses are worked out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np

from tallytree.counts import GroupCounts
from tallytree.hierarchy import Hierarchy
from tallytree.privacy.neighbours import Bounds
from tallytree.sizes import Sizes, count_sizes


@dataclass(frozen=True)
class Case:
    """A small problem: what of it is public, and what a person may contribute."""

    hierarchy: Hierarchy
    sizes: Sizes
    bounds: Bounds
    weights: tuple[int, ...] | None = None
    """How the levels share epsilon, root first; evenly, if None."""

    @property
    def budget(self) -> dict[str, int] | None:
        """The weights by level."""
        return dict(zip(self.hierarchy.levels, self.weights, strict=True)) if self.weights else None

    @property
    def regions(self) -> str:
        """The regions of each level, root first, such as 1+3+8; ``ragged`` if leaves stand above the last.

        >>> Case(grow_tree([("a",), ("b", "c")]), (0, 1), Bounds()).regions
        '1+2+1 ragged'
        """
        levels = self.hierarchy.levels
        shape = "+".join(map(str, self.hierarchy.region_counts))
        is_ragged = bool((self.hierarchy.leaf_places[0] < len(levels) - 1).any())
        return f"{shape} ragged" if is_ragged else shape


def grow_tree(paths: list[tuple[str, ...]]) -> Hierarchy:
    """The hierarchy of these leaves below one root."""
    depth = max(map(len, paths))
    return Hierarchy.from_paths([f"level {i}" for i in range(depth + 1)], [("all", *path) for path in paths])


ALONE = grow_tree([()])
PAIR = grow_tree([("a",), ("b",)])
FLAT = grow_tree([("a",), ("b",), ("c",)])
DEEP = grow_tree([(state, f"{state}{i}") for state, i in zip("abcabcab", range(8), strict=True)])
"""1, 3 and 8 regions; siblings do not stand together, since the order of regions is the user's."""
RAGGED = grow_tree([("b", "b0"), ("a",), ("c", "c0"), ("b", "b1")])

CASES = (
    Case(ALONE, (0, 2), Bounds()),
    Case(ALONE, (1, 4), Bounds(max_records=3, max_quantity=3)),
    Case(PAIR, (0, 3), Bounds(max_records=3, max_quantity=3)),
    Case(PAIR, (1, 3), Bounds(max_records=3), weights=(1, 2)),
    Case(FLAT, (0, 1), Bounds()),
    Case(FLAT, (1, 4), Bounds(max_quantity=3), weights=(3, 1)),
    Case(FLAT, (1, 3), Bounds(max_records=2, max_quantity=2)),
    Case(DEEP, (0, 2), Bounds()),
    Case(DEEP, (1, 3), Bounds(max_quantity=2), weights=(1, 2, 7)),
    Case(DEEP, (0, 1), Bounds(max_records=2)),
    Case(RAGGED, (0, 3), Bounds(max_quantity=3), weights=(2, 1, 2)),
    Case(RAGGED, (1, 3), Bounds(max_records=2, max_quantity=2)),
)
"""What is enumerated: bounds from 1 to 3, sizes from 0 and from 1, even and uneven splits of epsilon."""

ATTACKED = Case(grow_tree([(name,) for name in "abcde"]), (0, 3), Bounds())
"""Where mechanisms are attacked: a first, a last and other regions, and as many sizes to move between."""

ATTACKED_SMALL = Case(grow_tree([("a",)]), (0, 1), Bounds())
"""Where the counts of mechanisms are attacked whose solvers take long; their measurements are above."""


def enumerate_counts(case: Case) -> Iterator[GroupCounts]:
    """All datasets with m = ``max_records`` groups.

    No others are needed. The queries are linear, so that groups which both neighbours have alike drop out
    of the difference of their answers; and a person is in m groups at most. So every difference that two
    neighbours on this hierarchy can have is found here, however many groups they have.
    """
    shape = (case.hierarchy.leaf_count, count_sizes(case.sizes))
    for cells in combinations_with_replacement(range(shape[0] * shape[1]), case.bounds.max_records):
        leaf = np.bincount(cells, minlength=shape[0] * shape[1]).reshape(shape)
        yield GroupCounts(case.hierarchy, case.sizes, leaf, bounds=case.bounds)
