"""The shapes of the taxi zones: in which zone is a point?"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from tallytree.datasets.raw_files import FilePath, parse_json, read_text
from tallytree.datasets.zones import NOWHERE, Zone, Zones, make_zones, read_number, simplify
from tallytree.errors import CountsError

try:
    import shapely
except ImportError:
    raise CountsError(
        "Placing pickups in zones needs shapely, which is not installed: pip install 'tallytree[geo]'."
    ) from None

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

SHAPES = ("Polygon", "MultiPolygon")
WORLD = (-180.0, -90.0, 180.0, 90.0)


@dataclass(frozen=True, eq=False)
class ZoneMap:
    """Zones with their shapes; a zone may have several."""

    zones: Zones
    shapes: npt.NDArray[np.object_]
    leaf: Ints
    """Each shape's zone, as an index into the leaves."""

    def locate(self, longitude: Floats, latitude: Floats) -> Ints:
        """Return each point's zone, as an index into the leaves; -1 where there is none.

        A point on a border is in the first of its zones, so that it is counted once.
        """
        found = np.full(len(longitude), len(self.zones.numbers), dtype=np.int64)
        (inside,) = np.nonzero(np.isfinite(longitude) & np.isfinite(latitude))
        tree = shapely.STRtree(self.shapes)
        point, shape = tree.query(shapely.points(longitude[inside], latitude[inside]))
        point = inside[point]
        # Shape by shape, so that each one's own index answers for all points near it.
        order = np.argsort(shape, kind="stable")
        bounds = np.searchsorted(shape[order], np.arange(len(self.shapes) + 1))
        for at, (start, end) in enumerate(pairwise(bounds.tolist())):
            near = point[order[start:end]]
            hit = near[shapely.intersects_xy(self.shapes[at], longitude[near], latitude[near])]
            found[hit] = np.minimum(found[hit], self.leaf[at])
        return np.where(found < len(self.zones.numbers), found, -1)


def read_zone_map(path: FilePath) -> ZoneMap:
    """Read a GeoJSON of the zones in WGS84, with properties LocationID (or location_id), zone and borough.

    In the TLC's own shapes, the parts of a zone may have the same number: these are one zone.
    """
    data = parse_json(read_text(path))
    features = data.get("features") if isinstance(data, dict) else None
    if not isinstance(features, list) or not features:
        raise CountsError("The map of taxi zones is not a GeoJSON FeatureCollection.")
    known: dict[int, Zone] = {}
    numbers, shapes = [], []
    for feature in features:
        zone = _read_zone(feature)
        if zone.number in NOWHERE:
            continue
        if known.setdefault(zone.number, zone) != zone:
            raise CountsError("The map has a LocationID for two zones of different names.")
        numbers.append(zone.number)
        shapes.append(_read_shape(feature.get("geometry")))
    zones = make_zones(list(known.values()))
    leaf = {number: place for place, number in enumerate(zones.numbers)}
    array = np.array(shapes, dtype=np.object_)
    shapely.prepare(array)
    return ZoneMap(zones, array, np.array([leaf[number] for number in numbers], dtype=np.int64))


def _read_zone(feature: Any) -> Zone:
    given = feature.get("properties") if isinstance(feature, dict) else None
    if not isinstance(given, dict):
        raise CountsError("The map of taxi zones has a feature without properties.")
    properties = {simplify(name): value for name, value in given.items()}
    for name in ("locationid", "zone", "borough"):
        if properties.get(name) is None:
            raise CountsError(f"A zone of the map has no property {name!r}.")
    return Zone(
        read_number(properties["locationid"]),
        str(properties["borough"]).strip(),
        str(properties["zone"]).strip(),
    )


def _read_shape(geometry: Any) -> Any:
    if not isinstance(geometry, dict) or geometry.get("type") not in SHAPES:
        raise CountsError(f"A zone of the map is not a {' or a '.join(SHAPES)}.")
    try:
        shape = shapely.geometry.shape(geometry)
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, shapely.errors.ShapelyError):
        raise CountsError("The shape of a zone of the map is damaged.") from None
    if shape.is_empty:
        raise CountsError("A zone of the map has no shape.")
    west, south, east, north = shape.bounds
    if not (WORLD[0] <= west <= east <= WORLD[2] and WORLD[1] <= south <= north <= WORLD[3]):
        raise CountsError("The map is not in degrees: give the taxi zones in WGS84 (EPSG:4326).")
    return shape
