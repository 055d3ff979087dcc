"""Tables of areas: which regions make up each area of a user's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from tallytree.counts.arrow import Table, is_text, read_columns
from tallytree.errors import CountsError, show
from tallytree.hierarchy import Hierarchy, Path
from tallytree.intervals.region_sets import RegionPath

AREA, REGION = "area", "region"

Areas = Mapping[str, Sequence[RegionPath]]


def read_areas(table: Table, hierarchy: Hierarchy) -> Areas:
    """Read a table with a row for each region of each area.

    The column ``area`` names the area. The region is in the column ``region``, as a path such as US/GA, or in
    one column for each level below the root, empty below the region's own level.

    >>> import pyarrow as pa
    >>> regions = Hierarchy.from_paths(["nation", "state"], [("US", "GA"), ("US", "NY")])
    >>> read_areas(pa.table({"area": ["South"], "region": ["US/GA"]}), regions)
    {'South': ['US/GA']}
    >>> read_areas(pa.table({"area": ["South"], "state": ["GA"]}), regions)
    {'South': [('US', 'GA')]}
    """
    levels = list(hierarchy.levels[1:])
    if AREA in levels:
        raise CountsError(
            f"A level of the release is called {AREA!r}: give the areas in Python, as a mapping."
        )
    data = read_columns(table, [AREA], text=[AREA, REGION, *levels], also=[REGION, *levels])
    area = _read_names(data, AREA)
    regions: Sequence[RegionPath | None]
    if REGION in data.column_names and REGION not in levels:
        regions = _read_names(data, REGION)
    else:
        regions = _read_paths(data, [name for name in levels if name in data.column_names], hierarchy)
    found: dict[str, list[RegionPath]] = {}
    for row, (name, region) in enumerate(zip(area, regions, strict=True), 1):
        if not name or not region:
            raise CountsError(f"In row {row} of the table of areas, the area or the region is missing.")
        found.setdefault(name, []).append(region)
    if not found:
        raise CountsError("The table of areas has no rows.")
    return found


def _read_paths(data: pa.Table, levels: Sequence[str], hierarchy: Hierarchy) -> list[Path]:
    if not levels:
        some = ", ".join(map(show, hierarchy.levels[1:4]))
        raise CountsError(
            f"The table of areas has neither a column {REGION!r} nor columns of the levels below the root: "
            f"{some or 'there are none'}."
        )
    root = hierarchy.path(0, 0)
    columns = [_read_names(data, name) for name in levels]
    return [(*root, *(name for name in row if name)) for row in zip(*columns, strict=True)]


def _read_names(data: pa.Table, column: str) -> list[str | None]:
    kind = data[column].type
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    if not (is_text(kind) or pa.types.is_integer(kind) or pa.types.is_null(kind)):
        raise CountsError(f"Column {show(column)} of the table of areas must hold text.")
    return [None if value is None else str(value) for value in data[column].to_pylist()]
