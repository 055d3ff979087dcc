"""The counting as queries that every engine runs.

1.  Each record becomes a row: its group, a quantity within 0 .. z, and the code of its leaf region, which is
    negative where something is wrong with the record (:func:`read_rows`, :func:`add_codes`).
2.  If persons are identified, these rows are copied into a table that the engine holds, because the next
    steps read them more than once. Records beyond a person's first m are added once more, negated
    (:func:`negate_excess`). An engine without temporary tables of its own reads its source once as well: it
    sorts the records of all persons, and those beyond the first m get the quantity 0 (:func:`keep_first`).
3.  The groups of a frame are added with quantity 0, so that they exist with or without people.
4.  Rows are summed by group, and groups are counted by region and size.

Which groups there are does not depend on which records are kept. Otherwise a group could vanish, and the
public total change, because somebody has too many records elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tallytree.counts.record_columns import Records, have_like_groups
from tallytree.hierarchy import Hierarchy
from tallytree.privacy.neighbours import Bounds
from tallytree.sizes import SizeClasses, Sizes, get_ends

if TYPE_CHECKING:
    import ibis

# A user's table as rows of our own: group, region, person, and a quantity within its bounds.

FAR = 1e300
"""Beyond any quantity, but finite: NaN, which engines put above everything, is not between -FAR and FAR."""

WHOLE = 2**53

NUMBER = r"^\s*[-+]?[0-9]{1,30}(\.[0-9]{0,30})?([eE][-+]?[0-9]{1,2})?\s*$"


def read_rows(records: Records, bounds: Bounds, *, text_groups: bool = False) -> ibis.Table:
    """Read rows of ``group_i``, ``region_i``, ``person``, ``quantity`` and ``wrong``.

    Quantities are clipped, and a row is wrong if a key or number is missing, or a group's size is negative.
    With ``text_groups`` the groups are compared as text, for tables whose types differ.
    """
    import ibis

    columns = records.columns
    values: dict[str, ibis.Value] = {}
    for name, column in zip(columns.group_names, columns.groups, strict=True):
        values[name] = records[column].cast("string") if text_groups else records[column]
    for name, column in zip(columns.region_names, columns.regions, strict=True):
        values[name] = records[column]
    wrong = ibis.literal(False)
    for column in columns.groups:
        wrong = wrong | is_missing(records[column])
    if columns.person is not None:
        values["person"] = records[columns.person]
        wrong = wrong | is_missing(records[columns.person])
    if columns.quantity is None:
        values["quantity"] = ibis.literal(1, "int64")
    else:
        number = _read_number(records, columns.quantity)
        whole = is_whole(records)
        clipped = ibis.greatest(ibis.least(number, bounds.max_quantity), 0)
        values["quantity"] = ibis.ifelse(whole, clipped, 0).cast("int64")
        wrong = wrong | ~whole | is_negative(records)
    # As a number: to SQL Server a condition is no value.
    return records.table.select(**values, wrong=ibis.ifelse(wrong, 1, 0))


def is_missing(column: ibis.Value) -> ibis.Value:
    """Return whether there is no value: null, or a text without anything to see."""
    if not column.type().is_string():
        return column.isnull()
    return column.isnull() | (column.strip() == "")


def is_negative(records: Records) -> ibis.Value:
    """Return whether the size of a group is below 0; what a person adds to a group is clipped instead."""
    import ibis

    name = records.columns.quantity
    if name is None or not records.columns.rows_are_groups:
        return ibis.literal(False)
    return is_whole(records) & (ibis.coalesce(_read_number(records, name), 0) < 0)


def is_whole(records: Records) -> ibis.Value:
    """Return whether the quantity of a record is a whole number; false also where there is none."""
    import ibis

    name = records.columns.quantity
    assert name is not None
    number = _read_number(records, name)
    if records.has_whole_numbers(name):
        return number.notnull()
    # A float is rounded down as an integer of 64 bits. Beyond 2^53 all floats are whole.
    near = number if records.get_type(name).is_decimal() else ibis.greatest(ibis.least(number, WHOLE), -WHOLE)
    return ibis.ifelse(number.between(-FAR, FAR) & (near == near.floor()), 1, 0) == 1


def _read_number(records: Records, name: str) -> ibis.Value:
    import ibis

    column = records[name]
    if not records.get_type(name).is_string():
        return column
    # Text files have numbers as text; what is not a number becomes null. An engine by itself would read 1_0
    # as 10 (DuckDB, PostgreSQL) or 5d as 5 (Spark).
    plain = ibis.ifelse(column.re_search(NUMBER), column, ibis.null("string"))
    if records.engine.has_try_cast:
        # The strip keeps DuckDB from pushing the cast into its CSV reader, where it would fail instead.
        return plain.strip().try_cast("float64")
    return plain.cast("float64")


# Leaf regions as codes: their indices in the hierarchy. A code takes four bytes, names take many.

MISSING, UNKNOWN = -1, -2
"""The codes of a row with a missing or wrong value, and of one whose region is not in the hierarchy."""

WHOLE_NUMBER = "^(0|-?[1-9][0-9]{0,17})$"
"""How 64-bit integers are written, but for the largest ones."""


def add_codes(rows: ibis.Table, records: Records, hierarchy: Hierarchy) -> ibis.Table:
    """Replace the region names of rows by their ``code``; null where the table has no regions."""
    import ibis

    columns = records.columns
    kept = [*columns.group_names, *columns.person_names, "quantity"]
    missing = ibis.literal(MISSING, "int32")
    if not columns.regions:
        # The only region is the root, or the regions are in the frame.
        alone = ibis.literal(0, "int32") if len(hierarchy.levels) == 1 else ibis.null("int32")
        return rows.select(*kept, code=ibis.ifelse(rows["wrong"] == 1, missing, alone))
    whole = [records.has_whole_numbers(name) for name in columns.regions]
    codes = records.engine.load(_list_codes(hierarchy, whole))
    ragged = is_ragged(hierarchy)
    pairs = [(rows[name], codes[f"name_{place}"]) for place, name in enumerate(columns.region_names)]
    joined = rows.left_join(codes, [_match(name, known, ragged) for name, known in pairs])
    unknown = ibis.literal(UNKNOWN, "int32")
    for name in () if ragged else columns.region_names:
        unknown = ibis.ifelse(is_missing(joined[name]), missing, unknown)
    code = ibis.coalesce(joined["code"].cast("int32"), unknown)  # some engines have whole numbers of one kind
    return joined.select(*kept, code=ibis.ifelse(joined["wrong"] == 1, missing, code))


def _match(name: ibis.Value, known: ibis.Value, ragged: bool) -> ibis.Value:
    return name.identical_to(known) if ragged else name == known  # two nulls are identical


def is_ragged(hierarchy: Hierarchy) -> bool:
    """Return whether a leaf is above the last level, so that names below it are rightly missing."""
    return bool((hierarchy.leaf_places[0] < len(hierarchy.levels) - 1).any())


def _list_codes(hierarchy: Hierarchy, whole: Sequence[bool]) -> pa.Table:
    """A row for each leaf: its names below the root, of the types that the table has, and its code.

    A leaf with a name that cannot be in a column of whole numbers has no row.
    """
    columns = [(hierarchy.leaf_names(place), is_number) for place, is_number in enumerate(whole, start=1)]
    has_row = np.ones(hierarchy.leaf_count, dtype=np.bool_)
    for names, is_number in columns:
        if is_number:
            fits = pc.match_substring_regex(names, WHOLE_NUMBER).fill_null(True)  # null: below a leaf
            has_row &= fits.to_numpy(zero_copy_only=False)
    codes = pa.array(np.flatnonzero(has_row), pa.int32())
    found = {
        f"name_{place}": names.take(codes).cast(pa.int64() if is_number else pa.large_string())
        for place, (names, is_number) in enumerate(columns)
    }
    return pa.table({**found, "code": codes})


# At most m records of a person.
#
# Which ones are kept is a function of that person's records alone: the first m in the order of a hash of
# person and group, and then of the larger quantity; records that agree in both count alike. So adding or
# removing a person changes no other person's records, and the groups change by m of that person's records
# at most: what the sensitivities of :mod:`tallytree.privacy.queries` rest on, enforced for any table. A
# limit such as "at most n records of a group" would not do: there one person pushes another out. The hash
# prefers no group, as the alphabet would.


def negate_excess(held: ibis.Table, people: Records, bounds: Bounds) -> ibis.Table:
    """Return the records beyond each person's first m, with their quantities negated.

    Added to all the records, they leave m of each person, and every group is still present, as it must be.
    Persons with m records or fewer, nearly everyone, need no sorting. ``held`` is a table that the session
    holds: it is read twice here, and must be the same both times.
    """
    import ibis

    columns = people.columns
    persons = held.group_by("person").agg(records=held.count())
    busy = persons.filter(persons["records"] > bounds.max_records).select("person")
    ranked = _rank(held.view().semi_join(busy, "person"), people)
    excess = ranked.filter(ranked["place"] >= bounds.max_records)
    quantity = -excess["quantity"] if columns.quantity is not None else ibis.literal(-1, "int64")
    return excess.select(*columns.group_names, quantity=quantity, code=ibis.null("int32"))


def keep_first(rows: ibis.Table, people: Records, bounds: Bounds) -> ibis.Table:
    """Return the records with quantity 0 for those beyond each person's first m. The rows are read once."""
    import ibis

    ranked = _rank(rows, people)
    is_kept = ranked["place"] < bounds.max_records
    quantity = ibis.ifelse(is_kept, ranked["quantity"], 0).cast("int64")
    return ranked.select(*people.columns.group_names, quantity=quantity, code=ranked["code"])


def _rank(rows: ibis.Table, people: Records) -> ibis.Table:
    """The records with their ``place`` among those of their person, from 0 on."""
    import ibis

    groups = [rows[name] for name in people.columns.group_names]
    text = rows["person"].cast("string")
    for group in groups:
        text = text + "/" + group.cast("string")
    mixed = people.engine.hash(text)
    order = [*([] if mixed is None else [mixed]), *groups]
    if people.columns.quantity is not None:
        order.append(rows["quantity"].desc())
    return rows.mutate(place=ibis.row_number().over(ibis.window(group_by=rows["person"], order_by=order)))


Hold = Callable[["ibis.Table"], "ibis.Table"]

NOWHERE = -1
"""The place of a group of size 0 that no frame lists, where sizes begin above 0: it does not exist."""


@dataclass(frozen=True, kw_only=True)
class Counting:
    """How records are counted: all that is public."""

    hierarchy: Hierarchy
    sizes: Sizes
    bounds: Bounds
    drop: bool = False
    """Leave out a record that something is wrong with, instead of refusing them all."""
    regions_from_data: bool = False
    """The hierarchy was read from the records, or from their frame."""


def count_cells(people: Records, frame: Records | None, counting: Counting, hold: Hold) -> ibis.Table:
    """Count ``groups`` by ``code`` and ``place``, and of these ``torn``, ``doubled`` and ``strays``.

    Torn groups are in several regions, doubled ones in several rows where each is to have one, and strays are
    not in the frame. ``hold`` copies a table into the engine, so that it is the same whenever it is read.
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
        counts_rows = people.columns.person is None and people.columns.quantity is None
        facts = {"size": rows.count() if counts_rows else rows["quantity"].sum(), **_span(rows["code"])}
    else:
        listed = _read(frame, counting, text_groups)
        parts = [part.mutate(listed=ibis.literal(0, "int32")) for part in parts]
        parts.append(listed.mutate(quantity=ibis.literal(0, "int64"), listed=ibis.literal(1, "int32")))
        rows = parts[0].union(*parts[1:])
        # If records are left out instead of refused, the frame alone says where a group is.
        code = ibis.ifelse(rows["listed"] == 1, rows["code"], ibis.null("int32"))
        facts = {
            "size": rows["quantity"].sum(),
            "listed": rows["listed"].max(),
            **_span(code if counting.drop else rows["code"]),
        }
    if people.columns.rows_are_groups:
        facts["rows"] = rows.count() if frame is None else (ibis.literal(1) - rows["listed"]).sum()
    groups = rows.group_by(*people.columns.group_names).agg(**facts)
    if frame is not None and counting.drop:
        groups = groups.filter(groups["listed"] == 1)
    place = _find_place(groups["size"], counting.sizes)
    if frame is None and get_ends(counting.sizes)[0] > 0:
        place = ibis.ifelse(groups["size"] > 0, place, NOWHERE)
    sized = groups.mutate(place=place.cast("int64"))
    return sized.group_by("code", "place").agg(
        groups=sized.count(),
        torn=count_where(sized["code"] != sized["other"]),
        doubled=count_where(sized["rows"] > 1)
        if people.columns.rows_are_groups
        else ibis.literal(0, "int64"),
        strays=count_where(sized["listed"] == 0) if frame is not None else ibis.literal(0, "int64"),
    )


def _find_place(size: ibis.Value, sizes: Sizes) -> ibis.Value:
    """The place of a group's size among the sizes or classes."""
    import ibis

    low, high = get_ends(sizes)
    if not isinstance(sizes, SizeClasses):
        return ibis.greatest(ibis.least(size, high), low) - low
    branches = [(size >= edge, place) for place, edge in enumerate(sizes.edges) if place]
    return ibis.cases(*reversed(branches), else_=0) if branches else ibis.literal(0, "int64")


def _read(records: Records, counting: Counting, text_groups: bool) -> ibis.Table:
    return add_codes(
        read_rows(records, counting.bounds, text_groups=text_groups), records, counting.hierarchy
    )


def _drop(rows: ibis.Table, people: Records, listed: ibis.Table | None) -> ibis.Table:
    """The valid records.

    Whether a record is kept depends on itself and on public tables alone, never on other records. So with
    one person or one group more, the same records of all others are kept: neighbours stay neighbours.
    """
    kept = _keep_valid(rows)
    if listed is None or people.columns.person is None:  # without persons, strays are dropped as groups
        return kept
    names = people.columns.group_names
    return kept.semi_join(listed.select(*names), names)


def _keep_valid(rows: ibis.Table) -> ibis.Table:
    import ibis

    return rows.filter(ibis.coalesce(rows["code"], 0) >= 0)  # null: the region is in the frame


def count_strays(people: Records, frame: Records, counting: Counting) -> ibis.Table:
    """Count the valid records of groups that are not in the frame."""
    text_groups = not have_like_groups(people, frame)
    kept = _keep_valid(_read(people, counting, text_groups))
    names = people.columns.group_names
    listed = _read(frame, counting, text_groups).select(*names)
    strays = kept.anti_join(listed, names)
    return strays.aggregate(strays=strays.count())


def _limit_persons(rows: ibis.Table, people: Records, counting: Counting, hold: Hold) -> list[ibis.Table]:
    """All records, and the negated excess of each person, which takes it away again."""
    import ibis

    if not people.engine.holds:
        return [keep_first(rows, people, counting.bounds)]
    columns = people.columns
    has_quantity = columns.quantity is not None
    held = hold(rows if has_quantity else rows.drop("quantity"))
    quantity = held["quantity"] if has_quantity else ibis.literal(1, "int64")
    code = held["code"].cast("int32")  # some engines have whole numbers of one kind only
    every = held.select(*columns.group_names, quantity=quantity, code=code)
    return [every, negate_excess(held, people, counting.bounds)]


def _span(code: ibis.Value) -> dict[str, ibis.Value]:
    """The least and the largest code of a group: they differ if it is in several regions."""
    return {"code": code.min(), "other": code.max()}


def list_regions(records: Records) -> ibis.Table:
    """Return the different regions that a table names, as ``region_0`` and so on."""
    columns = records.columns
    names = zip(columns.region_names, columns.regions, strict=True)
    return records.table.select(**{name: records[column] for name, column in names}).distinct()


def count_where(condition: ibis.Value) -> ibis.Value:
    """Return how many rows fulfil a condition."""
    import ibis

    return ibis.coalesce(ibis.ifelse(condition, 1, 0).sum(), 0).cast("int64")
