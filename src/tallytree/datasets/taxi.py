"""Pickups of New York's taxis, as the TLC publishes them, by city, borough and taxi zone.

What a group is depends on what the files say:

-   Those of 2013 name the taxi: a group is a taxi in a zone (:func:`count_taxis`), as in Kuo et al. (2018).
-   Those of today name no taxi (:func:`count_trips`). The files of for-hire cars (FHV and high-volume FHV)
    name the base that sent the car: a group is a base in a zone. Those of yellow and of green taxis name
    neither: a group is an hour in a zone.

The size of a group is its number of pickups, and every pickup stands for one person. Without pickups there is
no group. Times are taken as they are in the files, and a few of them are wrong.
"""

from __future__ import annotations

import glob
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet

from tallytree.counts.arrow import Table
from tallytree.counts.engines.duckdb import open_duckdb
from tallytree.counts.engines.session import Engine
from tallytree.counts.engines.source_files import find_files, is_file_source
from tallytree.counts.group_counts import GroupCounts
from tallytree.counts.people import count_groups
from tallytree.datasets.raw_files import FilePath
from tallytree.datasets.zones import LEVELS, ROOT, Zones, read_zones
from tallytree.errors import CountsError, show
from tallytree.progress import Progress, no_progress
from tallytree.sizes import Sizes, check_sizes

if TYPE_CHECKING:
    import ibis

    from tallytree.datasets.zone_map import ZoneMap

# The trip records of 2013, which name the taxi and give the pickup by its coordinates.
#
# They are CSV files, one a month (``trip_data_1.csv`` to ``trip_data_12.csv``), whose header has a blank
# after each comma. A year is 173 million trips, so they are read in batches, and of each trip only small
# numbers are kept.

COLUMNS: dict[str, pa.DataType] = {
    "medallion": pa.dictionary(pa.int32(), pa.string()),
    "pickup_longitude": pa.float64(),
    "pickup_latitude": pa.float64(),
}
BATCH = 2**24
"""Bytes: about a hundred thousand trips."""

SmallInts = npt.NDArray[np.int32]


def read_trips(files: Sequence[str], zone_map: ZoneMap, progress: Progress) -> pa.Table:
    """Read each pickup with its ``taxi``, numbered by appearance, and ``number``, ``borough`` and ``zone``.

    Pickups without a taxi, or in no zone, are left out.
    """
    known: dict[str, int] = {}
    taxis, places = [np.empty(0, dtype=np.int32)], [np.empty(0, dtype=np.int32)]
    advance = progress("Placing pickups in zones", len(files))
    for file in files:
        for medallion, longitude, latitude in _read_batches(file):
            taxi = _number_taxis(medallion, known)
            place = zone_map.locate(longitude.to_numpy(False), latitude.to_numpy(False))
            kept = (taxi >= 0) & (place >= 0)
            taxis.append(taxi[kept])
            places.append(place[kept].astype(np.int32))
        advance(1)
    leaf = np.concatenate(places)
    names = zone_map.zones.tabulate()
    return pa.table(
        {
            "taxi": pa.array(np.concatenate(taxis)),
            "number": pa.array(names["number"].to_numpy()[leaf]),
            "borough": pa.DictionaryArray.from_arrays(leaf, names["borough"].combine_chunks()),
            "zone": pa.DictionaryArray.from_arrays(leaf, names["zone"].combine_chunks()),
        }
    )


def _read_batches(file: str) -> Iterator[list[Any]]:
    """Medallions, longitudes and latitudes."""
    shown = show(file, most=150)
    try:
        found = {name.strip().lower(): name for name in pa_csv.open_csv(file).schema.names}
        for name in COLUMNS:
            if name not in found:
                raise CountsError(f"The file {shown} has no column {show(name)}: is it one of 2013?")
        types = {found[name]: kind for name, kind in COLUMNS.items()}
        reader = pa_csv.open_csv(
            file,
            read_options=pa_csv.ReadOptions(block_size=BATCH),
            convert_options=pa_csv.ConvertOptions(include_columns=list(types), column_types=types),
        )
        for batch in reader:
            yield batch.columns
    except (OSError, UnicodeError, pa.ArrowException):
        # Arrow's own message may quote the data.
        raise CountsError(
            f"The file {shown} cannot be read as trip records of 2013: is it cut off or damaged?"
        ) from None


def _number_taxis(medallion: Any, known: dict[str, int]) -> SmallInts:
    """The number of each trip's taxi; -1 where none is named."""
    numbers = [
        known.setdefault(name, len(known)) if (name := str(text).strip()) else -1
        for text in medallion.dictionary.to_pylist()
    ]
    trips: SmallInts = np.array(numbers, dtype=np.int32)[medallion.indices.to_numpy()]
    return trips


# The trip records that the TLC gives out today: a Parquet file for each month and kind of service.
#
# The columns are not the same in all months: their case changes (PULocationID, PUlocationID), and zones are
# whole numbers in some files and floats in others. So every file is read by its own schema.

PICKUP_ZONE = "pulocationid"
BASE = "dispatching_base_num"
PICKUP_TIMES = ("tpep_pickup_datetime", "lpep_pickup_datetime")
"""Of yellow and of green taxis, whose files name no base."""


def read_months(backend: ibis.Backend, files: Sequence[str], zones: Zones) -> tuple[ibis.Table, str]:
    """Read each pickup with its ``number``, ``borough`` and ``zone``, and with its ``base`` or its ``hour``.

    The second result says which of these two. Pickups without it, or in no zone, are left out.
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
    """The names, in this file, of the columns of the pickup zone and the group, and the kind of the group."""
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


SIZES = (1, 1000)

LEFT_OUT = "Trips without a known pickup zone of the city, or without {group}, were left out."


def count_trips(
    trips: FilePath | Sequence[FilePath],
    zones: FilePath,
    *,
    sizes: Sizes = SIZES,
    progress: Progress = no_progress,
) -> GroupCounts:
    """Count bases by their pickups in a zone in today's trip records, or hours of yellow and green taxis.

    ``trips`` is a Parquet file of the TLC, a pattern such as ``fhv_tripdata_2024-*.parquet``, or a list of
    either, all of one service. ``zones`` is the TLC's lookup table (``taxi_zone_lookup.csv``). A group with
    more pickups than the largest of ``sizes`` counts there.
    """

    check_sizes(sizes)
    files = _find_files(trips, "parquet")
    places = read_zones(zones)
    with open_duckdb(Engine()) as session:
        table, group = read_months(session.backend, files, places)
        return _count(table, places, group, sizes, progress)


def count_taxis(
    trips: FilePath | Sequence[FilePath],
    zones: FilePath,
    *,
    sizes: Sizes = SIZES,
    progress: Progress = no_progress,
) -> GroupCounts:
    """Count taxis by their pickups in a zone in the trip records of 2013.

    ``trips`` is a CSV file (``trip_data_1.csv``), a pattern, or a list of either. ``zones`` is a GeoJSON of
    the taxi zones in WGS84; pickups in none of them are left out. Needs ``tallytree[geo]``.
    """
    from tallytree.datasets.zone_map import read_zone_map

    check_sizes(sizes)
    files = _find_files(trips, "csv")
    places = read_zone_map(zones)
    return _count(read_trips(files, places, progress), places.zones, "taxi", sizes, progress)


def _find_files(trips: FilePath | Sequence[FilePath], kind: Literal["csv", "parquet"]) -> tuple[str, ...]:
    if not is_file_source(trips):
        raise CountsError("The trips must be the path of a file, a pattern, or a list of these.")
    files = find_files(trips)
    if files.kind != kind:
        raise CountsError(f"The trips must be {'CSV' if kind == 'csv' else 'Parquet'} files.")
    return files.paths


def _count(trips: Table, zones: Zones, group: str, sizes: Sizes, progress: Progress) -> GroupCounts:
    counts = count_groups(
        trips, group=[group, "number"], regions=LEVELS[1:], sizes=sizes, root=ROOT, root_level=LEVELS[0],
        hierarchy=zones.hierarchy, progress=progress,
    )  # fmt: skip
    named = f"an {group}" if group == "hour" else f"a {group}"
    return counts.add_note(LEFT_OUT.format(group=named))
