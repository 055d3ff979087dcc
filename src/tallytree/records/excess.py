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
from tallytree.records.columns import Records
from tallytree.records.rows import read_rows

if TYPE_CHECKING:
    import ibis

HAVE_MD5 = ("duckdb", "postgres", "pyspark", "mysql", "snowflake", "trino")
"""Engines whose MD5 of a text is text, so that all of them keep the same records."""


def negate_excess(people: Records, bounds: Bounds, *, text_groups: bool) -> ibis.Table:
    """The records beyond each person's first m, once more with their quantities negated.

    Added to all the records they leave m of each person; and every group is still named, as it must be.
    Persons with m records or fewer, nearly everyone, need no sorting.
    """
    import ibis

    every = read_rows(people.view(), bounds, text_groups=text_groups)
    persons = every.group_by("person").agg(records=every.count())
    busy = persons.filter(persons["records"] > bounds.max_records).select("person")
    rows = read_rows(people.view(), bounds, text_groups=text_groups).semi_join(busy, "person")
    order = [*_mix(rows, people), rows["quantity"].desc()]
    ranked = rows.mutate(place=ibis.row_number().over(ibis.window(group_by=rows["person"], order_by=order)))
    excess = ranked.filter(ranked["place"] >= bounds.max_records)
    return excess.select(*people.columns.group_names, quantity=-excess["quantity"], code=ibis.null("int32"))


def _mix(rows: ibis.Table, people: Records) -> list[ibis.Value]:
    """What the records of a person are sorted by: the hash, where the engine has it; then the group."""
    import ibis

    groups = [rows[name] for name in people.columns.group_names]
    if people.table.get_backend().name not in HAVE_MD5:
        return groups

    @ibis.udf.scalar.builtin(name="md5", signature=(("string",), "string"))
    def md5(text: object) -> None: ...

    text = rows["person"].cast("string")
    for group in groups:
        text = text + "/" + group.cast("string")
    return [md5(text), *groups]
