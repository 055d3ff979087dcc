"""What to expect at settings that were not simulated: a surface through those that were.

A few settings, spread over all that may be asked for (a Latin hypercube), are simulated. Errors at a level
depend mainly on one number: the noise that is left in an entry after all levels have been adjusted to each
other. For least squares on a balanced tree it is known (:func:`find_left`), and a trend in its logarithm
explains most of what happens. Deviations from the trend are a Gaussian process of that number and, less so,
of the other levels' noise (universal kriging; Santner, Williams and Notz, *The Design and Analysis of
Computer Experiments*, 2003, chapter 3). Runs vary by chance, so the surface is smoothed (by a nugget). Its
reach and its nugget are those with the smallest errors where one setting at a time is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

REACHES = (1.0, 2.0, 4.0, 8.0)
"""How far deviations from the trend reach, in natural logarithms of the noise."""
NUGGETS = (0.003, 0.03, 0.3, 1.0, 3.0)
"""The variance that is due to chance, as a share of that of the deviations."""
OTHERS = 0.3
"""How much the noise of another level matters, where that of the level itself matters 1."""
FAR = 4.0
"""With noise so much less or more, in natural logarithms, another level is as good as known, or unknown."""
LEAST_PART = 0.01
"""The smallest part of a level that is simulated: one percent."""
NEAR = 2.0
"""A split is near another one if its weights differ at most by this factor."""
SMALLEST = 1e-12
FREEDOM = 1e-6
"""One over the variance of the trend's coefficients, before anything is known of them."""
LEAST_NOISE = 0.01
"""With less than that for an entry, there is as good as none."""


def spread_settings(planned: Sequence[float], count: int, *, low: float, high: float, seed: int) -> Floats:
    """Return so many settings, spread over all that there are: each level's epsilon, settings x levels.

    The epsilon of all levels together is between ``low`` and ``high``. Half of the settings have splits near
    the one that was planned, which most are asked about, and the others have any.
    """
    generator = np.random.default_rng(seed)
    levels = len(planned)
    cube = np.column_stack(
        [(generator.permutation(count) + generator.random(count)) / count for _ in range(levels + 1)]
    )
    epsilon = low * (high / low) ** cube[:, 0]
    near = np.array(planned) * NEAR ** (2 * cube[:, 1:] - 1)
    weights = np.where((np.arange(count) % 2 == 0)[:, None], near, LEAST_PART ** cube[:, 1:])
    least = min(LEAST_PART, 1 / levels)
    parts = least + (1 - levels * least) * weights / weights.sum(axis=1, keepdims=True)
    spread: Floats = epsilon[:, None] * parts
    return spread


def find_noise(scales: Floats) -> Floats:
    """Return the mean absolute noise of an entry, by the scale of the two-sided geometric noise."""
    ratio = np.exp(-1 / scales)
    noise: Floats = np.maximum(2 * ratio / (1 - ratio**2), LEAST_NOISE)
    return noise


def find_left(noise: Floats, regions: Sequence[int]) -> Floats:
    """Return what least squares leaves of the noise of each level, which has so many regions: s x levels.

    Upwards, a region is estimated from its own answer and from the sum of its children; downwards, what the
    region above knows better is shared out among its children.
    """
    own = noise**2
    up = own.copy()
    for level in range(len(regions) - 2, -1, -1):
        children = max(1.0, regions[level + 1] / regions[level])
        up[:, level] = 1 / (1 / own[:, level] + 1 / (children * up[:, level + 1]))
    left = up.copy()
    for level in range(1, len(regions)):
        children = max(1.0, regions[level] / regions[level - 1])
        left[:, level] -= (up[:, level] - left[:, level - 1] / children) / children
    root: Floats = np.sqrt(left)
    return root


@dataclass(frozen=True, eq=False)
class Surface:
    """Several answers, as functions of the noise of the levels."""

    level: int
    points: Floats
    """The coordinates of what was simulated: settings x levels."""
    reaches: Floats
    """How far deviations from the trend reach, for each answer."""
    coefficients: Floats
    """Of each answer, for the correlation with each setting, for 1, and for the trend: terms x answers."""

    def find(self, noise: Floats, left: Floats) -> Floats:
        """Return the answers at other settings, settings x answers."""
        here = find_coordinates(noise, left, self.level)
        answers = np.empty((len(here), len(self.reaches)))
        for reach in np.unique(self.reaches).tolist():
            those = self.reaches == reach
            terms = np.hstack([_correlate(here, self.points, reach), _list_trend(here)])
            answers[:, those] = terms @ self.coefficients[:, those]
        return answers


def find_coordinates(noise: Floats, left: Floats, level: int) -> Floats:
    """Return where settings are for a level: by what is left of its noise, and by the other levels' noise."""
    others = np.delete(np.log(noise), level, axis=1) - np.log(noise[:, [level]])
    return np.column_stack([np.log(left[:, level]), OTHERS * FAR * np.tanh(others / FAR)])


def fit_surface(noise: Floats, left: Floats, level: int, answers: Floats, kinds: Sequence[object]) -> Surface:
    """Fit the surface with the smallest errors where one setting at a time is left out.

    That is found for all answers of a kind together; ``kinds`` has that of each. What would be expected of a
    setting without itself follows from the inverse of the system that all settings make up (Dubrule, 1983,
    "Cross validation of kriging in a unique neighborhood").
    """
    points = find_coordinates(noise, left, level)
    count = len(points)
    fits = [
        (reach, _invert(points, reach, nugget, slopes))
        for reach in REACHES
        for nugget in NUGGETS
        for slopes in {1, points.shape[1]}
    ]
    missed = [inverse[:count, :count] @ answers / np.diag(inverse)[:count, None] for _, inverse in fits]
    errors = np.array([(each**2).mean(axis=0) for each in missed])
    reaches = np.empty(answers.shape[1])
    coefficients = np.empty((count + 1 + points.shape[1], answers.shape[1]))
    for kind in dict.fromkeys(kinds):
        those = np.array([each == kind for each in kinds])
        spread = np.maximum(answers[:, those].var(axis=0), SMALLEST)
        reach, inverse = fits[int(np.argmin((errors[:, those] / spread).sum(axis=1)))]
        reaches[those] = reach
        coefficients[:, those] = inverse[:, :count] @ answers[:, those]
    return Surface(level, points, reaches, coefficients)


def _invert(points: Floats, reach: float, nugget: float, slopes: int) -> Floats:
    """Return the inverse of the system, with a trend along so many coordinates, and none along the others.

    The trend is not quite free, so that there is an inverse even where all settings are the same.
    """
    count, levels = points.shape
    trend = _list_trend(points)[:, : 1 + slopes]
    correlation = _correlate(points, points, reach) + nugget * np.eye(count)
    inverse = np.linalg.inv(np.block([[correlation, trend], [trend.T, -FREEDOM * np.eye(1 + slopes)]]))
    return np.pad(inverse, ((0, levels - slopes), (0, 0)))


def _list_trend(points: Floats) -> Floats:
    return np.column_stack([np.ones(len(points)), points])


def _correlate(here: Floats, points: Floats, reach: float) -> Floats:
    """Return the Matern correlation of smoothness 5/2."""
    squares = ((here[:, None, :] - points[None, :, :]) ** 2).sum(axis=2)
    far = np.sqrt(5 * squares) / reach
    correlation: Floats = (1 + far + far**2 / 3) * np.exp(-far)
    return correlation
