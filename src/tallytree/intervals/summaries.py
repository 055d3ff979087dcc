"""Intervals of the statistics of each region."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from tallytree.releases.interval_bounds import SummaryBounds
from tallytree.releases.statistics import list_statistics, summarize
from tallytree.sizes import SizeClasses, Sizes
from tallytree.solvers.unbiased import Estimates

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


class SummaryPool:
    """The replicates of one level, added one after the other."""

    def __init__(self, released: Ints, sizes: Sizes) -> None:
        self._sizes = sizes
        self._statistics = list_statistics(sizes)
        self._value = summarize(released, sizes, self._statistics)
        self._off: list[Floats] = []

    def add(self, known: Ints, made: Ints) -> None:
        """Add a replicate: counts in place of the true ones, and what was made of them."""
        self._off.append(
            summarize(made, self._sizes, self._statistics) - summarize(known, self._sizes, self._statistics)
        )

    def find_spreads(self) -> Floats:
        """Return the standard deviations over replicates."""
        spreads: Floats = np.nan_to_num(np.std(np.stack(self._off), axis=0, ddof=1))
        return spreads

    def finish(self, coverage: float, widths: Floats, sums: Estimates | None) -> SummaryBounds:
        """Return the intervals and the errors.

        ``widths`` is from :func:`find_widths`. ``sums`` are unbiased estimates of the sums of sizes: the
        released sums are biased upwards by the noise that remains at large sizes. Where the estimates are
        more accurate, the intervals are centred on them.
        """
        tail = (1 - coverage) / 2
        # A region without groups in a replicate contributes nothing there.
        error = np.stack(self._off)
        seen = np.isfinite(error)
        error = np.where(seen, error, 0.0)
        times = np.maximum(seen.sum(axis=0), 1)
        bias = error.sum(axis=0) / times
        squares = (error**2).sum(axis=0)
        low, high = self._value.copy(), self._value.copy()
        for place, statistic in enumerate(self._statistics):
            down, up = (
                _bound_sizes(error[:, :, place], seen[:, :, place], tail)
                if statistic.kind == "size"
                else _bound_alike(error[:, :, place], squares[:, place], times[:, place], tail)
            )
            low[:, place] += down * widths[place]
            high[:, place] += up * widths[place]
            if statistic.kind == "count":
                low[:, place], high[:, place] = np.floor(low[:, place]), np.ceil(high[:, place])
            elif statistic.kind == "size":  # an interval scaled by 1.2 must still contain a size
                low[:, place], high[:, place] = np.rint(low[:, place]), np.rint(high[:, place])
                if isinstance(self._sizes, SizeClasses):
                    for end in (low, high):
                        end[:, place] = _find_classes(end[:, place], self._sizes)
        names = tuple(statistic.name for statistic in self._statistics)
        if sums is not None:
            self._look_around(sums, coverage, np.sqrt(squares / times), low, high)
        least, most = np.array([statistic.limits(self._sizes) for statistic in self._statistics]).T
        return SummaryBounds(
            names=names,
            value=self._value,
            bias=np.where(np.isfinite(self._value), bias, np.nan),
            error=np.where(np.isfinite(self._value), np.sqrt((squares / times - bias**2).clip(0)), np.nan),
            low=np.clip(low, least, most),
            high=np.clip(high, least, most),
        )

    def _look_around(self, sums: Estimates, coverage: float, off: Floats, low: Floats, high: Floats) -> None:
        """Set intervals around unbiased sums, and around means where the number of groups is known."""
        place = {statistic.name: at for at, statistic in enumerate(self._statistics)}
        least = "_least" if isinstance(self._sizes, SizeClasses) else ""
        total, mean = place[f"size_sum{least}"], place[f"size_mean{least}"]
        groups = self._value[:, place["groups"]]
        estimate, deviation = sums.value[:, 0], np.sqrt(sums.variance[:, 0])
        reach = NormalDist().inv_cdf((1 + coverage) / 2) * deviation
        better = deviation < off[:, total]
        low[better, total] = np.floor((estimate - reach)[better])
        high[better, total] = np.ceil((estimate + reach)[better])
        known = better & (off[:, place["groups"]] == 0) & (groups > 0)
        low[known, mean] = (estimate - reach)[known] / groups[known]
        high[known, mean] = (estimate + reach)[known] / groups[known]


def _bound_alike(error: Floats, squares: Floats, times: Ints, tail: float) -> tuple[Floats, Floats]:
    """Bound as for large counts: errors in units of a region's own standard error, pooled over the level."""
    usual = float((error**2).mean())
    if usual == 0:
        return np.zeros(len(squares)), np.zeros(len(squares))
    spread = np.sqrt(squares / times)
    others = np.sqrt((squares - error**2).clip(0) / np.maximum(times - 1, 1))
    moved = others > 0
    down, up = np.quantile(-error[moved] / others[moved], [tail, 1 - tail])
    return down * spread, up * spread


def _bound_sizes(error: Floats, seen: npt.NDArray[np.bool_], tail: float) -> tuple[Floats, Floats]:
    """Bound quantiles, which mostly do not move, by each region's own replicates, rounded outwards."""
    known = np.where(seen, -error, np.nan)
    if not seen.any(axis=0).all():
        known[:, ~seen.any(axis=0)] = 0.0
    down = np.nanquantile(known, tail, axis=0, method="lower")
    up = np.nanquantile(known, 1 - tail, axis=0, method="higher")
    return down, up


def _find_classes(size: Floats, classes: SizeClasses) -> Floats:
    """The least size of the class of each size; NaN stays."""
    edges = np.array(classes.edges, dtype=np.float64)
    place = np.clip(np.searchsorted(edges, size, side="right") - 1, 0, len(edges) - 1)
    return np.where(np.isnan(size), np.nan, edges[place])


def find_widths(first: Sequence[SummaryPool], second: Sequence[SummaryPool]) -> Floats:
    """Return the factor by which the spread of replicates falls short, for each statistic: at least one.

    Post-processing changes its own results less than other counts, so replicates of a release differ less
    than releases do. A second round of replicates measures the shortfall (iterated bootstrap).
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
