"""Public data in place of the sensitive ones: an earlier release, or sizes invented for public totals."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from tallytree.arrays import store_cells
from tallytree.counts.arrow import Table, read_columns
from tallytree.counts.count_files import has_sensitive_name, read_origin
from tallytree.counts.group_counts import GroupCounts
from tallytree.datasets.invented import invent_sizes
from tallytree.errors import CountsError
from tallytree.privacy.neighbours import Bounds, check_bounds
from tallytree.releases.released import Released, read_folder
from tallytree.sizes import Sizes, check_sizes, count_sizes, get_ends

SEED = 2010

NOT_PUBLIC = (
    "The stand-in {}: a plan made on it would not be private. Plan on public data in its place, such as an "
    "earlier release, a published table, or public totals."
)


def refuse_sensitive(stand_in: GroupCounts) -> None:
    """Refuse counts that are known to be of records of people."""
    if stand_in.is_of_people:
        raise CountsError(NOT_PUBLIC.format("was counted from records of people, so it is sensitive"))


def read_release(folder: Path) -> GroupCounts:
    """Read the counts of an earlier release, with the bounds on a person that it was made with."""
    release = read_folder(folder, Released)
    leaf_level, leaf_index = release.hierarchy.leaf_places
    leaf = np.empty((release.hierarchy.leaf_count, count_sizes(release.sizes)), dtype=np.int64)
    for level, counts in enumerate(release.counts):
        here = leaf_level == level
        leaf[here] = counts[leaf_index[here]]
    return GroupCounts(release.hierarchy, release.sizes, leaf, bounds=release.measurements.plan.bounds)


def set_bounds(stand_in: GroupCounts, bounds: Bounds | None) -> GroupCounts:
    """Return the counts with other bounds on a person; None leaves the bounds as they are."""
    refuse_sensitive(stand_in)  # before its origin is forgotten
    if bounds is None or check_bounds(bounds) == stand_in.bounds:
        return stand_in
    shape = (stand_in.hierarchy.leaf_count, count_sizes(stand_in.sizes))
    leaf, size, groups = stand_in.list_cells()
    stored = store_cells(leaf * shape[1] + size, groups, shape)
    return GroupCounts(stand_in.hierarchy, stand_in.sizes, stored, bounds=bounds)


def read_table(
    table: Table, *, regions: Sequence[str], size: str, groups: str, sizes: Sizes, root: str, root_level: str
) -> GroupCounts:
    """Read the counts of a public table: see :meth:`tallytree.GroupCounts.from_table`."""
    return GroupCounts.from_table(
        _read_public(table, [*regions, size, groups], regions),
        regions=regions,
        size=size,
        groups=groups,
        sizes=sizes,
        root=root,
        root_level=root_level,
    )


def invent_from_totals(
    table: Table, *, regions: Sequence[str], groups: str, sizes: Sizes, root: str, root_level: str
) -> GroupCounts:
    """Invent household sizes, for as many households in each leaf region as the table says.

    The table has a row for each leaf region with its public number of households.
    """
    low, _ = get_ends(check_sizes(sizes))
    known = _read_public(table, [*regions, groups], regions)
    size = " ".join(["size", *regions, groups])  # longer than any of them, so none of them
    one_size = known.append_column(size, pa.array(np.full(known.num_rows, low)))
    totals = GroupCounts.from_table(
        one_size,
        regions=list(regions),
        size=size,
        groups=groups,
        sizes=(low, low),
        root=root,
        root_level=root_level,
    )
    leaf = invent_sizes(totals.leaf[:, 0], sizes, np.random.default_rng(SEED))
    return GroupCounts(totals.hierarchy, sizes, leaf)


def _read_public(table: Table, columns: Sequence[str], regions: Sequence[str]) -> pa.Table:
    """Columns of a table that does not say, inside or by the name of its file, that it is sensitive."""
    if has_sensitive_name(table):
        raise CountsError(NOT_PUBLIC.format("is in a file whose name says that it is sensitive"))
    known = read_columns(table, columns, text=list(regions))
    if read_origin(known) is not None:
        raise CountsError(NOT_PUBLIC.format("holds true counts, which 'tallytree count' marked as sensitive"))
    return known
