"""How far the interval of an estimate reaches: Student's t, for the errors of so many replicates."""

from __future__ import annotations

import math
from fractions import Fraction
from statistics import NormalDist

FEWEST = 5
"""Errors from which an interval is made: a region may have no mean in some replicates."""
ROUNDING = 1e-9
"""What a float may be above a whole number without standing for the next one."""


def find_reach(coverage: Fraction, replicates: int) -> float:
    """Return how many standard errors of so many replicates an interval reaches to both sides."""
    share = float((1 + coverage) / 2)
    return find_student_quantile(share, replicates - 1) * math.sqrt(1 + 1 / replicates)


def find_student_quantile(share: float, degrees: int) -> float:
    """Return a quantile of Student's t distribution (Cornish and Fisher's expansion).

    >>> round(find_student_quantile(0.95, 49), 3)
    1.677
    """
    z = NormalDist().inv_cdf(share)
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    quantile: float = z + sum(term / degrees**power for power, term in enumerate(terms, 1))
    return quantile
