"""The taxi zones of New York City, as the Taxi and Limousine Commission (TLC) numbers and names them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa

from tallytree.datasets.raw_files import FilePath, find_column, fit_rows, parse_csv, read_text
from tallytree.errors import CountsError
from tallytree.hierarchy import Hierarchy

LEVELS = ("city", "borough", "zone")
ROOT = "New York City"

NOWHERE = (264, 265)
"""The TLC's numbers for an unknown zone and for one outside the city; what they are called has changed."""


class Zone(NamedTuple):
    """One of the taxi zones."""

    number: int
    borough: str
    name: str


@dataclass(frozen=True, eq=False)
class Zones:
    """All zones in which a pickup can be counted."""

    hierarchy: Hierarchy
    """City, boroughs and zones; a name that two zones of a borough share has the zone's number added."""
    numbers: tuple[int, ...]
    """The TLC's number (LocationID) of each leaf, in their order."""

    def tabulate(self) -> pa.Table:
        """Return a table with a row for each zone: ``number``, ``borough`` and ``zone``."""
        return pa.table(
            {
                "number": pa.array(self.numbers, pa.int32()),
                "borough": [borough for _, borough, _ in self.hierarchy.leaves],
                "zone": [zone for _, _, zone in self.hierarchy.leaves],
            }
        )


def read_zones(path: FilePath) -> Zones:
    """Read the lookup table that the TLC publishes, a CSV: LocationID, Borough, Zone (and service_zone)."""
    table = parse_csv(read_text(path))
    header = [simplify(name) for name in table[0]] if table else []
    number, borough, name = (find_column(header, column) for column in ("locationid", "borough", "zone"))
    zones = [
        Zone(read_number(row[number]), row[borough].strip(), row[name].strip())
        for row in fit_rows(header, table[1:])
    ]
    if len({zone.number for zone in zones}) < len(zones):
        raise CountsError("The table of zones has a LocationID twice.")
    return make_zones(zones)


def make_zones(zones: Sequence[Zone]) -> Zones:
    """Return the zones with their hierarchy, without the numbers that stand for no zone."""
    places = [zone for zone in zones if zone.number not in NOWHERE]
    if not places:
        raise CountsError("There are no taxi zones.")
    if not all(zone.borough and zone.name for zone in places):
        raise CountsError("A taxi zone has no name or no borough.")
    shared = Counter((zone.borough, zone.name) for zone in places)
    paths = [
        (ROOT, borough, f"{name} ({number})" if shared[borough, name] > 1 else name)
        for number, borough, name in places
    ]
    return Zones(Hierarchy.from_paths(LEVELS, paths), tuple(zone.number for zone in places))


def read_number(value: object) -> int:
    """Return a LocationID, which some files hold as text, as a number."""
    if isinstance(value, bool) or not re.fullmatch("[0-9]{1,6}", str(value).strip()):
        raise CountsError("A LocationID of the taxi zones is not a whole number.")
    return int(str(value))


def simplify(name: object) -> str:
    """Return a column's name without what differs between files: LocationID, location_id, locationid."""
    return str(name).strip().lower().replace("_", "")
