"""The taxi data of Kuo et al. (VLDB 2018), as they published them: nothing is drawn or added.

A group is a taxi in a neighbourhood, and its size is the number of its pickups there in 2013. The table has
a row for each region and size that has groups, at every level: 0 for Manhattan, 1 for its two halves, 2 for
the neighbourhoods. The counts are those of the neighbourhoods; the rows of the other levels must be their
sums. Sizes go from 1 to the largest in the table.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tallytree.counts.arrow import Table, read_columns
from tallytree.counts.group_counts import GroupCounts
from tallytree.counts.region_tables import refuse_rows
from tallytree.datasets.census import Ints, read_names, read_whole_numbers
from tallytree.errors import CountsError, show
from tallytree.hierarchy import Hierarchy
from tallytree.sizes import check_sizes

LEVELS = ("manhattan", "half", "neighbourhood")

LEVEL, REGION, PARENT, SIZE, COUNT = "level", "region", "parent", "size", "count"


@dataclass(frozen=True, eq=False)
class _Rows:
    """The table's columns; the root has "" as its parent."""

    level: Ints
    region: list[str]
    parent: list[str]
    size: Ints
    count: Ints

    def list_regions(self, level: int) -> list[tuple[str, str]]:
        """Parent and region, each pair once."""
        pairs = zip(self.level.tolist(), self.parent, self.region, strict=True)
        return list(dict.fromkeys((parent, region) for at, parent, region in pairs if at == level))


def read_taxi_table(source: Table, *, largest: int | None = None) -> GroupCounts:
    """Read the counts of a pandas, Polars or Arrow table, or of a CSV or Parquet file.

    With ``largest``, larger groups count at it.
    """
    rows = _read_rows(source)
    most = int(rows.size.max())
    sizes = check_sizes((1, most))
    hierarchy = _make_hierarchy(rows)
    levels = _fill_levels(rows, hierarchy, most)
    counts = GroupCounts(hierarchy, sizes, levels[-1])
    for level, given in zip(LEVELS, levels, strict=True):
        uneven = int(np.count_nonzero(counts.array(level) != given))
        if uneven:
            raise CountsError(f"At level {level}, {uneven} counts are not the sums of the neighbourhoods'.")
    return counts if largest is None or largest >= most else _lump(counts, largest)


def _read_rows(source: Table) -> _Rows:
    data = read_columns(source, [LEVEL, REGION, PARENT, SIZE, COUNT], text=[REGION, PARENT])
    if data.num_rows == 0:
        raise CountsError("The table of taxis has no rows.")
    level, size, count = (read_whole_numbers(data[name], name) for name in (LEVEL, SIZE, COUNT))
    refuse_rows(level >= len(LEVELS), f"column {show(LEVEL)} is not 0, 1 or 2")
    refuse_rows(size < 1, f"column {show(SIZE)} is not at least 1")
    region, parent = read_names(data[REGION], REGION), read_names(data[PARENT], PARENT, optional=True)
    orphan = np.array([not name for name in parent])
    refuse_rows(
        orphan != (level == 0), f"column {show(PARENT)} must name a region below level 0, and none there"
    )
    return _Rows(level, region, parent, size, count)


def _make_hierarchy(rows: _Rows) -> Hierarchy:
    roots, halves, leaves = (rows.list_regions(level) for level in range(len(LEVELS)))
    if len(roots) != 1:
        raise CountsError(f"Level 0 must have one region, but the table has {len(roots)} there.")
    ((_, root),) = roots
    if {parent for parent, _ in halves} - {root}:
        raise CountsError(f"Column {show(PARENT)} names a region at level 1 that is not at level 0.")
    if {parent for parent, _ in leaves} != {region for _, region in halves}:
        raise CountsError(
            f"Column {show(PARENT)} at level 2 must name the regions of level 1, and all of them."
        )
    paths = sorted((root, half, leaf) for half, leaf in leaves)  # whatever the order of the rows
    return Hierarchy.from_paths(LEVELS, paths, unique_names=True)


def _fill_levels(rows: _Rows, hierarchy: Hierarchy, largest: int) -> list[Ints]:
    """Each level's counts by its own rows, regions x sizes."""
    regions = [hierarchy.regions(level) for level in range(len(LEVELS))]
    index = [{path[-1]: place for place, path in enumerate(paths)} for paths in regions]
    row = np.array([index[at][name] for at, name in zip(rows.level.tolist(), rows.region, strict=True)])
    cells = np.stack([rows.level, row, rows.size])
    _, first = np.unique(cells, axis=1, return_index=True)
    repeated = np.ones(cells.shape[1], dtype=np.bool_)
    repeated[first] = False
    refuse_rows(repeated, "an earlier row has the same region and size")
    levels = [np.zeros((len(paths), largest), dtype=np.int64) for paths in regions]
    for level, array in enumerate(levels):
        here = rows.level == level
        array[row[here], rows.size[here] - 1] = rows.count[here]
    return levels


def _lump(counts: GroupCounts, largest: int) -> GroupCounts:
    leaf = counts.leaf[:, :largest].copy()
    leaf[:, -1] += counts.leaf[:, largest:].sum(axis=1)
    return GroupCounts(counts.hierarchy, (1, largest), leaf)
