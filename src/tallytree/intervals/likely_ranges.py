"""Where a true number is likely to be: its interval, from the errors of replicates.

A replicate is a pair of counts: *known* ones in place of the true ones, and those that the mechanism *made*
of them. The error of a number T is T(made) - T(known), whatever T is: a count, a sum over regions, a mean, a
quantile, a difference of two. With the mean b of the errors of K replicates and their standard deviation s,

    taken off:   d = b (1 - (s / b)^2), 0 where b is smaller than s
    error left:  sqrt(s^2 + (b - d)^2)
    interval:    T - d, plus and minus t sqrt(1 + 1 / K) times the error left, t from Student's distribution.

Some errors are all or nothing: if a single answer tells in which of two regions a huge group is, a release
has it in the right one or in the wrong one. Then half of the errors are near 0, and Student's t may end short
of the others. So where half of them are within 0.3 of the error left, the interval reaches as far as nearly
all errors do (``find_rank``).

A bias is not taken off as a whole: a mechanism that smooths pulls a released count once more towards the
curve that it was pulled to before, so part of the bias of replicates says nothing about the truth. That part
is not larger than the noise. What is left of a bias widens the interval instead.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tallytree.releases.kept_replicates import FEWEST, LUMPY, ROUNDING, find_rank, find_reach
from tallytree.releases.statistics import Kind
from tallytree.sizes import SizeClasses, Sizes

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Range:
    """Which values a number can have."""

    least: float = -math.inf
    most: float = math.inf
    is_whole: bool = False
    edges: tuple[int, ...] = ()
    """The only values, of a size in classes."""

    @classmethod
    def of(cls, kind: Kind, limits: tuple[float, float], sizes: Sizes) -> Range:
        """Return the values of a statistic of this kind, of groups of these sizes."""
        edges = sizes.edges if kind == "size" and isinstance(sizes, SizeClasses) else ()
        return cls(*limits, is_whole=kind in ("count", "size"), edges=edges)

    def round(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """Return the ends of intervals, rounded outwards to values that the number can have."""
        if self.is_whole:
            low, high = np.floor(low + ROUNDING), np.ceil(high - ROUNDING)
        if self.edges:
            edges = np.array(self.edges, dtype=np.float64)
            low = edges[np.searchsorted(edges, low, side="right").clip(1) - 1]
            high = edges[np.searchsorted(edges, high).clip(max=len(edges) - 1)]
        return np.clip(low, self.least, self.most), np.clip(high, self.least, self.most)


class Likely(NamedTuple):
    """Where numbers are likely to be; NaN where there is no number."""

    low: Floats
    high: Floats
    bias: Floats
    """The mean error; NaN where there are too few replicates."""
    error: Floats
    """The standard deviation of the errors."""


def find_likely(value: Floats, errors: Floats, coverage: Fraction, within: Range) -> Likely:
    """Return where the true numbers are; ``errors`` has one more axis, the replicates, in front.

    An error may be NaN: a region without groups has no mean in that replicate.
    """
    seen = np.isfinite(errors)
    times = seen.sum(axis=0)
    bias = np.where(seen, errors, 0.0).sum(axis=0) / np.maximum(times, 1)
    squares = np.where(seen, (errors - bias) ** 2, 0.0).sum(axis=0)
    spread = np.sqrt(squares / np.maximum(times - 1, 1))
    taken, left = correct(bias, spread)
    reaches = np.full(len(errors) + 1, np.nan)
    for number in range(FEWEST, len(reaches)):
        reaches[number] = find_reach(coverage, number)
    distances = np.sort(np.abs(errors - taken), axis=0)
    ranks = np.array([find_rank(coverage, number) for number in range(len(errors) + 1)])[times]
    nearly_all, half = _pick(distances, ranks), _pick(distances, (times - 1) / 2)
    reach = reaches[times] * left
    reach = np.where(half < LUMPY * left, np.maximum(reach, nearly_all), reach)
    low, high = within.round(value - taken - reach, value - taken + reach)
    few, none = times < FEWEST, ~np.isfinite(value)
    low, high = np.where(few, within.least, low), np.where(few, within.most, high)
    low, high = (np.where(none, np.nan, end) for end in (low, high))
    bias, spread = (np.where(few | none, np.nan, each) for each in (bias, spread))
    return Likely(low, high, bias, spread)


def _pick(ordered: Floats, ranks: Floats) -> Floats:
    """Return the numbers at these places, from 0 on and perhaps between two, of the first axis."""
    ranks = ranks.clip(0)
    low, high = np.floor(ranks).astype(np.intp), np.ceil(ranks).astype(np.intp)
    first, second = (np.take_along_axis(ordered, place[None], axis=0)[0] for place in (low, high))
    picked: Floats = first + (ranks - low) * (second - first)
    return picked


def correct(bias: Floats, spread: Floats) -> tuple[Floats, Floats]:
    """Return what to take off numbers of this bias, and the standard error of what is left.

    >>> correct(np.array([0.5, 2.0]), np.array([1.0, 1.0]))
    (array([0. , 1.5]), array([1.11803399, 1.11803399]))
    """
    larger = np.maximum(np.abs(bias), spread)
    ratio = np.divide(spread, larger, out=np.ones_like(larger), where=larger > 0)
    taken = bias * (1.0 - ratio**2)
    return taken, np.hypot(spread, bias - taken)
