"""Which true counts a released count may stand for, learned by pooling similar cells.

A replicate gives, for each cell, a *known* count (the released one, in place of the truth) and a count *made*
from it (the replicate's). Fifty of these say little about one cell, but thousands of cells are similar. For a
released count v, we want to know how far the known counts are from made counts like v:

*   *Large* counts, which noise does not bring near zero, differ by their biases and standard errors alone:
    known minus made, minus the cell's own bias, in units of its own standard error, is pooled over the level.
*   *Small* counts are pooled with those of similar value in similar contexts. Non-negativity makes their
    errors skewed: most made zeros were known zeros, and some were not. So the interval is that of the known
    counts that are *not* zero, and is extended to zero where zero is likely. Otherwise a made zero would
    stand for zero alone, and hardly any count that is small but not zero would be covered.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby

import numpy as np
import numpy.typing as npt

from tallytree.releases.interval_bounds import CellBounds

# The context of a cell: how many groups of nearly its size its region has.
#
# A released zero among hundreds does not mean the same as a released zero among zeros.

Ints = npt.NDArray[np.int64]

REACH, LEAST_REACH = 0.25, 3
"""How far away a size may be to count as near: a quarter of the size, or three."""

EDGES = np.concatenate([[0.0], np.sqrt(10.0) ** np.arange(-5, 7)])
"""Contexts are classes of the mean of the neighbouring cells: zero, and two to each power of ten."""


def find_contexts(counts: Ints) -> npt.NDArray[np.uint8]:
    """Return the number of each cell's context, regions x sizes: 0 where all neighbouring cells are zero."""
    low, high = _find_windows(counts.shape[1])
    running = np.zeros((len(counts), counts.shape[1] + 1), dtype=np.int64)
    np.cumsum(counts, axis=1, out=running[:, 1:])
    around = running[:, high] - running[:, low] - counts
    contexts = np.zeros(counts.shape, dtype=np.uint8)
    some = np.nonzero(around)
    others = np.maximum(high - low - 1, 1)[some[1]]
    contexts[some] = np.searchsorted(EDGES, around[some] / others)
    return contexts


@lru_cache(maxsize=4)
def _find_windows(sizes: int) -> tuple[Ints, Ints]:
    """Return where the sizes near each size begin and end."""
    place = np.arange(sizes)
    reach = np.maximum(LEAST_REACH, (REACH * place).astype(np.int64))
    return np.maximum(0, place - reach), np.minimum(sizes, place + reach + 1)


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
        self._replicates = 0
        self._sum: Floats = np.zeros(released.shape)
        self._squares: Floats = np.zeros(released.shape)
        self._large: list[tuple[Ints, Ints]] = []
        self._zeros: Ints = np.zeros(len(self._classes) * _CONTEXTS, dtype=np.int64)
        self._pairs: list[tuple[Ints, Ints]] = []

    def add(self, known: Ints, made: Ints) -> None:
        """Add a replicate: counts in place of the true ones, and what was made of them."""
        error = made - known
        self._replicates += 1
        self._sum += error
        self._squares += error.astype(np.float64) ** 2
        flat, wrong, known = made.reshape(-1), error.reshape(-1), known.reshape(-1)
        is_large = flat > self._limit
        large = np.flatnonzero(is_large)
        self._large.append((large, wrong[large]))
        contexts = find_contexts(made).reshape(-1)
        # Nearly all cells are zero and stay zero: these are only counted.
        some = np.flatnonzero((flat != 0) | (known != 0))
        small = some[~is_large[some]]
        kind = self._find_kinds(flat[small], contexts[small])
        is_zero = known[small] == 0
        none = np.bincount(contexts, minlength=_CONTEXTS) - np.bincount(contexts[some], minlength=_CONTEXTS)
        self._zeros[:_CONTEXTS] += none
        self._zeros += np.bincount(kind[is_zero], minlength=len(self._zeros))
        distance = np.clip(-wrong[small][~is_zero], -_MIDDLE, _MIDDLE)
        self._pairs.append(np.unique(kind[~is_zero] * _REACH + distance + _MIDDLE, return_counts=True))

    def _find_kinds(self, counts: Ints, contexts: npt.NDArray[np.uint8]) -> Ints:
        """Return the number of each count's value class and context: those of zero come first."""
        value = np.searchsorted(self._classes, counts, side="right") - 1
        kinds: Ints = value * _CONTEXTS + contexts
        return kinds

    def find_bias(self) -> float:
        """Return the mean error of large counts."""
        large = self._released > self._limit
        return float(self._sum[large].mean() / self._replicates) if large.any() else 0.0

    def finish(self, coverage: float, bias: float = 0.0) -> CellBounds:
        """Return the intervals of the released counts, and their errors.

        ``bias`` is the bias of large counts beyond what the replicates show.
        """
        released, tail = self._released, (1 - coverage) / 2
        low, high = released.reshape(-1).copy(), released.reshape(-1).copy()
        self._bound_large(low, high, tail, bias)
        small = np.flatnonzero(released.reshape(-1) <= self._limit)
        kind = self._find_kinds(low[small], find_contexts(released).reshape(-1)[small])
        down, up, to_zero, error = self._bound_small(tail)
        low[small] = np.where(to_zero[kind], 0, low[small] + down[kind])
        high[small] += up[kind]
        errors = self._find_errors().reshape(-1)
        is_zero = released.reshape(-1)[small] == 0
        errors[small[is_zero]] = error[kind[is_zero]]
        return CellBounds(
            np.maximum(low, 0).reshape(released.shape),
            np.maximum(high, 0).reshape(released.shape),
            (self._sum / self._replicates).astype(np.float32),
            errors.reshape(released.shape),
        )

    def _find_errors(self) -> npt.NDArray[np.float32]:
        """Return the standard deviations over replicates."""
        mean, times = self._sum / self._replicates, self._replicates
        errors = np.sqrt((self._squares - times * mean**2).clip(0) / (times - 1))
        return errors.astype(np.float32)

    def _bound_large(self, low: Ints, high: Ints, tail: float, bias: float) -> None:
        times, sums, squares = self._replicates, self._sum.reshape(-1), self._squares.reshape(-1)
        places = np.concatenate([place for place, _ in self._large])
        errors = np.concatenate([error for _, error in self._large])
        cells = np.flatnonzero(low > self._limit)
        if not len(cells) or not len(places):
            return
        usual = float((squares[places] / times - (sums[places] / times) ** 2).mean())
        if usual <= 0:
            return
        # A pair is standardized by the other replicates of its cell, as the released count is by all of them.
        mean = (sums[places] - errors) / (times - 1)
        spread = self._find_spread(squares[places] - errors.astype(np.float64) ** 2, mean, times - 1, usual)
        down, up = np.quantile((mean - errors) / spread, [tail, 1 - tail])
        mean = sums[cells] / times
        spread = self._find_spread(squares[cells], mean, times, usual)
        middle = low[cells] - mean - bias
        low[cells] = np.rint(middle + down * spread)
        high[cells] = np.rint(middle + up * spread)

    @staticmethod
    def _find_spread(squares: Floats, mean: Floats, times: int, usual: float) -> Floats:
        """Return the standard error of cells, shrunk towards the level's."""
        own = (squares - times * mean**2).clip(0)
        spread: Floats = np.sqrt((own + PRIOR * usual) / (times + PRIOR))
        return spread

    def _bound_small(self, tail: float) -> tuple[Ints, Ints, npt.NDArray[np.bool_], Floats]:
        """Return how far below and above a count of each kind its interval ends, and if it contains zero.

        Also return the standard errors of zeros, from the pairs that their intervals are from.
        """
        kinds = len(self._zeros)
        down, up = np.zeros(kinds, dtype=np.int64), np.zeros(kinds, dtype=np.int64)
        to_zero = np.ones(kinds, dtype=np.bool_)
        error: Floats = np.zeros(kinds)
        pools = sorted(
            ((group, self._pool(group)) for group in self._group()), key=lambda pool: pool[1].chance
        )
        to_spare = MOST_RARE * sum(len(place) for place, _ in self._large)
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
        above = np.zeros(len(self._zeros), dtype=np.int64)
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
        wanted = np.zeros(len(self._zeros), dtype=np.bool_)
        wanted[kinds] = True
        code = np.concatenate([code for code, _ in self._pairs])
        times = np.concatenate([times for _, times in self._pairs])
        here = wanted[code // _REACH]
        return Pairs(code[here] % _REACH - _MIDDLE, times[here], int(self._zeros[kinds].sum()))


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
