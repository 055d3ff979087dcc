"""Plausible true counts, given noisy answers of the sizes query: what replicates begin with.

Released counts would not do. Post-processing cuts noise off at zero, which leaves groups in many cells that
are empty, and what it does to counts that have groups there is not what it did to the true ones. So counts
are drawn from the root down. The answers y of a region, with noise of variance V, have the model

    y_s = n_s + noise,      n_s = m_s + scatter of variance q_s.

Below the root, m_s is the region's share of its parent's draw (the one that fits y best, by least squares),
and q_s = m_s + phi m_s^2: that of independent groups, and how much shapes differ within a level, phi, by the
method of moments. At the root, m_s is drawn around the mean answer of sizes nearby, and q_s is their mean
square beyond that of the noise, at least m_s. Given these, n_s is drawn from its posterior; then all levels
are reconciled by Model M_H. It reads noisy answers and public facts alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tallytree.arrays import MAX_MEASURED, cut_rows
from tallytree.privacy.accuracy import find_variance
from tallytree.privacy.plan import Plan
from tallytree.solvers.tree.tree_model import solve_tree_model

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

REACH, LEAST_REACH = 0.1, 2
"""How far a size looks to both sides at the root, as a share of its place, and at least."""
DOUBT = 3.3
"""Scatter at the root counts from so much beyond the noise on, in units of the noise's variance over the root
of the number of sizes: one and a half standard errors."""
FEW = 3.0
"""Fewer groups than this are drawn from Poisson's law: rounding a bell curve would leave none of them."""


def draw_tree_counts(plan: Plan, values: Sequence[Ints], *, total: int | None, seed: int) -> Sequence[Ints]:
    """Draw counts that add up, to ``total`` if there is one, from what noisy answers tell of them."""
    rng = np.random.default_rng(seed)
    variances = [find_variance(level) for level in plan.levels]
    drawn = [_draw(values[0][:1], *_expect_root(values[0][0], variances[0], rng), variances[0], rng)]
    for level in range(1, len(values)):
        parents = plan.hierarchy.parents(level)
        drawn.append(_draw_below(values[level], drawn[-1], parents, variances[level], rng))
    return solve_tree_model(plan.hierarchy, drawn, total=total, scales=plan.scales).counts


def _expect_root(answers: Ints, variance: float, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Draw the expected counts of the root, and return their scatter, from sizes nearby."""
    place = np.arange(len(answers))
    reach = np.maximum(LEAST_REACH, (REACH * place).astype(np.int64))
    low, high = np.maximum(place - reach, 0), np.minimum(place + reach + 1, len(answers))

    def average(numbers: npt.NDArray[np.generic]) -> Floats:
        sums = np.concatenate([[0.0], np.cumsum(numbers, dtype=np.float64)])
        means: Floats = (sums[high] - sums[low]) / (high - low)
        return means

    mean = average(answers).clip(0)
    beyond = average((answers - mean) ** 2) - variance * (1.0 + DOUBT / np.sqrt(high - low))
    again = answers + math.sqrt(variance) * rng.standard_normal(len(answers))
    drawn = average(again).clip(0)  # how far off the mean may be: with as much noise once more
    return drawn[None], np.maximum(beyond, drawn)[None]


def _draw_below(answers: Ints, above: Ints, parents: Ints, variance: float, rng: np.random.Generator) -> Ints:
    """Draw the counts of a level, given those of the level above."""
    chunks = list(cut_rows(*answers.shape))
    squares = excess = 0.0
    for start, stop in chunks:
        mean = _expect(answers[start:stop], above[parents[start:stop]])
        excess += float(((answers[start:stop] - mean) ** 2 - variance - mean).sum())
        squares += float((mean**2).sum())
    phi = max(excess, 0.0) / squares if squares else 0.0
    drawn = np.empty(answers.shape, dtype=np.int64)
    for start, stop in chunks:
        mean = _expect(answers[start:stop], above[parents[start:stop]])
        drawn[start:stop] = _draw(answers[start:stop], mean, mean + phi * mean**2, variance, rng)
    return drawn


def _expect(answers: Ints, above: Ints) -> Floats:
    """Return each region's share of its parent: the multiple of it that is nearest to the answers."""
    shape = above.astype(np.float64)
    alike, square = (answers * shape).sum(axis=1), (shape**2).sum(axis=1)
    share = np.divide(alike, square, out=np.zeros_like(square), where=square > 0).clip(0)
    expected: Floats = share[:, None] * shape
    return expected


def _draw(answers: Ints, mean: Floats, scatter: Floats, variance: float, rng: np.random.Generator) -> Ints:
    """Draw from the posterior of normal counts under normal noise, as whole numbers that are not negative.

    Where few groups are expected and the noise is larger, the posterior is Poisson's law.
    """
    kept = scatter / np.maximum(scatter + variance, np.finfo(np.float64).tiny)
    middle = mean + kept * (answers - mean)
    off = np.sqrt(kept * variance) * rng.standard_normal(mean.shape)
    drawn = np.rint(middle + off).clip(0, MAX_MEASURED).astype(np.int64)
    few = (middle < FEW) & (scatter < variance)
    drawn[few] = rng.poisson(middle[few].clip(0))
    return drawn
