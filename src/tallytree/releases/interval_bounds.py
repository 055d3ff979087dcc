"""The intervals of a release: how far its numbers may be from the true ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet

from tallytree.arrays import MAX_GROUPS, cut_rows, get_rows, get_shape
from tallytree.errors import FolderError
from tallytree.files import hash_file, replace_file
from tallytree.hierarchy import Hierarchy
from tallytree.releases.flags import LIMITS, FlagLimits, read_limits
from tallytree.releases.kept_replicates import REPLICATES, KeptReplicates, ReplicateFile
from tallytree.releases.manifest import read_exact
from tallytree.releases.release_columns import (
    BOUNDS,
    CellRows,
    Column,
    find_columns,
    list_sizes,
    make_plain,
    make_schema,
    name_regions,
    repeat_name,
)
from tallytree.releases.release_files import check_footer, read_file, write_file
from tallytree.releases.release_rows import SeenCells, find_cells, refuse_beyond
from tallytree.releases.statistics import EARLIEST, Statistic, find_statistics, summarize
from tallytree.sizes import Sizes, count_sizes, list_edges
from tallytree.solvers.checks import Check
from tallytree.solvers.unbiased import Estimates

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class CellBounds:
    """The bounds of each region and size of a level."""

    low: Ints
    high: Ints
    bias: npt.NDArray[np.float32]
    """The mean error of replicates: made minus known."""
    error: npt.NDArray[np.float32]
    """The standard error."""


@dataclass(frozen=True, eq=False)
class SummaryBounds:
    """The bounds of a level, regions x statistics; regions without groups have NaN as mean and quantiles."""

    names: tuple[str, ...]
    """The names of the statistics."""
    value: Floats
    bias: Floats
    error: Floats
    low: Floats
    high: Floats


@dataclass(frozen=True, eq=False)
class Intervals:
    """Intervals of all counts of a release, and of the statistics of its regions."""

    cells: tuple[CellBounds, ...]
    """For each level, root first: a share ``coverage`` of true counts is from ``low`` to ``high``."""
    summaries: tuple[SummaryBounds, ...]
    coverage: Fraction
    replicates: int
    seed: int
    limits: FlagLimits = LIMITS
    """By which numbers are flagged."""
    kept: KeptReplicates | None = None
    """The replicates themselves, if they are kept."""

    @property
    def statistics(self) -> tuple[str, ...]:
        """The names of the statistics of each region."""
        return self.summaries[0].names

    @property
    def low(self) -> list[Ints]:
        """The lower ends, regions x sizes for each level."""
        return [level.low for level in self.cells]

    @property
    def high(self) -> list[Ints]:
        """The upper ends, regions x sizes for each level."""
        return [level.high for level in self.cells]

    def to_dict(self) -> dict[str, object]:
        """Return what a manifest says of them, with columns and statistics unless these are the earliest."""
        stated: dict[str, object] = {
            "coverage": str(self.coverage),
            "replicates": self.replicates,
            "seed": self.seed,
        }
        columns = tuple(column.name for column in find_columns())
        if columns != BOUNDS:
            stated["columns"] = list(columns)
        if self.statistics != EARLIEST:
            stated["statistics"] = list(self.statistics)
        stated["flags"] = self.limits.to_dict()
        if self.kept is not None:
            stated["kept"] = True
        return stated


def check_intervals(intervals: Intervals) -> Check:
    """Check that every interval begins at zero or above, and does not end below its beginning.

    It need not contain the released count: where post-processing is known to be biased to one side, the true
    count is on the other.
    """
    wrong = sum(int(((cells.low < 0) | (cells.high < cells.low)).sum()) for cells in intervals.cells)
    for found in intervals.summaries:
        right = (found.low >= 0) & (found.low <= found.high) & np.isfinite(found.high)
        # A region without groups has neither a mean nor quantiles, and no intervals for them.
        wrong += int((np.isfinite(found.value) & ~right).sum())
    statement = "every interval has 0 <= low <= high (intervals are not recomputed)"
    return Check("intervals", statement, wrong, "an interval violates this" if wrong else "")


# The intervals of a release as files beside it, and as tables.

INTERVALS, SUMMARIES = "intervals.parquet", "summaries.parquet"
FIGURES = ("value", "low", "high", "bias", "error")
FLAG = "flag"
"""The column of flags, of cells and of summaries."""

MOST_END = 4 * MAX_GROUPS
"""Far above where any interval ends: a count is at most MAX_GROUPS."""


def write_intervals(
    intervals: Intervals, hierarchy: Hierarchy, sizes: Sizes, counts: Sequence[Ints], folder: Path
) -> dict[str, str]:
    """Write the files into a folder, each complete or not at all; return their hashes."""
    schema = make_cell_schema(hierarchy, sizes)
    with replace_file(folder / INTERVALS) as stage:
        written = write_file(tabulate_cells(intervals, hierarchy, sizes, counts), schema, stage)
    with replace_file(folder / SUMMARIES) as stage:
        pa_parquet.write_table(tabulate_summaries(intervals, hierarchy), stage, compression="zstd")
    hashes = {INTERVALS: written, SUMMARIES: hash_file(folder / SUMMARIES)}
    if intervals.kept is not None:
        hashes[REPLICATES] = intervals.kept.write(hierarchy, sizes, folder)
    return hashes


def make_cell_schema(hierarchy: Hierarchy, sizes: Sizes) -> pa.Schema:
    """Return the schema of the table of all cells."""
    return make_schema(hierarchy.levels, "groups", *(column.name for column in find_columns()), sizes=sizes)


def tabulate_cells(
    intervals: Intervals, hierarchy: Hierarchy, sizes: Sizes, counts: Sequence[Ints]
) -> Iterator[pa.Table]:
    """Yield a row for every region and size that has or may have groups, a few regions at a time.

    A cell without a row is empty, with the coverage of the intervals.
    """
    for level in range(len(hierarchy.levels)):
        for some in cut_rows(*get_shape(counts, level)):
            yield tabulate_cell_rows(intervals, hierarchy, sizes, counts, level, some)


def tabulate_cell_rows(
    intervals: Intervals,
    hierarchy: Hierarchy,
    sizes: Sizes,
    counts: Sequence[Ints],
    level: int,
    some: tuple[int, int],
) -> pa.Table:
    """Tabulate some regions of a level, from one index to another."""
    cells, part = intervals.cells[level], slice(*some)
    groups = get_rows(counts, level, *some)
    region, size = np.nonzero((groups != 0) | (cells.high[part] != 0))
    told = CellRows(
        size=np.array(list_edges(sizes))[size],
        groups=groups[region, size],
        total=groups.sum(axis=1)[region],
        low=cells.low[part][region, size],
        high=cells.high[part][region, size],
        bias=cells.bias[part][region, size],
        error=cells.error[part][region, size],
        limits=intervals.limits,
    )
    columns: list[Any] = [
        *name_regions(hierarchy, level, *some, region),
        repeat_name(hierarchy.levels[level], len(region)),
        *list_sizes(sizes, size),
        pa.array(told.groups),
        *(pa.array(column.find(told), column.type) for column in find_columns()),
    ]
    return pa.table(columns, schema=make_cell_schema(hierarchy, sizes))


def tabulate_summaries(intervals: Intervals, hierarchy: Hierarchy) -> pa.Table:
    """Return a table with a row for every region and statistic."""
    parts = []
    for level, name in enumerate(hierarchy.levels):
        found = intervals.summaries[level]
        regions = len(found.value)
        region = np.repeat(np.arange(regions), len(found.names))
        names = [*name_regions(hierarchy, level, 0, regions, region), repeat_name(name, len(region))]
        columns: dict[str, Any] = dict(zip((*hierarchy.levels, "level"), names, strict=True))
        columns["statistic"] = pa.array(list(found.names) * regions)
        for figure in FIGURES:
            columns[figure] = pa.array(getattr(found, figure).reshape(-1), from_pandas=True)  # NaN: null
        columns[FLAG] = _flag_summaries(found, intervals.limits)
        parts.append(pa.table(columns))
    return _join(parts)


def _flag_summaries(found: SummaryBounds, limits: FlagLimits) -> pa.Array[Any]:
    """Return the flag of each statistic of each region; null where there is no number."""
    flags = limits.find(found.value, found.low, found.high).reshape(-1)
    return pa.array(flags, pa.string(), mask=flags == "")


def tabulate_estimates(estimates: Sequence[Estimates], hierarchy: Hierarchy, sizes: Sizes) -> pa.Table:
    """Return a table with a row for every region and size: unbiased estimates and their variances."""
    parts = []
    for level, name in enumerate(hierarchy.levels):
        regions, width = estimates[level].value.shape
        region = np.repeat(np.arange(regions), width)
        names = [*name_regions(hierarchy, level, 0, regions, region), repeat_name(name, len(region))]
        columns: dict[str, Any] = dict(zip((*hierarchy.levels, "level"), names, strict=True))
        columns["size"] = np.tile(list_edges(sizes), regions)
        columns["estimate"] = estimates[level].value.reshape(-1)
        columns["variance"] = estimates[level].variance.reshape(-1)
        parts.append(pa.table(columns))
    return _join(parts)


def _join(parts: Sequence[pa.Table]) -> pa.Table:
    plain = make_plain(parts[0].schema)
    return pa.concat_tables([part.cast(plain) for part in parts])


def write_estimates(table: pa.Table, path: Path) -> int:
    """Write a table as Parquet, or as CSV if the file is called .csv; return the number of rows."""
    with replace_file(path) as stage:
        if path.suffix.lower() == ".csv":
            pa_csv.write_csv(table, stage)
        else:
            pa_parquet.write_table(table, stage, compression="zstd")
    return table.num_rows


@dataclass(frozen=True)
class StatedIntervals:
    """What a manifest says of the intervals of its release."""

    coverage: Fraction
    replicates: int
    seed: int
    columns: tuple[Column, ...]
    statistics: tuple[Statistic, ...]
    limits: FlagLimits | None
    """None for a folder of an earlier version, which has no flags."""
    kept: bool
    """Whether the replicates are kept."""

    @classmethod
    def of(cls, stated: Mapping[str, Any]) -> StatedIntervals:
        """Read what a manifest says; if it does not name the columns or statistics, they are the earliest."""
        try:
            coverage, replicates, seed = read_exact(stated["coverage"]), stated["replicates"], stated["seed"]
            columns, told = stated.get("columns", BOUNDS), stated.get("statistics", EARLIEST)
            limits = read_limits(stated["flags"]) if "flags" in stated else None
            kept = stated.get("kept", False)
            names = [*columns, *told]
            if not (isinstance(replicates, int) and isinstance(seed, int) and coverage < 1):
                raise TypeError
            if not all(isinstance(name, str) for name in names) or len(set(names)) != len(names):
                raise TypeError
            if not set(BOUNDS) <= set(columns) or (FLAG in columns) != (limits is not None):
                raise TypeError
            if not isinstance(kept, bool) or replicates < 1:
                raise TypeError
        except (AttributeError, KeyError, TypeError, ValueError):
            raise FolderError("The manifest is damaged: it does not say what the intervals are.") from None
        described = find_columns(columns), find_statistics(told)
        return cls(coverage, replicates, seed, *described, limits, kept)

    def check_footers(self, folder: Path, levels: Sequence[str], regions: int, sizes: Sizes) -> None:
        """Refuse both files if their footers do not fit this number of regions, and these sizes."""
        columns = make_schema(levels, "groups", *(column.name for column in self.columns), sizes=sizes).names
        check_footer(folder / INTERVALS, columns, fewest=0, most=regions * count_sizes(sizes))
        rows = regions * len(self.statistics)
        flag = () if self.limits is None else (FLAG,)
        names = [*levels, "level", "statistic", *FIGURES, *flag]
        check_footer(folder / SUMMARIES, names, fewest=rows, most=rows)


def read_intervals(
    folder: Path,
    stated: StatedIntervals,
    hierarchy: Hierarchy,
    sizes: Sizes,
    counts: Sequence[Ints],
    hashes: Mapping[str, Any],
) -> tuple[Intervals, Check]:
    """Read the files, and check that they are about these ``counts``; replicates are read when needed."""
    limits = stated.limits or LIMITS
    cells, same_counts = _read_cells(folder / INTERVALS, stated, hierarchy, sizes, counts)
    summaries, same_flags = _read_summaries(folder / SUMMARIES, stated, hierarchy)
    same_values = same_flags and all(
        np.array_equal(found.value, summarize(counts[level], sizes, stated.statistics), equal_nan=True)
        for level, found in enumerate(summaries)
    )
    kept = None
    if stated.kept:
        digest = str(hashes.get(REPLICATES))
        file = ReplicateFile(folder / REPLICATES, digest, hierarchy, sizes, stated.replicates)
        file.check_footer()
        kept = KeptReplicates(stated.replicates, stated.seed, file)
    intervals = Intervals(
        cells, summaries, stated.coverage, stated.replicates, stated.seed, limits=limits, kept=kept
    )
    other = [name for name, same in ((INTERVALS, same_counts), (SUMMARIES, same_values)) if not same]
    example = f"{other[0]} is about other counts" if other else ""
    check = Check("interval files", "intervals are those of the released counts", len(other), example)
    return intervals, check


def _read_cells(
    path: Path, stated: StatedIntervals, hierarchy: Hierarchy, sizes: Sizes, counts: Sequence[Ints]
) -> tuple[tuple[CellBounds, ...], bool]:
    """Return the intervals of all cells, and whether the counts and columns with them fit ``counts``."""
    shapes = [(regions, count_sizes(sizes)) for regions in hierarchy.region_counts]
    levels = [
        CellBounds(
            np.zeros(shape, dtype=np.int64),
            np.zeros(shape, dtype=np.int64),
            np.zeros(shape, dtype=np.float32),
            np.zeros(shape, dtype=np.float32),
        )
        for shape in shapes
    ]
    seen = [SeenCells(shape) for shape in shapes]
    released = [values.reshape(-1) for values in counts]
    derived = [column for column in stated.columns if column.name not in BOUNDS]
    totals = [_add_sizes(counts, level) for level in range(len(shapes))] if derived else []
    same, found = True, 0
    for table in read_file(path, hierarchy.levels, "groups", *(column.name for column in stated.columns)):
        groups = table["groups"].to_numpy()
        ends = [table[name].to_numpy() for name in BOUNDS]
        for end in ends[:2]:
            refuse_beyond(MOST_END, end)
        for level, place, rows in find_cells(table, hierarchy, sizes):
            seen[level].add(place)
            same &= np.array_equal(released[level][place], groups[rows])
            found += int(np.count_nonzero(groups[rows]))
            bounds = levels[level]
            arrays: tuple[npt.NDArray[Any], ...] = bounds.low, bounds.high, bounds.bias, bounds.error
            for array, end in zip(arrays, ends, strict=True):
                array.reshape(-1)[place] = end[rows]
            if derived:
                width = count_sizes(sizes)
                total = totals[level][place // width]
                size = np.array(list_edges(sizes))[place % width]
                limits = stated.limits or LIMITS
                low, high, bias, error = (end[rows] for end in ends)
                told = CellRows(size, groups[rows], total, low, high, bias, error, limits)
                same &= all(_tells(table[column.name], rows, column, told) for column in derived)
    return tuple(levels), same and found == sum(map(np.count_nonzero, released))


def _add_sizes(counts: Sequence[Ints], level: int) -> Ints:
    """Return the number of groups of each region of a level."""
    parts = [get_rows(counts, level, *some).sum(axis=1) for some in cut_rows(*get_shape(counts, level))]
    return np.concatenate(parts)


def _tells(read: pa.ChunkedArray[Any], rows: slice | Ints, column: Column, told: CellRows) -> bool:
    """Return whether some rows of a column follow from the other columns."""
    there = read.combine_chunks()
    part = there if isinstance(rows, slice) else there.take(rows)
    return bool(part.equals(pa.array(column.find(told), column.type)))


def _read_summaries(
    path: Path, stated: StatedIntervals, hierarchy: Hierarchy
) -> tuple[tuple[SummaryBounds, ...], bool]:
    """Read the summaries in the order in which they were written, which the regions' names must match.

    Also return whether their flags are those of the numbers.
    """
    try:
        table = pa_parquet.read_table(path)
        figures = np.stack([table[figure].to_numpy().astype(np.float64) for figure in FIGURES])
        names = table.select([*hierarchy.levels, "level", "statistic"])
    except (KeyError, ValueError, TypeError, OSError, pa.ArrowException) as problem:
        if isinstance(problem, OSError) and problem.errno:
            raise  # the disk failed, not the file
        raise FolderError(f"{path.name} is damaged: it does not have its columns.") from None
    told = tuple(statistic.name for statistic in stated.statistics)
    found, same = [], True
    first = 0
    for level, regions in enumerate(hierarchy.region_counts):
        rows = regions * len(told)
        region = np.repeat(np.arange(regions), len(told))
        expected = [
            *name_regions(hierarchy, level, 0, regions, region),
            repeat_name(hierarchy.levels[level], rows),
            pa.array(list(told) * regions),
        ]
        part = names.slice(first, rows)
        if part.num_rows != rows or not all(
            column.combine_chunks().equals(wanted.cast(pa.string()))
            for column, wanted in zip(part.columns, expected, strict=True)
        ):
            raise FolderError(f"{path.name} is damaged: its regions are not those that were measured.")
        block = figures[:, first : first + rows].reshape(len(FIGURES), regions, len(told))
        value, low, high, bias, error = block
        found.append(SummaryBounds(told, value, bias, error, low, high))
        if stated.limits is not None:
            flags = table[FLAG].slice(first, rows).combine_chunks()
            same &= bool(flags.equals(_flag_summaries(found[-1], stated.limits)))
        first += rows
    if first != table.num_rows:
        raise FolderError(f"{path.name} is damaged: it has rows of other regions.")
    return tuple(found), same
