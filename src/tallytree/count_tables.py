"""From a tidy table of counts to :class:`~tallytree.counts.GroupCounts`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tallytree.counts import BOUNDS_NOT_CHECKED, GroupCounts, whole_numbers
from tallytree.errors import CountsError, show
from tallytree.hierarchy import Hierarchy, Path
from tallytree.limits import MAX_CELLS
from tallytree.privacy.neighbours import Bounds
from tallytree.sizes import Sizes, check_sizes, count_sizes
from tallytree.tables import Table, read_columns

Ints = npt.NDArray[np.int64]

REGIONS_FROM_DATA = "The list of regions was read from the data; it must be public."
SIZES_FROM_DATA = "The range of sizes was read from the data; it must be public."


def read_counts(
    table: Table,
    *,
    regions: Sequence[str],
    size: str,
    groups: str,
    sizes: Sizes | None,
    root: str,
    root_level: str,
    hierarchy: Hierarchy | None,
    bounds: Bounds,
) -> GroupCounts:
    """See :meth:`GroupCounts.from_table`."""
    _check_names(regions, size, groups)
    _check_root(root, root_level)
    if hierarchy is not None and not isinstance(hierarchy, Hierarchy):
        raise CountsError("The hierarchy must be a tallytree.Hierarchy.")
    data = read_columns(table, [*regions, size, groups], text=list(regions))
    if data.num_rows == 0:
        raise CountsError("The table has no rows.")
    row_size = _read_numbers(data[size], size)
    row_groups = _read_numbers(data[groups], groups)
    _refuse(row_groups < 0, f"column {show(groups)} is negative")
    assumptions = [BOUNDS_NOT_CHECKED.format(m=bounds.max_records, z=bounds.max_quantity)]
    if sizes is None:
        sizes = _find_sizes(row_size, size)
        assumptions.append(SIZES_FROM_DATA)
    low, high = check_sizes(sizes)
    _refuse((row_size < low) | (row_size > high), f"column {show(size)} is not from {low} to {high}")

    row_path, paths = _read_paths(data, regions, root)
    if hierarchy is None:
        _refuse_inner_regions(row_path, paths)
        hierarchy = Hierarchy.from_paths([root_level, *regions], paths)
        assumptions.append(REGIONS_FROM_DATA)
    row_leaf = _find_leaves(row_path, paths, hierarchy)
    cells = count_sizes((low, high))
    if len(hierarchy.leaves) * cells > MAX_CELLS:
        raise CountsError(f"There are more than {MAX_CELLS} leaves x sizes.")
    place = row_leaf * cells + (row_size - low)
    _refuse_repeats(place)
    leaf = np.zeros(len(hierarchy.leaves) * cells, dtype=np.int64)
    leaf[place] = row_groups
    return GroupCounts(
        hierarchy, (low, high), leaf.reshape(-1, cells), bounds=bounds, assumptions=assumptions
    )


def _check_names(regions: Sequence[str], size: str, groups: str) -> None:
    if not isinstance(regions, (list, tuple)) or not all(isinstance(name, str) for name in regions):
        raise CountsError("The region columns must be a list of names, such as ['state', 'county'].")
    if not isinstance(size, str) or not isinstance(groups, str):
        raise CountsError("The columns of sizes and of groups must be given by their names.")
    columns = [*regions, size, groups]
    for name in columns:
        if columns.count(name) > 1:
            raise CountsError(f"The column {show(name)} is named for two purposes.")


def _check_root(root: str, root_level: str) -> None:
    for what, name in (("root", root), ("root's level", root_level)):
        if not isinstance(name, str) or not name.strip():
            raise CountsError(f"The {what} must have a name.")


def _find_sizes(row_size: Ints, column: str) -> Sizes:
    """The range of the sizes in the data; what is wrong with it is said without showing it."""
    _refuse(row_size < 0, f"column {show(column)} is negative")
    sizes = (int(row_size.min()), int(row_size.max()))
    try:
        return check_sizes(sizes)
    except CountsError:
        raise CountsError(
            f"The sizes in column {show(column)} spread too far: give their public range."
        ) from None


def _read_numbers(column: pa.ChunkedArray[Any], name: str) -> Ints:
    what = f"The values of column {show(name)}"
    if column.null_count:
        raise CountsError(f"Column {show(name)} has {column.null_count} missing values.")
    if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        raise CountsError(f"{what} must be whole numbers, but the column holds {column.type}.")
    return whole_numbers(column.to_numpy(), what)


def _read_paths(data: pa.Table, regions: Sequence[str], root: str) -> tuple[Ints, list[Path]]:
    """Each row's path as an index into the distinct paths, which are in order of appearance."""
    row_path = np.zeros(data.num_rows, dtype=np.int64)
    paths: list[Path] = [(root,)]
    ended = np.zeros(data.num_rows, dtype=bool)
    for name in regions:
        codes, names = _encode(data[name], name)
        _refuse(ended & (codes >= 0), f"column {show(name)} names a region below a missing one")
        ended = codes < 0
        # (path so far, next name) -> the path extended, numbered by first appearance.
        pairs, first, inverse = np.unique(
            row_path * (len(names) + 1) + codes + 1, return_index=True, return_inverse=True
        )
        order = np.argsort(first)
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        above, code = np.divmod(pairs[order], len(names) + 1)
        paths = [
            paths[a] if c == 0 else (*paths[a], names[c - 1])
            for a, c in zip(above.tolist(), code.tolist(), strict=True)
        ]
        row_path = rank[inverse.reshape(-1)]
    return row_path, paths


def _encode(column: pa.ChunkedArray[Any], name: str) -> tuple[Ints, list[str]]:
    """A column of names as codes (-1: missing) and the names they stand for."""
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    textual = pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    if not (textual or pa.types.is_integer(kind) or pa.types.is_null(kind)):
        raise CountsError(f"Column {show(name)} holds {kind}; region names must be text (or whole numbers).")
    whole = column.combine_chunks()
    plain = whole.dictionary_decode() if isinstance(whole, pa.DictionaryArray) else whole
    encoded = pc.cast(plain, pa.large_string()).dictionary_encode()
    codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    try:
        names = [str(text) for text in encoded.dictionary.to_pylist()]
    except UnicodeDecodeError:
        raise CountsError(f"Column {show(name)} holds text that is not UTF-8.") from None
    empty = [i for i, text in enumerate(names) if not text.strip()]
    _refuse(np.isin(codes, empty), f"column {show(name)} holds an empty name")
    return codes, names


def _refuse_inner_regions(row_path: Ints, paths: list[Path]) -> None:
    inner = {path[:depth] for path in paths for depth in range(1, len(path))}
    above = np.array([path in inner for path in paths])
    _refuse(above[row_path], "the region is not a leaf, since other rows name regions below it")


def _find_leaves(row_path: Ints, paths: list[Path], hierarchy: Hierarchy) -> Ints:
    index = {path: i for i, path in enumerate(hierarchy.leaves)}
    leaf = np.array([index.get(path, -1) for path in paths], dtype=np.int64)
    row_leaf = leaf[row_path]
    _refuse(row_leaf < 0, "the region is not a leaf of the hierarchy")
    return row_leaf


def _refuse_repeats(place: Ints) -> None:
    order = np.argsort(place, kind="stable")
    repeated = np.zeros(len(place), dtype=bool)
    repeated[order[1:]] = place[order[1:]] == place[order[:-1]]
    _refuse(repeated, "an earlier row has the same region and size (add such rows up first)")


def _refuse(wrong: npt.NDArray[np.bool_], why: str) -> None:
    """One error that counts the wrong rows and points to the first, without showing what is in it."""
    if wrong.any():
        rows = int(wrong.sum())
        raise CountsError(
            f"In {rows} row{'s' if rows > 1 else ''} (the first is row {int(np.argmax(wrong)) + 1}), {why}."
        )
