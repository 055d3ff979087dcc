"""Read a tidy table of counts: a row for each leaf region and size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tallytree.arrays import SparseRows, store_cells, whole_numbers
from tallytree.counts.arrow import Table, read_columns
from tallytree.counts.count_files import Origin, read_origin
from tallytree.counts.region_tables import (
    REGIONS_FROM_DATA,
    check_purposes,
    check_region_columns,
    check_root,
    read_tree,
    refuse_inner_regions,
    refuse_rows,
)
from tallytree.errors import CountsError, show
from tallytree.hierarchy import Hierarchy
from tallytree.path_trees import PathTree
from tallytree.sizes import (
    SizeClasses,
    Sizes,
    check_sizes,
    count_sizes,
    find_class,
    get_ends,
    show_sizes,
)

Ints = npt.NDArray[np.int64]

SIZES_FROM_DATA = "The range of sizes was read from the data; it must be public."
SPREAD_TOO_FAR = "The sizes in column {column} spread too far: give their public range, as sizes=(low, high)."

MOST_READ, SPARSE = 2**24, 1000
"""The most leaves x sizes if the range is read from the data, and how many more for each row: a single size
of a million would otherwise take gigabytes that nobody asked for."""


@dataclass(frozen=True)
class TableCells:
    """What a table of counts holds. Sensitive."""

    hierarchy: Hierarchy
    sizes: Sizes
    leaf: Ints | SparseRows
    """Leaves x sizes."""
    notes: list[str]
    """What was read from the data and must be public."""
    origin: Origin | None
    """How they were counted, if the table says so."""


def read_cells(
    table: Table,
    *,
    regions: Sequence[str],
    size: str,
    groups: str,
    sizes: Sizes | None,
    root: str,
    root_level: str,
    hierarchy: Hierarchy | None,
) -> TableCells:
    """Read a table of counts: see :meth:`GroupCounts.from_table`."""
    _check_names(regions, size, groups)
    check_root(root, root_level)
    if hierarchy is not None and not isinstance(hierarchy, Hierarchy):
        raise CountsError("The hierarchy must be a tallytree.Hierarchy.")
    data = read_columns(table, [*regions, size, groups], text=list(regions))
    if data.num_rows == 0:
        raise CountsError("The table has no rows.")
    origin = read_origin(data)
    if origin is not None:
        sizes = origin.check(sizes, regions)
    row_size = read_row_sizes(data[size], size, sizes)
    row_groups = read_numbers(data[groups], groups)
    refuse_rows(row_groups < 0, f"column {show(groups)} is negative")
    notes = []
    if sizes is None:
        sizes = _find_sizes(row_size, size)
        notes.append(SIZES_FROM_DATA)
    sizes = check_sizes(sizes)
    column = _find_places(row_size, sizes, size)
    tree = read_tree(data, regions, root)
    levels, cells = [root_level, *regions], count_sizes(sizes)
    if origin is not None:
        named, row_leaf = _list_regions(tree, levels)
        origin.check_cells(named, row_leaf * cells + column, row_groups)
    if hierarchy is None:
        hierarchy, row_leaf = _list_regions(tree, levels)
        notes.append(REGIONS_FROM_DATA)
    else:
        row_leaf = _find_leaves(tree, hierarchy)
    if SIZES_FROM_DATA in notes and hierarchy.leaf_count * cells > MOST_READ + SPARSE * data.num_rows:
        raise CountsError(SPREAD_TOO_FAR.format(column=show(size)))
    refuse_repeats(row_leaf * (int(row_size.max()) + 1) + row_size)
    place = row_leaf * cells + column
    if isinstance(sizes, SizeClasses):  # several sizes may be in one class
        place, number = np.unique(place, return_inverse=True)
        sums = np.zeros(len(place), dtype=np.int64)
        np.add.at(sums, number, row_groups)
        row_groups = sums
    leaf = store_cells(place, row_groups, (hierarchy.leaf_count, cells))
    return TableCells(hierarchy, sizes, leaf, notes, origin)


def _find_places(row_size: Ints, sizes: Sizes, column: str) -> Ints:
    """The place of each row's size; a class takes in all sizes from its least one on."""
    low, high = get_ends(sizes)
    if isinstance(sizes, SizeClasses):
        refuse_rows(row_size < low, f"column {show(column)} is below {low}, where the first class begins")
        return np.searchsorted(sizes.edges, row_size, side="right") - 1
    refuse_rows((row_size < low) | (row_size > high), f"column {show(column)} is not from {low} to {high}")
    return row_size - low


def _check_names(regions: Sequence[str], size: str, groups: str) -> None:
    check_region_columns(regions)
    if not isinstance(size, str) or not isinstance(groups, str):
        raise CountsError("The columns of sizes and of groups must be given by their names.")
    check_purposes([*regions, size, groups])


def _find_sizes(row_size: Ints, column: str) -> Sizes:
    """Return the range of the sizes in the data; an error about it does not show it."""
    refuse_rows(row_size < 0, f"column {show(column)} is negative")
    sizes = (int(row_size.min()), int(row_size.max()))
    try:
        return check_sizes(sizes)
    except CountsError:
        raise CountsError(SPREAD_TOO_FAR.format(column=show(column))) from None


def read_row_sizes(column: pa.ChunkedArray[Any], name: str, sizes: Sizes | None) -> Ints:
    """Return the size of each row, or the least size of its class if classes are named: 5-9, 1,000+."""
    if not pa.types.is_string(column.type) and not pa.types.is_large_string(column.type):
        return read_numbers(column, name)
    if not isinstance(sizes, SizeClasses):
        raise CountsError(
            f"Column {show(name)} must be whole numbers, and holds text: if these are classes such as 5-9, "
            "say which there are (sizes=tallytree.SizeClasses([1, 5, 10]), or --classes 1,5,10)."
        )
    if column.null_count:
        raise CountsError(f"Column {show(name)} has {column.null_count} missing values.")
    texts = column.combine_chunks().dictionary_encode()
    places = [find_class(sizes, str(text)) for text in texts.dictionary.to_pylist()]
    edges = np.array([-1 if place is None else sizes.edges[place] for place in places], dtype=np.int64)
    found: Ints = edges[texts.indices.to_numpy()]
    refuse_rows(found < 0, f"column {show(name)} is none of the classes {show_sizes(sizes)}")
    return found


def read_numbers(column: pa.ChunkedArray[Any], name: str) -> Ints:
    """Return the whole numbers of a column, one in every row."""
    what = f"The values of column {show(name)}"
    if column.null_count:
        raise CountsError(f"Column {show(name)} has {column.null_count} missing values.")
    if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        raise CountsError(f"{what} must be whole numbers, but the column holds {column.type}.")
    return whole_numbers(column.to_numpy(), what)


def _list_regions(tree: PathTree, levels: Sequence[str]) -> tuple[Hierarchy, Ints]:
    """The regions that the rows name, sorted, and for each row its leaf.

    A release is published in the order of its regions, and the order of a table's rows may reveal its counts:
    the table may have been made with ORDER BY groups.
    """
    refuse_inner_regions(tree)
    hierarchy, number = Hierarchy.from_tree(levels, tree).sort()
    return hierarchy, number[tree.leaves.row]


def _find_leaves(tree: PathTree, hierarchy: Hierarchy) -> Ints:
    """For each row, which leaf of the hierarchy it is about."""
    leaf = np.full(len(tree.row_level), -1, dtype=np.int64)
    leaf_level, leaf_index = hierarchy.leaf_places
    found = np.zeros(1, dtype=np.int64)  # per region of the tree: the same one in the hierarchy, or -1
    for level, (names, parents) in enumerate(zip(tree.names, tree.parents, strict=True)):
        if level == len(hierarchy.levels):
            break
        found = hierarchy.find_children(level, found[parents], names)
        number = np.full(hierarchy.region_counts[level] + 1, -1, dtype=np.int64)
        here = np.flatnonzero(leaf_level == level)
        number[leaf_index[here]] = here
        rows = tree.row_level == level
        leaf[rows] = number[found[tree.row_region[rows]]]
    refuse_rows(leaf < 0, "the region is not a leaf of the hierarchy")
    return leaf


def refuse_repeats(place: Ints) -> None:
    """Refuse rows with the same region and size, given as one number, as an earlier row."""
    if (place[1:] > place[:-1]).all():
        return
    order = np.argsort(place, kind="stable")
    repeated = np.zeros(len(place), dtype=bool)
    repeated[order[1:]] = place[order[1:]] == place[order[:-1]]
    refuse_rows(repeated, "an earlier row has the same region and size (add such rows up first)")
