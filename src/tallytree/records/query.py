"""The counting as queries that every engine runs.

1.  Each record becomes a row: its group, a quantity within 0 .. z, and the code of its leaf region, which is
    negative where something is wrong with the record (``rows.py``, ``codes.py``).
2.  If persons are told apart, these rows are copied into a table that the engine holds, because the next
    steps read them more than once. Records beyond a person's first m enter once more, negated
    (``excess.py``).
3.  The groups of a frame enter with quantity 0: so they are there, with or without people.
4.  Rows are summed by group, and groups are counted by region and size.

Which groups there are does not depend on which records are kept. Otherwise a group would vanish, and the
public total change, because somebody has too many records elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
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

Hold = Callable[["ibis.Table"], "ibis.Table"]


@dataclass(frozen=True, kw_only=True)
class Counting:
    """How records are counted: all that is public."""

    hierarchy: Hierarchy
    sizes: Sizes
    bounds: Bounds
    drop: bool = False
    """Leave out a record that something is wrong with, in place of refusing them all."""


def count_cells(people: Records, frame: Records | None, counting: Counting, hold: Hold) -> ibis.Table:
    """``code``, ``size``, ``groups``; of these ``torn`` (in several regions), ``strays`` (not framed).

    ``hold`` copies a table into the engine, so that it is the same whenever it is read.
    """
    import ibis

    text_groups = frame is not None and not have_like_groups(people, frame)
    rows = _read(people, counting, text_groups)
    if counting.drop:
        rows = _drop(rows, people, None if frame is None else _read(frame, counting, text_groups))
    parts = [rows] if people.columns.person is None else _limit_persons(rows, people, counting, hold)
    if frame is None:
        rows = parts[0].union(*parts[1:]) if parts[1:] else parts[0]
        # Counting rows is faster than adding ones.
        counts_rows = len(parts) == 1 and people.columns.quantity is None
        facts = {"size": rows.count() if counts_rows else rows["quantity"].sum(), **_span(rows["code"])}
    else:
        listed = _read(frame, counting, text_groups)
        parts = [part.mutate(listed=ibis.literal(0, "int32")) for part in parts]
        parts.append(listed.mutate(quantity=ibis.literal(0, "int64"), listed=ibis.literal(1, "int32")))
        rows = parts[0].union(*parts[1:])
        # Where records are left out rather than refused, the frame alone says where a group is.
        code = ibis.ifelse(rows["listed"] == 1, rows["code"], ibis.null("int32"))
        facts = {
            "size": rows["quantity"].sum(),
            "listed": rows["listed"].max(),
            **_span(code if counting.drop else rows["code"]),
        }
    groups = rows.group_by(*people.columns.group_names).agg(**facts)
    if frame is not None and counting.drop:
        groups = groups.filter(groups["listed"] == 1)
    low, high = counting.sizes
    sized = groups.mutate(size=ibis.greatest(ibis.least(groups["size"], high), low).cast("int64"))
    return sized.group_by("code", "size").agg(
        groups=sized.count(),
        torn=count_where(sized["code"] != sized["other"]),
        strays=count_where(sized["listed"] == 0) if frame is not None else ibis.literal(0, "int64"),
    )


def _read(records: Records, counting: Counting, text_groups: bool) -> ibis.Table:
    return add_codes(
        read_rows(records, counting.bounds, text_groups=text_groups), records, counting.hierarchy
    )


def _drop(rows: ibis.Table, people: Records, listed: ibis.Table | None) -> ibis.Table:
    """The records that nothing is wrong with: whether one is kept depends on itself and the frame alone."""
    import ibis

    kept = rows.filter(ibis.coalesce(rows["code"], 0) >= 0)  # null: the region is in the frame
    if listed is None or people.columns.person is None:  # without persons, strays are dropped as groups
        return kept
    names = people.columns.group_names
    return kept.semi_join(listed.select(*names), names)


def _limit_persons(rows: ibis.Table, people: Records, counting: Counting, hold: Hold) -> list[ibis.Table]:
    """All records, and the excess of each person, to be taken away again."""
    import ibis

    columns = people.columns
    has_quantity = columns.quantity is not None
    held = hold(rows if has_quantity else rows.drop("quantity"))
    quantity = held["quantity"] if has_quantity else ibis.literal(1, "int64")
    code = held["code"].cast("int32")  # some engines have whole numbers of one kind only
    every = held.select(*columns.group_names, quantity=quantity, code=code)
    return [every, negate_excess(held, columns, counting.bounds)]


def _span(code: ibis.Value) -> dict[str, ibis.Value]:
    """The least and the largest code of a group: they differ if it is in several regions."""
    return {"code": code.min(), "other": code.max()}


def list_regions(records: Records) -> ibis.Table:
    """The different regions that a table names, as ``region_0`` and so on."""
    columns = records.columns
    names = zip(columns.region_names, columns.regions, strict=True)
    return records.table.select(**{name: records[column] for name, column in names}).distinct()


def count_where(condition: ibis.Value) -> ibis.Value:
    """How many rows fulfil a condition."""
    import ibis

    return ibis.coalesce(ibis.ifelse(condition, 1, 0).sum(), 0).cast("int64")
