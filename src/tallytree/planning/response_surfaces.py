"""What to expect at settings that were not simulated: a surface through those that were.

A few settings, spread over all that may be asked for (a Latin hypercube), are simulated. Errors at a level
depend mainly on one number: the noise that is left in an entry after all levels have been adjusted to each
other. For least squares on a balanced tree it is known (:func:`find_left`), and a quadratic trend in its
logarithm explains most of what happens. Deviations from the trend are a Gaussian process of the logarithms of
the levels' scales, with a reach of its own for each level (universal kriging; Santner, Williams and Notz,
*The Design and Analysis of Computer Experiments*, 2003, chapter 3). Runs vary by chance, the more so the
fewer groups are off, so the surface is smoothed (by a nugget). Its variance, its nugget and its reaches are
the likeliest ones (restricted maximum likelihood, section 3.3), with weak prior distributions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

USUAL = (0.1, 0.02)
"""The variance of deviations from the trend, and that of the errors of single runs: before they are known."""
REACH = 5.0
"""How far deviations reach, in natural logarithms of a level's scale, before that is known."""
DOUBTS = (1.0, 1.0, 0.5)
"""Standard deviations of the logarithms of these three."""
FIRST_STEP, LAST_STEP = 1.0, 0.1
"""The steps of the search for the likeliest, in logarithms."""
LEAST_PART = 0.01
"""The smallest part of a level that is simulated: one percent."""
NEAR = 2.0
"""A split is near another one if its weights differ at most by this factor."""
EVERY = 3
"""One in so many simulated settings has any split."""
MOST_RATIO = 4.0
"""No level is simulated with more than so many times the loss of the last one: such solves take long, and the
level is then as good as known to the last one, and the last one of no use to it."""
SMALL_NOISE = 0.6
"""Errors bend more where the noise is hardly any: some settings are in the upper range of epsilon, which
begins at this share of the way, in logarithms."""
FREEDOM = 1e-6
"""One over the variance of the trend's coefficients, before anything is known of them."""
LEAST_VARIANCE = 1e-12
"""With less than that for an entry, there is as good as no noise."""
LARGE_SCALE, TERMS = 8.0, 60
"""From this scale on, the variance of the discrete Gaussian is that of the continuous one; and as many of its
probabilities are added up below it."""


def spread_settings(
    planned: Sequence[float], count: int, *, low: float, high: float, seed: int, every: int = 2
) -> Floats:
    """Return so many settings, spread over all that there are: each level's loss, settings x levels.

    The loss of all levels together, an epsilon or a rho, is between ``low`` and ``high``. Most settings have
    splits near the one that was planned, which most are asked about, and every second or so has any.
    """
    generator = np.random.default_rng(seed)
    levels = len(planned)
    cube = np.column_stack(
        [(generator.permutation(count) + generator.random(count)) / count for _ in range(levels + 1)]
    )
    epsilon = low * (high / low) ** cube[:, 0]
    weights = np.array(planned) * NEAR ** (2 * cube[:, 1:] - 1)
    any_split = slice(every - 1, None, every)
    weights[any_split] = LEAST_PART ** cube[any_split, 1:]
    least = min(LEAST_PART, 1 / levels)
    parts = least + (1 - levels * least) * weights / weights.sum(axis=1, keepdims=True)
    spread: Floats = epsilon[:, None] * parts
    return spread


def design_settings(planned: Sequence[float], count: int, *, low: float, high: float, seed: int) -> Floats:
    """Return the settings to simulate: as :func:`spread_settings`, but none that takes long.

    Among those with any split, every other one has a large loss, and no level has much more of it than the
    last: what is left out is answered by what is simulated in its place (:meth:`Settings.find_points`).
    """
    spread = spread_settings(planned, count, low=low, high=high, seed=seed, every=EVERY)
    upper = spread[2 * EVERY - 1 :: 2 * EVERY]
    upper *= (high / upper.sum(axis=1, keepdims=True)) ** SMALL_NOISE
    any_split = spread[EVERY - 1 :: EVERY]
    any_split[:, :-1] = np.minimum(any_split[:, :-1], MOST_RATIO * any_split[:, [-1]])
    return spread


@dataclass(frozen=True, eq=False)
class Settings:
    """Settings as the surfaces see them."""

    scales: Floats
    """The logarithms of the levels' scales: settings x levels."""
    left: Floats
    """Those of the noise that is left at each level."""

    @classmethod
    def of(cls, scales: Floats, regions: Sequence[int], *, is_gaussian: bool) -> Settings:
        """Describe settings by the scales of the noise of each level, which has so many regions."""
        left = find_left(find_variances(scales, is_gaussian=is_gaussian), scales, regions)
        return cls(np.log(scales), np.log(find_amount(left)))

    def find_points(self, level: int) -> Floats:
        """Return where the settings are for a level, to which others may be known, or of no use."""
        points, far = self.scales.copy(), np.log(MOST_RATIO)
        points[:, -1] = np.minimum(points[:, -1], points[:, level] + far)
        points[:, :-1] = np.maximum(points[:, :-1], points[:, [-1]] - far)
        return points

    def list_trend(self, level: int) -> Floats:
        """Return the terms of the trend: settings x terms."""
        left = self.left[:, level]
        return np.column_stack([np.ones(len(left)), left, left**2])


def find_variances(scales: Floats, *, is_gaussian: bool) -> Floats:
    """Return the variance of noise of these scales: two-sided geometric, or discrete Gaussian."""
    if not is_gaussian:
        ratio = np.exp(-1 / scales)
        pure: Floats = np.maximum(2 * ratio / (1 - ratio) ** 2, LEAST_VARIANCE)
        return pure
    squares = np.arange(1, TERMS + 1) ** 2
    weights = 2 * np.exp(-squares / (2 * np.minimum(scales, LARGE_SCALE)[..., None] ** 2))
    small = (weights * squares).sum(axis=-1) / (1 + weights.sum(axis=-1))
    found: Floats = np.maximum(np.where(scales < LARGE_SCALE, small, scales**2), LEAST_VARIANCE)
    return found


def find_amount(variances: Floats) -> Floats:
    """Return the mean absolute value of the two-sided geometric noise that has this variance."""
    amount: Floats = variances / np.sqrt(1 + 2 * variances)
    return amount


def find_left(variances: Floats, scales: Floats, regions: Sequence[int]) -> Floats:
    """Return the variance that weighted least squares leaves of the noise of each level: settings x levels.

    The weights are 1 / scale^2, as in the solvers. On a balanced tree the answers fall apart into the totals
    and, for each level, the differences among the children of a region. Each is estimated by a weighted mean
    of what its level and all below say of it.
    """
    of_differences = np.empty_like(variances)
    for level in range(len(regions)):
        times = [below / regions[level] for below in regions[level:]]  # so many answers add up to one
        weights = 1 / (scales[:, level:] ** 2 * times)
        squares = weights**2 * variances[:, level:] * times
        of_differences[:, level] = squares.sum(axis=1) / weights.sum(axis=1) ** 2
    left = np.zeros_like(variances)
    for level, here in enumerate(regions):
        for above in range(level + 1):
            free = 1 - regions[above - 1] / regions[above] if above else 1.0
            left[:, level] += max(free, 0.0) * of_differences[:, above] * (regions[above] / here) ** 2
    return np.maximum(left, LEAST_VARIANCE)


@dataclass(frozen=True, eq=False)
class Surface:
    """Several answers, as functions of the noise of the levels."""

    level: int
    points: Floats
    """Where the simulated settings are: settings x levels."""
    kinds: Ints
    """Of which kind each answer is."""
    reaches: Floats
    """How far deviations from the trend reach: kinds x levels."""
    coefficients: Floats
    """Of each answer, for the correlation with each setting, for 1, and for the trend: terms x answers."""

    def find(self, settings: Settings) -> Floats:
        """Return the answers at other settings, settings x answers."""
        points, trend = settings.find_points(self.level), settings.list_trend(self.level)
        answers = np.empty((len(points), len(self.kinds)))
        for kind, reaches in enumerate(self.reaches):
            those = self.kinds == kind
            terms = np.hstack([_correlate(points, self.points, reaches), trend])
            answers[:, those] = terms @ self.coefficients[:, those]
        return answers


def fit_surface(
    settings: Settings,
    level: int,
    answers: Floats,
    kinds: Sequence[str],
    chance: Floats,
    chances: Mapping[str, Floats] = MappingProxyType({}),
) -> Surface:
    """Fit the likeliest surface, for all answers of a kind with the same variances and reaches.

    ``kinds`` has the kind of each answer. ``chance`` is the least variance that answers have at each setting
    because runs vary; ``chances`` has that of kinds with another one.
    """
    names = list(dict.fromkeys(kinds))
    numbers = np.array([names.index(kind) for kind in kinds])
    points, trend = settings.find_points(level), settings.list_trend(level)
    reaches = np.empty((len(names), points.shape[1]))
    coefficients = np.empty((len(points) + trend.shape[1], answers.shape[1]))
    for number, name in enumerate(names):
        those = numbers == number
        fit = _Fit(points, trend, chances.get(name, chance))
        logarithms = fit.search(answers[:, those])
        reaches[number] = np.exp(logarithms[2:])
        coefficients[:, those] = fit.solve(logarithms, answers[:, those])
    return Surface(level, points, numbers, reaches, coefficients)


@dataclass(frozen=True, eq=False)
class _Fit:
    """What is fitted, but for the answers."""

    points: Floats
    trend: Floats
    chance: Floats
    """The least variance of each setting's answers."""

    def search(self, answers: Floats) -> Floats:
        """Find the logarithms of the likeliest variance, nugget and reaches, by steps along each of them."""
        levels = self.points.shape[1]
        usual = np.log([*USUAL, *[REACH] * levels])
        doubts = np.array([DOUBTS[0], DOUBTS[1], *[DOUBTS[2]] * levels])
        best = usual
        least = self._rate(best, answers)
        step = FIRST_STEP
        while step > LAST_STEP:
            before = least
            for place, sign in product(range(len(best)), (1.0, -1.0)):
                tried = best.copy()
                tried[place] += sign * step * doubts[place]
                found = self._rate(tried, answers) + (((tried - usual) / doubts) ** 2).sum() / 2
                if found < least:
                    best, least = tried, found
            if least > before - 0.01:
                step /= 2
        return best

    def _rate(self, logarithms: Floats, answers: Floats) -> float:
        """Return the negative restricted log-likelihood, as a mean over the answers."""
        lower = np.linalg.cholesky(self._covariance(logarithms))
        trend, seen = np.linalg.solve(lower, self.trend), np.linalg.solve(lower, answers)
        freedom = trend.T @ trend + FREEDOM * np.eye(trend.shape[1])
        along = trend.T @ seen
        squares = (seen**2).sum() - (along * np.linalg.solve(freedom, along)).sum()
        determinants = np.log(np.diag(lower)).sum() + np.linalg.slogdet(freedom)[1] / 2
        return float(determinants + squares / (2 * answers.shape[1]))

    def solve(self, logarithms: Floats, answers: Floats) -> Floats:
        """Return the coefficients: of the correlations, and of the trend."""
        inverse = np.linalg.inv(self._covariance(logarithms))
        freedom = self.trend.T @ inverse @ self.trend + FREEDOM * np.eye(self.trend.shape[1])
        trend = np.linalg.solve(freedom, self.trend.T @ inverse @ answers)
        weights = np.exp(logarithms[0]) * inverse @ (answers - self.trend @ trend)
        return np.vstack([weights, trend])

    def _covariance(self, logarithms: Floats) -> Floats:
        variance, nugget, *reaches = np.exp(logarithms).tolist()
        correlation = _correlate(self.points, self.points, np.array(reaches))
        covariance: Floats = variance * correlation + np.diag(nugget + self.chance)
        return covariance


def _correlate(here: Floats, points: Floats, reaches: Floats) -> Floats:
    """Return the Matern correlation of smoothness 5/2."""
    apart = (here[:, None, :] - points[None, :, :]) / reaches
    far = np.sqrt(5 * (apart**2).sum(axis=2))
    correlation: Floats = (1 + far + far**2 / 3) * np.exp(-far)
    return correlation
