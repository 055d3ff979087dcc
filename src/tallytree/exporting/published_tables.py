"""What is exported: tables of counts and of regions, with a description of each column.

A table is made a few regions at a time, whatever its size.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv as pa_csv

from tallytree.arrays import cut_rows, get_rows, get_shape
from tallytree.hierarchy import Hierarchy
from tallytree.releases.interval_bounds import make_cell_schema, tabulate_cells
from tallytree.releases.release_columns import (
    NAME,
    make_plain,
    make_schema,
    name_regions,
    repeat_name,
    tabulate_parts,
)
from tallytree.releases.released import Released
from tallytree.releases.statistics import find_statistics, list_statistics, summarize
from tallytree.sizes import SizeClasses, count_sizes, list_edges, name_size

ENDS = ("low", "high")
WHOLE = ("count", "size")
"""The kinds of statistics that are whole numbers."""

ABOUT = {
    "level": "The level that the row is about.",
    "size": "The size of the groups; of a class, the smallest one.",
    "size_high": "The largest size of the class; empty for the last class, which has no end.",
    "groups": "The released number of groups.",
    "groups_low": "The lower end of the interval of the true number of groups.",
    "groups_high": "The upper end of the interval of the true number of groups.",
    "groups_bias": "The estimated bias of the released number: its mean error.",
    "groups_error": "The estimated standard error of the released number.",
    "flag": "By how far the interval reaches: good, care (usable with care) or noise (mostly noise).",
}
STATISTICS = {
    "groups": "The number of groups",
    "size_sum": "The sum of the sizes of all groups",
    "size_mean": "The mean size of a group",
    "size_sum_least": "The least that the sum of the sizes of all groups can be",
    "size_mean_least": "The least that the mean size of a group can be",
    "median": "The median size of a group",
    "q10": "The size that a tenth of the groups do not exceed",
    "q25": "The size that a quarter of the groups do not exceed",
    "q75": "The size that three quarters of the groups do not exceed",
    "q90": "The size that nine tenths of the groups do not exceed",
}
"""What columns and statistics are; one that an extension added is described by its name alone."""


@dataclass(frozen=True)
class ExportColumn:
    """A column of a table."""

    name: str
    type: pa.DataType
    about: str


@dataclass(frozen=True, eq=False)
class ExportTable:
    """A table with its description."""

    name: str
    """In the name of its file."""
    about: str
    columns: tuple[ExportColumn, ...]
    make_parts: Callable[[], Iterator[list[pa.Array[Any]]]]
    """Yield the columns of some rows at a time, with names as dictionaries."""

    @property
    def schema(self) -> pa.Schema:
        """The columns' names and types."""
        return pa.schema([(column.name, column.type) for column in self.columns])

    def stream(self, change_names: Callable[[str], str] = str) -> Iterator[pa.Table]:
        """Yield the rows, some at a time, with names as plain text, after a change of each."""
        plain = make_plain(self.schema)
        for part in self.make_parts():
            yield pa.table([_change_text(column, change_names) for column in part], schema=plain)


def _change_text(column: pa.Array[Any], change: Callable[[str], str]) -> pa.Array[Any]:
    """Return a column with its text changed: each different text once."""
    coded: Any = column.dictionary_encode() if pa.types.is_string(column.type) else column
    if not isinstance(coded, pa.DictionaryArray):
        return column
    texts = pa.array([change(str(text)) for text in coded.dictionary.to_pylist()], pa.string())
    return pa.DictionaryArray.from_arrays(coded.indices, texts).cast(pa.string())


_FORMULA = re.compile("'*[=+@\t\r-]")


def guard(text: str) -> str:
    """Return text that no spreadsheet takes for a formula, with an apostrophe before one.

    A text that begins like a guarded one gets an apostrophe too, so that the guard can be taken off again.

    >>> guard("=1+1"), guard("'=1+1"), guard("'s-Gravenhage")
    ("'=1+1", "''=1+1", "'s-Gravenhage")
    """
    return f"'{text}" if _FORMULA.match(text) else text


def guard_table(table: pa.Table) -> pa.Table:
    """Return a table with its text and the names of its columns guarded, for a CSV file that people open."""
    columns = [_change_text(column.combine_chunks(), guard) for column in table.columns]
    return pa.table(columns, names=[guard(name) for name in table.column_names])


def write_csv(table: ExportTable, path: Path) -> int:
    """Write a table as UTF-8 with a header, guarded, some rows at a time; return the number of rows."""
    plain = make_plain(table.schema)
    header = pa.schema([(guard(field.name), field.type) for field in plain])
    rows = 0
    with pa_csv.CSVWriter(path, header) as writer:
        for part in table.stream(guard):
            writer.write_table(part.rename_columns(header.names))
            rows += part.num_rows
    return rows


Kind = Literal["integer", "number", "boolean", "text"]


def find_kind(kind: pa.DataType) -> Kind:
    """Return what the values of a column are, for formats that have types of their own."""
    if pa.types.is_integer(kind):
        return "integer"
    if pa.types.is_floating(kind):
        return "number"
    return "boolean" if pa.types.is_boolean(kind) else "text"


def make_unique(names: Iterable[str]) -> list[str]:
    """Return names of columns, with an underscore behind one that is there already: levels may be called so.

    >>> make_unique(["nation", "1-4", "1-4"])
    ['nation', '1-4', '1-4_']
    """
    found: dict[str, None] = {}
    for given in names:
        name = given
        while name in found:
            name += "_"
        found[name] = None
    return list(found)


def describe_counts(release: Released) -> ExportTable:
    """Return the table with a row for each region and size, without the rows that have no groups."""
    say, sizes, levels = release.words.say, release.sizes, release.hierarchy.levels
    schema = get_cell_schema(release)
    has_classes = isinstance(sizes, SizeClasses)
    columns = [_describe_column(name, schema.field(name).type, levels, say) for name in schema.names]
    if has_classes:
        label = make_unique([*schema.names, "size_label"])[-1]
        place = schema.names.index("groups")
        about = say("The class of group sizes in words: 5-9, or 50+ for 50 and more.")
        columns.insert(place, ExportColumn(label, NAME, about))
    labels = pa.array([name_size(sizes, at) for at in range(count_sizes(sizes))])

    def make_parts() -> Iterator[list[pa.Array[Any]]]:
        for part in tabulate_cell_parts(release, release.hierarchy):
            made: list[Any] = [column.combine_chunks() for column in part.columns]
            if has_classes:
                made.insert(place, pa.DictionaryArray.from_arrays(find_places(part, release), labels))
            yield made

    empty = "A region and size without a row has no groups"
    more = "" if release.intervals is None else ", and its interval ends at 0"
    return ExportTable(
        "counts", say(f"Groups by region and size. {empty}{more}."), tuple(columns), make_parts
    )


def get_cell_schema(release: Released) -> pa.Schema:
    """Return the schema of the release's own table."""
    if release.intervals is None:
        return make_schema(release.hierarchy.levels, "groups", sizes=release.sizes)
    return make_cell_schema(release.hierarchy, release.sizes)


def tabulate_cell_parts(release: Released, hierarchy: Hierarchy) -> Iterator[pa.Table]:
    """Yield the rows of the release's own table, with the names of a ``hierarchy`` of the same shape."""
    where = hierarchy, release.sizes, release.counts
    if release.intervals is None:
        return tabulate_parts(*where, value="groups", zeros=False)
    return tabulate_cells(release.intervals, *where)


def find_places(part: pa.Table, release: Released) -> pa.Array[Any]:
    """Return the place of each row's size among the sizes."""
    places = np.searchsorted(np.array(list_edges(release.sizes)), part["size"].to_numpy())
    return pa.array(places.astype(np.int32))


def _describe_column(
    name: str, kind: pa.DataType, levels: Sequence[str], say: Callable[[str], str]
) -> ExportColumn:
    if name in levels:
        below = "" if name == levels[0] else "; empty in rows about regions above it"
        return ExportColumn(name, kind, f"The name of the region at this level{below}.")
    return ExportColumn(name, kind, say(ABOUT.get(name, "")))


def describe_wide_counts(release: Released) -> ExportTable:
    """Return the table with a row for each region, and a column for each size."""
    say, sizes, found = release.words.say, release.sizes, release.intervals
    names = [name_size(sizes, place) for place in range(count_sizes(sizes))]
    given = [("groups", "The number of groups of all sizes.")]
    for name in names:
        given.append((name, f"The released number of groups of size {name}."))
        if found is not None:
            given += [(f"{name} {end}", f"The {end} end of the interval for size {name}.") for end in ENDS]

    def make_numbers(level: int, start: int, stop: int) -> list[npt.NDArray[Any]]:
        rows = get_rows(release.counts, level, start, stop)
        if found is None:
            return [rows.sum(axis=1), *rows.T]
        cells = found.cells[level]
        ends = cells.low[start:stop], cells.high[start:stop]
        return [rows.sum(axis=1), *np.stack([rows, *ends], axis=2).reshape(len(rows), -1).T]

    return _describe_regions(
        release,
        "counts",
        say("The number of groups of each size in each region, in one row."),
        [ExportColumn(name, pa.int64(), say(about)) for name, about in given],
        make_numbers,
    )


def describe_summaries(release: Released) -> ExportTable:
    """Return the table with a row for each region: its groups, their mean size and more, with intervals."""
    say, found = release.words.say, release.intervals
    statistics = list_statistics(release.sizes) if found is None else find_statistics(found.statistics)
    columns = []
    for statistic in statistics:
        kind = pa.int64() if statistic.kind in WHOLE else pa.float64()
        about = say(STATISTICS.get(statistic.name, statistic.name))
        columns.append(ExportColumn(statistic.name, kind, f"{about}."))
        if found is not None:
            columns += [
                ExportColumn(f"{statistic.name}_{end}", kind, f"{about}: the {end} end of its interval.")
                for end in ENDS
            ]

    def make_numbers(level: int, start: int, stop: int) -> list[npt.NDArray[Any]]:
        if found is None:
            return list(summarize(get_rows(release.counts, level, start, stop), release.sizes, statistics).T)
        bounds = found.summaries[level]
        parts = [array[start:stop] for array in (bounds.value, bounds.low, bounds.high)]
        return list(np.stack(parts, axis=2).reshape(stop - start, -1).T)

    about = say("Summary statistics of the groups of each region.")
    return _describe_regions(release, "regions", about, columns, make_numbers)


def _describe_regions(
    release: Released,
    name: str,
    about: str,
    numbers: Sequence[ExportColumn],
    make_numbers: Callable[[int, int, int], Sequence[npt.NDArray[Any]]],
) -> ExportTable:
    """Return a table with a row for each region: its names, its level, and some numbers."""
    hierarchy = release.hierarchy
    keys = [_describe_column(key, NAME, hierarchy.levels, release.words.say) for key in hierarchy.levels]
    keys.append(_describe_column("level", NAME, (), release.words.say))
    described = [*keys, *numbers]
    unique = make_unique(column.name for column in described)
    columns = [ExportColumn(own, c.type, c.about) for own, c in zip(unique, described, strict=True)]

    def make_parts() -> Iterator[list[pa.Array[Any]]]:
        for level, own in enumerate(hierarchy.levels):
            regions, _ = get_shape(release.counts, level)
            for start, stop in cut_rows(regions, len(columns)):
                rows = np.arange(stop - start)
                names = [*name_regions(hierarchy, level, start, stop, rows), repeat_name(own, stop - start)]
                made = make_numbers(level, start, stop)
                yield [*names, *(_make_array(v, c.type) for v, c in zip(made, numbers, strict=True))]

    return ExportTable(name, about, tuple(columns), make_parts)


def _make_array(values: npt.NDArray[Any], kind: pa.DataType) -> pa.Array[Any]:
    """Return a column; NaN, where a region without groups has no such number, is null."""
    floats = values.dtype.kind == "f"
    array: pa.Array[Any] = pa.array(np.ascontiguousarray(values), from_pandas=floats)
    return array.cast(kind)
