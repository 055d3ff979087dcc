"""How exact the measured counts of a level are, from the plan alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

from tallytree.privacy.deviations import find_deviation
from tallytree.privacy.plan import LevelPlan, Plan

COVERED = 0.95

ANSWERS = {
    "sizes": "the number of groups of one size in one region",
    "cumulative": "the number of groups of up to some size in one region",
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
    """Nineteen of twenty noises are at most so large, up or down."""


def find_accuracy(plan: Plan) -> list[LevelAccuracy]:
    """For each level, root first."""
    return [
        LevelAccuracy(
            level.name, ANSWERS.get(level.query, "one number"), find_deviation(level), find_reach(level)
        )
        for level in plan.levels
    ]


def find_reach(level: LevelPlan) -> int:
    """The least k for which the noise is within -k .. k with probability 95 %.

    For two-sided geometric noise P(|noise| > k) = 2 q^(k+1) / (1 + q). Discrete Gaussian noise is taken as
    normal, and k is rounded up: it may be one more than the least.
    """
    scale = float(level.scale)
    if level.unit == "rho":
        return math.ceil(NormalDist().inv_cdf((1 + COVERED) / 2) * scale)
    q = math.exp(-1 / scale)
    if 2 * q / (1 + q) <= 1 - COVERED:
        return 0
    return max(0, math.ceil(-scale * math.log((1 - COVERED) * (1 + q) / 2) - 1))
