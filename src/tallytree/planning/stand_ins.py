"""Public data in place of the sensitive ones: an earlier release, or sizes invented for public totals."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from tallytree.counts import GroupCounts
from tallytree.level_arrays import store_cells
from tallytree.nation import invent_sizes
from tallytree.privacy.neighbours import Bounds, check_bounds
from tallytree.releases import load
from tallytree.sizes import Sizes, check_sizes, count_sizes
from tallytree.tables import Table, read_columns

SEED = 2010


def read_release(folder: Path) -> GroupCounts:
    """The counts of an earlier release, under the bounds on a person that it was made with."""
    release = load(folder)
    leaf_level, leaf_index = release.hierarchy.leaf_places
    leaf = np.empty((release.hierarchy.leaf_count, count_sizes(release.sizes)), dtype=np.int64)
    for level, counts in enumerate(release.counts):
        here = leaf_level == level
        leaf[here] = counts[leaf_index[here]]
    return GroupCounts(release.hierarchy, release.sizes, leaf, bounds=release.measurements.plan.bounds)


def set_bounds(stand_in: GroupCounts, bounds: Bounds | None) -> GroupCounts:
    """The same counts under other bounds on a person; None leaves them as they are."""
    if bounds is None or check_bounds(bounds) == stand_in.bounds:
        return stand_in
    shape = (stand_in.hierarchy.leaf_count, count_sizes(stand_in.sizes))
    leaf, size, groups = stand_in.list_cells()
    stored = store_cells(leaf * shape[1] + size, groups, shape)
    return GroupCounts(stand_in.hierarchy, stand_in.sizes, stored, bounds=bounds)


def invent_from_totals(
    table: Table, *, regions: Sequence[str], groups: str, sizes: Sizes, root: str, root_level: str
) -> GroupCounts:
    """Households of invented sizes, as many in each leaf region as the table says.

    The table has a row for each leaf region with its public number of households.
    """
    low, _ = check_sizes(sizes)
    known = read_columns(table, [*regions, groups], text=list(regions))
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
