"""The best unbiased estimates: from the measurements alone, with exact variances.

Released counts are whole and not negative, which biases them upwards where there are few groups. Use these
estimates if you prefer unbiased ones to non-negative ones. Each is the linear combination of all measurements
with the least variance among the unbiased ones: a region's own answers, those of the regions below it, and
those above and beside it. On a tree that takes one pass up and one down (belief propagation, here exact).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tallytree.errors import MechanismError
from tallytree.hierarchy import Hierarchy
from tallytree.privacy.accuracy import find_variance
from tallytree.privacy.measurements import Measurements
from tallytree.privacy.plan import Plan
from tallytree.sizes import Sizes, list_edges

Floats = npt.NDArray[np.float64]

ADDITIVE = ("sizes", "cumulative", "above")
"""Queries whose answers add up over regions."""


@dataclass(frozen=True, eq=False)
class Estimates:
    """Estimates and variances of one level: regions x sizes."""

    value: Floats
    variance: Floats


def estimate_counts(measurements: Measurements) -> list[Estimates]:
    """Estimate the number of groups of each size, for each level."""
    plan = measurements.plan
    return [_subtract(plan.levels[at].query, answer) for at, answer in enumerate(_combine(measurements))]


def estimate_size_sums(measurements: Measurements) -> list[Estimates]:
    """Estimate the sum of the sizes of a region's groups, for each level: regions x 1."""
    plan = measurements.plan
    found = []
    for at, answer in enumerate(_combine(measurements)):
        weights = _weigh_sizes(plan.levels[at].query, plan.sizes)
        # The noise of different sizes is independent.
        found.append(Estimates(answer.value @ weights[:, None], answer.variance @ weights[:, None] ** 2))
    return found


def _weigh_sizes(query: str, sizes: Sizes) -> Floats:
    """Return the coefficient of each answer in the sum of the sizes, a class counted by its least size.

    With edges e and counts n, sum_k e_k n_k = e_K c_K - sum_(k < K) (e_(k+1) - e_k) c_k from below, and
    e_1 x_1 + sum_(k > 1) (e_k - e_(k-1)) x_k from above.
    """
    edges = np.array(list_edges(sizes), dtype=np.float64)
    if query == "sizes":
        return edges
    if query == "above":
        return np.diff(edges, prepend=0.0)
    return np.append(-np.diff(edges), edges[-1])


def _subtract(query: str, answer: Estimates) -> Estimates:
    """Compute counts from cumulative answers."""
    if query == "sizes":
        return answer
    if query == "above":
        reverse = Estimates(answer.value[:, ::-1], answer.variance[:, ::-1])
        found = _subtract("cumulative", reverse)
        return Estimates(found.value[:, ::-1], found.variance[:, ::-1])
    variance = answer.variance.copy()
    variance[:, 1:] += answer.variance[:, :-1]
    return Estimates(np.diff(answer.value, axis=1, prepend=0.0), variance)


def _combine(measurements: Measurements) -> list[Estimates]:
    """Return the measured answers, each improved by all others."""
    plan = measurements.plan
    if any(level.query not in ADDITIVE for level in plan.levels):
        raise MechanismError(
            "Unbiased estimates need the sizes or the cumulative query; the answers of this query do not add "
            "up over regions."
        )
    hierarchy = plan.hierarchy
    own = [
        Estimates(measurements.values[at].astype(np.float64), _find_variances(plan, at))
        for at in range(len(plan.levels))
    ]
    # From the leaves up: the estimate of a region from its own answer and all below it.
    below = list(own)
    for at in reversed(range(len(own) - 1)):
        inner, together = _add_children(hierarchy, at, below[at + 1])
        below[at] = _replace(own[at], inner, _weigh(_take(own[at], inner), _take(together, inner)))
    # From the root down: the estimate from all other answers, which is the parent's minus the siblings'.
    best, above = [below[0]], own[0]
    for at in range(1, len(own)):
        parent = hierarchy.parents(at)
        _, together = _add_children(hierarchy, at - 1, below[at])
        others = Estimates(
            above.value[parent] - (together.value[parent] - below[at].value),
            above.variance[parent] + (together.variance[parent] - below[at].variance).clip(0),
        )
        best.append(_weigh(below[at], others))
        above = _weigh(own[at], others)
    return best


def _find_variances(plan: Plan, level: int) -> Floats:
    variance = np.full(plan.shape(level), find_variance(plan.levels[level]))
    if plan.has_public_totals(level):
        variance[:, -1] = 0.0
    return variance


def _add_children(
    hierarchy: Hierarchy, level: int, below: Estimates
) -> tuple[npt.NDArray[np.bool_], Estimates]:
    """Return which regions of a level have subregions, and the sums of the subregions' estimates."""
    parent, count = hierarchy.parents(level + 1), hierarchy.region_counts[level]
    value, variance = (np.zeros((count, below.value.shape[1])) for _ in range(2))
    np.add.at(value, parent, below.value)
    np.add.at(variance, parent, below.variance)
    return np.bincount(parent, minlength=count) > 0, Estimates(value, variance)


def _weigh(one: Estimates, other: Estimates) -> Estimates:
    """Combine two independent estimates of the same number by inverse variance."""
    both = one.variance + other.variance
    share = np.divide(other.variance, both, out=np.full_like(both, 0.5), where=both > 0)
    return Estimates(share * one.value + (1 - share) * other.value, share * one.variance)


def _take(estimates: Estimates, rows: npt.NDArray[np.bool_]) -> Estimates:
    return Estimates(estimates.value[rows], estimates.variance[rows])


def _replace(estimates: Estimates, rows: npt.NDArray[np.bool_], new: Estimates) -> Estimates:
    value, variance = estimates.value.copy(), estimates.variance.copy()
    value[rows], variance[rows] = new.value, new.variance
    return Estimates(value, variance)
