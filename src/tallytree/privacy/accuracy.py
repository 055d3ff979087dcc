"""How large the noise of a level is, from its plan alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

from tallytree.privacy.plan import LevelPlan, Plan

WIDE = 10
"""From this sigma on, the variance of discrete Gaussian noise is sigma^2 to more digits than a float has."""


def find_variance(level: LevelPlan) -> float:
    """Return the variance of the noise of one answer.

    Two-sided geometric noise of scale lambda, P(k) proportional to q^|k| with q = exp(-1/lambda), has the
    variance 2 q / (1 - q)^2, which is 1 / (2 sinh(1 / (2 lambda))^2). That of discrete Gaussian noise is the
    sum of its terms, and nearly sigma^2.
    """
    scale = float(level.scale)
    if level.unit == "rho":
        return scale**2 if scale >= WIDE else _add_up(scale)
    half = 1 / (2 * scale)
    return 0.0 if half > 350 else 1 / (2 * math.sinh(half) ** 2)


def find_deviation(level: LevelPlan) -> float:
    """Return the standard deviation of the noise of one answer."""
    return math.sqrt(find_variance(level))


def find_count_deviation(level: LevelPlan) -> float:
    """Return the standard deviation of the noise of one count.

    From cumulative answers, a count is the difference of two, and both have noise.
    """
    return find_deviation(level) * (1 if level.query == "sizes" else math.sqrt(2))


def _add_up(sigma: float) -> float:
    weights = [math.exp(-(k**2) / (2 * sigma**2)) for k in range(1, math.ceil(40 * sigma) + 2)]
    return 2 * sum(k**2 * weight for k, weight in enumerate(weights, 1)) / (1 + 2 * sum(weights))


# How exact the measured counts of a level are, from the plan alone.

COVERED = 0.95

ANSWERS = {
    "sizes": "the number of groups of one size in one region",
    "cumulative": "the number of groups of up to some size in one region",
    "above": "the number of groups of at least some size in one region",
    "chain": "a running number of groups over the sizes and the regions of the level",
}
"""What one measured answer is, by the name of the query."""


@dataclass(frozen=True)
class LevelAccuracy:
    """The noise of one measured answer."""

    name: str
    answer: str
    """What was measured, in words."""
    deviation: float
    """The standard deviation."""
    reach: int
    """The noise is at most this large, up or down, 19 times in 20."""


def find_accuracy(plan: Plan) -> list[LevelAccuracy]:
    """Return the accuracy of each level, root first."""
    return [
        LevelAccuracy(
            level.name, ANSWERS.get(level.query, "one number"), find_deviation(level), find_reach(level)
        )
        for level in plan.levels
    ]


def find_reach(level: LevelPlan) -> int:
    """Return the smallest k for which the noise is within -k .. k with probability 95 %.

    For two-sided geometric noise P(|noise| > k) = 2 q^(k+1) / (1 + q). Discrete Gaussian noise is taken as
    normal, and k is rounded up: it may be one more than the smallest.
    """
    scale = float(level.scale)
    if level.unit == "rho":
        return math.ceil(NormalDist().inv_cdf((1 + COVERED) / 2) * scale)
    q = math.exp(-1 / scale)
    if 2 * q / (1 + q) <= 1 - COVERED:
        return 0
    return max(0, math.ceil(-scale * math.log((1 - COVERED) * (1 + q) / 2) - 1))
