"""Replicates of a release, kept in its folder: what can be said of any combination of its numbers needs them.

A replicate is a run of the mechanism on counts that are known, in place of the true ones. Most cells of most
replicates are those of the release. So what is kept are the differences alone: of the known counts from the
released ones, and of the counts made from those that are known.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tallytree.arrays import MAX_GROUPS, cut_rows, get_rows, get_shape, take_rows
from tallytree.errors import FolderError
from tallytree.files import hash_file, replace_file
from tallytree.hierarchy import Hierarchy
from tallytree.releases.release_columns import repeat_name
from tallytree.releases.release_files import BATCH_ROWS, check_footer, read_tables, write_file
from tallytree.releases.release_rows import refuse_beyond
from tallytree.sizes import Sizes, count_sizes, list_edges

Ints = npt.NDArray[np.int64]
Packed = npt.NDArray[np.signedinteger]

REPLICATES = "replicates.parquet"
NUMBERS = ("region", "size", "replicate", "known", "made")
COLUMNS = ("level", *NUMBERS)


class Replicate(NamedTuple):
    """Counts in place of the true ones, and those that the mechanism made of them, root first."""

    known: Sequence[Ints]
    made: Sequence[Ints]


@dataclass(frozen=True, eq=False)
class LevelChanges:
    """Where the replicates of a level differ, by region, then by size, then by replicate."""

    starts: Ints
    """Where the differences of each region begin, and where the last ones end."""
    size: Packed
    """The place of the size."""
    replicate: Packed
    known: Packed
    """The known count minus the released one."""
    made: Packed
    """The count that was made minus the known one."""

    def cut(self, start: int, stop: int) -> LevelChanges:
        """Return the differences from one number to another, without the regions that they are of."""
        some = slice(start, stop)
        parts = self.size[some], self.replicate[some], self.known[some], self.made[some]
        return LevelChanges(np.array([0, stop - start]), *parts)


@dataclass(frozen=True, eq=False)
class KeptReplicates:
    """All replicates of a release, packed."""

    number: int
    seed: int
    source: Sequence[LevelChanges] | ReplicateFile

    @cached_property
    def levels(self) -> Sequence[LevelChanges]:
        """The differences, root first: read from the file when they are first asked for."""
        return self.source.read() if isinstance(self.source, ReplicateFile) else self.source

    def add_up(self, level: int, regions: Ints, sizes: slice) -> tuple[Ints, Ints]:
        """Return how much the known counts and those that were made differ, summed over some regions.

        Both are replicates x sizes: the known counts minus the released ones, and those made minus the known.
        """
        changes, width = self.levels[level], sizes.stop - sizes.start
        known, made = (np.zeros(self.number * width, dtype=np.int64) for _ in range(2))
        for start, stop in _find_stretches(changes.starts, regions):
            part = changes.cut(start, stop)
            size = part.size.astype(np.int64) - sizes.start
            some = np.flatnonzero((size >= 0) & (size < width))
            place = part.replicate[some].astype(np.int64) * width + size[some]
            for sums, values in ((known, part.known), (made, part.made)):
                np.add.at(sums, place, values[some].astype(np.int64))
        return known.reshape(self.number, width), made.reshape(self.number, width)

    def replay(self, counts: Sequence[Ints]) -> Iterator[Replicate]:
        """Yield the replicates one after the other, in full; ``counts`` are the released ones."""
        orders = [np.argsort(changes.replicate, kind="stable") for changes in self.levels]
        ends = [
            np.searchsorted(changes.replicate[order], np.arange(self.number + 1))
            for changes, order in zip(self.levels, orders, strict=True)
        ]
        for number in range(self.number):
            levels: list[tuple[Ints, Ints]] = []
            for level, changes in enumerate(self.levels):
                regions, width = get_shape(counts, level)
                some = orders[level][ends[level][number] : ends[level][number + 1]]
                place = _find_regions(changes.starts, some) * width + changes.size[some]
                known = get_rows(counts, level, 0, regions).copy()
                known.reshape(-1)[place] += changes.known[some]
                made = known.copy()
                made.reshape(-1)[place] += changes.made[some]
                levels.append((known, made))
            yield Replicate([known for known, _ in levels], [made for _, made in levels])

    def write(self, hierarchy: Hierarchy, sizes: Sizes, folder: Path) -> str:
        """Write the file into a folder, complete or not at all; return its hash."""
        with replace_file(folder / REPLICATES) as stage:
            return write_file(self._tabulate(hierarchy.levels, np.array(list_edges(sizes))), SCHEMA, stage)

    def _tabulate(self, names: Sequence[str], edges: Ints) -> Iterator[pa.Table]:
        for name, changes in zip(names, self.levels, strict=True):
            for start in range(0, len(changes.size), BATCH_ROWS):
                stop = min(start + BATCH_ROWS, len(changes.size))
                part = changes.cut(start, stop)
                region = _find_regions(changes.starts, np.arange(start, stop))
                numbers = region, edges[part.size], part.replicate, part.known, part.made
                columns: list[Any] = [
                    repeat_name(name, stop - start),
                    *(each.astype(np.int64) for each in numbers),
                ]
                yield pa.table(columns, schema=SCHEMA)


SCHEMA = pa.schema(
    [("level", pa.dictionary(pa.int32(), pa.string())), *((name, pa.int64()) for name in NUMBERS)]
)


def _find_stretches(starts: Ints, regions: Ints) -> list[tuple[int, int]]:
    """Return from where to where the differences of these regions reach; neighbours are one stretch."""
    ordered = np.sort(regions)
    cuts = np.flatnonzero(np.diff(ordered) != 1) + 1
    return [(int(starts[run[0]]), int(starts[run[-1] + 1])) for run in np.split(ordered, cuts) if len(run)]


def _find_regions(starts: Ints, places: Ints) -> Ints:
    """Return the regions of the differences at these places."""
    return np.searchsorted(starts, places, side="right") - 1


@dataclass(eq=False)
class ReplicateKeeper:
    """Packs replicates as they are made: of all regions, or of those that are asked for."""

    counts: Sequence[Ints]
    """The released ones."""
    only: Sequence[Ints] | None = None
    """For each level the regions to keep."""
    _parts: list[list[tuple[Ints, Packed, Packed]]] = field(default_factory=list, init=False)

    def add(self, replicate: Replicate) -> None:
        """Keep one more replicate."""
        found = []
        for level in range(len(self.counts)):
            regions, width = get_shape(self.counts, level)
            wanted = np.arange(regions) if self.only is None else self.only[level]
            pieces = [(np.zeros(0, dtype=np.int64),) * 3]
            for start, stop in cut_rows(len(wanted), width):
                some = wanted[start:stop]
                released, known, made = (
                    take_rows(each, level, some).astype(np.int64, copy=False)
                    for each in (self.counts, *replicate)
                )
                before, after = known - released, made - known
                region, size = np.nonzero((before != 0) | (after != 0))
                place = some[region] * width + size
                pieces.append((place, before[region, size], after[region, size]))
            place, before, after = map(np.concatenate, zip(*pieces, strict=True))
            found.append((place, _shrink(before), _shrink(after)))
        self._parts.append(found)

    def finish(self, seed: int) -> KeptReplicates:
        """Return what was kept."""
        levels = []
        for level in range(len(self.counts)):
            regions, width = get_shape(self.counts, level)
            parts = [found[level] for found in self._parts]
            number = np.repeat(np.arange(len(parts), dtype=np.int32), [len(part[0]) for part in parts])
            place, known, made = (np.concatenate(each) for each in zip(*parts, strict=True))
            order = np.argsort(place, kind="stable")
            place = place[order]
            starts = np.searchsorted(place, np.arange(regions + 1) * width)
            size = (place % width).astype(np.int32)
            levels.append(LevelChanges(starts, size, number[order], known[order], made[order]))
        return KeptReplicates(len(self._parts), seed, tuple(levels))


def _shrink(values: Ints) -> Packed:
    """Return the values in 32 bits, if they fit."""
    return values.astype(np.int32) if np.abs(values).max(initial=0) < 2**31 else values


@dataclass(frozen=True)
class ReplicateFile:
    """The file of a folder, which is read only if it is needed."""

    path: Path
    digest: str
    """What the manifest says: it is read later than everything else, and may have changed since."""
    hierarchy: Hierarchy
    sizes: Sizes
    replicates: int

    def check_footer(self) -> None:
        """Refuse the file by its footer, if it does not fit the release."""
        cells = self.hierarchy.region_count * count_sizes(self.sizes)
        check_footer(self.path, COLUMNS, fewest=0, most=cells * self.replicates)

    def read(self) -> tuple[LevelChanges, ...]:
        """Read all levels."""
        if hash_file(self.path) != self.digest:
            raise FolderError(f"{self.path.name} is not the file that was written.")
        levels = self.hierarchy.levels
        found: list[list[list[Ints]]] = [[] for _ in levels]
        last = 0
        for table in read_tables(self.path, SCHEMA, required=COLUMNS):
            names: Any = table["level"].combine_chunks()
            known = [levels.index(name) if name in levels else -1 for name in names.dictionary.to_pylist()]
            level = np.array(known, dtype=np.int64)[names.indices.to_numpy()]
            if len(level) and (level[0] < last or (np.diff(level) < 0).any() or level[0] < 0):
                raise self._damaged("levels")
            columns = [table[name].to_numpy() for name in NUMBERS]
            for at in np.unique(level).tolist():
                last, some = at, slice(*np.searchsorted(level, [at, at + 1]))
                found[at].append([column[some] for column in columns])
        return tuple(self._pack(level, parts) for level, parts in enumerate(found))

    def _pack(self, level: int, parts: list[list[Ints]]) -> LevelChanges:
        regions, width = self.hierarchy.region_counts[level], count_sizes(self.sizes)
        none = [np.zeros(0, dtype=np.int64)] * len(NUMBERS)
        region, size, replicate, known, made = map(np.concatenate, zip(none, *parts, strict=True))
        edges = np.array(list_edges(self.sizes))
        place = np.clip(np.searchsorted(edges, size), 0, width - 1)
        ranges = ((region, regions), (replicate, self.replicates))
        if (edges[place] != size).any() or any(((each < 0) | (each >= most)).any() for each, most in ranges):
            raise self._damaged("regions, sizes or replicates")
        for each in (known, made):
            refuse_beyond(MAX_GROUPS, each)
        order = (region * width + place) * self.replicates + replicate
        if (np.diff(order) <= 0).any():
            raise self._damaged("rows in this order")
        starts = np.searchsorted(region, np.arange(regions + 1))
        whole = (place, replicate, known, made)
        return LevelChanges(starts, *map(_shrink, whole))

    def _damaged(self, what: str) -> FolderError:
        return FolderError(f"{self.path.name} is damaged: it has {what} that no replicate has.")


# How far the interval of a number reaches: Student's t, for the errors of so many replicates; or a quantile.

FEWEST = 5
"""Errors from which an interval is made: a region may have no mean in some replicates."""
ROUNDING = 1e-9
"""What a float may be above a whole number without standing for the next one."""


def find_reach(coverage: Fraction, replicates: int) -> float:
    """Return how many standard errors of so many replicates an interval reaches to both sides."""
    share = float((1 + coverage) / 2)
    return find_student_quantile(share, replicates - 1) * math.sqrt(1 + 1 / replicates)


LUMPY = 0.3
"""Errors are all or nothing, rather than a bell curve, if half of them are within this many standard errors.
Of a bell curve, half are within two thirds of one."""


def find_rank(coverage: Fraction, replicates: int) -> float:
    """Return the place, from 0 on, of the error that an interval reaches where errors are all or nothing.

    It misses at most half of what it may: releases differ in how many of their replicates go wrong.

    >>> find_rank(Fraction(9, 10), 39)
    37.0
    """
    return min(float((1 + coverage) / 2) * (replicates + 1), replicates) - 1.0


def find_student_quantile(share: float, degrees: int) -> float:
    """Return a quantile of Student's t distribution (Cornish and Fisher's expansion).

    >>> round(find_student_quantile(0.95, 49), 3)
    1.677
    """
    z = NormalDist().inv_cdf(share)
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    quantile: float = z + sum(term / degrees**power for power, term in enumerate(terms, 1))
    return quantile
