"""Suppression of small cells, which most business statistics still rest on, as a simple rule.

A cell with one or two firms is hidden (primary suppression). It could be computed where it is the only hidden
cell of a published sum: then the smallest other cell of that sum is hidden as well (complementary
suppression), and so on until no sum has exactly one hidden cell. Zeros are shown. The sums are those of a
region over its subregions, class by class and for the number of firms, and that of a region over its classes.

This hides less than a statistical office would: two hidden cells of a sum may still be known within narrow
bounds, and no cell is hidden here for what it shows about a dominant firm.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

import tallytree as tt

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
LEAST = 3
"""Cells with fewer firms are hidden, unless they are empty."""
NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True)
class Hidden:
    """The hidden cells of each level, root first: regions x classes."""

    primary: list[Flags]
    every: list[Flags]
    sums: list[Flags]
    """Whether the number of all firms of a region is hidden."""


def suppress(counts: tt.GroupCounts) -> Hidden:
    """Return what is hidden in a table of firms by region and class that also has each region's sum."""
    levels = range(len(counts.hierarchy.levels))
    cells = [counts.array(level) for level in levels]
    values = [np.column_stack([level, level.sum(axis=1)]) for level in cells]  # the last column: all firms
    hidden = [(level > 0) & (level < LEAST) for level in values]
    primary = [level[:, :-1].copy() for level in hidden]
    while sum(_hide_in_rows(*pair) for pair in zip(values, hidden, strict=True)) + sum(
        _hide_in_children(values, hidden, level, counts.hierarchy.parents(level)) for level in levels[1:]
    ):
        pass
    return Hidden(primary, [level[:, :-1] for level in hidden], [level[:, -1] for level in hidden])


def _hide_in_rows(values: Ints, hidden: Flags) -> int:
    """Hide one more cell of each region that has exactly one hidden; return in how many."""
    rows = np.flatnonzero(hidden.sum(axis=1) == 1)
    price = np.where(hidden[rows] | (values[rows] == 0), NEVER, values[rows])
    column = np.argmin(price, axis=1)  # a class rather than the sum, where both are as small
    hidden[rows, column] = True
    return len(rows)


def _hide_in_children(values: list[Ints], hidden: list[Flags], level: int, parents: Ints) -> int:
    """Hide one more child, or the parent, wherever exactly one of a parent and its children is hidden."""
    regions, columns = hidden[level - 1].shape
    found = 0
    for column in range(columns):
        below, above = hidden[level][:, column], hidden[level - 1][:, column]
        known = values[level][:, column]
        count = np.bincount(parents, below, regions).astype(np.int64) + above
        price = np.where(below | (known == 0), NEVER, known)
        order = np.lexsort((price, parents))
        first = order[np.searchsorted(parents[order], np.arange(regions))]  # the cheapest child of each
        alone = np.flatnonzero(count == 1)
        has_child = price[first[alone]] < NEVER
        below[first[alone[has_child]]] = True
        above[alone[~has_child]] = True
        found += len(alone)
    return found
