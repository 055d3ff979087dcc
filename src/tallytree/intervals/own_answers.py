"""Estimates of releases that are too large for replicates: from the noisy answers of the selected regions.

These answers differ from the truth by noise of known variance and by nothing else. So a sum of counts over
regions, which is linear in their answers, has an unbiased estimate with a known standard error, whatever
post-processing did to the released number; a ratio of two such sums has one to first order. The interval is
wider than that of the released number would be, which also knows what other regions tell.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from tallytree.arrays import CHUNK_CELLS, take_rows
from tallytree.errors import IntervalsError
from tallytree.intervals.estimates import Draws, Estimate
from tallytree.intervals.likely_ranges import Range
from tallytree.intervals.selections import SHARE, Selection
from tallytree.privacy.accuracy import find_variance
from tallytree.privacy.measurements import Measurements
from tallytree.releases.flags import FlagLimits
from tallytree.sizes import list_edges
from tallytree.solvers.unbiased import ADDITIVE

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

SURE = 3.0
"""A ratio has an interval if what it divides by is at least so many standard errors from zero."""


def estimate_from_answers(
    selected: Selection,
    measurements: Measurements,
    counts: Sequence[Ints],
    *,
    coverage: Fraction,
    flags: FlagLimits,
) -> Estimate:
    """Estimate groups, a sum or mean of sizes, or a share; the value is the released one."""
    value = float(selected.find(selected.add_up(counts))[0])
    measure, is_public = selected.measure, selected.is_public
    within = Range.of(measure.kind, measure.limits, selected.own_sizes)
    middle, error = (value, 0.0) if is_public else _find_unbiased(selected, measurements)
    reach = error * find_noise_reach(coverage, is_gaussian=measurements.plan.delta is not None)
    low, high = (float(end) for end in within.round(np.array(middle - reach), np.array(middle + reach)))
    if math.isnan(error) or math.isnan(value):
        low, high = within.least, within.most
    flag = flags.flag(value, low, high) if math.isfinite(value) else "noise"
    bias = 0.0 if is_public else math.nan
    draws = Draws(value, np.empty(0), np.empty(0), (), coverage, flags, within, is_public)
    return Estimate(
        selected.name, measure.title, value, low, high, bias, error, coverage, flag, is_public, draws
    )


def find_noise_reach(coverage: Fraction, *, is_gaussian: bool) -> float:
    """Return how many standard errors an interval reaches to both sides.

    Sums of many draws are normal; a single draw of geometric noise has longer tails. The larger of the two
    quantiles is safe for both.

    >>> round(find_noise_reach(Fraction(9, 10), is_gaussian=False), 3)
    1.645
    >>> round(find_noise_reach(Fraction(99, 100), is_gaussian=False), 3)
    3.256
    """
    normal = NormalDist().inv_cdf(float((1 + coverage) / 2))
    return normal if is_gaussian else max(normal, -math.log(float(1 - coverage)) / math.sqrt(2))


def _find_unbiased(selection: Selection, measurements: Measurements) -> tuple[float, float]:
    """Return the unbiased estimate and its standard error; NaN where a ratio has none."""
    edges = np.array(list_edges(selection.sizes), dtype=np.float64)
    inside = np.zeros(len(edges))
    inside[selection.places] = 1.0
    name = selection.measure.name.removesuffix("_least")
    parts = {
        "groups": (inside, None),
        "size_sum": (inside * edges, None),
        "size_mean": (inside * edges, inside),
        SHARE: (inside, np.ones(len(edges))),
    }
    if name not in parts:
        raise IntervalsError(
            "The release is too large for replicates, without which there are no intervals of quantiles: ask "
            "for groups, size_sum, size_mean or share."
        )
    query = measurements.plan.levels[0].query
    if query not in ADDITIVE:
        raise IntervalsError("The release is too large for replicates, and its answers do not add up.")
    answers, variances = _add_answers(selection, measurements)
    above, below = (None if each is None else _weigh_answers(each, query) for each in parts[name])
    assert above is not None
    if below is None:
        return float(above @ answers), math.sqrt(float(above**2 @ variances))
    whole = float(below @ answers)
    if whole <= SURE * math.sqrt(float(below**2 @ variances)):
        return math.nan, math.nan
    ratio = float(above @ answers) / whole
    return ratio, math.sqrt(float(((above - ratio * below) / whole) ** 2 @ variances))


def _weigh_answers(weights: Floats, query: str) -> Floats:
    """Return the coefficient of each answer in a sum of counts with these weights.

    From below n_k = c_k - c_(k-1), and from above n_k = x_k - x_(k+1).
    """
    if query == "sizes":
        return weights
    if query == "above":
        return np.diff(weights, prepend=0.0)
    return -np.diff(weights, append=0.0)


def _add_answers(selection: Selection, measurements: Measurements) -> tuple[Floats, Floats]:
    """Return the sum of the answers of all selected regions, and the variance of its noise."""
    plan = measurements.plan
    answers, variances = (np.zeros(plan.shape(0)[1]) for _ in range(2))
    for level, regions in enumerate(selection.regions):
        step = max(1, CHUNK_CELLS // plan.shape(level)[1])
        for start in range(0, len(regions), step):
            answers += take_rows(measurements.values, level, regions[start : start + step]).sum(axis=0)
        own = np.full(len(variances), find_variance(plan.levels[level]))
        if plan.has_public_totals(level):
            own[-1] = 0.0
        variances += len(regions) * own
    return answers, variances
