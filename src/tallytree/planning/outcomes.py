"""The errors of simulated releases, by level and by size of region."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tallytree.arrays import cut_rows, get_rows
from tallytree.counts.group_counts import GroupCounts
from tallytree.privacy.neighbours import TotalKind
from tallytree.research.evaluation import Simulation
from tallytree.sizes import count_sizes, list_edges

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

ERRORS = ("l1", "emd", "size_sum", "groups", "relative")
"""Of a region: L1, EMD, those of its sum of sizes and of its number of groups, and L1 as a share of these."""
CELLS = ("spurious", "lost")
"""Released though empty, as a share of cells released; gone though not empty, as a share of true ones."""
QUANTILES = (np.arange(20) + 0.5) / 20
"""The shares of regions whose relative errors are told."""
FEWEST_BARS, MOST_BARS = 6, 24
NEARLY_ALL = 0.995
"""The share of a region's groups whose sizes have bars of their own."""
ALIKE = 40
"""The most regions, near in size to a typical one, whose errors are taken for its own."""


@dataclass(frozen=True)
class Class:
    """Regions of a level that are alike in size."""

    name: str
    members: npt.NDArray[np.intp]
    least: int
    most: int
    """The numbers of groups of its smallest and its largest region."""


@dataclass(frozen=True)
class Typical:
    """A region that stands for those of about its size."""

    name: str
    region: int
    alike: npt.NDArray[np.intp]
    """The regions whose errors are taken for its own."""
    starts: tuple[int, ...]
    """The place of the first size of each bar; the last bar holds all that follow."""
    groups: tuple[int, ...]
    """The stand-in's groups of each bar."""


@dataclass(frozen=True)
class Places:
    """The regions of a level by size, and those that are typical."""

    classes: tuple[Class, ...]
    typical: tuple[Typical, ...]


SPLIT = 4
"""From so many regions on, those of a level are told apart by size."""


def choose_places(stand_in: GroupCounts) -> list[Places]:
    """Sort each level's regions by size: all, the smallest quarter, the middle half, the largest quarter."""
    return [_choose_on(stand_in, level) for level in range(len(stand_in.hierarchy.levels))]


def _choose_on(stand_in: GroupCounts, level: int) -> Places:
    regions = stand_in.hierarchy.region_counts[level]
    parts = [
        get_rows(stand_in.levels, level, *rows).sum(axis=1)
        for rows in cut_rows(regions, count_sizes(stand_in.sizes))
    ]
    groups = np.concatenate(parts)
    order = np.argsort(groups, kind="stable")
    every = _gather("all", order, groups)
    if regions < SPLIT:
        return Places((every,), (_describe_typical("all", order, regions // 2, stand_in, level),))
    quarter = regions // SPLIT
    cuts = {
        "small": (0, quarter),
        "middle": (quarter, regions - quarter),
        "large": (regions - quarter, regions),
    }
    return Places(
        (every, *(_gather(name, order[low:high], groups) for name, (low, high) in cuts.items())),
        tuple(
            _describe_typical(name, order, (low + high) // 2, stand_in, level)
            for name, (low, high) in cuts.items()
        ),
    )


def _gather(name: str, members: npt.NDArray[np.intp], groups: Ints) -> Class:
    return Class(name, members, int(groups[members].min()), int(groups[members].max()))


def _describe_typical(
    name: str, order: npt.NDArray[np.intp], rank: int, stand_in: GroupCounts, level: int
) -> Typical:
    near = min(ALIKE, max(1, len(order) // 10))
    first = min(max(rank - near // 2, 0), len(order) - near)
    region = int(order[rank])
    row = get_rows(stand_in.levels, level, region, region + 1)[0]
    starts = _choose_bars(row)
    groups = np.add.reduceat(row, starts)
    return Typical(name, region, order[first : first + near], starts, tuple(groups.tolist()))


def _choose_bars(row: Ints) -> tuple[int, ...]:
    """Cut the sizes into bars of equal width, one size each if they are few; the last is for all others."""
    so_far = np.cumsum(row)
    last = max(FEWEST_BARS, int(np.searchsorted(so_far, NEARLY_ALL * so_far[-1])) + 1)
    step = -(-last // MOST_BARS)
    return tuple(range(0, min(last + step, len(row)), step))


@dataclass(frozen=True)
class ClassOutcome:
    """The errors of the regions of a class, over all runs."""

    errors: dict[str, float]
    """Each a mean over regions and runs."""
    cells: dict[str, float]
    quantiles: Floats
    """Of the regions' relative errors, at :data:`QUANTILES`."""


@dataclass(frozen=True)
class LevelOutcome:
    """The errors of a level."""

    classes: tuple[ClassOutcome, ...]
    typical: tuple[Floats, ...]
    """The mean squared error of each bar of the typical regions."""


def measure_outcome(
    runs: Sequence[Simulation], truth: GroupCounts, places: Sequence[Places], total: TotalKind
) -> list[LevelOutcome]:
    """Measure the errors of runs, all with the same settings: a mean for each level and class of regions."""
    return [_measure_level(runs, truth, level, here, total) for level, here in enumerate(places)]


def _measure_level(
    runs: Sequence[Simulation], truth: GroupCounts, level: int, here: Places, total: TotalKind
) -> LevelOutcome:
    tables = [_list_errors(run, truth, level, total) for run in runs]
    squares = [[_square_bars(run, truth, level, typical) for typical in here.typical] for run in runs]
    return LevelOutcome(
        tuple(_average(np.concatenate([table[kind.members] for table in tables])) for kind in here.classes),
        tuple(np.mean(each, axis=0) for each in zip(*squares, strict=True)),
    )


def _average(rows: Floats) -> ClassOutcome:
    """Average the errors of regions, which are those of :func:`_list_errors`."""
    *errors, relative, spurious, lost, released, true = rows.T
    known = relative[~np.isnan(relative)] if not np.isnan(relative).all() else np.zeros(1)
    means = [*(float(error.mean()) for error in errors), float(known.mean())]
    shares = (spurious.sum() / max(1.0, released.sum()), lost.sum() / max(1.0, true.sum()))
    return ClassOutcome(
        dict(zip(ERRORS, means, strict=True)),
        dict(zip(CELLS, map(float, shares), strict=True)),
        np.quantile(known, QUANTILES),
    )


def _list_errors(run: Simulation, truth: GroupCounts, level: int, total: TotalKind) -> Floats:
    """Return each region's errors, and its numbers of spurious, lost, released and true cells."""
    edges = np.array(list_edges(truth.sizes))
    parts = []
    for start, stop in cut_rows(truth.hierarchy.region_counts[level], len(edges)):
        true = get_rows(truth.levels, level, start, stop)
        found = get_rows(run.counts, level, start, stop)
        error, groups = found - true, true.sum(axis=1)
        l1 = np.abs(error).sum(axis=1)
        along = error if total == "public" else error[:, ::-1]  # as the release then counts
        columns = [
            l1,
            np.abs(np.cumsum(along, axis=1)).sum(axis=1),
            np.abs(error @ edges),
            np.abs(error.sum(axis=1)),
            np.where(groups > 0, l1 / np.maximum(groups, 1), np.nan),
            ((found > 0) & (true == 0)).sum(axis=1),
            ((found == 0) & (true > 0)).sum(axis=1),
            (found > 0).sum(axis=1),
            (true > 0).sum(axis=1),
        ]
        parts.append(np.column_stack(columns).astype(np.float64))
    return np.concatenate(parts)


def _square_bars(run: Simulation, truth: GroupCounts, level: int, typical: Typical) -> Floats:
    """Return the mean squared error of each bar, over the regions that are like the typical one."""
    sums = np.zeros(len(typical.starts))
    for region in typical.alike.tolist():
        true = get_rows(truth.levels, level, region, region + 1)[0]
        found = get_rows(run.counts, level, region, region + 1)[0]
        sums += np.add.reduceat(found - true, typical.starts).astype(np.float64) ** 2
    return sums / len(typical.alike)
