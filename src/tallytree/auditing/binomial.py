"""Exact confidence bounds on a probability, from how often something happened (Clopper and Pearson 1934).

A probability p is refuted as too small if, with it, at least as many hits as there were have a probability
below the error that is allowed. The lower bound is the largest p refuted so; whatever the true p is, it is
below the bound with at most that probability, for every number of runs: nothing is approximated.

These are statements about samples, with a confidence, so floats will do here: the tail is summed to some ten
digits, and each bound is the last p on the safe side of a bisection.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

STEPS = 60
"""Of the bisection: to the last digit of a float."""


@lru_cache(maxsize=16)
def _log_choices(runs: int) -> Floats:
    """log of the binomial coefficients (runs over k), for k from 0 to runs."""
    factorials = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, runs + 1, dtype=np.float64)))])
    logs: Floats = factorials[-1] - factorials - factorials[::-1]
    return logs


def sum_tail(hits: int, runs: int, p: float) -> float:
    """P(X >= hits) for a binomial X, 0 < p < 1.

    >>> round(sum_tail(2, 3, 0.5), 12)
    0.5
    """
    k = np.arange(hits, runs + 1)
    terms = _log_choices(runs)[hits:] + k * math.log(p) + (runs - k) * math.log1p(-p)
    largest = float(terms.max())
    return math.exp(largest) * float(np.exp(terms - largest).sum())


def bound_below(hits: int, runs: int, error: float) -> float:
    """The lower bound on a probability, wrong with probability ``error`` at most."""
    if hits == 0:
        return 0.0
    low, high = 0.0, hits / runs  # the tail grows with p; at hits / runs it is about a half
    for _ in range(STEPS):
        middle = (low + high) / 2
        if middle > 0 and sum_tail(hits, runs, middle) < error:
            low = middle
        else:
            high = middle
    return low


def bound_above(hits: int, runs: int, error: float) -> float:
    """The upper bound: the lower one for how often it did not happen."""
    return 1 - bound_below(runs - hits, runs, error)


def bound_epsilon(hits: int, other_hits: int, runs: int, error: float) -> float:
    """A lower bound on epsilon, from an event seen so often in as many runs on each of two neighbours.

    epsilon is at least log(p / p') for the event's two probabilities. Each of them is bounded with half
    of the error, so both hold with probability 1 - ``error`` at least (Bonferroni), and then so does this.
    """
    p = bound_below(hits, runs, error / 2)
    other = bound_above(other_hits, runs, error / 2)
    return max(0.0, math.log(p / other)) if p > 0 else 0.0
