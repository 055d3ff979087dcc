"""Numbers by which an attacker tells two neighbours apart: large for the one, small for the other.

Whatever the score is, what is said about epsilon is true: it follows from how often the score was above a
threshold, on runs that were not used to choose it. A better score only makes it say more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tallytree.auditing.targets import Targets

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

DIGITS = 6
"""Scores are rounded, so that like outcomes have like scores, in whatever order sums are done."""

RIDGE = 1e-6
"""Added to each variance of the fitted line: some cells do not vary at all."""


@dataclass(frozen=True, eq=False)
class Score:
    """A number for every outcome."""

    name: str
    function: Callable[[Ints], Floats]

    def rate(self, outcomes: Ints) -> Floats:
        """The scores of outcomes, a row each."""
        scores: Floats = np.round(self.function(outcomes), DIGITS)
        return scores


def list_scores(targets: Targets, first: Ints, second: Ints) -> list[Score]:
    """Scores known beforehand, and one fitted to outcomes of the first and the second neighbour."""
    cells = [_score_cell(place) for place in range(first.shape[1])]
    return [_score_nearness(targets), _score_cumulative(targets), _fit_line(first, second), *cells]


def _score_cell(place: int) -> Score:
    """A single cell."""
    return Score(f"cell {place}", lambda outcomes: outcomes[:, place].astype(np.float64))


def _score_nearness(targets: Targets) -> Score:
    """How much nearer to the first neighbour's cells than to the second's.

    On noisy answers, weighed by 1 / scale, that is the log of how much likelier the outcome is with the first
    (``exact.py``). So no event that is as likely with the second is likelier with the first than this one:
    that the score is large (Neyman and Pearson).
    """

    def rate(outcomes: Ints) -> Floats:
        nearer = np.abs(outcomes - targets.second) - np.abs(outcomes - targets.first)
        scores: Floats = nearer @ targets.weights
        return scores

    return Score("nearness", rate)


def _score_cumulative(targets: Targets) -> Score:
    """The same for cumulative counts, which is what half of the mechanisms fit."""

    def cumulate(cells: Ints) -> Ints:
        rows = cells.reshape(*cells.shape[:-1], -1, targets.sizes)
        sums: Ints = np.cumsum(rows, axis=-1).reshape(cells.shape)
        return sums

    totals = Targets(cumulate(targets.first), cumulate(targets.second), targets.weights, targets.sizes)
    nearness = _score_nearness(totals)
    return Score("cumulative nearness", lambda outcomes: nearness.function(cumulate(outcomes)))


def _fit_line(first: Ints, second: Ints) -> Score:
    """Fisher's linear discriminant: the sum of cells that differs most, in standard deviations.

    It finds what nobody told it: noise that is smaller in some cells than in others, or shared by them.
    """
    spread = (np.cov(first, rowvar=False) + np.cov(second, rowvar=False)) / 2
    spread = spread.reshape(first.shape[1], first.shape[1]) + RIDGE * np.eye(first.shape[1])
    line: Floats = np.linalg.solve(spread, first.mean(axis=0) - second.mean(axis=0))
    line /= max(float(np.abs(line).max()), RIDGE)
    return Score("fitted line", lambda outcomes: outcomes @ line)
