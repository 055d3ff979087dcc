"""The key figures of a region in the report: what each is, and how it is shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from tallytree.releases.interval_bounds import SummaryBounds
from tallytree.releases.statistics import QUANTILES, Distributions, find_statistics, list_statistics
from tallytree.sizes import SizeClasses, Sizes, get_ends
from tallytree.words import Words

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

Show = Literal["count", "size", "mean", "share"]
"""A whole number; a size or class; two decimals, or more if an interval's ends need them; a percentage."""

GRIDS: dict[Show, int] = {"count": 1, "size": 1, "mean": 10**6, "share": 10**9}
"""Figures are passed to the page as multiples of 1 / grid."""
MOST = 2**53
"""From here on, the page's numbers cannot represent all whole numbers."""


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
    """The title of the shading of regions by this figure, if readers may choose it."""
    size: int | None = None
    """The size of the groups that it is about; it is left out where the range lacks this size."""


def _name_quantile(name: str, share: Fraction) -> str:
    return name.capitalize() if name == "median" else f"{float(100 * share):g} %"


def _show(name: str, title: str, column: str, show: Show, *, shade: str | None = None) -> Figure:
    """Return a statistic as a key figure."""
    (statistic,) = find_statistics([name])
    return Figure(title, column, show, statistic.find, name, shade)


FIGURES: tuple[Figure, ...] = (
    _show("groups", "Groups", "groups", "count"),
    _show("size_mean", "Mean size", "mean_size", "mean", shade="Mean size"),
    _show("size_mean_least", "Mean size, at least", "mean_size_least", "mean", shade="Least mean size"),
    Figure(
        "Of size 1",
        "share_of_size_1",
        "share",
        lambda regions: regions.share(regions.counts[:, regions.size == 1].sum(axis=1)),
        shade="Share of groups of size 1",
        size=1,
    ),
    *(
        _show(name, _name_quantile(name, share), f"quantile_{float(100 * share):g}", "size")
        for name, share in QUANTILES.items()
    ),
)


def list_figures(sizes: Sizes, bounds: SummaryBounds | None = None) -> list[Figure]:
    """Return the figures of regions with these sizes; where there are intervals, those that have one."""
    told = {statistic.name for statistic in list_statistics(sizes)}
    low, high = get_ends(sizes)
    told &= set(told if bounds is None else bounds.names)
    some = [
        figure
        for figure in FIGURES
        if (bounds is None if figure.statistic is None else figure.statistic in told)
    ]
    if isinstance(sizes, SizeClasses):  # a class is no single size
        return [figure for figure in some if figure.size is None]
    return [figure for figure in some if figure.size is None or low <= figure.size <= high]


def describe_figures(figures: Sequence[Figure], words: Words) -> list[dict[str, object]]:
    """Describe the figures for the page."""
    titles = {"size_mean": words.mean, "size_mean_least": words.mean_least}
    return [
        {
            "name": titles.get(figure.statistic or "", words.say(figure.title)),
            "column": figure.column,
            "show": figure.show,
            "grid": GRIDS[figure.show],
            "shade": figure.shade and words.say(figure.shade),
        }
        for figure in figures
    ]


def list_numbers(
    figures: Sequence[Figure], parts: Sequence[Distributions], bounds: SummaryBounds | None
) -> Ints:
    """Return the figures of a level's regions as the page reads them, region by region.

    Each is one more than its multiple of the grid, or zero if there is none; where there are intervals, one
    more than the lower end, and the width, follow.
    """
    columns: list[Ints] = []
    for figure in figures:
        grid = GRIDS[figure.show]
        value = np.concatenate([figure.find(part) for part in parts]).astype(np.float64)
        columns.append(_number(value, value, grid)[0])
        if bounds is not None and figure.statistic is not None:
            place = bounds.names.index(figure.statistic)
            columns += _number(bounds.low[:, place], bounds.high[:, place], grid)
    return np.column_stack(columns)


def _number(low: Floats, high: Floats, grid: int) -> tuple[Ints, Ints]:
    """Return one more than the lower end, and the width; zeros where there is no interval."""
    with np.errstate(over="ignore"):
        low, high = np.rint(low * grid), np.rint(high * grid)
    # Unknown where a region has no groups (NaN), or a damaged file has any value: the checks report it.
    known = (low >= 0) & (low <= high) & (high < MOST)
    return np.where(known, low + 1, 0).astype(np.int64), np.where(known, high - low, 0).astype(np.int64)
