"""Intervals of the numbers that are told of each region."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from tallytree.releases.interval_bounds import SummaryBounds
from tallytree.releases.statistics import QUANTILES, STATISTICS, WHOLE, summarize
from tallytree.sizes import Sizes
from tallytree.solvers.unbiased import Estimates

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

GROUPS, SUM, MEAN = map(STATISTICS.index, ("groups", "size_sum", "size_mean"))


class SummaryPool:
    """The replicates of one level, seen one after the other."""

    def __init__(self, released: Ints, sizes: Sizes) -> None:
        self._sizes = sizes
        self._value = summarize(released, sizes)
        self._made: list[Floats] = []

    def add(self, made: Ints) -> None:
        """A replicate's counts."""
        self._made.append(summarize(made, self._sizes))

    def find_spreads(self) -> Floats:
        """The standard deviations over replicates."""
        spreads: Floats = np.nan_to_num(np.std(np.stack(self._made), axis=0, ddof=1))
        return spreads

    def finish(self, coverage: float, widths: Floats, sums: Estimates | None) -> SummaryBounds:
        """The intervals and the errors.

        ``widths`` is from :func:`find_widths`. ``sums`` are unbiased estimates of the sums of sizes: where
        they are more exact than the released sums, which are too large by what noise leaves at large
        sizes, the true sum is looked for around them.
        """
        tail = (1 - coverage) / 2
        # A region that had no groups in a replicate says nothing there.
        error = np.stack(self._made) - self._value
        seen = np.isfinite(error)
        error = np.where(seen, error, 0.0)
        times = np.maximum(seen.sum(axis=0), 1)
        bias = error.sum(axis=0) / times
        squares = (error**2).sum(axis=0)
        low, high = self._value.copy(), self._value.copy()
        for place, name in enumerate(STATISTICS):
            down, up = (
                _bound_sizes(error[:, :, place], seen[:, :, place], tail)
                if name in QUANTILES
                else _bound_alike(error[:, :, place], squares[:, place], times[:, place], tail)
            )
            low[:, place] += down * widths[place]
            high[:, place] += up * widths[place]
            if name in WHOLE:
                low[:, place], high[:, place] = np.floor(low[:, place]), np.ceil(high[:, place])
            elif name in QUANTILES:  # which are sizes: a width of 1.2 must not leave an interval without any
                low[:, place], high[:, place] = np.rint(low[:, place]), np.rint(high[:, place])
        if sums is not None:
            off = np.sqrt(squares / times)
            _look_around(sums, coverage, off, low, high, self._value)
        least = np.array([0, 0, *[self._sizes[0]] * (len(STATISTICS) - 2)], dtype=np.float64)
        most = np.array([np.inf, np.inf, *[self._sizes[1]] * (len(STATISTICS) - 2)])
        return SummaryBounds(
            value=self._value,
            bias=np.where(np.isfinite(self._value), bias, np.nan),
            error=np.where(np.isfinite(self._value), np.sqrt((squares / times - bias**2).clip(0)), np.nan),
            low=np.clip(low, least, most),
            high=np.clip(high, least, most),
        )


def _look_around(
    sums: Estimates, coverage: float, off: Floats, low: Floats, high: Floats, value: Floats
) -> None:
    """Put in the intervals around unbiased sums, and means where the number of groups is known."""
    estimate, deviation = sums.value[:, 0], np.sqrt(sums.variance[:, 0])
    reach = NormalDist().inv_cdf((1 + coverage) / 2) * deviation
    better = deviation < off[:, SUM]
    low[better, SUM], high[better, SUM] = (
        np.floor((estimate - reach)[better]),
        np.ceil((estimate + reach)[better]),
    )
    known = better & (off[:, GROUPS] == 0) & (value[:, GROUPS] > 0)
    low[known, MEAN] = (estimate - reach)[known] / value[known, GROUPS]
    high[known, MEAN] = (estimate + reach)[known] / value[known, GROUPS]


def _bound_alike(error: Floats, squares: Floats, times: Ints, tail: float) -> tuple[Floats, Floats]:
    """As for large counts: errors in units of each region's own standard error, pooled over the level."""
    usual = float((error**2).mean())
    if usual == 0:
        return np.zeros(len(squares)), np.zeros(len(squares))
    spread = np.sqrt(squares / times)
    others = np.sqrt((squares - error**2).clip(0) / np.maximum(times - 1, 1))
    moved = others > 0
    down, up = np.quantile(-error[moved] / others[moved], [tail, 1 - tail])
    return down * spread, up * spread


def _bound_sizes(error: Floats, seen: npt.NDArray[np.bool_], tail: float) -> tuple[Floats, Floats]:
    """Quantiles are sizes, and mostly do not move at all: each region by its own replicates, outwards."""
    known = np.where(seen, -error, np.nan)
    if not seen.any(axis=0).all():
        known[:, ~seen.any(axis=0)] = 0.0
    down = np.nanquantile(known, tail, axis=0, method="lower")
    up = np.nanquantile(known, 1 - tail, axis=0, method="higher")
    return down, up


def find_widths(first: Sequence[SummaryPool], second: Sequence[SummaryPool]) -> Floats:
    """By how much the spread of replicates falls short, for each statistic: a factor of at least one.

    Post-processing leaves counts that it changes less when it meets them again, so replicates of a release
    differ less than releases do. A second round of replicates measures the shortfall (iterated bootstrap).
    """
    ratios: list[Floats] = []
    for one, other in zip(first, second, strict=True):
        spreads = one.find_spreads(), other.find_spreads()
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios.append(np.log(spreads[0] / spreads[1]))
    every = np.concatenate(ratios)
    usable = np.isfinite(every)
    mean = np.where(usable, every, 0.0).sum(axis=0) / np.maximum(usable.sum(axis=0), 1)
    widths: Floats = np.maximum(np.exp(mean), 1.0)
    return widths
