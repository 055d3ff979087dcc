"""Public data in place of the sensitive ones: an earlier release, a table, or sizes invented for totals."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from tallytree.arrays import store_cells
from tallytree.counts.arrow import Table, read_columns
from tallytree.counts.count_files import has_sensitive_name, read_origin
from tallytree.counts.group_counts import GroupCounts
from tallytree.errors import CountsError
from tallytree.privacy.neighbours import (
    Bounds,
    Neighbours,
    Protected,
    TotalKind,
    check_bounds,
    check_neighbours,
)
from tallytree.releases.released import Released, read_folder
from tallytree.sizes import Sizes, check_sizes, count_sizes, get_ends

if TYPE_CHECKING:
    from tallytree.planning.shapes import Shape
    from tallytree.words import Words

SEED = 2010

NOT_PUBLIC = (
    "The stand-in {}: a plan made on it would not be private. Plan on public data in its place, such as an "
    "earlier release, a published table, or public totals."
)


def refuse_sensitive(stand_in: GroupCounts) -> None:
    """Refuse counts that are known to be of records of people."""
    if stand_in.is_of_people:
        raise CountsError(NOT_PUBLIC.format("was counted from records of people, so it is sensitive"))


def read_public(table: Table, columns: Sequence[str], text: Sequence[str] = ()) -> pa.Table:
    """Read columns of a table that does not say, inside or by its file's name, that it is sensitive."""
    if has_sensitive_name(table):
        raise CountsError(NOT_PUBLIC.format("is in a file whose name says that it is sensitive"))
    known = read_columns(table, columns, text=list(text))
    if read_origin(known) is not None:
        raise CountsError(NOT_PUBLIC.format("holds true counts, which 'tallytree count' marked as sensitive"))
    return known


def read_release(folder: Path) -> tuple[GroupCounts, Neighbours, Words]:
    """Read the counts of an earlier release, whom it protects, and its words: the next may have these."""
    release = read_folder(folder, Released)
    plan = release.measurements.plan
    leaf_level, leaf_index = release.hierarchy.leaf_places
    leaf = np.empty((release.hierarchy.leaf_count, count_sizes(release.sizes)), dtype=np.int64)
    for level, counted in enumerate(release.counts):
        here = leaf_level == level
        leaf[here] = counted[leaf_index[here]]
    has_frame = None if plan.has_public_total else False
    counts = GroupCounts(release.hierarchy, release.sizes, leaf, bounds=plan.bounds, has_frame=has_frame)
    return counts, plan.neighbours, release.words


def settle_neighbours(
    stand_in: GroupCounts, *, bounds: Bounds | None, total: TotalKind | None, protect: Protected
) -> Neighbours:
    """Return whom the planned release protects; refuse what contradicts itself.

    What is None is as in a release of the stand-in. Its bounds on a person are of no matter where whole
    groups are protected; bounds that were given are refused then, as a release refuses them.
    """
    if bounds is None:
        bounds = stand_in.bounds if protect == "person" else Bounds()
    kind = stand_in.total_kind if total is None else total
    neighbours = Neighbours(protect=protect, total=kind, bounds=check_bounds(bounds))
    return check_neighbours(neighbours, stand_in.sizes)


def set_bounds(stand_in: GroupCounts, bounds: Bounds) -> GroupCounts:
    """Return the counts with these bounds on a person."""
    refuse_sensitive(stand_in)  # before its origin is forgotten
    if bounds == stand_in.bounds:
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
        read_public(table, [*regions, size, groups], regions),
        regions=regions,
        size=size,
        groups=groups,
        sizes=sizes,
        root=root,
        root_level=root_level,
    )


def invent_from_totals(
    table: Table,
    *,
    regions: Sequence[str],
    groups: str,
    sizes: Sizes,
    root: str,
    root_level: str,
    shape: Shape,
) -> GroupCounts:
    """Invent sizes of this shape, for as many groups in each leaf region as the table says.

    The table has a row for each leaf region with its public number of groups.
    """
    low, _ = get_ends(check_sizes(sizes))
    known = read_public(table, [*regions, groups], regions)
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
    leaf = shape.invent(totals.leaf[:, 0], sizes, np.random.default_rng(SEED))
    return GroupCounts(totals.hierarchy, sizes, leaf)
