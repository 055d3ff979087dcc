"""What is wrong with records that cannot be counted: how many, never which."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pyarrow as pa

from tallytree.errors import CountsError, show
from tallytree.hierarchy import Hierarchy
from tallytree.privacy.neighbours import Bounds
from tallytree.records.codes import UNKNOWN, add_codes, is_ragged
from tallytree.records.columns import Records
from tallytree.records.query import count_where
from tallytree.records.rows import is_whole, read_rows

if TYPE_CHECKING:
    import ibis

Fetch = Callable[["ibis.Table"], pa.Table]


def refuse_dirt(records: Records, fetch: Fetch, *, hierarchy: Hierarchy, bounds: Bounds) -> None:
    """One error about missing keys, quantities that are not whole, or unknown regions, if there are any."""
    columns = records.columns
    may_be_missing = columns.regions if is_ragged(hierarchy) else ()
    keys = [name for name in columns.keys if name not in may_be_missing]
    refuse_missing(records, keys, fetch)
    if columns.quantity is not None:
        found = _fetch_counts(records.table.aggregate(not_whole=count_where(~is_whole(records))), fetch)
        if found[0]:
            what = f"values of column {show(columns.quantity)} that are not whole numbers"
            raise CountsError(_say(records, what, found[0]))
    rows = add_codes(read_rows(records, bounds), records, hierarchy)
    found = _fetch_counts(rows.aggregate(unknown=count_where(rows["code"] == UNKNOWN)), fetch)
    if found[0]:
        raise CountsError(_say(records, "rows whose region is not a leaf of the hierarchy", found[0]))


def refuse_missing(records: Records, keys: list[str], fetch: Fetch) -> None:
    """One error about the first of these columns that lacks values."""
    if not keys:
        return
    missing = {f"key_{place}": count_where(records[name].isnull()) for place, name in enumerate(keys)}
    for name, count in zip(keys, _fetch_counts(records.table.aggregate(**missing), fetch), strict=True):
        if count:
            raise CountsError(_say(records, f"missing values in column {show(name)}", count))


def _fetch_counts(query: ibis.Table, fetch: Fetch) -> list[int]:
    (row,) = fetch(query).to_pylist()
    return [int(value) for value in row.values()]


def _say(records: Records, what: str, count: int) -> str:
    return f"{records.where}{what[0].upper()}{what[1:]}: {count}."
