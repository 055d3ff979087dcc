"""The statistics of a region: groups, people, the mean size, its quantiles."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from tallytree.arrays import CHUNK_CELLS
from tallytree.errors import FolderError, show
from tallytree.sizes import SizeClasses, Sizes, get_ends, list_edges

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Distributions:
    """How many groups some regions have of each size, regions x sizes."""

    counts: Ints
    sizes: Sizes

    @cached_property
    def size(self) -> Ints:
        """The sizes; of a class the least one."""
        return np.array(list_edges(self.sizes))

    @cached_property
    def running(self) -> Ints:
        """The groups up to each size."""
        return np.cumsum(self.counts, axis=1)

    @property
    def groups(self) -> Ints:
        """The number of groups of each region."""
        return self.running[:, -1]

    @cached_property
    def size_sum(self) -> Ints:
        """The sum of the sizes of all groups: people, if groups are households. Of classes the least sum."""
        total: Ints = self.counts @ self.size
        return total

    @cached_property
    def _some(self) -> npt.NDArray[np.bool_]:
        """The regions that have groups."""
        return self.groups > 0

    @cached_property
    def _running_of_some(self) -> Ints:
        return self.running[self._some]

    def share(self, values: Ints) -> Floats:
        """Return ``values`` divided by the number of groups; NaN in regions without any."""
        found = np.full(len(values), np.nan)
        found[self._some] = values[self._some] / self.groups[self._some]
        return found

    def quantile(self, share: Fraction) -> Floats:
        """Return the least size that at least ``share`` of the groups do not exceed; NaN without groups."""
        found = np.full(len(self.counts), np.nan)
        found[self._some] = self.size[find_quantiles(self._running_of_some, share)]
        return found


def find_quantiles(running: Ints, share: Fraction) -> Ints:
    """Return the index of the least size that at least ``share`` of a region's groups do not exceed.

    ``running`` are the groups up to each size, regions x sizes, and every region has some. The arithmetic is
    in whole numbers of any length: in floats, 0.55 of 100 groups are more than 55.
    """
    groups = running[:, -1:].astype(object)
    wanted = -(-groups * share.numerator // share.denominator)  # rounded up
    places: Ints = np.argmax(running >= np.maximum(wanted, 1).astype(np.int64), axis=1)
    return places


Kind = Literal["count", "size", "mean", "share"]
"""A whole number; one of the sizes; any number between the sizes; a number from 0 to 1."""


@dataclass(frozen=True)
class Statistic:
    """A number that describes a region, published with an interval."""

    name: str
    find: Callable[[Distributions], npt.NDArray[Any]]
    """A number for each region; NaN where a region without groups has none."""
    kind: Kind
    of: Literal["sizes", "classes", "both"] = "both"
    """Whether it can be told of single sizes, or of classes: of these only bounds of sums are known."""

    def limits(self, sizes: Sizes) -> tuple[float, float]:
        """Return the limits that its intervals cannot exceed."""
        if self.kind == "count":
            return 0.0, math.inf
        return (0.0, 1.0) if self.kind == "share" else get_ends(sizes)


QUANTILES = {
    "q10": Fraction(1, 10),
    "q25": Fraction(1, 4),
    "median": Fraction(1, 2),
    "q75": Fraction(3, 4),
    "q90": Fraction(9, 10),
}
"""The quantiles of the group sizes that are published."""

STATISTICS: tuple[Statistic, ...] = (
    Statistic("groups", lambda regions: regions.groups, "count"),
    Statistic("size_sum", lambda regions: regions.size_sum, "count", "sizes"),
    Statistic("size_mean", lambda regions: regions.share(regions.size_sum), "mean", "sizes"),
    Statistic("size_sum_least", lambda regions: regions.size_sum, "count", "classes"),
    Statistic("size_mean_least", lambda regions: regions.share(regions.size_sum), "mean", "classes"),
    *(
        Statistic(name, partial(Distributions.quantile, share=share), "size")
        for name, share in QUANTILES.items()
    ),
)

EARLIEST = ("groups", "size_sum", "size_mean", *QUANTILES)
"""The statistics of version 0.1.0, and of folders that do not name theirs."""


def find_statistics(names: Sequence[str]) -> tuple[Statistic, ...]:
    """Return the statistics of these names."""
    known = {statistic.name: statistic for statistic in STATISTICS}
    for name in names:
        if name not in known:
            raise FolderError(
                f"Unknown statistic {show(name)}: the release was written by another version of Tallytree."
            )
    return tuple(known[name] for name in names)


def list_statistics(sizes: Sizes) -> tuple[Statistic, ...]:
    """Return the statistics that can be told of these sizes."""
    other = "sizes" if isinstance(sizes, SizeClasses) else "classes"
    return tuple(statistic for statistic in STATISTICS if statistic.of != other)


def summarize(counts: Ints, sizes: Sizes, statistics: Sequence[Statistic] | None = None) -> Floats:
    """Compute statistics (default: all), regions x statistics; NaN where a region without groups has none."""
    told = list_statistics(sizes) if statistics is None else statistics
    parts = cut_distributions(counts, sizes)
    return np.concatenate(
        [np.column_stack([each.find(part) for each in told]) for part in parts], dtype=float
    )


def cut_distributions(counts: Ints, sizes: Sizes) -> list[Distributions]:
    """Return the distributions of all regions, some regions at a time."""
    step = max(1, CHUNK_CELLS // counts.shape[1])
    return [Distributions(counts[start : start + step], sizes) for start in range(0, len(counts), step)]
