"""How likely draws are under a distribution: small for the wrong one, and seldom small for the right one."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy import stats

import tallytree as tt

Ints = npt.NDArray[np.int64]

REJECT = 1e-7
"""A right sampler fails with this probability; the wrong ones below fail with near certainty."""


def p_value(draws: Ints, scale: float) -> float:
    """Chi-square of the draws against the two-sided geometric of ``scale``.

    The values are counted one by one, or in steps of a tenth of the scale if that is more; what is so far
    out that fewer than 50 draws are expected there is counted with what is before it.
    """
    ratio = math.exp(-1.0 / scale)
    step = max(1, int(scale / 10))
    most = max(b for b in range(1000) if len(draws) * ratio ** (b * step + 1) / (1 + ratio) >= 50) * step
    above = np.arange(0, most + 1, step)
    ends = np.concatenate([-above[::-1] - 1, above])  # a bin has the values up to its end
    tail = ratio ** (above + 1) / (1 + ratio)  # all above, and by symmetry all below
    expected = np.diff(np.concatenate([tail[::-1], 1 - tail]), prepend=0.0, append=1.0) * len(draws)
    found = np.bincount(np.searchsorted(ends, draws), minlength=len(expected))
    return float(stats.chisquare(found, expected).pvalue)


def residue_p_value(draws: Ints, scale: float, modulus: int) -> float:
    """The same for the rest modulo ``modulus``: it shows the low digits where the scale is large."""
    ratio = math.exp(-1.0 / scale)
    rest = np.arange(modulus)
    share = ratio**rest + ratio ** (modulus - rest)
    found = np.bincount(draws % modulus, minlength=modulus)
    return float(stats.chisquare(found, share / share.sum() * len(draws)).pvalue)


def independence_p_value(one: Ints, other: Ints, most: int) -> float:
    """Chi-square of independence of paired values, those beyond +-``most`` taken together."""
    table = np.zeros((2 * most + 1, 2 * most + 1), dtype=np.int64)
    np.add.at(table, (np.clip(one, -most, most) + most, np.clip(other, -most, most) + most), 1)
    return _contingency_p_value(table)


def two_sample_p_value(one: Ints, other: Ints, most: int) -> float:
    """Chi-square of the hypothesis that both were drawn from the same distribution."""
    rows = [np.bincount(np.clip(draws, -most, most) + most, minlength=2 * most + 1) for draws in (one, other)]
    return _contingency_p_value(np.array(rows))


def check_levels(
    release: tt.Release, counts: tt.GroupCounts, p_value: Callable[[Ints, float], float]
) -> None:
    """Check that what was added to the counts has the scale of its own level, and of no other."""
    plan = release.measurements.plan
    for level, measured in enumerate(release.measurements.values):
        added = (measured - plan.answers(counts)[level]).ravel()
        for other in plan.levels:
            right = other.name == plan.levels[level].name
            assert (p_value(added, float(other.scale)) > REJECT) == right


def _contingency_p_value(table: Ints) -> float:
    seen = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
    return float(stats.chi2_contingency(seen).pvalue)
