"""Leaf regions as codes: their places in the hierarchy. A code says in four bytes what names say in many."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from tallytree.hierarchy import Hierarchy, Path
from tallytree.records.columns import Records

if TYPE_CHECKING:
    import ibis

MISSING, UNKNOWN = -1, -2
"""The codes of a row with a missing or wrong value, and of one whose region is not in the hierarchy."""


def add_codes(rows: ibis.Table, records: Records, hierarchy: Hierarchy) -> ibis.Table:
    """The rows with their ``code`` in place of region names; null where the table has no regions."""
    import ibis

    columns = records.columns
    kept = [*columns.group_names, "quantity"]
    missing = ibis.literal(MISSING, "int32")
    if not columns.regions:
        # The only region is the root, or the regions are in the frame.
        alone = ibis.literal(0, "int32") if len(hierarchy.levels) == 1 else ibis.null("int32")
        return rows.select(*kept, code=ibis.ifelse(rows["wrong"], missing, alone))
    whole = [records.has_whole_numbers(name) for name in columns.regions]
    codes = ibis.memtable(_list_codes(hierarchy, whole))
    ragged = is_ragged(hierarchy)
    pairs = [(rows[name], codes[f"name_{place}"]) for place, name in enumerate(columns.region_names)]
    joined = rows.left_join(codes, [_match(name, known, ragged) for name, known in pairs])
    code = ibis.coalesce(joined["code"], ibis.literal(UNKNOWN, "int32"))
    return joined.select(*kept, code=ibis.ifelse(joined["wrong"], missing, code))


def _match(name: ibis.Value, known: ibis.Value, ragged: bool) -> ibis.Value:
    return name.identical_to(known) if ragged else name == known  # two nulls are identical


def is_ragged(hierarchy: Hierarchy) -> bool:
    """Whether a leaf stands above the last level, so that names below it are rightly missing."""
    return bool((hierarchy.leaf_places[0] < len(hierarchy.levels) - 1).any())


def _list_codes(hierarchy: Hierarchy, whole: Sequence[bool]) -> pa.Table:
    """A row for each leaf: its names below the root, of the types that the table has, and its code."""
    rows = [
        (code, names)
        for code, path in enumerate(hierarchy.leaves)
        if (names := _write_names(path, whole)) is not None
    ]
    table = {
        f"name_{place}": pa.array([names[place] for _, names in rows], pa.int64() if number else pa.string())
        for place, number in enumerate(whole)
    }
    return pa.table({**table, "code": pa.array([code for code, _ in rows], pa.int32())})


def _write_names(path: Path, whole: Sequence[bool]) -> list[str | int | None] | None:
    """The names of a leaf; None if one cannot be found in a column of whole numbers."""
    names: list[str | int | None] = []
    for place, number in enumerate(whole, start=1):
        name = path[place] if place < len(path) else None
        if number and name is not None:
            if not name.removeprefix("-").isdecimal() or len(name) > 18 or str(int(name)) != name:
                return None
            names.append(int(name))
        else:
            names.append(name)
    return names
