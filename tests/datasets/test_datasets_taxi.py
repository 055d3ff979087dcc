"""Taxi trips in the TLC's formats, on invented files, against an obvious loop."""

from __future__ import annotations

import csv
import gzip
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pa_parquet
import pytest

from tallytree.counts.group_counts import GroupCounts
from tallytree.datasets import count_taxis, count_trips
from tallytree.datasets.zone_map import read_zone_map
from tallytree.datasets.zones import read_zones
from tallytree.errors import CountsError

# The zones

LOOKUP = [
    (1, "EWR", "Newark Airport", "EWR"),
    (4, "Manhattan", "Alphabet City", "Yellow Zone"),
    (56, "Queens", "Corona", "Boro Zone"),
    (57, "Queens", "Corona", "Boro Zone"),
    (103, "Manhattan", "Governor's Island/Ellis Island/Liberty Island", "Yellow Zone"),
    (264, "Unknown", "N/A", "N/A"),
    (265, "N/A", "Outside of NYC", "N/A"),
]
Names = tuple[str, ...]
PATHS: dict[int, Names] = {
    1: ("New York City", "EWR", "Newark Airport"),
    4: ("New York City", "Manhattan", "Alphabet City"),
    56: ("New York City", "Queens", "Corona (56)"),
    57: ("New York City", "Queens", "Corona (57)"),
    103: ("New York City", "Manhattan", "Governor's Island/Ellis Island/Liberty Island"),
}
HEADERS = (
    ["LocationID", "Borough", "Zone", "service_zone"],
    ["location_id", "borough", "zone", "service_zone"],
    ["locationid", "borough", "zone", "service_zone"],
)


def write_lookup(
    path: Path, rows: Sequence[Sequence[object]] = LOOKUP, header: Sequence[str] = HEADERS[0]
) -> Path:
    with path.open("w", newline="") as file:
        csv.writer(file, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\r\n").writerows([header, *rows])
    return path


@pytest.fixture
def lookup(tmp_path: Path) -> Path:
    return write_lookup(tmp_path / "taxi_zone_lookup.csv")


@pytest.mark.parametrize("header", HEADERS)
def test_the_lookup_table_gives_the_hierarchy(header: Sequence[str], tmp_path: Path) -> None:
    zones = read_zones(write_lookup(tmp_path / "zones.csv", header=header))
    assert zones.hierarchy.levels == ("city", "borough", "zone")
    assert zones.hierarchy.leaves == tuple(PATHS.values())
    assert zones.numbers == tuple(PATHS)


@pytest.mark.parametrize(
    ("header", "rows", "message"),
    [
        (HEADERS[0], [*LOOKUP, LOOKUP[0]], "LocationID twice"),
        (HEADERS[0], [("x", "Queens", "Astoria", "")], "LocationID .* not a whole number"),
        (HEADERS[0], [(-7, "Queens", "Astoria", "")], "LocationID .* not a whole number"),
        (HEADERS[0], [(7, "Queens", " ", "")], "no name or no borough"),
        (HEADERS[0], [(7, "", "Astoria", "")], "no name or no borough"),
        (HEADERS[0], [(7, "Queens")], "Row 1 .*cells"),
        (HEADERS[0], LOOKUP[-2:], "no taxi zones"),
        (HEADERS[0], [], "no taxi zones"),
        (["LocationID", "Borough", "service_zone", "x"], LOOKUP, "no column 'zone'"),
        (["LocationID", "Borough", "Zone", "location_id"], LOOKUP, "two columns 'locationid'"),
    ],
)
def test_a_bad_lookup_gives_one_clear_error(
    header: Sequence[str], rows: Sequence[Sequence[object]], message: str, tmp_path: Path
) -> None:
    with pytest.raises(CountsError, match=message):
        read_zones(write_lookup(tmp_path / "zones.csv", rows, header))


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"", "no column"), (b'LocationID,Borough,Zone\n1,"Que', "not a CSV"), (b"\xff\xfeL\x00", "UTF-8")],
)
def test_what_is_no_lookup_gives_one_clear_error(content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "zones.csv").write_bytes(content)
    with pytest.raises(CountsError, match=message):
        read_zones(tmp_path / "zones.csv")


# The months

SHORT = pa.int32()
DAY = datetime(2024, 1, 31, 22)


@dataclass(frozen=True)
class Trip:
    """What a record tells of a pickup."""

    zone: int | None
    time: datetime | None = DAY
    base: str | None = None


def invent_trips(count: int = 400, *, seed: int = 1) -> list[Trip]:
    """Over a day, in known and unknown zones (999 is in no table), by a few bases; some tell nothing."""
    draw = np.random.default_rng(seed)
    zones = [1, 4, 4, 4, 56, 57, 264, 265, 999, None]
    bases = ["B00001", "B00001", "B02764", "B02764  ", "  ", None]
    times = [DAY + timedelta(seconds=int(second)) for second in draw.integers(0, 5 * 3600, count)]
    return [
        Trip(
            zones[draw.integers(len(zones))],
            time if draw.random() > 0.05 else None,
            bases[draw.integers(len(bases))],
        )
        for time in times
    ]


def make_yellow(trips: Sequence[Trip], *, zone: pa.DataType = SHORT, service: str = "tpep") -> pa.Table:
    """A month of yellow (or, with "lpep", of green) taxis; zones were 64-bit numbers until 2022."""
    stamps = pa.array([trip.time for trip in trips], pa.timestamp("us"))
    return pa.table(
        {
            "VendorID": pa.array([2] * len(trips), pa.int32()),
            f"{service}_pickup_datetime": stamps,
            f"{service}_dropoff_datetime": stamps,
            "passenger_count": pa.array([1.0] * len(trips)),
            "store_and_fwd_flag": ["N"] * len(trips),
            "PULocationID": pa.array([trip.zone for trip in trips], zone),
            "DOLocationID": pa.array([4] * len(trips), zone),
            "Airport_fee": pa.array([0.0] * len(trips)),
        }
    )


def make_for_hire(trips: Sequence[Trip], *, zone: str = "PUlocationID") -> pa.Table:
    """A month of for-hire cars: zones are floats."""
    stamps = pa.array([trip.time for trip in trips], pa.timestamp("us"))
    return pa.table(
        {
            "dispatching_base_num": pa.array([trip.base for trip in trips], pa.string()),
            "pickup_datetime": stamps,
            "dropOff_datetime": stamps,
            zone: pa.array([trip.zone for trip in trips], pa.float64()),
            "DOlocationID": pa.array([None] * len(trips), pa.float64()),
            "SR_Flag": pa.array([None] * len(trips), pa.int32()),
            "Affiliated_base_number": pa.array([trip.base for trip in trips], pa.string()),
        }
    )


def make_high_volume(trips: Sequence[Trip]) -> pa.Table:
    stamps = pa.array([trip.time for trip in trips], pa.timestamp("us"))
    return pa.table(
        {
            "hvfhs_license_num": ["HV0003"] * len(trips),
            "dispatching_base_num": pa.array([trip.base for trip in trips], pa.string()),
            "originating_base_num": pa.array([trip.base for trip in trips], pa.string()),
            "request_datetime": stamps,
            "on_scene_datetime": stamps,
            "pickup_datetime": stamps,
            "dropoff_datetime": stamps,
            "PULocationID": pa.array([trip.zone for trip in trips], pa.int64()),
            "DOLocationID": pa.array([trip.zone for trip in trips], pa.int64()),
        }
    )


def write_parquet(path: Path, table: pa.Table) -> Path:
    pa_parquet.write_table(table, path)
    return path


def find_hour(trip: Trip) -> object:
    return trip.time and trip.time.replace(minute=0, second=0)


def find_base(trip: Trip) -> object:
    return trip.base and trip.base.strip()


Told = tuple[object, int | None]
"""A trip's group and its zone."""


def check_counts(
    counts: GroupCounts, trips: Sequence[Told], sizes: tuple[int, int], paths: Mapping[int, Names] = PATHS
) -> None:
    """That the counts are those of the trips, told one by one."""
    pickups = Counter((group, zone) for group, zone in trips if group and zone in paths)
    expected = Counter((paths[zone], min(size, sizes[1])) for (_, zone), size in pickups.items() if zone)
    assert counts.sizes == sizes
    assert counts.hierarchy.levels == ("city", "borough", "zone")
    assert expected
    for path, row in zip(counts.hierarchy.leaves, counts.leaf.tolist(), strict=True):
        for size, found in enumerate(row, start=sizes[0]):
            assert found == expected[path, size]
    assert counts.total == len(pickups)


MONTHS: dict[str, tuple[Callable[[Sequence[Trip]], pa.Table], Callable[[Trip], object], str]] = {
    "yellow": (make_yellow, find_hour, "without an hour"),
    "yellow until 2022": (lambda trips: make_yellow(trips, zone=pa.int64()), find_hour, "without an hour"),
    "green": (lambda trips: make_yellow(trips, service="lpep"), find_hour, "without an hour"),
    "for-hire": (make_for_hire, find_base, "without a base"),
    "high-volume": (make_high_volume, find_base, "without a base"),
}


@pytest.mark.parametrize("kind", MONTHS)
def test_a_month_is_counted_as_a_loop_would(kind: str, lookup: Path, tmp_path: Path) -> None:
    make, find_group, left_out = MONTHS[kind]
    trips = invent_trips()
    path = write_parquet(tmp_path / "month.parquet", make(trips))
    counts = count_trips(path, lookup, sizes=(1, 30))
    check_counts(counts, [(find_group(trip), trip.zone) for trip in trips], (1, 30))
    assert any(left_out in words for words in counts.assumptions)
    assert not counts.leaf[list(PATHS).index(103)].any()  # no pickup, but a zone


def test_large_groups_count_at_the_largest_size(lookup: Path, tmp_path: Path) -> None:
    trips = [Trip(4, base="B1")] * 9 + [Trip(4, base="B2")] * 3 + [Trip(57, base="B2")]
    path = write_parquet(tmp_path / "month.parquet", make_for_hire(trips))
    counts = count_trips(str(path), str(lookup), sizes=(1, 4))
    assert counts.array("city").tolist() == [[1, 0, 1, 1]]
    assert count_trips(path, lookup).sizes == (1, 1000)


def test_months_are_counted_together(lookup: Path, tmp_path: Path) -> None:
    """Even if their columns differ in case and type, as the TLC's do; an hour or a base may be in two."""
    first, second, third = (invent_trips(150, seed=seed) for seed in range(3))
    a = write_parquet(tmp_path / "fhv_tripdata_2024-01.parquet", make_for_hire(first))
    b = write_parquet(tmp_path / "fhv_tripdata_2024-02.parquet", make_for_hire(second, zone="PULocationID"))
    c = write_parquet(tmp_path / "fhvhv_tripdata_2024-01.parquet", make_high_volume(third))
    both = [(find_base(trip), trip.zone) for trip in first + second]
    check_counts(count_trips(tmp_path / "fhv_*.parquet", lookup, sizes=(1, 60)), both, (1, 60))
    all_three = both + [(find_base(trip), trip.zone) for trip in third]
    check_counts(count_trips([a, str(b), c], lookup, sizes=(1, 90)), all_three, (1, 90))
    check_counts(count_trips([tmp_path / "fhv_*.parquet", c], lookup, sizes=(1, 90)), all_three, (1, 90))
    yellow = [
        write_parquet(tmp_path / "yellow_1.parquet", make_yellow(first)),
        write_parquet(tmp_path / "yellow_2.parquet", make_yellow(second, zone=pa.float64())),
    ]
    hours = [(find_hour(trip), trip.zone) for trip in first + second]
    check_counts(count_trips(yellow, lookup, sizes=(1, 60)), hours, (1, 60))


def test_a_zone_that_is_not_a_number_is_no_zone(lookup: Path, tmp_path: Path) -> None:
    table = make_for_hire([Trip(4, base="B1")] * 4)
    table = change_column(table, "PUlocationID", pa.array([4.0, float("nan"), float("inf"), -1.0]))
    counts = count_trips(write_parquet(tmp_path / "trips.parquet", table), lookup, sizes=(1, 2))
    assert counts.array("city").tolist() == [[1, 0]]


def test_a_file_named_twice_is_counted_once(lookup: Path, tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "trips.parquet", make_for_hire([Trip(4, base="B1")]))
    assert count_trips([path, tmp_path / "tr*.parquet"], lookup, sizes=(1, 2)).array("city").tolist() == [
        [1, 0]
    ]


def test_a_file_with_the_signs_of_a_pattern_in_its_name_is_itself(lookup: Path, tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "trips[1].parquet", make_for_hire([Trip(4, base="B1")]))
    write_parquet(tmp_path / "trips1.parquet", make_for_hire([Trip(4, base="B1")] * 2))
    assert count_trips(path, lookup, sizes=(1, 2)).array("city").tolist() == [[1, 0]]


def change_column(table: pa.Table, name: str, values: pa.Array[Any]) -> pa.Table:
    return table.set_column(table.column_names.index(name), name, values)


SOME = [Trip(4, base="B1"), Trip(4, base="B1")]
BAD_MONTHS: list[tuple[Callable[[], pa.Table], str]] = [
    (lambda: make_yellow(SOME).drop_columns(["PULocationID"]), "no 'PULocationID'"),
    (lambda: make_yellow(SOME).drop_columns(["tpep_pickup_datetime"]), "neither a 'dispatching_base_num'"),
    (lambda: make_high_volume(SOME).drop_columns(["dispatching_base_num"]), "neither a 'dispatching_base"),
    (lambda: pa.table({"Start_Lon": [-73.9], "Start_Lat": [40.7]}), "no 'PULocationID'"),
    (lambda: change_column(make_yellow(SOME), "PULocationID", pa.array(["4", "4"])), "must hold numbers"),
    (
        lambda: change_column(make_yellow(SOME), "tpep_pickup_datetime", pa.array(["2024-01-01 00:00"] * 2)),
        "must hold timestamps",
    ),
    (lambda: change_column(make_for_hire(SOME), "dispatching_base_num", pa.array([1, 2])), "must hold text"),
]


@pytest.mark.parametrize(("make", "message"), BAD_MONTHS)
def test_a_bad_month_gives_one_clear_error(
    make: Callable[[], pa.Table], message: str, lookup: Path, tmp_path: Path
) -> None:
    with pytest.raises(CountsError, match=message):
        count_trips(write_parquet(tmp_path / "month.parquet", make()), lookup)


def test_bad_files_give_one_clear_error(lookup: Path, tmp_path: Path) -> None:
    good = write_parquet(tmp_path / "good.parquet", make_for_hire(SOME))
    other = write_parquet(tmp_path / "other.parquet", make_yellow(SOME))
    (tmp_path / "damaged.parquet").write_bytes(good.read_bytes()[:-9])
    (tmp_path / "text.parquet").write_text("dispatching_base_num,PULocationID\n")
    cases: list[tuple[Any, str]] = [
        ([good, other], "different services"),
        ([], "a pattern, or a list"),
        (tmp_path / "none.parquet", "no file"),
        (tmp_path / "none-*.parquet", "no file"),
        (lookup, "must be Parquet files"),
        ([good, lookup], "not all of one kind"),
        (7, "a pattern, or a list"),
        ([good, None], "a pattern, or a list"),
        (tmp_path / "damaged.parquet", "cannot be read as Parquet"),
        (tmp_path / "text.parquet", "cannot be read as Parquet"),
    ]
    for trips, message in cases:
        with pytest.raises(CountsError, match=message):
            count_trips(trips, lookup)
    lost = write_parquet(tmp_path / "lost.parquet", make_for_hire([Trip(264, base="B1"), Trip(4)]))
    with pytest.raises(CountsError, match="no records"):
        count_trips(lost, lookup)
    with pytest.raises(CountsError, match="no file"):
        count_trips(good, tmp_path / "none.csv")
    with pytest.raises(CountsError, match="sizes"):
        count_trips(good, lookup, sizes=(5, 1))


# 2013

SQUARES = {1: (-74.20, 40.68), 4: (-73.99, 40.72), 103: (-74.03, 40.69), 56: (-73.87, 40.74)}
"""The south-western corners of zones of a hundredth of a degree."""
SIDE = 0.01


def make_square(west: float, south: float) -> list[list[list[float]]]:
    east, north = west + SIDE, south + SIDE
    return [[[west, south], [east, south], [east, north], [west, north], [west, south]]]


def make_feature(number: int, geometry: object, **properties: object) -> dict[str, Any]:
    _, borough, name, _ = next(row for row in LOOKUP if row[0] == number)
    return {
        "type": "Feature",
        "properties": {"objectid": str(number), "LocationID": number, "zone": name, "borough": borough}
        | properties,
        "geometry": geometry,
    }


def make_map() -> dict[str, Any]:
    """As the TLC's: a zone of two polygons, and one number twice for the parts of a zone."""
    features = [
        make_feature(number, {"type": "Polygon", "coordinates": make_square(*SQUARES[number])})
        for number in (1, 4)
    ]
    west, south = SQUARES[103]
    pair = [make_square(west, south), make_square(west + 2 * SIDE, south)]
    features.append(make_feature(103, {"type": "MultiPolygon", "coordinates": pair}))
    west, south = SQUARES[56]
    for corner in ((west, south), (west, south + 2 * SIDE)):
        features.append(make_feature(56, {"type": "Polygon", "coordinates": make_square(*corner)}))
    return {"type": "FeatureCollection", "features": features}


MAP_PATHS: dict[int, Names] = {number: PATHS[number] for number in (1, 4, 103)} | {
    56: ("New York City", "Queens", "Corona")
}


def write_map(path: Path, data: object) -> Path:
    path.write_text(json.dumps(data))
    return path


@pytest.fixture
def zone_map(tmp_path: Path) -> Path:
    return write_map(tmp_path / "taxi_zones.geojson", make_map())


def find_zone(longitude: float, latitude: float) -> int | None:
    """By the squares, in the order of the map."""
    corners = [
        *((number, SQUARES[number]) for number in (1, 4, 103)),
        (103, (SQUARES[103][0] + 2 * SIDE, SQUARES[103][1])),
        (56, SQUARES[56]),
        (56, (SQUARES[56][0], SQUARES[56][1] + 2 * SIDE)),
    ]
    for number, (west, south) in corners:
        if west <= longitude <= west + SIDE and south <= latitude <= south + SIDE:
            return number
    return None


HEADER_2013 = (
    "medallion, hack_license, vendor_id, rate_code, store_and_fwd_flag, pickup_datetime, dropoff_datetime, "
    "passenger_count, trip_time_in_secs, trip_distance, pickup_longitude, pickup_latitude, "
    "dropoff_longitude, dropoff_latitude"
)
Ride = tuple[str, str, str]
"""Taxi, longitude, latitude, as they are written."""


def invent_rides(count: int = 500, *, seed: int = 1) -> list[Ride]:
    """Near the zones, and some at (0, 0) or nowhere."""
    draw = np.random.default_rng(seed)
    corners = list(SQUARES.values())
    rides = []
    for _ in range(count):
        west, south = corners[draw.integers(len(corners))]
        x, y = west + draw.uniform(-1, 4) * SIDE, south + draw.uniform(-1, 4) * SIDE
        where = [(f"{x:.6f}", f"{y:.6f}")] * 9 + [("0", "0"), ("", ""), ("-73.985", "")]
        rides.append((f"{draw.integers(12):032X}", *where[draw.integers(len(where))]))
    return rides


def write_2013(path: Path, rides: Sequence[Ride], header: str = HEADER_2013) -> Path:
    lines = [
        f"{taxi},BA96DE419E711691B9445D6A6307C170,CMT,1,N,2013-01-01 15:11:48,2013-01-01 15:18:10,4,382,1.00,"
        f"{x},{y},-73.989838,40.751171"
        for taxi, x, y in rides
    ]
    with (gzip.open if path.suffix == ".gz" else open)(path, "wt") as file:
        file.write("\n".join([header, *lines, ""]))
    return path


def tell_rides(rides: Sequence[Ride]) -> list[Told]:
    return [(taxi.strip(), find_zone(float(x), float(y)) if x and y else None) for taxi, x, y in rides]


@pytest.mark.parametrize("header", [HEADER_2013, HEADER_2013.replace(", ", ","), HEADER_2013.upper()])
def test_taxis_are_counted_as_a_loop_would(header: str, zone_map: Path, tmp_path: Path) -> None:
    rides = [*invent_rides(), ("", "-73.985", "40.725"), ("  ", "-73.985", "40.725")]
    counts = count_taxis(write_2013(tmp_path / "trip_data_1.csv", rides, header), zone_map, sizes=(1, 9))
    assert counts.hierarchy.leaves == tuple(MAP_PATHS.values())
    check_counts(counts, tell_rides(rides), (1, 9), MAP_PATHS)
    assert any("without a taxi" in words for words in counts.assumptions)


def test_a_taxi_is_the_same_in_all_batches_and_files(
    zone_map: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tallytree.datasets.taxi.BATCH", 2000)
    first, second = invent_rides(200, seed=2), invent_rides(200, seed=3)
    write_2013(tmp_path / "trip_data_1.csv", first)
    write_2013(tmp_path / "trip_data_2.csv.gz", second, HEADER_2013.replace(", ", ","))
    counts = count_taxis(str(tmp_path / "trip_data_*"), zone_map, sizes=(1, 40))
    check_counts(counts, tell_rides(first + second), (1, 40), MAP_PATHS)


@pytest.mark.parametrize("number", ["LocationID", "location_id", "locationid"])
def test_the_map_is_read_as_the_city_gives_it_out(number: str, tmp_path: Path) -> None:
    """Its properties changed their names, and are text in some exports; unknown zones have no shape."""
    data = make_map()
    data["features"].append(make_feature(264, None))
    for feature in data["features"]:
        feature["properties"][number] = str(feature["properties"].pop("LocationID"))
    found = read_zone_map(write_map(tmp_path / "map.geojson", data))
    assert found.zones.hierarchy.leaves == tuple(MAP_PATHS.values())
    assert found.zones.numbers == tuple(MAP_PATHS)
    assert found.leaf.tolist() == [0, 1, 2, 3, 3]


def test_points_are_located_as_a_loop_would(zone_map: Path) -> None:
    draw = np.random.default_rng(5)
    x, y = draw.uniform(-74.25, -73.8, 20_000), draw.uniform(40.65, 40.8, 20_000)
    x[::1000], y[::999] = np.nan, np.inf
    found = read_zone_map(zone_map)
    numbers = [found.zones.numbers[place] if place >= 0 else None for place in found.locate(x, y)]
    assert numbers == [find_zone(*point) for point in zip(x.tolist(), y.tolist(), strict=True)]
    assert len(set(numbers)) == 5
    assert found.locate(np.empty(0), np.empty(0)).tolist() == []


def test_a_point_on_a_border_is_in_one_zone(tmp_path: Path) -> None:
    west, south = 10.0, 20.0
    squares = [make_square(west + SIDE, south), make_square(west, south)]
    features = [
        make_feature(number, {"type": "Polygon", "coordinates": square})
        for number, square in zip((4, 56), squares, strict=True)
    ]
    found = read_zone_map(write_map(tmp_path / "map.geojson", {"features": features}))
    x = np.array([west + SIDE / 2, west + SIDE, west + SIDE * 3 / 2, west, west - SIDE])
    assert found.locate(x, np.full(5, south + SIDE / 2)).tolist() == [1, 0, 0, 1, -1]


def test_a_hole_is_outside(tmp_path: Path) -> None:
    outer, inner = (
        make_square(10, 20)[0],
        [[10.004, 20.004], [10.004, 20.006], [10.006, 20.006], [10.004, 20.004]],
    )
    feature = make_feature(4, {"type": "Polygon", "coordinates": [outer, inner]})
    found = read_zone_map(write_map(tmp_path / "map.geojson", {"features": [feature]}))
    assert found.locate(np.array([10.002, 10.0045]), np.array([20.002, 20.0055])).tolist() == [0, -1]


def with_geometry(geometry: object) -> dict[str, Any]:
    return {"features": [make_feature(4, geometry)]}


SQUARE = {"type": "Polygon", "coordinates": make_square(-74, 40.7)}
BAD_MAPS: list[tuple[object, str]] = [
    ([], "not a GeoJSON"),
    ({"type": "FeatureCollection"}, "not a GeoJSON"),
    ({"features": []}, "not a GeoJSON"),
    ({"features": ["zone"]}, "without properties"),
    ({"features": [{"geometry": SQUARE}]}, "without properties"),
    ({"features": [make_feature(4, SQUARE, LocationID=None)]}, "no property 'locationid'"),
    ({"features": [make_feature(4, SQUARE, borough=None)]}, "no property 'borough'"),
    ({"features": [make_feature(4, SQUARE, zone=" ")]}, "no name or no borough"),
    ({"features": [make_feature(4, SQUARE, LocationID="four")]}, "not a whole number"),
    ({"features": [make_feature(4, SQUARE, LocationID=True)]}, "not a whole number"),
    ({"features": [make_feature(4, SQUARE), make_feature(56, SQUARE, LocationID=4)]}, "different names"),
    ({"features": [make_feature(264, None)]}, "no taxi zones"),
    (with_geometry(None), "not a Polygon or a MultiPolygon"),
    (with_geometry({"type": "Point", "coordinates": [-74, 40.7]}), "not a Polygon or a MultiPolygon"),
    (with_geometry({"type": "LineString", "coordinates": [[-74, 40], [-73, 40]]}), "not a Polygon or"),
    (with_geometry({"type": "Polygon"}), "damaged"),
    (with_geometry({"type": "Polygon", "coordinates": "far away"}), "damaged"),
    (with_geometry({"type": "Polygon", "coordinates": [[[-74, 40.7], [-73, 40.7]]]}), "damaged"),
    (with_geometry({"type": "Polygon", "coordinates": [[[None, 1], [1, 2], [2, 3], [None, 1]]]}), "damaged"),
    (with_geometry({"type": "Polygon", "coordinates": 7}), "damaged"),
    (with_geometry({"type": "Polygon", "coordinates": []}), "no shape"),
    (with_geometry({"type": "Polygon", "coordinates": make_square(988_000, 203_000)}), "not in degrees"),
]


@pytest.mark.parametrize(("data", "message"), BAD_MAPS)
def test_a_bad_map_gives_one_clear_error(data: object, message: str, tmp_path: Path) -> None:
    with pytest.raises(CountsError, match=message):
        read_zone_map(write_map(tmp_path / "map.geojson", data))


def test_progress_is_told(zone_map: Path, lookup: Path, tmp_path: Path) -> None:
    told: list[str] = []

    def tell(what: str, steps: int) -> Callable[[int], None]:
        return lambda done: told.append(what)

    count_taxis(write_2013(tmp_path / "trip_data_1.csv", invent_rides(50)), zone_map, progress=tell)
    assert told[0] == "Placing pickups in zones"
    told.clear()
    count_trips(write_parquet(tmp_path / "month.parquet", make_yellow(SOME)), lookup, progress=tell)
    assert told


def test_shapes_need_a_package_that_is_named(
    zone_map: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("tallytree.datasets.zone_map",):
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "shapely", None)
    with pytest.raises(CountsError, match=r"pip install 'tallytree\[geo\]'"):
        count_taxis(write_2013(tmp_path / "trip_data_1.csv", invent_rides(5)), zone_map)


def test_importing_loads_nothing_heavy() -> None:
    code = (
        "import sys, tallytree.datasets; "
        "print([m for m in ('duckdb', 'ibis', 'numba', 'pandas', 'shapely') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_bad_records_of_2013_give_one_clear_error(zone_map: Path, tmp_path: Path) -> None:
    rides = invent_rides(20)
    cut = write_2013(tmp_path / "cut.csv", rides)
    cut.write_bytes(cut.read_bytes()[:-40])
    files = [
        (write_2013(tmp_path / "none.csv", rides, HEADER_2013.replace("medallion", "taxi")), "'medallion'"),
        (write_2013(tmp_path / "no_header.csv", rides[1:], ",".join(rides[0])), "no column|cannot be read"),
        (write_2013(tmp_path / "words.csv", [("A", "west", "north")]), "cannot be read as trip records"),
        (cut, "cannot be read as trip records"),
    ]
    (tmp_path / "empty.csv").write_bytes(b"")
    (tmp_path / "odd.csv").write_bytes(cut.read_bytes().replace(b"CMT", b"\xff\xfe\xff")[:2000])
    files += [(tmp_path / name, "cannot be read|empty") for name in ("empty.csv", "odd.csv")]
    for path, message in files:
        with pytest.raises(CountsError, match=message) as caught:
            count_taxis(path, zone_map)
        assert "west" not in str(caught.value)
    with pytest.raises(CountsError, match="is not JSON"):
        count_taxis(files[0][0], write_2013(tmp_path / "map.csv", rides))
    with pytest.raises(CountsError, match="no file"):
        count_taxis(tmp_path / "trip_data_13.csv", zone_map)
    with pytest.raises(CountsError, match="must be CSV files"):
        count_taxis(write_parquet(tmp_path / "month.parquet", make_yellow(SOME)), zone_map)
