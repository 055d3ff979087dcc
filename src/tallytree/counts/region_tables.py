"""From the region columns of a table to paths, and to a hierarchy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tallytree.counts.arrow import Table, is_text, read_columns
from tallytree.counts.count_files import has_sensitive_name, read_origin
from tallytree.errors import CountsError, show
from tallytree.hierarchy import Hierarchy
from tallytree.path_trees import Column, Names, PathTree, encode_column, encode_names, find_blank, grow_tree

Ints = npt.NDArray[np.int64]

REGIONS_FROM_DATA = "The list of regions was read from the data; it must be public."


def read_hierarchy(
    table: Table, *, regions: Sequence[str], root: str = "all", root_level: str = "root"
) -> Hierarchy:
    """Read the tree from a public table with a row for each leaf, and a column for each level below the root.

    Regions keep the order in which the table first names them. Rows may repeat. Where a leaf is above the
    last level, the columns below it are null. ``table`` is a pandas, Polars or Arrow table or the path of a
    CSV or Parquet file.

    >>> import pyarrow as pa
    >>> table = pa.table({"state": ["GA", "GA", "NY"], "county": ["Fulton", "Cobb", "Kings"]})
    >>> read_hierarchy(table, regions=["state", "county"], root="US", root_level="nation")
    Hierarchy(nation: 1, state: 2, county: 3)
    """
    check_region_columns(regions)
    check_root(root, root_level)
    data = read_columns(table, list(regions), text=list(regions))
    if has_sensitive_name(table) or read_origin(data) is not None:
        raise CountsError(
            "The table of regions says that it is sensitive, but regions must be public: give a public list "
            "of them."
        )
    if data.num_rows == 0:
        raise CountsError("The table of regions has no rows.")
    tree = read_tree(data, regions, root)
    refuse_inner_regions(tree)
    return Hierarchy.from_tree([root_level, *regions], tree)


def check_region_columns(regions: Sequence[str]) -> None:
    """Refuse anything but a list of different names."""
    if not isinstance(regions, (list, tuple)) or not all(isinstance(name, str) for name in regions):
        raise CountsError("The region columns must be a list of names, such as ['state', 'county'].")
    check_purposes(regions)


def check_purposes(columns: Sequence[str]) -> None:
    """Refuse a column that is named for two purposes."""
    for name in columns:
        if list(columns).count(name) > 1:
            raise CountsError(f"The column {show(name)} is named for two purposes.")


def check_root(root: str, root_level: str) -> None:
    """Refuse a root without a name."""
    for what, name in (("root", root), ("root's level", root_level)):
        if not isinstance(name, str) or not name.strip():
            raise CountsError(f"The {what} must have a name.")
        try:
            name.encode()
        except UnicodeEncodeError:
            raise CountsError(f"The name of the {what} cannot be written as UTF-8.") from None


def read_tree(data: pa.Table, regions: Sequence[str], root: str) -> PathTree:
    """Return the regions that the rows name, in order of appearance, below a root."""
    rows = data.num_rows
    columns = [Column(np.zeros(rows, dtype=np.int32), encode_names([root]).names)]
    ended = np.zeros(rows, dtype=bool)
    for name in regions:
        column = _encode(data[name], name)
        refuse_rows(
            ended & (column.codes >= 0),
            f"column {show(name)} has a name, but the column of the level above it is empty",
        )
        ended = column.codes < 0
        columns.append(column)
    return grow_tree(columns)


def read_complete(data: pa.Table, root: str) -> PathTree | None:
    """Return the regions of the rows that have a name in every column, below a root; None if no row has."""
    columns = [_blank_out(encode_column(column)) for column in data.columns]
    complete = np.all([column.codes >= 0 for column in columns], axis=0)
    if not complete.any():
        return None
    start = Column(np.zeros(int(complete.sum()), dtype=np.int32), encode_names([root]).names)
    return grow_tree([start, *(Column(column.codes[complete], column.names) for column in columns)])


def _blank_out(column: Column) -> Column:
    """The column with its blank names as missing."""
    if not (blank := find_blank(column.names)):
        return column
    places = pc.index_in(pa.array(blank, pa.large_string()), column.names).to_numpy()
    return Column(np.where(np.isin(column.codes, places), np.int32(-1), column.codes), column.names)


def fold_names(names: Names) -> Names:
    """Return names without their case, and without spaces that tell nothing apart."""
    folded = pc.utf8_trim(pc.replace_substring_regex(pc.utf8_lower(names), " +", " "), " ")
    is_odd = pc.match_substring_regex(names, "[^ -~]")  # null for a missing name, which stays missing
    odd = [" ".join(str(name).casefold().split()) for name in names.filter(is_odd).to_pylist()]
    result: Names = pc.replace_with_mask(folded, is_odd, pa.array(odd, names.type))
    return result


def _encode(column: pa.ChunkedArray[Any], name: str) -> Column:
    """A column of names as codes (-1: missing) and the names they stand for."""
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if not (is_text(kind) or pa.types.is_integer(kind) or pa.types.is_null(kind)):
        raise CountsError(f"Column {show(name)} holds {kind}; region names must be text (or whole numbers).")
    encoded = encode_column(column)
    try:
        encoded.names.validate(full=True)
        empty = find_blank(encoded.names)
    except (UnicodeDecodeError, pa.ArrowInvalid):
        raise CountsError(f"Column {show(name)} holds text that is not UTF-8.") from None
    if empty:
        places = pc.index_in(pa.array(empty, pa.large_string()), encoded.names)
        refuse_rows(np.isin(encoded.codes, places.to_numpy()), f"column {show(name)} holds an empty name")
    return encoded


def refuse_inner_regions(tree: PathTree) -> None:
    """Refuse rows whose region has regions below it in other rows."""
    refuse_rows(tree.is_inner(), "the region is not a leaf, since other rows name regions below it")


def refuse_rows(wrong: npt.NDArray[np.bool_], why: str) -> None:
    """Refuse wrong rows with one error, which gives their number and the first, without its content."""
    if wrong.any():
        rows = int(wrong.sum())
        raise CountsError(
            f"In {rows} row{'s' if rows > 1 else ''} (the first is row {int(np.argmax(wrong)) + 1}), {why}."
        )
