"""The queries that are measured, each with its sensitivity and why that is so.

A query is asked at every level. Its *sensitivity* is the largest L1 distance between its answers, over
all regions of one level, on two neighbours (``neighbours.py``), with m = ``max_records``,
z = ``max_quantity`` and K sizes. Removing a person is adding one the other way round, so adding is enough.

Its *squared sensitivity* is the largest square of the L2 distance. For all queries here it is m times the L1
sensitivity: each of a person's m records changes any one answer by at most 1, so no answer changes by more
than m, and the squares add up to at most m times the absolute values. It is attained when m groups of the
same region and size move alike.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from tallytree.arrays import LevelArrays
from tallytree.errors import PrivacyError, name_choices
from tallytree.hierarchy import Hierarchy
from tallytree.privacy.neighbours import Bounds
from tallytree.sizes import Sizes, count_sizes

Ints = npt.NDArray[np.int64]


class Counted(Protocol):
    """What queries are asked of: true counts, or released ones in their place."""

    @property
    def hierarchy(self) -> Hierarchy:
        """The regions."""
        ...

    @property
    def sizes(self) -> Sizes:
        """The range of sizes."""
        ...

    @property
    def bounds(self) -> Bounds:
        """The most that one person contributes."""
        ...

    @property
    def levels(self) -> LevelArrays:
        """The counts of all levels."""
        ...

    @property
    def leaf(self) -> Ints:
        """Leaves x sizes."""
        ...

    def array(self, level: int | str) -> Ints:
        """Return the counts of one level, regions x sizes."""
        ...


@dataclass(frozen=True)
class Query:
    """What is asked of the group counts at each level."""

    name: str
    answer: Callable[[Counted, int], Ints]
    """The answer at a level: regions x sizes."""
    sensitivity: Callable[[Bounds, Sizes, int], int]
    """The L1 sensitivity, from the bounds on a person, the sizes, and the number of regions at the level."""
    row_answer: Callable[[Ints], Ints] | None = None
    """The answer of some regions from their counts alone, if it does not depend on other regions."""
    ends_with_total: bool = False
    """The last entry of a region's answer is its number of groups, which is the same on all neighbours."""

    def squared_sensitivity(self, bounds: Bounds, sizes: Sizes, regions: int) -> int:
        """Return the squared L2 sensitivity."""
        return bounds.max_records * self.sensitivity(bounds, sizes, regions)


def _find_reach(bounds: Bounds, sizes: Sizes) -> int:
    """Return how many sizes one record can move a group: min(z, K - 1).

    A group counts at the largest size if it is larger, and at the least size if it is smaller, so no move
    is longer than from one end of the range to the other; and a move from the least size can be that long.
    With a single size nothing moves, but noise of scale 0 would publish the true counts of all regions, so
    they get the noise that two sizes need.
    """
    return min(bounds.max_quantity, max(1, count_sizes(sizes) - 1))


def _sizes_sensitivity(bounds: Bounds, sizes: Sizes, regions: int) -> int:
    """2m: each of a person's m records moves one group from one cell of its region to another.

    That takes one from the first cell and adds one to the second: 2, or 0 if it does not move. A region
    holds all groups of its subregions, so at every level exactly one region sees the move. With a single
    size nothing moves: it gets the noise that two sizes need, as in ``_find_reach``.
    """
    return 2 * bounds.max_records


def _cumulative_sensitivity(bounds: Bounds, sizes: Sizes, regions: int) -> int:
    """m min(z, K - 1): a group that moves from size s to s + d leaves c_s, ..., c_{s+d-1} one smaller.

    These are d cells for each of the m records, with d = min(z, K - 1) at most; the others do not change.
    Two records in one group move it by at most min(2z, K - 1), which is no more than 2d.
    """
    return bounds.max_records * _find_reach(bounds, sizes)


def _answer_chain(counts: Counted, level: int) -> Ints:
    """How many groups there are up to each place of the level, in the order of the paper's chain.

    The order is size by size, and within a size by the tree in post-order: the groups counted at (s, r)
    are all smaller ones, and those of size s in the leaves up to the last one of region r.
    """
    hierarchy = counts.hierarchy
    leaf_level, leaf_index = hierarchy.leaf_places
    order = np.empty(hierarchy.leaf_count, dtype=np.int64)
    for at in range(len(hierarchy.levels)):
        rows = np.flatnonzero(leaf_level == at)
        order[hierarchy.last_leaves(at)[leaf_index[rows]]] = rows
    running: Ints = np.cumsum(counts.leaf[order].T, dtype=np.int64).reshape(counts.leaf.shape[::-1])
    return running.T[hierarchy.last_leaves(level)]


def _chain_sensitivity(bounds: Bounds, sizes: Sizes, regions: int) -> int:
    """m min(z, K - 1) times the number of regions: a group that moves from s to s + d changes all in between.

    Between (s, r) and (s + d, r) the chain passes every region of the level d times, and each of these
    counts changes by one. The paper says 1 (its Privacy Phase of M_c^ch), which is true of a level with
    one region only.
    """
    return regions * _cumulative_sensitivity(bounds, sizes, regions)


def _accumulate(rows: Ints) -> Ints:
    return np.cumsum(rows, axis=1, dtype=np.int64)


SIZES = Query("sizes", lambda counts, level: counts.array(level), _sizes_sensitivity, lambda rows: rows)
"""n: how many groups of each size."""

CUMULATIVE = Query(
    "cumulative",
    lambda counts, level: _accumulate(counts.array(level)),
    _cumulative_sensitivity,
    _accumulate,
    ends_with_total=True,
)
"""c = (+)(n): how many groups of at most each size."""

CHAIN = Query("chain", _answer_chain, _chain_sensitivity)
"""The cumulative query over a whole level at once, in the order of the paper's T^ch."""

QUERIES = {query.name: query for query in (SIZES, CUMULATIVE, CHAIN)}


def find_query(name: str) -> Query:
    """Return the query of that name."""
    if name not in QUERIES:
        raise PrivacyError(f"There is no query {name!r}: {name_choices(name, QUERIES)}")
    return QUERIES[name]
