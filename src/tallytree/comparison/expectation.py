"""Whether noise alone explains how far apart two releases are.

Released counts are smoothed in ways that differ from place to place. What they were made from, the noisy
answers, is in both releases as well, and there the noise is known exactly: if A and B are of the same data,
their answers differ by the difference of two independent draws. Two things are looked at over all answers of
a level: the mean square of the differences, which has a known mean and variance, and the largest of them, of
which Chernoff's bound says how far it reaches.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from tallytree.arrays import cut_rows, get_rows, get_shape, take_rows
from tallytree.comparison.differences import Noise, Verdict
from tallytree.privacy.measurements import Measurements
from tallytree.privacy.plan import LevelPlan

Ints = npt.NDArray[np.int64]

MOST_DEVIATIONS = 5.0
"""How far from its mean the mean square may be. By Cantelli's inequality noise alone goes further at most
once in 26 times, however few the answers are; for hundreds of them, practically never."""
RARE = 0.001
"""How often noise alone may go beyond the reach, in one comparison of a level."""


def explain_no_verdict(a: Measurements | None, b: Measurements | None, level: int) -> str | None:
    """Why noise cannot be told apart at a level; None if it can."""
    if a is None or b is None:
        return "Of a published table the noise is not known: what differs is not told apart from noise."
    if a.plan.sizes != b.plan.sizes:
        return "A and B were measured on different sizes: what differs is not told apart from noise."
    queries = {each.plan.levels[level].query for each in (a, b)}
    # The chain's answers are running numbers over all regions.
    if len(queries) > 1 or (queries == {"chain"} and a.plan.hierarchy != b.plan.hierarchy):
        return "A and B were measured by different queries: what differs is not told apart from noise."
    return None


def judge(a: Measurements | None, b: Measurements | None, level: int, match: Ints) -> Noise | None:
    """The answers of the regions that both have, if they can be compared.

    ``match`` is the index in B of each region of A, or -1.
    """
    if a is None or b is None or explain_no_verdict(a, b, level):
        return None
    plans = a.plan, b.plan
    # Public numbers of groups are measured without noise, in the last column.
    known = any(plan.has_public_totals(level) for plan in plans)
    answers, squares, largest = 0, 0.0, 0
    for start, stop in cut_rows(*get_shape(a.values, level)):
        here = np.flatnonzero(match[start:stop] >= 0)
        rows = get_rows(a.values, level, start, stop)[here]
        others = take_rows(b.values, level, match[start:stop][here])
        apart = (rows - others)[:, : -1 if known else None]
        answers += apart.size
        squares += float((apart.astype(np.float64) ** 2).sum())
        largest = max(largest, int(np.abs(apart).max(initial=0)))
    if not answers:
        return None
    levels = [plan.levels[level] for plan in plans]
    variance = sum(find_cumulants(each)[0] for each in levels)
    spread = math.sqrt((sum(find_cumulants(each)[1] for each in levels) + 2 * variance**2) / answers)
    reach = find_reach(levels, answers)
    verdict: Verdict = "explained"
    if largest > reach or squares / answers > variance + MOST_DEVIATIONS * spread:
        verdict = "more"
    elif squares / answers < variance - MOST_DEVIATIONS * spread:
        verdict = "less"
    return Noise(answers, math.sqrt(squares / answers), math.sqrt(variance), largest, reach, verdict)


def find_cumulants(level: LevelPlan) -> tuple[float, float]:
    """The variance of a level's noise, and its fourth cumulant.

    Two-sided geometric noise is the difference of two geometric numbers, whose cumulants are q / p^2 and
    q (1 + 4q + q^2) / p^4 with q = exp(-1 / scale) and p = 1 - q. A discrete Gaussian number has sigma^2 at
    most, and practically nothing beyond.
    """
    scale = float(level.scale)
    if level.unit == "rho":
        return scale**2, 0.0
    q, p = math.exp(-1 / scale), -math.expm1(-1 / scale)
    return 2 * q / p**2, 2 * q * (1 + 4 * q + q**2) / p**4


def find_reach(levels: list[LevelPlan], answers: int) -> int:
    """What the largest of so many differences stays within but for :data:`RARE` cases.

    Chernoff: P(|X - Y| > x) <= 2 M(t) exp(-t x) for any t, M the product of the two generating functions.
    """
    widest = max(float(level.scale) for level in levels)
    needed = math.log(2 * answers / RARE)
    # From 1 / scale on a two-sided geometric number has no M; a Gaussian one has, and its best t lies there.
    most = 1.0 if all(level.unit == "epsilon" for level in levels) else math.sqrt(2 * needed)
    steps = [most * step / 1000 / widest for step in range(1, 1000)]
    bounds = [(sum(_find_log_moment(level, t) for level in levels) + needed) / t for t in steps]
    return math.floor(min(bounds))


def _find_log_moment(level: LevelPlan, t: float) -> float:
    """The logarithm of E exp(t X): ((1 - q)^2 / ((1 - q e^t) (1 - q e^-t)), or at most (sigma t)^2 / 2."""
    scale = float(level.scale)
    if level.unit == "rho":
        return (scale * t) ** 2 / 2
    if t * scale >= 1:
        return math.inf
    p = -math.expm1(-1 / scale)
    return 2 * math.log(p) - math.log(-math.expm1(t - 1 / scale)) - math.log(-math.expm1(-t - 1 / scale))
