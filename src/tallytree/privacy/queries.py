"""The queries that are measured, each with its sensitivity and why that is so.

A query is asked at every level. Its *sensitivity* is the largest L1 distance between its answers, over
all regions of one level, on two neighbours (``neighbours.py``). Removing is adding the other way round, so
adding is enough. A person with m = ``max_records`` records changes m groups, a group that is protected one;
each of them crosses c edges of the classes at most (``Neighbours.count_crossed``).

Its *squared sensitivity* is the largest square of the L2 distance. For all queries here it is the number of
groups that change times the L1 sensitivity: each of them changes any one answer by at most 1, so no answer
changes by more than their number, and the squares add up to at most that times the absolute values. It is
attained when all of them are in the same region and class, and move alike.
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
from tallytree.privacy.neighbours import Bounds, Neighbours
from tallytree.sizes import Sizes

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
    sensitivity: Callable[[Neighbours, Sizes, int], int]
    """In L1, from the neighbours, the sizes, and the number of regions at the level."""
    row_answer: Callable[[Ints], Ints] | None = None
    """The answer of some regions from their counts alone, if it does not depend on other regions."""
    ends_with_total: bool = False
    """The last entry of a region's answer is its number of groups: the same on all neighbours, if public."""
    when_private: str | None = None
    """The query that takes its place where the total is private; None if there is none."""

    def squared_sensitivity(self, neighbours: Neighbours, sizes: Sizes, regions: int) -> int:
        """Return the square of the sensitivity in L2."""
        return neighbours.moves * self.sensitivity(neighbours, sizes, regions)


def _sizes_sensitivity(neighbours: Neighbours, sizes: Sizes, regions: int) -> int:
    """2 for each group that changes: it leaves one cell of its region for another.

    That takes one from the first cell and adds one to the second: 2, or 0 if it stays. A region holds all
    groups of its subregions, so at every level exactly one region sees the move. With a single class nothing
    moves: it gets the noise that two classes need. A group that appears is in one cell more: 1, and nothing
    else happens where whole groups are protected and the total is private.
    """
    if neighbours.protect == "group" and not neighbours.has_public_total:
        return 1
    return 2 * neighbours.moves


def _cumulative_sensitivity(neighbours: Neighbours, sizes: Sizes, regions: int) -> int:
    """c for each group that changes: an entry changes by one for each edge that the group crosses.

    From below, the count of groups smaller than an edge is one less when a group crosses it; from above, the
    count of groups at the edge or beyond is one more. The others do not change. Two records in one group
    cross no more edges than in two.
    """
    return neighbours.moves * neighbours.count_crossed(sizes)


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


def _chain_sensitivity(neighbours: Neighbours, sizes: Sizes, regions: int) -> int:
    """The cumulative sensitivity times the number of regions: a group changes all that is in between.

    Between (s, r) and (s + d, r) the chain passes every region of the level d times, and each of these
    counts changes by one. The paper says 1 (its Privacy Phase of M_c^ch), which is true of a level with
    one region only.
    """
    return regions * _cumulative_sensitivity(neighbours, sizes, regions)


def _accumulate(rows: Ints) -> Ints:
    return np.cumsum(rows, axis=1, dtype=np.int64)


def _accumulate_from_above(rows: Ints) -> Ints:
    return np.cumsum(rows[:, ::-1], axis=1, dtype=np.int64)[:, ::-1]


SIZES = Query(
    "sizes",
    lambda counts, level: counts.array(level),
    _sizes_sensitivity,
    lambda rows: rows,
    when_private="sizes",
)
"""n: how many groups of each size."""

CUMULATIVE = Query(
    "cumulative",
    lambda counts, level: _accumulate(counts.array(level)),
    _cumulative_sensitivity,
    _accumulate,
    ends_with_total=True,
    when_private="above",
)
"""c = (+)(n): how many groups of at most each size."""

ABOVE = Query(
    "above",
    lambda counts, level: _accumulate_from_above(counts.array(level)),
    _cumulative_sensitivity,
    _accumulate_from_above,
    when_private="above",
)
"""x: how many groups of at least each size. A group that appears at size s changes the first s of them."""

CHAIN = Query("chain", _answer_chain, _chain_sensitivity)
"""The cumulative query over a whole level at once, in the order of the paper's T^ch."""

QUERIES = {query.name: query for query in (SIZES, CUMULATIVE, ABOVE, CHAIN)}


def find_query(name: str) -> Query:
    """Return the query of that name."""
    if name not in QUERIES:
        raise PrivacyError(f"There is no query {name!r}: {name_choices(name, QUERIES)}")
    return QUERIES[name]
