"""Intervals of the statistics of each region."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from tallytree.intervals.likely_ranges import Range, find_likely
from tallytree.releases.interval_bounds import SummaryBounds
from tallytree.releases.statistics import list_statistics, summarize
from tallytree.sizes import Sizes

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


class SummaryPool:
    """The replicates of one level, added one after the other."""

    def __init__(self, released: Ints, sizes: Sizes) -> None:
        self._sizes = sizes
        self._statistics = list_statistics(sizes)
        self._value = summarize(released, sizes, self._statistics)
        self._errors: list[Floats] = []

    def add(self, known: Ints, made: Ints) -> None:
        """Add a replicate: counts in place of the true ones, and what was made of them."""
        before, after = (summarize(each, self._sizes, self._statistics) for each in (known, made))
        self._errors.append(after - before)

    def finish(self, coverage: Fraction) -> SummaryBounds:
        """Return the intervals and the errors."""
        errors = np.stack(self._errors)
        found = [
            find_likely(
                self._value[:, place],
                errors[:, :, place],
                coverage,
                Range.of(statistic.kind, statistic.limits(self._sizes), self._sizes),
            )
            for place, statistic in enumerate(self._statistics)
        ]
        low, high, bias, error = (np.stack(columns, axis=1) for columns in zip(*found, strict=True))
        names = tuple(statistic.name for statistic in self._statistics)
        return SummaryBounds(names, self._value, bias, error, low, high)
