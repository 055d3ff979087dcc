"""Shapes of regions on a map: read from GeoJSON, matched with the regions, projected, packed for the page."""

from __future__ import annotations

import gzip
import json
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tallytree.errors import ReportError, describe, name_choices, show
from tallytree.hierarchy import Hierarchy
from tallytree.report.report_content import MOST_REGIONS, encode, fold, write_bytes

# Projection of degrees on the globe to a plane in which areas keep their proportions.

Points = npt.NDArray[np.float64]

LEAST_CONE = 0.05
"""Below this the cone is nearly a cylinder, and is treated as one."""


def project(points: Points) -> Points:
    """Project longitudes and latitudes to an equal-area map; other coordinates are planar already and stay.

    Uses Albers' conic projection, its standard parallels a sixth from the northern and the southern edge
    (Snyder, *Map Projections: a Working Manual*, 1987, equations 14-1 to 14-6 for the sphere). Around the
    equator, where the cone would be a cylinder, it uses Lambert's cylindrical projection.
    """
    longitude, latitude = points.T
    if np.abs(longitude).max() > 360 or np.abs(latitude).max() > 90:
        return points
    longitude = _turn(longitude)
    south, north = float(latitude.min()), float(latitude.max())
    first, second = (math.radians(south + part * (north - south)) for part in (1 / 6, 5 / 6))
    middle = math.radians((south + north) / 2)
    turned = np.radians(longitude - (longitude.min() + longitude.max()) / 2)
    sine = np.sin(np.radians(latitude))
    n = (math.sin(first) + math.sin(second)) / 2
    if abs(n) < LEAST_CONE:
        return np.column_stack([turned * math.cos(middle), sine / math.cos(middle)])
    c = math.cos(first) ** 2 + 2 * n * math.sin(first)
    radius = np.sqrt(np.maximum(c - 2 * n * sine, 0)) / n
    centre = math.sqrt(max(c - 2 * n * math.sin(middle), 0)) / n
    return np.column_stack([radius * np.sin(n * turned), centre - radius * np.cos(n * turned)])


def _turn(longitude: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Cut the longitudes at their widest gap, so that islands beyond the date line stay near."""
    around = np.unique(np.mod(longitude, 360))
    gaps = np.diff(around, append=around[0] + 360)
    start = around[(int(np.argmax(gaps)) + 1) % len(around)]
    turned: npt.NDArray[np.float64] = np.mod(np.mod(longitude, 360) - start, 360)
    return turned


Ints = npt.NDArray[np.int64]

GRID = 4096
"""The longer side of the map, in steps of the grid that points are rounded to."""
MOST_POINTS = 300_000
"""With more points, the grid is made coarser. Shared borders stay shared: equal points are rounded alike."""
MOST_BYTES = 500_000_000
LEAST_GRID = 64
MOST_FAR = 1e9
"""The largest coordinate: the Earth is 40 million metres around."""


@dataclass(frozen=True)
class ShapeMap:
    """A map as the page reads it."""

    level: int
    """The level of the regions that the shapes stand for."""
    width: int
    height: int
    text: str
    matched: int
    """The number of shapes that belong to a region."""
    unmatched: tuple[str, ...]
    """Keys of the shapes that belong to no region: they are drawn in grey."""
    missing: int
    """The number of regions of the level that have no shape."""


@dataclass(frozen=True)
class Shape:
    """One feature: its key and the rings of its polygons."""

    key: tuple[str, ...]
    rings: list[Points]


def read_shapes(file: Path, key: str, hierarchy: Hierarchy) -> ShapeMap:
    """Read a map from a GeoJSON file whose property ``key`` has the regions' names.

    ``key`` may name several properties with commas between them: together they are the last names of a
    region's path, such as ``STATE,COUNTY`` where counties have numbers that are unique only within a state.
    """
    fields = tuple(part.strip() for part in key.split(","))
    shapes = _read_features(_load(file), fields, show(file, most=150))
    level, index = _match(shapes, hierarchy)
    found = [index.get(shape.key) for shape in shapes]
    width, height, rings = _draw([shape.rings for shape in shapes])
    regions = [region for region in found if region is not None]
    return ShapeMap(
        level=level,
        width=width,
        height=height,
        text=_pack(found, rings),
        matched=len(regions),
        unmatched=tuple(
            "/".join(shape.key) for shape, region in zip(shapes, found, strict=True) if region is None
        ),
        missing=len(hierarchy.parents(level)) - len(set(regions)),
    )


def _load(file: Path) -> Any:
    shown = show(file, most=150)
    try:
        if file.stat().st_size > MOST_BYTES:
            raise ReportError(f"The shapes in {shown} are too large: simplify them first.")
        content = file.read_bytes()
        if content[:2] == b"\x1f\x8b":
            content = gzip.decompress(content)
        return json.loads(content)
    except OSError as error:
        raise ReportError(f"The shapes in {shown} cannot be read: {describe(error)}.") from None
    except (ValueError, EOFError, RecursionError) as error:
        if isinstance(error, ReportError):
            raise
        raise ReportError(f"{shown} is not a GeoJSON file.") from None


def _read_features(data: Any, fields: tuple[str, ...], shown: str) -> list[Shape]:
    features = data.get("features") if isinstance(data, dict) else None
    if not isinstance(features, list) or not features:
        raise ReportError(f"{shown} is not a GeoJSON file with features (a FeatureCollection).")
    shapes = []
    for number, feature in enumerate(features, start=1):
        properties = feature.get("properties") if isinstance(feature, dict) else None
        if not isinstance(properties, dict):
            raise ReportError(f"Feature {number} of {shown} has no properties.")
        for field in fields:
            if field not in properties:
                choices = name_choices(field, map(str, properties))
                raise ReportError(f"Feature {number} of {shown} has no property {show(field)}: {choices}")
        try:
            rings = list(_list_rings(feature.get("geometry")))
        except (TypeError, ValueError, AttributeError, OverflowError):
            raise ReportError(f"Feature {number} of {shown} is not made of polygons.") from None
        shapes.append(Shape(tuple(_as_name(properties[field]) for field in fields), rings))
    if not any(shape.rings for shape in shapes):
        raise ReportError(f"The features of {shown} have no polygons.")
    return shapes


def _as_name(value: Any) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _list_rings(geometry: Any) -> Iterator[Points]:
    """Yield the rings of all polygons; a feature may also have no geometry."""
    if geometry is None:
        return
    kind = geometry.get("type")
    if kind == "GeometryCollection":
        for part in geometry["geometries"]:
            yield from _list_rings(part)
        return
    if kind not in ("Polygon", "MultiPolygon"):
        raise ValueError
    coordinates: Any = geometry.get("coordinates")
    polygons: list[Any] = coordinates if kind == "MultiPolygon" else [coordinates]
    for polygon in polygons:
        for ring in polygon:
            points = np.array([point[:2] for point in ring], dtype=np.float64)
            if points.ndim != 2 or points.shape[1] != 2 or not (np.abs(points) < MOST_FAR).all():
                raise ValueError
            if len(points) >= 3:
                yield points


def _match(shapes: Sequence[Shape], hierarchy: Hierarchy) -> tuple[int, dict[tuple[str, ...], int]]:
    """Return the level to which most shapes belong, and the region of each key."""
    keys = {shape.key for shape in shapes}
    length = len(shapes[0].key)
    best: tuple[int, int, dict[tuple[str, ...], int]] | None = None
    repeated = 0
    seen = 0
    for level in range(len(hierarchy.levels)):
        seen += len(hierarchy.parents(level))
        if level and seen > MOST_REGIONS:
            break  # the page leaves these out
        ends = [path[-length:] for path in hierarchy.regions(level)]
        times = Counter(ends)
        # A name shared by several regions matches none of them.
        index = {end: place for place, end in enumerate(ends) if times[end] == 1}
        repeated += sum(times[key] > 1 for key in keys)
        hits = len(keys & index.keys())
        if hits and (best is None or hits >= best[0]):
            best = hits, level, index
    if best is None:
        why = " Several regions share a name: give more properties, such as STATE,COUNTY." if repeated else ""
        raise ReportError(
            f"None of the {len(shapes)} shapes belongs to a region: the first is "
            f"{show('/'.join(shapes[0].key))}, a region is "
            f"{show(ends[0][-1])}.{why}"
        )
    return best[1], best[2]


def _draw(shapes: Sequence[list[Points]]) -> tuple[int, int, list[list[Ints]]]:
    """Return the map's width and height, and every shape's rings on the finest grid that fits a page."""
    every = [ring for rings in shapes for ring in rings]
    flat = project(np.concatenate(every))
    low, high = flat.min(axis=0), flat.max(axis=0)
    extent = float(max(high - low)) or 1.0
    places = np.split(flat, np.cumsum([len(ring) for ring in every])[:-1])
    grid = GRID
    while True:
        rounded = [_round(place, low, high, grid / extent) for place in places]
        if sum(map(len, rounded)) <= MOST_POINTS or grid <= LEAST_GRID:
            break
        grid //= 2
    width, height = (max(1, math.ceil(side)) for side in (high - low) * grid / extent)
    rings = iter(rounded)
    return width, height, [_keep([next(rings) for _ in shape]) for shape in shapes]


def _round(points: Points, low: Points, high: Points, scale: float) -> Ints:
    """Round to the grid, north up; merge coinciding points, and drop those inside a straight line."""
    grid = np.rint((points - low) * scale)
    grid[:, 1] = np.rint((high[1] - low[1]) * scale) - grid[:, 1]
    ring = grid.astype(np.int64)
    differ = np.any(ring != np.roll(ring, 1, axis=0), axis=1)
    ring = ring[differ] if differ.any() else ring[:1]
    if len(ring) < 3:
        return ring
    before, after = ring - np.roll(ring, 1, axis=0), np.roll(ring, -1, axis=0) - ring
    straight = before[:, 0] * after[:, 1] == before[:, 1] * after[:, 0]
    forward = (before * after).sum(axis=1) > 0
    kept: Ints = ring[~(straight & forward)]
    return kept


def _keep(rings: list[Ints]) -> list[Ints]:
    """Keep the visible rings of a shape; one that is too small becomes a dot."""
    seen = [ring for ring in rings if len(ring) >= 3]
    if seen or not rings:
        return seen
    x, y = rings[0][0].tolist()
    return [np.array([[x, y], [x + 2, y], [x + 2, y + 2], [x, y + 2]])]


def _pack(regions: Sequence[int | None], shapes: Sequence[list[Ints]]) -> str:
    """Pack each shape: its region (from 1; 0 is none), its rings, and their points as differences."""
    numbers: list[Ints] = [np.array([len(shapes)])]
    for region, rings in zip(regions, shapes, strict=True):
        numbers.append(np.array([0 if region is None else region + 1, len(rings)]))
        for ring in rings:
            steps = np.diff(ring, axis=0, prepend=np.zeros((1, 2), dtype=np.int64)).ravel()
            numbers.append(np.array([len(ring)]))
            numbers.append(fold(steps))
    return write_bytes(encode(np.concatenate(numbers))[0])
