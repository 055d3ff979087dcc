"""A user's table as rows of ours: group, region, person, and a quantity within its bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tallytree.privacy.neighbours import Bounds
from tallytree.records.columns import Records

if TYPE_CHECKING:
    import ibis

FAR = 1e300
"""Beyond any quantity, but finite: NaN, which engines put above everything, is not between -FAR and FAR."""

WHOLE = 2**53

HAVE_TRY_CAST = ("duckdb", "pyspark", "snowflake", "trino")
"""Engines that make null of a text that is not a number after all."""

NUMBER = r"^\s*[-+]?[0-9]{1,30}(\.[0-9]{0,30})?([eE][-+]?[0-9]{1,2})?\s*$"


def read_rows(records: Records, bounds: Bounds, *, text_groups: bool = False) -> ibis.Table:
    """``group_i``, ``region_i``, ``person``, ``quantity`` (clipped), ``wrong`` (a key or number is missing).

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
        wrong = wrong | records[column].isnull()
    if columns.person is not None:
        values["person"] = records[columns.person]
        wrong = wrong | records[columns.person].isnull()
    if columns.quantity is None:
        values["quantity"] = ibis.literal(1, "int64")
    else:
        number = _read_number(records, columns.quantity)
        whole = is_whole(records)
        clipped = ibis.greatest(ibis.least(number, bounds.max_quantity), 0)
        values["quantity"] = ibis.ifelse(whole, clipped, 0).cast("int64")
        wrong = wrong | ~whole
    return records.table.select(**values, wrong=wrong)


def is_whole(records: Records) -> ibis.Value:
    """Whether the quantity of a record is a whole number; false also where there is none."""
    import ibis

    name = records.columns.quantity
    assert name is not None
    number = _read_number(records, name)
    if records.has_whole_numbers(name):
        return number.notnull()
    # A float is rounded down as an integer of 64 bits. Beyond 2^53 all floats are whole.
    near = number if records.get_type(name).is_decimal() else ibis.greatest(ibis.least(number, WHOLE), -WHOLE)
    return ibis.coalesce(number.between(-FAR, FAR) & (near == near.floor()), ibis.literal(False))


def _read_number(records: Records, name: str) -> ibis.Value:
    import ibis

    column = records[name]
    if not records.get_type(name).is_string():
        return column
    # Files of text have numbers as text; what is none becomes null. An engine by itself would take 1_0 for 10
    # (DuckDB, PostgreSQL) or 5d for 5 (Spark).
    plain = ibis.ifelse(column.re_search(NUMBER), column, ibis.null("string"))
    if records.table.get_backend().name in HAVE_TRY_CAST:
        # The strip keeps DuckDB from having its reader of CSV files cast, which does not try.
        return plain.strip().try_cast("float64")
    return plain.cast("float64")
