"""Pickups of New York's taxis, as the TLC publishes them, by city, borough and taxi zone.

What a group is depends on what the files tell:

-   Those of 2013 name the taxi: a group is a taxi in a zone (:func:`count_taxis`), as in Kuo et al. (2018).
-   Those of today name no taxi (:func:`count_trips`). The files of for-hire cars (FHV and high-volume FHV)
    name the base that sent the car: a group is a base in a zone. Those of yellow and of green taxis name
    neither: a group is an hour in a zone.

The size of a group is its number of pickups, and every pickup stands for one person. What has no pickup is no
group. Times are taken as the files have them, and a few of these are wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from tallytree.counts import GroupCounts
from tallytree.datasets.files import FilePath
from tallytree.datasets.zones import LEVELS, ROOT, Zones, read_zones
from tallytree.engines.duckdb import open_duckdb
from tallytree.engines.files import find_files, is_file_source
from tallytree.engines.settings import Engine
from tallytree.errors import CountsError
from tallytree.microdata import count_groups
from tallytree.progress import Progress, no_progress
from tallytree.sizes import Sizes, check_sizes
from tallytree.tables import Table

SIZES = (1, 1000)

LEFT_OUT = "Trips without a known pickup zone of the city, or without {group}, were left out."


def count_trips(
    trips: FilePath | Sequence[FilePath],
    zones: FilePath,
    *,
    sizes: Sizes = SIZES,
    progress: Progress = no_progress,
) -> GroupCounts:
    """Pickups in today's trip records: bases by their pickups in a zone or, of yellow and green taxis, hours.

    ``trips`` is a Parquet file of the TLC, a pattern such as ``fhv_tripdata_2024-*.parquet``, or a list of
    either, all of one service. ``zones`` is the TLC's lookup table (``taxi_zone_lookup.csv``). A group with
    more pickups than the largest of ``sizes`` counts there.
    """
    from tallytree.datasets.monthly_trips import read_months

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
    """Pickups in the trip records of 2013: taxis by their pickups in a zone.

    ``trips`` is a CSV file (``trip_data_1.csv``), a pattern, or a list of either. ``zones`` is a GeoJSON of
    the taxi zones in WGS84; pickups in none of them are left out. Needs ``tallytree[geo]``.
    """
    from tallytree.datasets.trips_2013 import read_trips
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
