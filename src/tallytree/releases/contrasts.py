"""What noisy answers reveal about their own noise, without the truth.

In the true answers a region equals the sum of its subregions; for the chain query, it equals its last
subregion. So the difference between a region's noisy answer and those of its subregions, a *contrast*, is
pure noise. The contrasts of one pair of levels are independent, over regions and over sizes.

They are tested by their cosines. The mean of cos(t d) is the characteristic function of the noise, which is
known in closed form, and so is its variance; and a cosine is bounded, however heavy the tails of d are.
Therefore Bennett's inequality bounds how often the stated noise gives a sum of cosines this far from its
mean, without approximation: for few contrasts as for many, for two-sided geometric noise as for Gaussian
noise. With less noise than stated, cosines are too large; with more, too small. With t = 1 / (standard
deviation of d), it takes some 50 contrasts to detect answers without noise, and 300 to detect a scale that
is 30 % off.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tallytree.arrays import cut_rows, get_rows, get_shape, take_rows
from tallytree.privacy.accuracy import WIDE, find_variance
from tallytree.privacy.measurements import Measurements
from tallytree.privacy.plan import LevelPlan, Plan

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Scatter:
    """How the contrasts of a level's regions with their subregions scatter."""

    contrasts: int
    excess: float
    """The sum of their cosines minus its mean: positive where there is less noise than stated."""
    chance: float
    """The natural logarithm of a bound on how often the stated noise deviates this far, to this side."""
    least_chance: float
    """That bound if there were no noise at all: the strongest evidence that the contrasts can give."""


def measure_scatter(measurements: Measurements) -> list[Scatter]:
    """Measure how the contrasts of each level but the last scatter."""
    plan, values = measurements.plan, measurements.values
    return [_measure_level(plan, values, level) for level in range(len(plan.levels) - 1)]


def _measure_level(plan: Plan, values: Sequence[Ints], level: int) -> Scatter:
    parts = np.bincount(plan.hierarchy.parents(level + 1), minlength=plan.shape(level)[0])
    if plan.levels[level].query == "chain":
        parts = np.minimum(parts, 1)  # the last subregion alone
    frequency, mean, variance = _describe_cosines(plan.levels[level], plan.levels[level + 1], parts)
    # Public numbers of groups are measured without noise, in the last column.
    columns = plan.shape(level)[1] - plan.has_public_totals(level)
    cosines = 0.0
    for start, apart in _find_contrasts(plan, values, level):
        rows = slice(start, start + len(apart))
        cosine = np.cos(apart[:, :columns] * frequency[rows, None])
        cosines += float(cosine[parts[rows] > 0].sum())
    some = parts > 0
    contrasts = columns * int(some.sum())
    excess = cosines - columns * float(mean[some].sum())
    spread = columns * float(variance[some].sum())
    most = columns * float((1 - mean[some]).sum())
    above, below = float((1 - mean[some]).max(initial=0)), float((1 + mean[some]).max(initial=0))
    return Scatter(
        contrasts,
        excess,
        bound_chance(abs(excess), spread, above if excess > 0 else below),
        bound_chance(most, spread, above),
    )


def _find_contrasts(plan: Plan, values: Sequence[Ints], level: int) -> Iterator[tuple[int, Ints]]:
    """Yield some regions of a level at a time: the first index, and their contrasts, regions x sizes."""
    regions, width = plan.shape(level)
    last = None
    if plan.levels[level].query == "chain":
        ends = np.zeros(plan.hierarchy.leaf_count, dtype=np.int64)
        ends[plan.hierarchy.last_leaves(level + 1)] = np.arange(plan.shape(level + 1)[0])
        last = ends[plan.hierarchy.last_leaves(level)]
    else:
        sums = _add_subregions(values, level + 1, plan.hierarchy.parents(level + 1), regions)
    for start, stop in cut_rows(regions, width):
        below = sums[start:stop] if last is None else take_rows(values, level + 1, last[start:stop])
        yield start, get_rows(values, level, start, stop) - below


def _add_subregions(values: Sequence[Ints], level: int, parents: Ints, count: int) -> Ints:
    """Add up the rows of a level by parent, where hardly any value is zero."""
    sums = np.zeros((count, get_shape(values, level)[1]), dtype=np.int64)
    for start, stop in cut_rows(*get_shape(values, level)):
        order = np.argsort(parents[start:stop], kind="stable")
        ordered = parents[start:stop][order]
        heads = np.flatnonzero(np.diff(ordered, prepend=-1))
        rows = get_rows(values, level, start, stop)
        rows = rows if (np.diff(order) == 1).all() else rows[order]
        sums[ordered[heads]] += np.add.reduceat(rows, heads, axis=0)
    return sums


def _describe_cosines(upper: LevelPlan, lower: LevelPlan, parts: Ints) -> tuple[Floats, Floats, Floats]:
    """Return for each region, by its number of subregions, t and the mean and variance of cos(t d)."""
    counts, place = np.unique(parts, return_inverse=True)
    spread = np.sqrt(find_variance(upper) + counts * find_variance(lower))
    # Noise is integer-valued: beyond t = pi, cosines repeat.
    frequency = np.minimum(math.pi, 1 / np.maximum(spread, 1e-9))

    def find_mean(times: int) -> Floats:
        found = [
            find_characteristic(upper, times * t) * find_characteristic(lower, times * t) ** count
            for t, count in zip(frequency.tolist(), counts.tolist(), strict=True)
        ]
        return np.array(found, dtype=np.float64)

    mean = find_mean(1)
    variance = np.maximum((1 + find_mean(2)) / 2 - mean**2, 0.0)  # cos(x)^2 = (1 + cos(2x)) / 2
    return frequency[place], mean[place], variance[place]


def find_characteristic(level: LevelPlan, t: float) -> float:
    """Return the mean of cos(t X) for the noise X of one answer.

    It is 1 / (1 + 2 v sin(t / 2)^2) for two-sided geometric noise of variance v, and nearly
    exp(-(t sigma)^2 / 2), for t up to pi, for discrete Gaussian noise that is wide.
    """
    if level.unit == "epsilon":
        return 1 / (1 + 2 * find_variance(level) * math.sin(t / 2) ** 2)
    sigma = float(level.scale)
    if sigma >= WIDE:
        near = math.remainder(t, 2 * math.pi)
        return math.exp(-((near * sigma) ** 2) / 2)
    weights = [math.exp(-(k**2) / (2 * sigma**2)) for k in range(1, math.ceil(40 * sigma) + 2)]
    waves = sum(weight * math.cos(t * k) for k, weight in enumerate(weights, 1))
    return (1 + 2 * waves) / (1 + 2 * sum(weights))


def bound_chance(excess: float, variance: float, most: float) -> float:
    """Return ln of Bennett's bound on the probability that a sum is ``excess`` or more above its mean.

    Its terms are independent, with this total ``variance``, and none exceeds its mean by more than ``most``.
    """
    if excess <= 1e-9 or most <= 0:  # no more than rounding
        return 0.0
    share = excess * most / max(variance, 1e-300)
    return -max(variance, 1e-300) / most**2 * ((1 + share) * math.log1p(share) - share)
