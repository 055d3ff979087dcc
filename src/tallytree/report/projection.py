"""From degrees on the globe to a plane in which areas keep their proportions."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

Points = npt.NDArray[np.float64]

LEAST_CONE = 0.05
"""Below this the cone is nearly a cylinder, and is taken as one."""


def project(points: Points) -> Points:
    """Longitudes and latitudes on an equal-area map; other coordinates are on a plane already and stay.

    Albers' conic projection, its standard parallels a sixth from the northern and the southern edge (Snyder,
    *Map Projections: a Working Manual*, 1987, equations 14-1 to 14-6 for the sphere). Around the equator,
    where the cone would be a cylinder, Lambert's cylindrical one.
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
    """The longitudes cut open where the widest gap is, so that islands beyond the date line stay near."""
    around = np.unique(np.mod(longitude, 360))
    gaps = np.diff(around, append=around[0] + 360)
    start = around[(int(np.argmax(gaps)) + 1) % len(around)]
    turned: npt.NDArray[np.float64] = np.mod(np.mod(longitude, 360) - start, 360)
    return turned
