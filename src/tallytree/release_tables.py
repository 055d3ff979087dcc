"""Counts and measurements as tables: a column for each level, null below the row's own level."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tallytree.errors import FolderError, HierarchyError, show
from tallytree.hierarchy import Hierarchy, Path
from tallytree.sizes import Sizes, count_sizes

Ints = npt.NDArray[np.int64]

FIXED = ("level", "size", "groups", "measured")


def check_level_names(hierarchy: Hierarchy) -> None:
    """Levels become columns, so they may not be called like the other columns."""
    for name in hierarchy.levels:
        if name in FIXED:
            raise HierarchyError(
                f"A level may not be called {show(name)}: release files have a column of that name."
            )


def tabulate(
    hierarchy: Hierarchy, sizes: Sizes, arrays: Sequence[Ints], *, value: str, zeros: bool
) -> pa.Table:
    """A row for every region and size, level by level; rows of zero only if ``zeros``."""
    parts = []
    for index, level in enumerate(hierarchy.levels):
        values = arrays[index]
        region, size = np.nonzero(np.ones_like(values) if zeros else values)
        paths = hierarchy.regions(index)
        columns: dict[str, pa.Array[Any]] = {
            name: _repeat([path[depth] if depth <= index else None for path in paths], region)
            for depth, name in enumerate(hierarchy.levels)
        }
        columns["level"] = _repeat([level], np.zeros_like(region))
        columns["size"] = pa.array(size + sizes[0], pa.int64())
        columns[value] = pa.array(values[region, size], pa.int64())
        parts.append(pa.table(columns))
    return pa.concat_tables(parts)


def _repeat(names: list[str | None], index: npt.NDArray[np.integer]) -> pa.StringArray:
    return pa.array(names, pa.string()).take(index)


def read_regions(table: pa.Table, levels: Sequence[str], sizes: Sizes) -> Hierarchy:
    """The hierarchy of a table with all rows, as :func:`tabulate` writes it."""
    cells = count_sizes(sizes)
    if table.num_rows == 0 or table.num_rows % cells:
        raise FolderError("The measurements do not have a row for every region and size.")
    heads = table.take(np.arange(0, table.num_rows, cells)).to_pylist()
    regions: list[list[Path]] = [[] for _ in levels]
    for row in heads:
        path = [row[name] for name in levels]
        names = [name for name in path if name is not None]
        if not names or path[: len(names)] != names or row["level"] != levels[len(names) - 1]:
            raise FolderError("The measurements name a region that does not fit its level.")
        regions[len(names) - 1].append(tuple(names))
    return Hierarchy.from_regions(levels, regions)


def read_values(table: pa.Table, hierarchy: Hierarchy, sizes: Sizes, *, value: str) -> list[Ints]:
    """The inverse of :func:`tabulate`: arrays for each level; cells without a row are zero."""
    row_level = _find_levels(table, hierarchy.levels)
    size = table["size"].to_numpy() - sizes[0]
    values = table[value].to_numpy()
    cells = count_sizes(sizes)
    if ((size < 0) | (size >= cells)).any():
        raise FolderError(f"A row has a size that is not from {sizes[0]} to {sizes[1]}.")
    arrays = []
    for index in range(len(hierarchy.levels)):
        rows = np.flatnonzero(row_level == index)
        here = _pick(table, rows)
        if any(here[below].null_count < len(rows) for below in hierarchy.levels[index + 1 :]):
            raise FolderError("A row names a region below its own level.")
        place = _find_regions(here, hierarchy, index)
        array = np.zeros((hierarchy.region_counts[index], cells), dtype=np.int64)
        np.add.at(array, (place, size[rows]), values[rows])
        arrays.append(array)
    return arrays


def _find_levels(table: pa.Table, levels: Sequence[str]) -> Ints:
    """The level of each row, by its place."""
    column = table["level"].combine_chunks().dictionary_encode()
    places = {name: place for place, name in enumerate(levels)}
    try:
        known: Ints = np.array([places[str(name)] for name in column.dictionary.to_pylist()], dtype=np.int64)
    except KeyError:
        raise FolderError("A row names a level that there is not.") from None
    found: Ints = known[column.indices.to_numpy()]
    return found


def _pick(table: pa.Table, rows: Ints) -> pa.Table:
    """These rows; in a table as it was written they stand together, and need not be copied."""
    if len(rows) and rows[-1] - rows[0] + 1 == len(rows):
        return table.slice(int(rows[0]), len(rows))
    return table.take(rows)


def _find_regions(table: pa.Table, hierarchy: Hierarchy, level: int) -> Ints:
    """The region index of each row of one level."""
    index = {path: i for i, path in enumerate(hierarchy.regions(level))}
    columns = [table[name].combine_chunks().dictionary_encode() for name in hierarchy.levels[: level + 1]]
    row_path = np.zeros(table.num_rows, dtype=np.int64)
    paths: list[Path] = [()]
    for column in columns:
        names = column.dictionary.to_pylist()
        codes = column.indices.to_numpy(zero_copy_only=False)
        if column.null_count:
            raise FolderError("A row leaves out a region above its own level.")
        pairs, inverse = np.unique(row_path * len(names) + codes, return_inverse=True)
        paths = [(*paths[p // len(names)], names[p % len(names)]) for p in pairs.tolist()]
        row_path = inverse.reshape(-1)
    try:
        known = np.array([index[path] for path in paths], dtype=np.int64)
    except KeyError:
        raise FolderError("A row names a region that was not measured.") from None
    return known[row_path]
