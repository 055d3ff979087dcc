"""The trip records that the TLC gives out today: a Parquet file for each month and kind of service.

The columns are not the same in all months: their case changes (PULocationID, PUlocationID), and zones are
whole numbers in some files and floats in others. So every file is read by its own schema.
"""

from __future__ import annotations

import glob
from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pa_parquet

from tallytree.datasets.zones import Zones
from tallytree.errors import CountsError, show

if TYPE_CHECKING:
    import ibis

PICKUP_ZONE = "pulocationid"
BASE = "dispatching_base_num"
PICKUP_TIMES = ("tpep_pickup_datetime", "lpep_pickup_datetime")
"""Of yellow and of green taxis, whose files name no base."""


def read_months(backend: ibis.Backend, files: Sequence[str], zones: Zones) -> tuple[ibis.Table, str]:
    """Each pickup with its ``number``, ``borough`` and ``zone``, and with its ``base`` or its ``hour``.

    Which of these two is the second result. Pickups without it, or in no zone, are left out.
    """
    import ibis

    months, kinds = [], set()
    for file in files:
        zone, told, kind = _find_columns(file)
        kinds.add(kind)
        trips = backend.read_parquet(glob.escape(file))
        group = trips[told].strip() if kind == BASE else trips[told].truncate("h").cast("string")
        months.append(trips.select(pickup=trips[zone].try_cast("int32"), group=group))
    if len(kinds) > 1:
        raise CountsError("The files are of different services: count yellow, green and for-hire cars apart.")
    pickups = ibis.union(*months) if len(months) > 1 else months[0]
    places = ibis.memtable(zones.tabulate())
    placed = pickups.left_join(places, [pickups["pickup"] == places["number"]])
    kept = placed.filter(placed["number"].notnull(), placed["group"] != "")  # which is neither null nor blank
    name = "base" if kinds == {BASE} else "hour"
    return kept.select("number", "borough", "zone", **{name: kept["group"]}), name


def _find_columns(file: str) -> tuple[str, str, str]:
    """The names, in this file, of the pickup zone and of what tells the group; and which of these that is."""
    shown = show(file, most=150)
    try:
        schema = pa_parquet.read_schema(file)
    except (OSError, pa.ArrowException):
        raise CountsError(f"The file {shown} cannot be read as Parquet: is it damaged?") from None
    names = {name.lower(): name for name in schema.names}
    kind = next((name for name in (BASE, *PICKUP_TIMES) if name in names), None)
    if kind is None or PICKUP_ZONE not in names:
        raise CountsError(
            f"The file {shown} has no 'PULocationID', or neither a 'dispatching_base_num' nor a pickup time "
            "of a taxi: is it a trip record of the TLC, with zones?"
        )
    zone, told = names[PICKUP_ZONE], names[kind]
    number, key = schema.field(zone).type, schema.field(told).type
    if not (pa.types.is_integer(number) or pa.types.is_floating(number)):
        raise CountsError(f"Column {show(zone)} of the file {shown} must hold numbers.")
    if kind == BASE and not (pa.types.is_string(key) or pa.types.is_large_string(key)):
        raise CountsError(f"Column {show(told)} of the file {shown} must hold text.")
    if kind != BASE and not pa.types.is_timestamp(key):
        raise CountsError(f"Column {show(told)} of the file {shown} must hold timestamps.")
    return zone, told, kind
