"""Leaf regions as codes: their places in the hierarchy. A code says in four bytes what names say in many."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tallytree.hierarchy import Hierarchy
from tallytree.records.columns import Records

if TYPE_CHECKING:
    import ibis

MISSING, UNKNOWN = -1, -2
"""The codes of a row with a missing or wrong value, and of one whose region is not in the hierarchy."""

WHOLE_NUMBER = "^(0|-?[1-9][0-9]{0,17})$"
"""How 64-bit integers are written, but for the largest ones."""


def add_codes(rows: ibis.Table, records: Records, hierarchy: Hierarchy) -> ibis.Table:
    """The rows with their ``code`` in place of region names; null where the table has no regions."""
    import ibis

    columns = records.columns
    kept = [*columns.group_names, *columns.person_names, "quantity"]
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
