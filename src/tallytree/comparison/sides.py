"""What is compared: a release, or a published table that is read with the levels of a release."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tallytree.arrays import LevelArrays, SparseRows
from tallytree.counts.arrow import (
    CSV_ENDINGS,
    NOT_A_FILE,
    PARQUET_ENDINGS,
    Table,
    looks_like_address,
    read_columns,
)
from tallytree.counts.count_files import has_sensitive_name, read_origin
from tallytree.counts.count_tables import read_numbers, read_row_sizes, refuse_repeats
from tallytree.counts.region_tables import check_purposes, read_tree, refuse_rows
from tallytree.errors import CountsError, describe, show
from tallytree.hierarchy import Hierarchy
from tallytree.path_trees import PathTree
from tallytree.privacy.measurements import Measurements
from tallytree.releases.released import Released, read_folder
from tallytree.sizes import SizeClasses, Sizes, count_sizes, get_ends, list_edges, show_sizes

# A published table of counts, read with the levels of a release to compare with.
#
# Its rows may be about the leaves alone, or about regions of all levels, as in ``release.parquet``: a
# region that has no rows of its own is the sum of its subregions.

Ints = npt.NDArray[np.int64]

NOT_PUBLISHED = "{} true counts, not a published table. To compare with the truth, use 'tallytree evaluate'."


@dataclass(frozen=True, eq=False)
class PublishedTable:
    """Counts on the regions that the table names, for the sizes of the release."""

    hierarchy: Hierarchy
    sizes: Sizes
    counts: LevelArrays
    clipped: int
    """Rows of sizes outside the range, which count at its ends."""


def read_published(table: Table, release: Released, *, size: str, groups: str) -> PublishedTable:
    """Read the counts of a table or its file."""
    if has_sensitive_name(table):
        raise CountsError(NOT_PUBLISHED.format("The name of the file says 'sensitive': it holds"))
    root, *below = release.hierarchy.levels
    check_purposes([*below, size, groups])
    data = read_columns(table, [*below[:1], size, groups], text=below, also=below[1:])
    if read_origin(data) is not None:
        raise CountsError(NOT_PUBLISHED.format("The table holds"))
    if data.num_rows == 0:
        raise CountsError("The table has no rows.")
    regions = _find_region_columns(data, below)
    row_size = read_row_sizes(data[size], size, release.sizes)
    row_groups = read_numbers(data[groups], groups)
    refuse_rows(row_size < 0, f"column {show(size)} is negative")
    refuse_rows(row_groups < 0, f"column {show(groups)} is negative")
    tree = read_tree(data, regions, release.hierarchy.path(0, 0)[0])
    _refuse_repeats(tree, row_size)
    low, high = get_ends(release.sizes)
    edges = np.array(list_edges(release.sizes))
    place = np.clip(np.searchsorted(edges, row_size, side="right") - 1, 0, None)
    is_outside = (row_size < low) | (row_size > high)
    if isinstance(release.sizes, SizeClasses):
        refuse_rows(edges[place] != row_size, f"column {show(size)} is not the least size of a class")
    depth = 1 + int(tree.row_level.max())
    return PublishedTable(
        Hierarchy.from_arrays([root, *regions][:depth], tree.names[:depth], tree.parents[:depth]),
        release.sizes,
        _gather(tree, place, row_groups, depth, count_sizes(release.sizes)),
        int(is_outside.sum()),
    )


def _find_region_columns(data: pa.Table, below: list[str]) -> list[str]:
    """The levels below the root that are in the table: the first ones, with none left out in between."""
    found = [name for name in below if name in data.column_names]
    if found != below[: len(found)]:
        missing = next(name for name in below if name not in found)
        raise CountsError(f"The table has a column {show(found[-1])}, but none {show(missing)} above it.")
    return found


def _refuse_repeats(tree: PathTree, row_size: Ints) -> None:
    sizes, size = np.unique(row_size, return_inverse=True)
    refuse_repeats((tree.row_region * len(tree.names) + tree.row_level) * len(sizes) + size)


def _gather(tree: PathTree, size: Ints, groups: Ints, depth: int, cells: int) -> LevelArrays:
    levels: list[SparseRows] = []
    for level in reversed(range(depth)):
        rows = np.flatnonzero(tree.row_level == level)
        regions = len(tree.names[level])
        place, values = tree.row_region[rows] * cells + size[rows], groups[rows]
        if levels:
            has_rows = np.zeros(regions, dtype=np.bool_)
            has_rows[tree.row_region[rows]] = True
            child, column, count = levels[-1].cells(0, levels[-1].shape[0])
            parent = tree.parents[level + 1][child]
            lacking = ~has_rows[parent]
            place = np.concatenate([place, (parent * cells + column)[lacking]])
            values = np.concatenate([values, count[lacking]])
        levels.append(SparseRows.from_places(place, values, (regions, cells)))
    return LevelArrays(levels[::-1])


@dataclass(frozen=True, eq=False)
class Side:
    """One of the two: its regions, sizes and counts, and the measurements of a release."""

    hierarchy: Hierarchy
    sizes: Sizes
    counts: Sequence[Ints]
    measurements: Measurements | None
    notes: tuple[str, ...] = ()


def open_sides(a: Released | Table, b: Released | Table, *, size: str, groups: str) -> tuple[Side, Side]:
    """Open both sides, each given itself or by its path: a release's folder, or a table's file."""
    opened = [_load(a), _load(b)]
    releases = [each for each in opened if isinstance(each, Released)]
    if not releases:
        raise CountsError(
            "At least one of the two must be a release: its levels name the columns of the table."
        )
    first, second = (
        _from_release(each)
        if isinstance(each, Released)
        else _from_table(read_published(each, releases[0], size=size, groups=groups), name)
        for name, each in zip("AB", opened, strict=True)
    )
    return first, second


def _load(given: Released | Table) -> Released | Table:
    if not isinstance(given, (str, os.PathLike)):
        return given
    try:
        if _is_table(Path(given)):
            return given
        if looks_like_address(given) and not Path(given).exists():
            raise CountsError(NOT_A_FILE)
    except OSError as error:  # a name that is too long, a folder that is not ours
        raise CountsError(f"{show(Path(given), most=150)} cannot be read: {describe(error)}.") from None
    return read_folder(given, Released)


def _is_table(path: Path) -> bool:
    return path.name.lower().endswith(CSV_ENDINGS + PARQUET_ENDINGS) and not path.is_dir()


def _from_release(release: Released) -> Side:
    return Side(release.hierarchy, release.sizes, release.counts, release.measurements)


def _from_table(table: PublishedTable, name: str) -> Side:
    notes = []
    if table.clipped:
        outside = f"{table.clipped:,} rows of {name} have sizes outside {show_sizes(table.sizes)}"
        notes.append(f"{outside}: they are counted at the ends.")
    return Side(table.hierarchy, table.sizes, table.counts, None, tuple(notes))
