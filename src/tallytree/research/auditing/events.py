"""Which event to bet on, and what it says about epsilon: chosen on some runs, estimated on others."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from tallytree.privacy.plan import Plan
from tallytree.research.auditing.exact_losses import Pair
from tallytree.sizes import count_sizes

# What two neighbours would show without noise: what an attacker knows, who chose the two.

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Targets:
    """The cells of the first and of the second neighbour: level by level, regions x sizes."""

    first: Ints
    second: Ints
    weights: Floats
    """1 / scale of the noise at each cell's level."""
    sizes: int
    """How many sizes there are, so how many cells a region has."""


def target_measurements(plan: Plan, pair: Pair) -> Targets:
    """The answers to the plan's queries."""
    first, second = (flatten(plan.answers(counts)) for counts in (pair.counts, pair.neighbour))
    return Targets(first, second, _weigh(plan), count_sizes(plan.sizes))


def target_counts(plan: Plan, pair: Pair) -> Targets:
    """The group counts."""
    levels = range(len(plan.levels))
    first, second = (
        flatten([counts.array(level) for level in levels]) for counts in (pair.counts, pair.neighbour)
    )
    return Targets(first, second, _weigh(plan), count_sizes(plan.sizes))


def flatten(levels: Sequence[Ints]) -> Ints:
    """All cells in a row: level by level, region by region, size by size."""
    return np.concatenate([level.ravel() for level in levels])


def _weigh(plan: Plan) -> Floats:
    return np.concatenate(
        [
            np.full(plan.shape(index)[0] * plan.shape(index)[1], float(1 / level.scale))
            for index, level in enumerate(plan.levels)
        ]
    )


# Exact confidence bounds on a probability, from how often something happened (Clopper and Pearson 1934).
#
# A probability p is refuted as too small if, with it, at least as many hits as there were have a
# probability below the error that is allowed. The lower bound is the largest p refuted so; whatever the
# true p is, it is below the bound with at most that probability, for every number of runs: nothing is
# approximated.
#
# These are statements about samples, with a confidence, so floats will do here: the tail is summed to some
# ten digits, and each bound is the last p on the safe side of a bisection.

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


# Numbers by which an attacker tells two neighbours apart: large for the one, small for the other.
#
# Whatever the score is, what is said about epsilon is true: it follows from how often the score was above a
# threshold, on runs that were not used to choose it. A better score only makes it say more.

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


THRESHOLDS = 200
"""Tried for each score, at most."""

DEVIATIONS = 2.6
"""Standard deviations that an event's estimate is discounted by when it is chosen: rare events are unsure."""


@dataclass(frozen=True, eq=False)
class Event:
    """That a score is at least (or below) a threshold; meant to be likelier with one of the neighbours."""

    score: Score
    threshold: float
    is_above: bool
    is_first_likelier: bool

    def count(self, outcomes: Ints) -> int:
        """In how many of the outcomes it happened."""
        above = int((self.score.rate(outcomes) >= self.threshold).sum())
        return above if self.is_above else len(outcomes) - above

    def __str__(self) -> str:
        return f"{self.score.name} {'>=' if self.is_above else '<'} {self.threshold:g}"


@dataclass(frozen=True)
class Evidence:
    """How often an event happened with the neighbour that makes it likelier, and with the other."""

    event: str
    hits: int
    other_hits: int
    runs: int
    """On each of the two."""
    bound: float
    """Epsilon is at least this."""
    most: float
    """What so many runs can show at most: an event that always happens with the one, never with the other."""


def choose_event(targets: Targets, first: Ints, second: Ints) -> tuple[float, Event]:
    """The event that says most about epsilon on outcomes of the two neighbours, and about how much that is.

    For every score, events are chosen on one half of the outcomes, and the best of them on the other half: a
    line that is fitted to few outcomes tells these apart, and no others. Its threshold is then chosen on all.
    """
    half = len(first) // 2
    scores = list_scores(targets, first[:half], second[:half])
    events = [event for score in scores for event in _list_events(score, first[:half], second[:half])]
    guesses = [_guess(event, first[half:], second[half:]) for event in events]
    best = int(np.argmax(guesses))
    again = _list_events(events[best].score, first, second)
    return guesses[best], max(again, key=lambda event: _guess(event, first, second))


def _list_events(score: Score, first: Ints, second: Ints) -> Iterator[Event]:
    """For each side of the threshold and each neighbour as the likelier one: the best threshold."""
    ranked = [np.sort(score.rate(outcomes)) for outcomes in (first, second)]
    values = np.unique(np.concatenate(ranked))
    tried = values[np.unique(np.linspace(0, len(values) - 1, THRESHOLDS).astype(np.int64))]
    below = [np.searchsorted(scores, tried, side="left") for scores in ranked]
    for is_above in (True, False):
        hits = [len(first) - count if is_above else count for count in below]
        for likelier in (0, 1):
            best = int(np.argmax(_discount(hits[likelier], hits[1 - likelier], len(first))))
            yield Event(score, float(tried[best]), is_above, likelier == 0)


def _guess(event: Event, first: Ints, second: Ints) -> float:
    """About what the lower bound would be, from these outcomes."""
    hits = np.array([event.count(first), event.count(second)])
    if not event.is_first_likelier:
        hits = hits[::-1]
    return float(_discount(hits[:1], hits[1:], len(first))[0])


def _discount(hits: Ints, other_hits: Ints, runs: int) -> Floats:
    """About what the lower bound will be: by the normal approximation, which is good enough to choose by."""
    p, other = (hits + 0.5) / (runs + 1), (other_hits + 0.5) / (runs + 1)
    doubt = np.sqrt((1 - p) / (runs * p)) + np.sqrt((1 - other) / (runs * other))
    guess: Floats = np.log(p / other) - DEVIATIONS * doubt
    return guess


def estimate(event: Event, first: Ints, second: Ints, *, error: float) -> Evidence:
    """What the event says about epsilon, from outcomes that it was not chosen on."""
    hits, other_hits = event.count(first), event.count(second)
    if not event.is_first_likelier:
        hits, other_hits = other_hits, hits
    runs = len(first)
    bound, most = (bound_epsilon(*seen, runs, error) for seen in ((hits, other_hits), (runs, 0)))
    return Evidence(str(event), hits, other_hits, runs, bound, most)
