"""At most m records of a person.

Which ones are kept is a function of that person's records alone: the first m in the order of a hash of
person and group, and then of the larger quantity; records that agree in both count alike. So adding or
removing a person changes no other person's records, and the groups change by m of that person's records at
most: what the sensitivities of :mod:`tallytree.privacy.queries` rest on, enforced for any table. A limit
such as "at most n records of a group" would not do: there one person pushes another out. The hash prefers
no group, as the alphabet would.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tallytree.privacy.neighbours import Bounds
from tallytree.records.columns import Columns

if TYPE_CHECKING:
    import ibis

HAVE_MD5 = ("duckdb", "postgres", "pyspark", "mysql", "snowflake", "trino")
"""Engines whose MD5 of a text is text, so that all of them keep the same records."""


def negate_excess(held: ibis.Table, columns: Columns, bounds: Bounds) -> ibis.Table:
    """The records beyond each person's first m, once more with their quantities negated.

    Added to all the records they leave m of each person; and every group is still named, as it must be.
    Persons with m records or fewer, nearly everyone, need no sorting. ``held`` is a table that the session
    holds: it is read twice here, and must be the same both times.
    """
    import ibis

    persons = held.group_by("person").agg(records=held.count())
    busy = persons.filter(persons["records"] > bounds.max_records).select("person")
    rows = held.view().semi_join(busy, "person")
    has_quantity = columns.quantity is not None
    order = [*_mix(rows, columns), *([rows["quantity"].desc()] if has_quantity else [])]
    ranked = rows.mutate(place=ibis.row_number().over(ibis.window(group_by=rows["person"], order_by=order)))
    excess = ranked.filter(ranked["place"] >= bounds.max_records)
    quantity = -excess["quantity"] if has_quantity else ibis.literal(-1, "int64")
    return excess.select(*columns.group_names, quantity=quantity, code=ibis.null("int32"))


def _mix(rows: ibis.Table, columns: Columns) -> list[ibis.Value]:
    """What the records of a person are sorted by: the hash, where the engine has it; then the group."""
    import ibis

    groups = [rows[name] for name in columns.group_names]
    if rows.get_backend().name not in HAVE_MD5:
        return groups

    @ibis.udf.scalar.builtin(name="md5", signature=(("string",), "string"))
    def md5(text: object) -> None: ...

    text = rows["person"].cast("string")
    for group in groups:
        text = text + "/" + group.cast("string")
    return [md5(text), *groups]
