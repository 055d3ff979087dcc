"""Counts and measurements as tables: a column for each level, null below the row's own level.

Tables may have a billion rows: they are made and read a few regions at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tallytree.arrays import cut_rows, get_cells, get_rows, get_shape
from tallytree.errors import FolderError, HierarchyError, ViewError, show
from tallytree.hierarchy import Hierarchy
from tallytree.path_trees import encode_column
from tallytree.releases.flags import FlagLimits
from tallytree.sizes import SizeClasses, Sizes, list_edges

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

# Arrow tables as data frames of pandas and Polars, which are optional.


def make_pandas(table: pa.Table) -> pd.DataFrame:
    """Return the table as a pandas data frame."""
    try:
        frame: pd.DataFrame = table.to_pandas()
    except ImportError:
        raise ViewError("to_pandas needs pandas, which is not installed: pip install pandas.") from None
    return frame


def make_polars(table: pa.Table) -> pl.DataFrame:
    """Return the table as a Polars data frame."""
    try:
        import polars as pl
    except ImportError:
        raise ViewError("to_polars needs Polars, which is not installed: pip install polars.") from None
    return pl.DataFrame(table)


Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class CellRows:
    """Some cells of a level, one after the other, and what is known of each."""

    size: Ints
    groups: Ints
    total: Ints
    """The groups of the cell's region."""
    low: Ints
    high: Ints
    bias: npt.NDArray[np.float32]
    error: npt.NDArray[np.float32]
    limits: FlagLimits
    """Which relative errors are good, and which are usable with care."""


@dataclass(frozen=True)
class Column:
    """A column of the table of cells besides their groups, where there are intervals."""

    name: str
    type: pa.DataType
    find: Callable[[CellRows], npt.NDArray[Any]]


BOUNDS = ("groups_low", "groups_high", "groups_bias", "groups_error")
"""The columns that the intervals are read from; the others follow from them and the counts."""

COLUMNS: tuple[Column, ...] = (
    Column("groups_low", pa.int64(), attrgetter("low")),
    Column("groups_high", pa.int64(), attrgetter("high")),
    Column("groups_bias", pa.float32(), attrgetter("bias")),
    Column("groups_error", pa.float32(), attrgetter("error")),
    Column("flag", pa.string(), lambda cells: cells.limits.find(cells.groups, cells.low, cells.high)),
)


def find_columns(names: Sequence[str] | None = None) -> tuple[Column, ...]:
    """Return the columns of these names; by default all."""
    known = {column.name: column for column in COLUMNS}
    for name in () if names is None else names:
        if name not in known:
            raise FolderError(f"The release has a column that this version does not know: {show(name)}.")
    return tuple(known[name] for name in (known if names is None else names))


FIXED = (
    *("level", "size", "size_high", "groups", "measured"),
    *("statistic", "value", "low", "high", "bias", "error", "estimate", "variance"),
)
"""The columns other than the levels: of counts and measurements, summaries and unbiased estimates."""

NAME = pa.dictionary(pa.int32(), pa.string())
"""The type of names in memory: our files have them as text, each stored once for every few regions."""


def check_level_names(levels: Sequence[str]) -> None:
    """Refuse names of levels, which become columns, that other columns have."""
    for name in levels:
        if name in (*FIXED, *(column.name for column in COLUMNS)):
            raise HierarchyError(
                f"A level may not be called {show(name)}: release files have a column of that name."
            )


def make_schema(levels: Sequence[str], *values: str, sizes: Sizes | None = None) -> pa.Schema:
    """Return the schema of a table: of classes, the last size too, which the last class does not have."""
    names = [(name, NAME) for name in (*levels, "level")]
    types = {column.name: column.type for column in COLUMNS}
    size = ("size", "size_high") if isinstance(sizes, SizeClasses) else ("size",)
    return pa.schema([*names, *((name, types.get(name, pa.int64())) for name in (*size, *values))])


def list_sizes(sizes: Sizes, place: Ints) -> list[pa.Array[Any]]:
    """Return the columns of sizes: the sizes at these places or, of classes, the first and the last size."""
    edges = np.array(list_edges(sizes))
    columns: list[pa.Array[Any]] = [pa.array(edges[place])]
    if isinstance(sizes, SizeClasses):
        last = np.append(edges[1:] - 1, 0)
        columns.append(pa.array(last[place], mask=place == len(edges) - 1))
    return columns


def stream(parts: Iterable[pa.Table], schema: pa.Schema) -> pa.RecordBatchReader:
    """Stream tables one after the other, with names as plain text, for consumers that read in parts."""
    plain = make_plain(schema)
    return pa.RecordBatchReader.from_batches(
        plain, (batch for part in parts for batch in part.cast(plain).to_batches())
    )


def make_plain(schema: pa.Schema) -> pa.Schema:
    """Return the same schema with names as plain text."""
    types = {f.name: pa.string() if pa.types.is_dictionary(f.type) else f.type for f in schema}
    return pa.schema(list(types.items()))


def tabulate_parts(
    hierarchy: Hierarchy, sizes: Sizes, arrays: Sequence[Ints], *, value: str, zeros: bool
) -> Iterator[pa.Table]:
    """Yield a row for every region and size, level by level, a few regions at a time; zeros if ``zeros``."""
    for level in range(len(hierarchy.levels)):
        for some in cut_rows(*get_shape(arrays, level)):
            yield tabulate_rows(hierarchy, sizes, arrays, level, some, value=value, zeros=zeros)


def tabulate_rows(
    hierarchy: Hierarchy,
    sizes: Sizes,
    arrays: Sequence[Ints],
    level: int,
    some: tuple[int, int],
    *,
    value: str,
    zeros: bool,
) -> pa.Table:
    """Tabulate some regions of a level, from one index to another."""
    start, stop = some
    if zeros:
        rows = get_rows(arrays, level, start, stop)
        region = np.repeat(np.arange(stop - start), rows.shape[1])
        size, values = np.tile(np.arange(rows.shape[1]), stop - start), rows.reshape(-1)
    else:
        region, size, values = get_cells(arrays, level, start, stop)
        region = region - start
    names = name_regions(hierarchy, level, start, stop, region)
    columns = [*names, repeat_name(hierarchy.levels[level], len(region))]
    schema = make_schema(hierarchy.levels, value, sizes=sizes)
    return pa.table([*columns, *list_sizes(sizes, size), pa.array(values)], schema=schema)


def name_regions(
    hierarchy: Hierarchy, level: int, start: int, stop: int, rows: Ints
) -> list[pa.DictionaryArray[Any, Any]]:
    """Return the names, at each level, of the regions ``start + rows`` of a level."""
    columns = []
    place = np.arange(start, stop)
    for depth in range(level, -1, -1):
        regions, code = np.unique(place, return_inverse=True)
        names = encode_column(hierarchy.names(depth).take(regions))  # regions may share a name
        columns.append(_make_column(names.codes[code][rows], names.names.cast(pa.string())))
        place = hierarchy.parents(depth)[place]
    nothing = pa.array(np.zeros(len(rows), dtype=np.int32), mask=np.ones(len(rows), dtype=np.bool_))
    below = [_make_column(nothing, pa.array([], pa.string()))] * (len(hierarchy.levels) - level - 1)
    return [*columns[::-1], *below]


def repeat_name(name: str, rows: int) -> pa.DictionaryArray[Any, Any]:
    """Return a column with one name in all rows."""
    return _make_column(np.zeros(rows, dtype=np.int32), pa.array([name], pa.string()))


def _make_column(codes: Any, names: pa.Array[Any]) -> pa.DictionaryArray[Any, Any]:
    return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), names)
