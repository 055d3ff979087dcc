"""From the region columns of a table to paths, and to a hierarchy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tallytree.errors import CountsError, show
from tallytree.hierarchy import Hierarchy, Path
from tallytree.tables import Table, read_columns

Ints = npt.NDArray[np.int64]


def read_hierarchy(
    table: Table, *, regions: Sequence[str], root: str = "all", root_level: str = "root"
) -> Hierarchy:
    """The tree of a table with a row for each leaf, and a column for each level below the root.

    Rows may repeat. Where a leaf stands above the last level, the columns below it are null. ``table`` is a
    pandas, Polars or Arrow table or the path of a CSV or Parquet file.
    """
    check_region_columns(regions)
    check_root(root, root_level)
    data = read_columns(table, list(regions), text=list(regions))
    if data.num_rows == 0:
        raise CountsError("The table of regions has no rows.")
    row_path, paths = read_paths(data, regions, root)
    refuse_inner_regions(row_path, paths)
    return Hierarchy.from_paths([root_level, *regions], paths)


def check_region_columns(regions: Sequence[str]) -> None:
    """Refuse anything but a list of different names."""
    if not isinstance(regions, (list, tuple)) or not all(isinstance(name, str) for name in regions):
        raise CountsError("The region columns must be a list of names, such as ['state', 'county'].")
    check_purposes(regions)


def check_purposes(columns: Sequence[str]) -> None:
    """Refuse a column that is to serve twice."""
    for name in columns:
        if list(columns).count(name) > 1:
            raise CountsError(f"The column {show(name)} is named for two purposes.")


def check_root(root: str, root_level: str) -> None:
    """Refuse a root without a name."""
    for what, name in (("root", root), ("root's level", root_level)):
        if not isinstance(name, str) or not name.strip():
            raise CountsError(f"The {what} must have a name.")


def read_paths(data: pa.Table, regions: Sequence[str], root: str) -> tuple[Ints, list[Path]]:
    """Each row's path as an index into the distinct paths, which are in order of appearance."""
    row_path = np.zeros(data.num_rows, dtype=np.int64)
    paths: list[Path] = [(root,)]
    ended = np.zeros(data.num_rows, dtype=bool)
    for name in regions:
        codes, names = _encode(data[name], name)
        refuse_rows(ended & (codes >= 0), f"column {show(name)} names a region below a missing one")
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
    refuse_rows(np.isin(codes, empty), f"column {show(name)} holds an empty name")
    return codes, names


def refuse_inner_regions(row_path: Ints, paths: list[Path]) -> None:
    """Refuse rows whose region has regions below it in other rows."""
    inner = {path[:depth] for path in paths for depth in range(1, len(path))}
    above = np.array([path in inner for path in paths])
    refuse_rows(above[row_path], "the region is not a leaf, since other rows name regions below it")


def refuse_rows(wrong: npt.NDArray[np.bool_], why: str) -> None:
    """One error that counts the wrong rows and points to the first, without showing what is in it."""
    if wrong.any():
        rows = int(wrong.sum())
        raise CountsError(
            f"In {rows} row{'s' if rows > 1 else ''} (the first is row {int(np.argmax(wrong)) + 1}), {why}."
        )
