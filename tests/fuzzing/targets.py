"""The files that are damaged, and what reads them."""

from __future__ import annotations

import json
import random
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet

import tallytree as tt
from tallytree.cli.specs import ReleaseSpec, read_spec
from tallytree.counts.count_files import write_counts
from tallytree.datasets import read_county_table, read_household_sizes
from tallytree.datasets.zone_map import read_zone_map
from tallytree.datasets.zones import read_zones
from tallytree.errors import InputError
from tallytree.files import hash_file
from tallytree.releases.kept_replicates import ReplicateFile
from tallytree.releases.manifest import parse_manifest
from tallytree.report.map_shapes import read_shapes
from tallytree.report.report_page import write_page
from tests.fuzzing.damage import damage
from tests.fuzzing.ledger_damage import damage_ledger
from tests.fuzzing.ledger_target import SEEDS, use_ledger

HIERARCHY = tt.Hierarchy.from_paths(["nation", "state"], [("US", "GA"), ("US", "NY")])
COUNTS = tt.GroupCounts(HIERARCHY, (1, 3), [[3, 0, 1], [0, 2, 1]])
PEOPLE = pa.table(
    {"household": [1, 1, 2], "person": [1, 2, 3], "hours": [1, 2, 3], "state": ["GA", "GA", "NY"]}
)

SPEC = b"""\
source = "people.parquet"
group = ["household"]
regions = ["state"]
sizes = "1:20"
epsilon = 0.5
max_records = 2
out = "release"
[budget]
root = 1
state = "2.5"
"""
HOUSEHOLDS = b"""\
"GEO_ID","NAME","H9_001N","H9_002N","H9_003N","H9_004N","H9_005N","H9_006N","H9_007N","H9_008N",
"Geography","Geographic Area Name"," !!Total"," !!1-person"," !!2"," !!3"," !!4"," !!5"," !!6"," !!7-or-more",
"0500000US01001","Autauga County","10","1","2","3","1","1","1","1",
"""
ZONES = b"""\
"LocationID","Borough","Zone","service_zone"
1,"EWR","Newark Airport","EWR"
4,"Manhattan","ABC","Yellow"
"""
ZONE_MAP = json.dumps(
    {
        "type": "FeatureCollection",
        "features": [
            {
                "type": "Feature",
                "properties": {"LocationID": 4, "zone": "ABC", "borough": "Manhattan"},
                "geometry": {"type": "Polygon", "coordinates": [[[0, 0], [1, 0], [1, 1], [0, 1], [0, 0]]]},
            }
        ],
    }
).encode()


@dataclass(frozen=True)
class Target:
    """A kind of file: a whole one to begin with, and what reads it."""

    seed: bytes
    read: Callable[[bytes], object]
    damage: Callable[[bytes, random.Random], bytes] = damage
    more_seeds: Sequence[bytes] = ()

    def run(self, data: bytes) -> None:
        """Read it; only errors of ours are right."""
        try:
            self.read(data)
        except InputError as error:
            message = str(error)
            assert message, "an error without a message"
            assert len(message) < 1000, "an error too long to read"


def _in_file(name: str, read: Callable[[Path], object]) -> Callable[[bytes], object]:
    def run(data: bytes) -> object:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / name
            path.write_bytes(data)
            return read(path)

    return run


def _read_counts(path: Path) -> object:
    return tt.GroupCounts.from_table(path, regions=["state"], sizes=(1, 3))


def _count_people(path: Path) -> object:
    return tt.count_groups(
        path, group="household", regions=["state"], person="person", quantity="hours", sizes=(1, 3),
        max_quantity=1, engine=tt.Engine(threads=1),
    )  # fmt: skip


def _make_release() -> dict[str, bytes]:
    with tempfile.TemporaryDirectory() as folder:
        made = tt.add_intervals(tt.release(COUNTS, epsilon="1"), replicates=10, keep_replicates=True)
        made.save(f"{folder}/release")
        return {file.name: file.read_bytes() for file in Path(folder, "release").iterdir()}


RELEASE = _make_release()


def _load_with(name: str) -> Callable[[bytes], object]:
    """A release folder in which one file is damaged: checked, and shown as a report."""

    def run(data: bytes) -> object:
        with tempfile.TemporaryDirectory() as folder:
            for other, content in RELEASE.items():
                Path(folder, other).write_bytes(data if other == name else content)
            release = tt.load(folder)
            return write_page(release, release.verify())

    return run


def _read_replicates(path: Path) -> object:
    """Whatever its digest: a file that is not the one of the manifest would not be read at all."""
    file = ReplicateFile(path, hash_file(path), COUNTS.hierarchy, COUNTS.sizes, 10)
    file.check_footer()
    return file.read()


def _to_parquet(table: pa.Table) -> bytes:
    file = BytesIO()
    pa_parquet.write_table(table, file)
    return file.getvalue()


def _to_csv(table: pa.Table) -> bytes:
    file = BytesIO()
    pa_csv.write_csv(table, file)
    return file.getvalue()


def _save_counts() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        counts = tt.count_groups(PEOPLE, group="household", regions=["state"], sizes=(1, 3))
        write_counts(counts, Path(folder, "counts.parquet"), as_csv=False)
        return Path(folder, "counts.parquet").read_bytes()


COUNTS_CSV = b"state,size,groups\nGA,1,3\nGA,3,1\nNY,2,2\n"
COUNTY_TABLE = (
    b"state_fips,fips,households,size_1,size_2,size_3,size_4,size_5,size_6,size_7plus,persons_in_7plus\n"
    b"01,01001,28,7,6,5,4,3,2,1,8\n"
)

TARGETS: dict[str, Target] = {
    "spec": Target(SPEC, _in_file("release.toml", lambda path: ReleaseSpec.from_values(read_spec(path)))),
    "counts-csv": Target(COUNTS_CSV, _in_file("counts.csv", _read_counts)),
    "counts-parquet": Target(_save_counts(), _in_file("counts.parquet", _read_counts)),
    "regions": Target(
        b"state,county\nGA,a\nNY,b\n",
        _in_file("regions.csv", lambda path: tt.read_hierarchy(path, regions=["state", "county"])),
    ),
    "people-csv": Target(_to_csv(PEOPLE), _in_file("people.csv", _count_people)),
    "people-parquet": Target(_to_parquet(PEOPLE), _in_file("people.parquet", _count_people)),
    "manifest": Target(
        RELEASE["manifest.json"], lambda data: parse_manifest(data.decode("utf-8", errors="replace"))
    ),
    "release-manifest": Target(RELEASE["manifest.json"], _load_with("manifest.json")),
    "release-counts": Target(RELEASE["release.parquet"], _load_with("release.parquet")),
    "release-measurements": Target(RELEASE["measurements.parquet"], _load_with("measurements.parquet")),
    "release-intervals": Target(RELEASE["intervals.parquet"], _load_with("intervals.parquet")),
    "release-summaries": Target(RELEASE["summaries.parquet"], _load_with("summaries.parquet")),
    "release-replicates": Target(
        RELEASE["replicates.parquet"], _in_file("replicates.parquet", _read_replicates)
    ),
    "ledger": Target(SEEDS[0], use_ledger, damage_ledger, SEEDS[1:]),
    "census-households": Target(HOUSEHOLDS, _in_file("H9.csv", read_household_sizes)),
    "census-counties": Target(COUNTY_TABLE, _in_file("counties.csv", read_county_table)),
    "taxi-zones": Target(ZONES, _in_file("zones.csv", read_zones)),
    "taxi-zone-map": Target(ZONE_MAP, _in_file("zones.geojson", read_zone_map)),
    "report-shapes": Target(
        ZONE_MAP.replace(b"ABC", b"GA"),
        _in_file("shapes.geojson", lambda path: read_shapes(path, "zone", HIERARCHY)),
    ),
}
