"""The whole counting in one query, so that a table that changes meanwhile is seen as of one moment.

1.  Each record becomes a row: its group, a quantity within 0 .. z, and the code of its leaf region, which is
    negative where something is wrong with the record (``rows.py``, ``codes.py``).
2.  Records beyond a person's first m enter once more, negated (``excess.py``). The groups of a frame enter
    with quantity 0: so they are there, with or without people.
3.  Rows are summed by group, and groups are counted by region and size.

Which groups there are does not depend on which records are kept. Otherwise a group would vanish, and the
public total change, because somebody has too many records elsewhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tallytree.hierarchy import Hierarchy
from tallytree.privacy.neighbours import Bounds
from tallytree.records.codes import add_codes
from tallytree.records.columns import Records, have_like_groups
from tallytree.records.excess import negate_excess
from tallytree.records.rows import read_rows
from tallytree.sizes import Sizes

if TYPE_CHECKING:
    import ibis


def count_cells(
    people: Records, frame: Records | None, *, hierarchy: Hierarchy, sizes: Sizes, bounds: Bounds
) -> ibis.Table:
    """``code``, ``size``, ``groups``; of these ``torn`` (in several regions), ``strays`` (not framed)."""
    import ibis

    text_groups = frame is not None and not have_like_groups(people, frame)
    parts = [add_codes(read_rows(people, bounds, text_groups=text_groups), people, hierarchy)]
    if people.columns.person is not None:
        parts.append(negate_excess(people, bounds, text_groups=text_groups))
    if frame is not None:
        listed = add_codes(read_rows(frame, bounds, text_groups=text_groups), frame, hierarchy)
        parts = [part.mutate(listed=ibis.literal(0, "int32")) for part in parts]
        parts.append(listed.mutate(quantity=ibis.literal(0, "int64"), listed=ibis.literal(1, "int32")))
    rows = parts[0].union(*parts[1:]) if parts[1:] else parts[0]
    # Counting rows is faster than adding ones.
    counts_rows = len(parts) == 1 and people.columns.quantity is None
    facts = {
        "size": rows.count() if counts_rows else rows["quantity"].sum(),
        "code": rows["code"].min(),
        "other": rows["code"].max(),
    }
    if frame is not None:
        facts["listed"] = rows["listed"].max()
    groups = rows.group_by(*people.columns.group_names).agg(**facts)
    low, high = sizes
    sized = groups.mutate(size=ibis.greatest(ibis.least(groups["size"], high), low).cast("int64"))
    return sized.group_by("code", "size").agg(
        groups=sized.count(),
        torn=count_where(sized["code"] != sized["other"]),
        strays=count_where(sized["listed"] == 0) if frame is not None else ibis.literal(0, "int64"),
    )


def list_regions(records: Records) -> ibis.Table:
    """The different regions that a table names, as ``region_0`` and so on."""
    columns = records.columns
    names = zip(columns.region_names, columns.regions, strict=True)
    return records.table.select(**{name: records[column] for name, column in names}).distinct()


def count_where(condition: ibis.Value) -> ibis.Value:
    """How many rows fulfil a condition."""
    import ibis

    return ibis.coalesce(ibis.ifelse(condition, 1, 0).sum(), 0).cast("int64")
