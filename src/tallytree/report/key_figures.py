"""The key figures of a region in the report: what each is, and how it is shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from tallytree.releases.interval_bounds import SummaryBounds
from tallytree.releases.statistics import QUANTILES, Distributions, find_statistics
from tallytree.sizes import Sizes

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

Show = Literal["count", "mean", "share"]
"""A whole number; with two decimal places, or as many as tell the ends of an interval apart; a percentage."""

GRIDS: dict[Show, int] = {"count": 1, "mean": 10**6, "share": 10**9}
"""Figures reach the page as multiples of one part in so many."""
MOST = 2**53
"""Whole numbers from here on are not all numbers of the page."""


@dataclass(frozen=True)
class Figure:
    """A key figure."""

    title: str
    column: str
    """Its name in downloads."""
    show: Show
    find: Callable[[Distributions], npt.NDArray[Any]]
    """A number for each region; NaN where there is none."""
    statistic: str | None = None
    """The statistic whose intervals are shown with it."""
    shade: str | None = None
    """What a region is shaded by, where readers may choose this figure for it."""
    size: int | None = None
    """It is about groups of this size, and left out where there are none."""


def find_largest(regions: Distributions) -> Floats:
    """The largest size that has groups; NaN in regions without any."""
    some = regions.counts != 0
    largest = regions.size[-1] - np.argmax(some[:, ::-1], axis=1)
    return np.where(some.any(axis=1), largest, np.nan)


def _name_quantile(name: str, share: Fraction) -> str:
    return name.capitalize() if name == "median" else f"{float(100 * share):g} %"


def _show(name: str, title: str, column: str, show: Show, *, shade: str | None = None) -> Figure:
    """A statistic as a key figure."""
    (statistic,) = find_statistics([name])
    return Figure(title, column, show, statistic.find, name, shade)


FIGURES: tuple[Figure, ...] = (
    _show("groups", "Groups", "groups", "count"),
    _show("size_mean", "Mean size", "mean_size", "mean", shade="Mean size"),
    Figure(
        "Of size 1",
        "share_of_size_1",
        "share",
        lambda regions: regions.share(regions.counts[:, regions.size == 1].sum(axis=1)),
        shade="Share of groups of size 1",
        size=1,
    ),
    *(
        _show(name, _name_quantile(name, share), f"quantile_{float(100 * share):g}", "count")
        for name, share in QUANTILES.items()
    ),
    Figure("Largest", "largest_size", "count", find_largest),
)


def list_figures(sizes: Sizes) -> list[Figure]:
    """Those that regions with these sizes have."""
    return [figure for figure in FIGURES if figure.size is None or sizes[0] <= figure.size <= sizes[1]]


def describe_figures(figures: Sequence[Figure], bounds: SummaryBounds | None) -> list[dict[str, object]]:
    """What the page has to know of them."""
    return [
        {
            "name": figure.title,
            "column": figure.column,
            "show": figure.show,
            "grid": GRIDS[figure.show],
            "shade": figure.shade,
            "hasEnds": bounds is not None and figure.statistic in bounds.names,
        }
        for figure in figures
    ]


def list_numbers(
    figures: Sequence[Figure], parts: Sequence[Distributions], bounds: SummaryBounds | None
) -> Ints:
    """The figures of a level's regions as the page reads them, region by region.

    Each is one more than its multiple of the grid, or zero if there is none; where there are intervals, one
    more than the lower end, and the width, follow.
    """
    columns: list[Ints] = []
    for figure in figures:
        grid = GRIDS[figure.show]
        value = np.concatenate([figure.find(part) for part in parts]).astype(np.float64)
        columns.append(_number(value, value, grid)[0])
        if bounds is not None and figure.statistic in bounds.names:
            place = bounds.names.index(figure.statistic)
            columns += _number(bounds.low[:, place], bounds.high[:, place], grid)
    return np.column_stack(columns)


def _number(low: Floats, high: Floats, grid: int) -> tuple[Ints, Ints]:
    """One more than the lower end, and the width; zeros where there is no interval."""
    with np.errstate(over="ignore"):
        low, high = np.rint(low * grid), np.rint(high * grid)
    # Not where a region has no groups (NaN), nor in a damaged file that holds anything: the checks say so.
    known = (low >= 0) & (low <= high) & (high < MOST)
    return np.where(known, low + 1, 0).astype(np.int64), np.where(known, high - low, 0).astype(np.int64)
