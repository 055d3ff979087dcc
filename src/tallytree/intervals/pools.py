"""Which true counts a released count may stand for, learned by pooling similar cells.

A replicate gives, for each cell, a *known* count (the released one, in place of the truth) and a count *made*
from it (the replicate's). Fifty of these say little about one cell, but thousands of cells are similar. For a
released count v, we want to know how far the known counts are from made counts like v:

*   *Large* counts, which noise does not bring near zero, have intervals like any other number
    (``likely_ranges``), with standard errors shrunk towards the level's.
*   *Small* counts are pooled with those of similar value in similar contexts. Non-negativity makes their
    errors skewed: most made zeros were known zeros, and some were not. So the interval is that of the known
    counts that are *not* zero, and is extended to zero where zero is likely. Otherwise a made zero would
    stand for zero alone, and hardly any count that is small but not zero would be covered.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import groupby
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tallytree.intervals.likely_ranges import Range, correct, find_likely
from tallytree.kernels import kernel
from tallytree.releases.interval_bounds import CellBounds, SummaryBounds
from tallytree.releases.kept_replicates import find_reach
from tallytree.releases.statistics import list_statistics, summarize
from tallytree.sizes import Sizes

# The context of a cell: how many groups of nearly its size its region has.
#
# A released zero among hundreds does not mean the same as a released zero among zeros.

Ints = npt.NDArray[np.int64]

REACH, LEAST_REACH = 0.25, 3
"""How far away a size may be to count as near: a quarter of the size, or three."""

EDGES = np.concatenate([[0.0], np.sqrt(10.0) ** np.arange(-5, 7)])
"""Contexts are classes of the mean of the neighbouring cells: zero, and two to each power of ten."""


class Windows(NamedTuple):
    """Where the sizes near each size begin and end."""

    low: Ints
    high: Ints


@lru_cache(maxsize=4)
def find_windows(sizes: int) -> Windows:
    """Return the windows of so many sizes."""
    place = np.arange(sizes)
    reach = np.maximum(LEAST_REACH, (REACH * place).astype(np.int64))
    return Windows(np.maximum(0, place - reach), np.minimum(sizes, place + reach + 1))


@kernel
def find_contexts(counts: Ints, windows: Windows) -> npt.NDArray[np.uint8]:
    """Return the number of each cell's context, regions x sizes: 0 where all neighbouring cells are zero."""
    regions, sizes = counts.shape
    contexts, running = np.empty((regions, sizes), dtype=np.uint8), np.zeros(sizes + 1, dtype=np.int64)
    for r in range(regions):
        _find_row_contexts(counts[r], windows, running, contexts[r])
    return contexts


@kernel
def _find_row_contexts(row: Ints, windows: Windows, running: Ints, contexts: npt.NDArray[np.uint8]) -> None:
    sizes = len(row)
    for i in range(sizes):
        running[i + 1] = running[i] + row[i]
    for i in range(sizes):
        low, high = windows.low[i], windows.high[i]
        around = running[high] - running[low] - row[i]
        contexts[i] = 0 if around == 0 else np.searchsorted(EDGES, around / max(high - low - 1, 1))


Floats = npt.NDArray[np.float64]

LARGE = 4
"""Counts above this many standard deviations of the noise are large."""
PRIOR = 2
"""A cell's variance is estimated from its own replicates and this many with the level's mean variance."""
ENOUGH = 100
"""The pairs with a known count above zero that a pool of small counts needs."""
RARE, MOST_RARE = 0.005, 0.04
"""In pools with a share of nonzero counts below RARE, a made zero stands for zero alone, if such pools
hold at most MOST_RARE of all nonzero counts. Else a million intervals would widen to cover a few more."""

_CONTEXTS = len(EDGES) + 1
_MIDDLE, _REACH = 2**38, 2**39


class _Sums(NamedTuple):
    """What is added up over replicates: of each cell its errors, and how often zero of each kind was zero."""

    errors: Floats
    squares: Floats
    zeros: Ints


@kernel
def _add_cells(
    known: Ints, made: Ints, limit: int, classes: Ints, windows: Windows, sums: _Sums
) -> tuple[Ints, Ints, int]:
    """Add a replicate to the sums; return kind and known minus made of the small counts with a known one.

    Return also how many large counts were made.
    """
    regions, sizes = made.shape
    some = 0
    for r in range(regions):
        for i in range(sizes):
            some += known[r, i] != 0 and made[r, i] <= limit
    kinds, distances = np.empty(some, dtype=np.int64), np.empty(some, dtype=np.int64)
    contexts, running = np.empty(sizes, dtype=np.uint8), np.zeros(sizes + 1, dtype=np.int64)
    used = large = 0
    for r in range(regions):
        _find_row_contexts(made[r], windows, running, contexts)
        for i in range(sizes):
            error = made[r, i] - known[r, i]
            if error != 0:
                sums.errors[r, i] += error
                sums.squares[r, i] += np.float64(error) ** 2
            if made[r, i] > limit:
                large += 1
                continue
            value = np.searchsorted(classes, made[r, i], side="right") - 1 if made[r, i] > 0 else 0
            kind = value * _CONTEXTS + contexts[i]
            if known[r, i] == 0:
                sums.zeros[kind] += 1
                continue
            kinds[used], distances[used] = kind, min(max(-error, -_MIDDLE), _MIDDLE)
            used += 1
    return kinds, distances, large


@dataclass(frozen=True, eq=False)
class Pairs:
    """Small counts of one value class and one context: each value of known minus made, with its frequency."""

    distance: Ints
    times: Ints
    zeros: int
    """How often the known count was zero."""

    @property
    def above_zero(self) -> int:
        """How often the known count was not zero."""
        return int(self.times.sum())

    @property
    def chance(self) -> float:
        """The share of pairs in which the known count was not zero."""
        return self.above_zero / max(1, self.above_zero + self.zeros)

    @property
    def error(self) -> float:
        """The root of the mean squared distance of zeros: known counts that are zero are at no distance."""
        squares = (self.times * self.distance.astype(np.float64) ** 2).sum()
        return math.sqrt(float(squares) / max(1, self.above_zero + self.zeros))


class CellPool:
    """The replicates of one level, added one after the other."""

    def __init__(self, released: Ints, deviation: float) -> None:
        """``deviation`` is the standard deviation of the noise in a count."""
        self._released = released
        self._limit = math.ceil(LARGE * deviation)
        self._classes = find_value_edges(self._limit)
        self._windows = find_windows(released.shape[1])
        self._replicates = self._large = 0
        kinds = np.zeros(len(self._classes) * _CONTEXTS, dtype=np.int64)
        self._sums = _Sums(np.zeros(released.shape), np.zeros(released.shape), kinds)
        self._pairs: list[tuple[Ints, Ints]] = []

    def add(self, known: Ints, made: Ints) -> None:
        """Add a replicate: counts in place of the true ones, and what was made of them."""
        self._replicates += 1
        kinds, distances, large = _add_cells(
            known, made, self._limit, self._classes, self._windows, self._sums
        )
        self._large += large
        self._pairs.append(np.unique(kinds * _REACH + distances + _MIDDLE, return_counts=True))

    def _find_kinds(self, counts: Ints, contexts: npt.NDArray[np.uint8]) -> Ints:
        """Return the number of each count's value class and context: those of zero come first."""
        value = np.searchsorted(self._classes, counts, side="right") - 1
        kinds: Ints = value * _CONTEXTS + contexts
        return kinds

    def finish(self, coverage: Fraction) -> CellBounds:
        """Return the intervals of the released counts, and their errors."""
        released, times = self._released, self._replicates
        low, high = released.reshape(-1).copy(), released.reshape(-1).copy()
        bias = self._sums.errors / times
        squares = (self._sums.squares - times * bias**2).clip(0)
        self._bound_large(low, high, bias.reshape(-1), squares.reshape(-1), coverage)
        errors = np.sqrt(squares / (times - 1)).reshape(-1)
        small = np.flatnonzero(released.reshape(-1) <= self._limit)
        kind = self._find_kinds(low[small], find_contexts(released, self._windows).reshape(-1)[small])
        down, up, to_zero, error = self._bound_small(float(1 - coverage) / 2)
        low[small] = np.where(to_zero[kind], 0, low[small] + down[kind])
        high[small] += up[kind]
        is_zero = released.reshape(-1)[small] == 0
        errors[small[is_zero]] = error[kind[is_zero]]
        return CellBounds(
            np.maximum(low, 0).reshape(released.shape),
            np.maximum(high, 0).reshape(released.shape),
            bias.astype(np.float32),
            errors.astype(np.float32).reshape(released.shape),
        )

    def _bound_large(self, low: Ints, high: Ints, bias: Floats, squares: Floats, coverage: Fraction) -> None:
        """Bound large counts, by standard errors that are shrunk towards the level's."""
        times, cells = self._replicates, np.flatnonzero(low > self._limit)
        if not len(cells):
            return
        usual = squares[cells].mean() / times
        spread = np.sqrt((squares[cells] + PRIOR * usual) / (times + PRIOR))
        taken, left = correct(bias[cells], spread)
        middle, reach = low[cells] - taken, find_reach(coverage, times + PRIOR) * left
        low[cells], high[cells] = np.rint(middle - reach), np.rint(middle + reach)

    def _bound_small(self, tail: float) -> tuple[Ints, Ints, npt.NDArray[np.bool_], Floats]:
        """Return how far below and above a count of each kind its interval ends, and if it contains zero.

        Also return the standard errors of zeros, from the pairs that their intervals are from.
        """
        kinds = len(self._sums.zeros)
        down, up = np.zeros(kinds, dtype=np.int64), np.zeros(kinds, dtype=np.int64)
        to_zero = np.ones(kinds, dtype=np.bool_)
        error: Floats = np.zeros(kinds)
        pools = sorted(
            ((group, self._pool(group)) for group in self._group()), key=lambda pool: pool[1].chance
        )
        to_spare = MOST_RARE * self._large
        to_spare += MOST_RARE * sum(pool.above_zero for _, pool in pools)
        for group, pool in pools:
            to_spare -= pool.above_zero
            if not pool.above_zero or (pool.chance < RARE and to_spare >= 0):
                continue
            down[group] = find_quantile(pool.distance, pool.times, tail)
            up[group] = find_quantile(pool.distance, pool.times, 1 - tail)
            to_zero[group] = 1 - pool.chance > tail
            if up[group].any():
                error[group] = pool.error
        return down, up, to_zero, error

    def _group(self) -> list[Ints]:
        """Group each kind with neighbouring ones until each group has enough pairs."""
        above = np.zeros(len(self._sums.zeros), dtype=np.int64)
        for code, times in self._pairs:
            above += np.bincount(code // _REACH, weights=times, minlength=len(above)).astype(np.int64)
        rows = np.arange(len(above)).reshape(-1, _CONTEXTS)
        groups: list[Ints] = []
        waiting: list[Ints] = []
        for row in rows[:0:-1]:  # from the largest values down; zero is never pooled with others
            waiting.append(row)
            if above[np.concatenate(waiting)].sum() >= ENOUGH:
                groups += merge(waiting, above)
                waiting = []
        if waiting:
            groups += merge(waiting, above)
        return groups + merge([rows[0]], above)

    def _pool(self, kinds: Ints) -> Pairs:
        wanted = np.zeros(len(self._sums.zeros), dtype=np.bool_)
        wanted[kinds] = True
        code = np.concatenate([code for code, _ in self._pairs])
        times = np.concatenate([times for _, times in self._pairs])
        here = wanted[code // _REACH]
        return Pairs(code[here] % _REACH - _MIDDLE, times[here], int(self._sums.zeros[kinds].sum()))


def find_value_edges(limit: int) -> Ints:
    """Return where the classes of small counts begin: 0, 1, 2, 3, then growing by half each time."""
    edges = [0, 1, 2, 3]
    while edges[-1] <= limit:
        edges.append(math.ceil(1.5 * edges[-1]))
    return np.array(edges)


def merge(rows: list[Ints], above: Ints) -> list[Ints]:
    """Merge contexts, from the fullest down, until each group has enough pairs; the rest joins the last."""
    columns = np.stack(rows)
    pairs = above[columns].sum(axis=0)
    number, filled, numbers = 0, 0, []
    for count in pairs[::-1].tolist():
        numbers.append(number)
        filled += count
        if filled >= ENOUGH:
            number, filled = number + 1, 0
    last = number - 1 if number and filled < ENOUGH else number
    order = [(min(number, last), place) for place, number in enumerate(numbers)]
    return [
        np.concatenate([columns[:, columns.shape[1] - 1 - place] for _, place in members])
        for _, members in groupby(order, key=lambda pair: pair[0])
    ]


def find_quantile(values: Ints, times: Ints, share: float) -> int:
    """Return the least value that at least ``share`` of all do not exceed; the values need not be sorted."""
    order = np.argsort(values, kind="stable")
    running = np.cumsum(times[order])
    return int(values[order][np.searchsorted(running, share * running[-1])])


# Intervals of the statistics of each region.


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
