"""Regions and arrays from the rows of a release's tables, in any order of the rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tallytree.arrays import MAX_CELLS, MAX_MEASURED, LevelArrays, SparseRows, Stored, is_large
from tallytree.errors import FolderError
from tallytree.hierarchy import Hierarchy
from tallytree.path_trees import Codes, Names, encode_column, find_runs, grow_tree
from tallytree.sizes import Sizes, count_sizes, list_edges, show_sizes

Ints = npt.NDArray[np.int64]

REPEATED = "A file has two rows for the same region and size."


def read_in_order(
    tables: Iterable[pa.Table], rows: int, levels: Sequence[str], sizes: Sizes, *, value: str
) -> tuple[Hierarchy, LevelArrays] | None:
    """Read the regions and all their values in one pass without lookups, if the rows are as written.

    That is level by level, region by region, size by size. Return None if they are not.
    """
    cells, edges = count_sizes(sizes), np.array(list_edges(sizes))
    if rows == 0 or rows % cells or rows > len(levels) * MAX_CELLS:
        return None
    store = _Dense((rows // cells, cells))
    heads, done = [], 0
    for table in tables:
        names = [_get_codes(table, name) for name in (*levels, "level")]
        starts, _ = find_runs(names)
        in_order = table["size"].to_numpy().reshape(-1, cells) if table.num_rows % cells == 0 else None
        if (
            in_order is None
            or (starts % cells).any()
            or len(starts) * cells != table.num_rows
            or (in_order != edges).any()
            or done + table.num_rows > rows
        ):
            return None
        heads.append(_take_names(table, levels, np.arange(0, table.num_rows, cells)))
        store.write(done // cells, table[value].to_numpy().reshape(-1, cells))
        done += table.num_rows
    depth = _find_levels(pa.concat_tables(heads), levels) if heads else np.zeros(0, dtype=np.int64)
    if done != rows or (np.diff(depth) < 0).any():
        return None
    hierarchy = _make_hierarchy(pa.concat_tables(heads), levels)
    array = store.finish()
    first = np.concatenate([[0], np.cumsum(hierarchy.region_counts)])
    parts = [array[a:b] for a, b in pairwise(first.tolist())]
    small = [not is_large((len(part), cells)) for part in parts]
    return hierarchy, LevelArrays([p.astype(np.int64) if s else p for p, s in zip(parts, small, strict=True)])


def _take_names(table: pa.Table, levels: Sequence[str], rows: Ints) -> pa.Table:
    """Return a copy of the names in some rows; a view would keep everything that was read with them."""
    names = table.select([*levels, "level"]).take(rows)
    columns = [names[name].cast(pa.string()).dictionary_encode() for name in names.column_names]
    return pa.table(columns, names=names.column_names)


def _get_codes(table: pa.Table, name: str) -> Codes:
    """Return the codes of a column of names, which show where it changes."""
    column: Any = table[name].combine_chunks()
    codes: Codes = column.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return codes


def read_regions(tables: Iterable[pa.Table], levels: Sequence[str], sizes: Sizes) -> Hierarchy:
    """Return the hierarchy of a complete table as it was written: each region has a row for every size."""
    cells, rows = count_sizes(sizes), 0
    heads = []
    for table in tables:
        head = _take_names(table, levels, np.arange(-rows % cells, table.num_rows, cells))
        # Checked now, not after reading all: a few bytes can encode any number of equal rows.
        if len(find_runs([_get_codes(head, name) for name in (*levels, "level")])[0]) < head.num_rows:
            raise FolderError("measurements.parquet is damaged: a region is missing or appears twice.")
        heads.append(head)
        rows += table.num_rows
    if rows == 0 or rows % cells:
        raise FolderError("The measurements do not have a row for every region and size.")
    return _make_hierarchy(pa.concat_tables(heads), levels)


def _make_hierarchy(heads: pa.Table, levels: Sequence[str]) -> Hierarchy:
    """Return the hierarchy of a table with a row for each region."""
    columns = [encode_column(heads[name]) for name in levels]
    depth = np.zeros(heads.num_rows, dtype=np.int64)
    for place, column in enumerate(columns):
        depth[(depth == place) & (column.codes >= 0)] += 1
    named = np.sum([column.codes >= 0 for column in columns], axis=0)
    if (depth == 0).any() or (named != depth).any() or (_find_levels(heads, levels) != depth - 1).any():
        raise FolderError("The measurements name a region that does not fit its level.")
    # The order of a level is that of its own rows, of which each of its regions has one.
    tree = grow_tree(columns)
    names: list[Names] = []
    parents: list[Ints] = []
    rank = np.full(1, -1, dtype=np.int64)
    for level in range(len(levels)):
        found = tree.row_region[tree.row_level == level]
        above = tree.parents[level][found] if level else np.zeros(len(found), dtype=np.int64)
        names.append(tree.names[level].take(found))
        parents.append(rank[above])
        if len(found) != len(tree.names[level]):
            raise FolderError("measurements.parquet is damaged: a region is missing or appears twice.")
        rank = np.full(len(found), -1, dtype=np.int64)
        rank[found] = np.arange(len(found))
        if (rank < 0).any():
            raise FolderError("measurements.parquet is damaged: a region is missing or appears twice.")
    return Hierarchy.from_arrays(levels, names, parents)


def read_values(
    tables: Iterable[pa.Table], hierarchy: Hierarchy, sizes: Sizes, *, value: str, sparse: bool
) -> LevelArrays:
    """Return arrays for each level; cells without a row are zero, which a large level may leave out."""
    shapes = [(regions, count_sizes(sizes)) for regions in hierarchy.region_counts]
    stores = [_Sparse(shape) if sparse and is_large(shape) else _Dense(shape) for shape in shapes]
    for table in tables:
        values = table[value].to_numpy()
        refuse_beyond(MAX_MEASURED, values)
        for level, place, rows in find_cells(table, hierarchy, sizes):
            stores[level].add(place, values[rows])
    return LevelArrays([store.finish() for store in stores])


def refuse_beyond(most: int, values: Ints) -> None:
    """Refuse numbers beyond those of any release: their sums would not fit into 64 bits."""
    if max(int(values.max(initial=0)), -int(values.min(initial=0))) > most:
        raise FolderError(f"A row has a number beyond {most:,}.")


class SeenCells:
    """The cells of a level that have had a row: none may have two, which might be added up unnoticed."""

    def __init__(self, shape: tuple[int, int]) -> None:
        self._seen = np.zeros(shape[0] * shape[1], dtype=np.bool_)

    def add(self, place: Ints) -> None:
        """Refuse a cell that occurs twice in these rows, or occurred in earlier ones."""
        refuse_repeated(place)
        if self._seen[place].any():
            raise FolderError(REPEATED)
        self._seen[place] = True


def refuse_repeated(place: Ints) -> None:
    """Refuse a cell that occurs twice in these rows; if they are in order, no sorting is needed."""
    if not (place[1:] > place[:-1]).all():
        ordered = np.sort(place)
        if (ordered[1:] == ordered[:-1]).any():
            raise FolderError(REPEATED)


class _Dense:
    """A level that is filled cell by cell; a large one in 32 bits as long as all values fit."""

    def __init__(self, shape: tuple[int, int]) -> None:
        self._array: npt.NDArray[Any] = np.zeros(shape, dtype=np.int32 if is_large(shape) else np.int64)
        self._seen = SeenCells(shape)

    def add(self, place: Ints, values: Ints) -> None:
        self._seen.add(place)
        self._widen(values)
        flat = self._array.reshape(-1)
        flat[place] = values.astype(flat.dtype)

    def write(self, start: int, rows: Ints) -> None:
        """Store rows in their place."""
        self._widen(rows)
        self._array[start : start + len(rows)] = rows

    def _widen(self, values: Ints) -> None:
        if self._array.dtype == np.int32 and max(values.max(initial=0), -values.min(initial=0)) >= 2**30:
            self._array = self._array.astype(np.int64)

    def finish(self) -> npt.NDArray[Any]:
        return self._array


class _Sparse:
    """A level of which only the cells with rows are stored."""

    def __init__(self, shape: tuple[int, int]) -> None:
        self._shape = shape
        self._places: list[Ints] = []
        self._values: list[Ints] = []

    def add(self, place: Ints, values: Ints) -> None:
        self._places.append(place)
        self._values.append(values)

    def finish(self) -> Stored:
        none = np.zeros(0, dtype=np.int64)
        places, values = np.concatenate([none, *self._places]), np.concatenate([none, *self._values])
        refuse_repeated(places)
        return SparseRows.from_places(places, values, self._shape)


def find_cells(
    table: pa.Table, hierarchy: Hierarchy, sizes: Sizes
) -> Iterator[tuple[int, Ints, slice | Ints]]:
    """Yield for each level in the table the cells of its rows, region * sizes + size, and the rows."""
    cells, edges = count_sizes(sizes), np.array(list_edges(sizes))
    size = np.searchsorted(edges, table["size"].to_numpy(), side="right") - 1
    if (edges[size] != table["size"].to_numpy()).any():
        raise FolderError(f"A row has a size that is not among {show_sizes(sizes)}.")
    levels = _find_levels(table, hierarchy.levels)
    if (levels < 0).any():
        raise FolderError("A row has an unknown level.")
    columns = [encode_column(table[name]) for name in hierarchy.levels]
    heads, run = find_runs([levels.astype(np.int32), *(column.codes for column in columns)])
    level = levels[heads]
    region = np.zeros(len(heads), dtype=np.int64)
    for depth, column in enumerate(columns):
        named = column.codes[heads] >= 0
        if (named & (level < depth)).any():
            raise FolderError("A row names a region below its own level.")
        if (~named & (level >= depth)).any():
            raise FolderError("A row leaves out a region above its own level.")
        here = np.flatnonzero(named)
        names = column.names.take(column.codes[heads[here]])
        region[here] = hierarchy.find_children(depth, region[here], names)
    if (region < 0).any():
        raise FolderError("A row names a region that was not measured.")
    for at in np.unique(level).tolist():
        rows = slice(None) if len(heads) == (level == at).sum() else np.flatnonzero(levels == at)
        yield at, region[run[rows]] * cells + size[rows], rows


def _find_levels(table: pa.Table, levels: Sequence[str]) -> Ints:
    """Return the index of each row's level; -1 if there is no such level."""
    column = encode_column(table["level"])
    places = {name: place for place, name in enumerate(levels)}
    known = np.array([places.get(str(name), -1) for name in column.names.to_pylist()], dtype=np.int64)
    found: Ints = known[column.codes]
    return found
