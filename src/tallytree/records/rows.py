"""A user's table as rows of ours: group, region, person, and a quantity within its bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tallytree.privacy.neighbours import Bounds
from tallytree.records.columns import Records

if TYPE_CHECKING:
    import ibis

FAR = 1e300
"""Beyond any quantity, but finite: NaN, which engines put above everything, is not between -FAR and FAR."""


def read_rows(records: Records, bounds: Bounds, *, text_groups: bool = False) -> ibis.Table:
    """``group_i``, ``region_i``, ``person``, ``quantity`` (clipped), ``wrong`` (a key or number is missing).

    With ``text_groups`` the groups are compared as text, for tables whose types differ.
    """
    import ibis

    table, columns = records.table, records.columns
    values: dict[str, ibis.Value] = {}
    for name, column in zip(columns.group_names, columns.groups, strict=True):
        values[name] = table[column].cast("string") if text_groups else table[column]
    for name, column in zip(columns.region_names, columns.regions, strict=True):
        values[name] = table[column]
    wrong = ibis.literal(False)
    for column in columns.groups:
        wrong = wrong | table[column].isnull()
    if columns.person is not None:
        values["person"] = table[columns.person]
        wrong = wrong | table[columns.person].isnull()
    if columns.quantity is None:
        values["quantity"] = ibis.literal(1, "int64")
    else:
        number = _read_number(records, columns.quantity)
        whole = is_whole(records)
        clipped = ibis.greatest(ibis.least(number, bounds.max_quantity), 0)
        values["quantity"] = ibis.ifelse(whole, clipped, 0).cast("int64")
        wrong = wrong | ~whole
    return table.select(**values, wrong=wrong)


def is_whole(records: Records) -> ibis.Value:
    """Whether the quantity of a record is a whole number; false also where there is none."""
    import ibis

    assert records.columns.quantity is not None
    number = _read_number(records, records.columns.quantity)
    if records.has_whole_numbers(records.columns.quantity):
        return number.notnull()
    return ibis.coalesce(number.between(-FAR, FAR) & (number == number.floor()), ibis.literal(False))


def _read_number(records: Records, name: str) -> ibis.Value:
    column = records.table[name]
    # Files of text have numbers as text; what is none becomes null.
    return column.try_cast("float64") if records.table.schema()[name].is_string() else column
