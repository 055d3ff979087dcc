"""Events and the lower bounds on epsilon that they give: chosen on some runs, estimated on others."""

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

# What two neighbours would show without noise: the attacker knows it, having chosen the two.

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
    """The number of sizes, which is the number of cells of a region."""


def target_measurements(plan: Plan, pair: Pair) -> Targets:
    """Return the answers to the plan's queries on both neighbours."""
    first, second = (flatten(plan.answers(counts)) for counts in (pair.counts, pair.neighbour))
    return Targets(first, second, _weigh(plan), count_sizes(plan.sizes))


def target_counts(plan: Plan, pair: Pair) -> Targets:
    """Return the group counts of both neighbours."""
    levels = range(len(plan.levels))
    first, second = (
        flatten([counts.array(level) for level in levels]) for counts in (pair.counts, pair.neighbour)
    )
    return Targets(first, second, _weigh(plan), count_sizes(plan.sizes))


def flatten(levels: Sequence[Ints]) -> Ints:
    """Return all cells in a row: level by level, region by region, size by size."""
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
# A probability p is rejected as too small if, under it, the probability of at least as many hits as observed
# is below the allowed error. The lower bound is the largest p rejected; whatever the true p is, it is below
# the bound with at most that probability, for every number of runs: nothing is approximated.
#
# These are statements about samples, with a confidence, so floats suffice here: the tail is summed to some
# ten digits, and each bound is the last p on the safe side of a bisection. SciPy has these quantiles too, but
# rounded to either side, and an audit would need 140 MB more for the sake of 40 lines; tests compare both.

STEPS = 60
"""Steps of the bisection: enough for the last digit of a float."""


@lru_cache(maxsize=16)
def _log_choices(runs: int) -> Floats:
    """Return the logs of the binomial coefficients (runs over k), for k from 0 to runs."""
    factorials = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, runs + 1, dtype=np.float64)))])
    logs: Floats = factorials[-1] - factorials - factorials[::-1]
    return logs


def sum_tail(hits: int, runs: int, p: float) -> float:
    """Return P(X >= hits) for a binomial X, 0 < p < 1.

    >>> round(sum_tail(2, 3, 0.5), 12)
    0.5
    """
    k = np.arange(hits, runs + 1)
    terms = _log_choices(runs)[hits:] + k * math.log(p) + (runs - k) * math.log1p(-p)
    largest = float(terms.max())
    return math.exp(largest) * float(np.exp(terms - largest).sum())


def bound_below(hits: int, runs: int, error: float) -> float:
    """Return a lower bound on a probability, wrong with probability ``error`` at most."""
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
    """Return an upper bound on a probability: from the lower bound for the complement."""
    return 1 - bound_below(runs - hits, runs, error)


def bound_epsilon(hits: int, other_hits: int, runs: int, error: float) -> float:
    """Return a lower bound on epsilon, from an event's hits in ``runs`` runs on each of two neighbours.

    epsilon is at least log(p / p') for the event's two probabilities. Each of them is bounded with half
    of the error, so both hold with probability 1 - ``error`` at least (Bonferroni), and then so does this.
    """
    p = bound_below(hits, runs, error / 2)
    other = bound_above(other_hits, runs, error / 2)
    return max(0.0, math.log(p / other)) if p > 0 else 0.0


# Scores by which an attacker tells two neighbours apart: large for one, small for the other.
#
# Whatever the score is, the bound on epsilon is valid: it follows from how often the score was above a
# threshold, on runs that were not used to choose it. A better score only makes the bound tighter.

DIGITS = 6
"""Digits that scores are rounded to, so that equal outcomes have equal scores in any order of summation."""

RIDGE = 1e-6
"""Added to each variance when fitting the line: some cells do not vary at all."""


@dataclass(frozen=True, eq=False)
class Score:
    """A number for every outcome."""

    name: str
    function: Callable[[Ints], Floats]

    def rate(self, outcomes: Ints) -> Floats:
        """Return the scores of outcomes, a row each."""
        scores: Floats = np.round(self.function(outcomes), DIGITS)
        return scores


def list_scores(targets: Targets, first: Ints, second: Ints) -> list[Score]:
    """Return the scores known beforehand, and one fitted to outcomes of the first and second neighbour."""
    cells = [_score_cell(place) for place in range(first.shape[1])]
    known = [_score_nearness(targets), _score_cumulative(targets), _score_cumulative(targets, above=True)]
    return [*known, _score_total(targets), _fit_line(first, second), *cells]


def _score_cell(place: int) -> Score:
    """Score by a single cell."""
    return Score(f"cell {place}", lambda outcomes: outcomes[:, place].astype(np.float64))


def _score_total(targets: Targets) -> Score:
    """Score by the sum of the root's cells: counts that keep a private total show that a group exists."""
    return Score("number of groups", lambda outcomes: outcomes[:, : targets.sizes].sum(axis=1) * 1.0)


def _score_nearness(targets: Targets) -> Score:
    """Score by how much nearer an outcome is to the first neighbour's cells than to the second's.

    On noisy answers, weighted by 1 / scale, that is the log-likelihood ratio (``exact_losses.py``). So among
    all events that are as likely with the second, a large score is the likeliest with the first (Neyman and
    Pearson).
    """

    def rate(outcomes: Ints) -> Floats:
        nearer = np.abs(outcomes - targets.second) - np.abs(outcomes - targets.first)
        scores: Floats = nearer @ targets.weights
        return scores

    return Score("nearness", rate)


def _score_cumulative(targets: Targets, *, above: bool = False) -> Score:
    """Score by nearness in cumulative counts, from below or from above, which half of the mechanisms fit."""
    step = -1 if above else 1

    def cumulate(cells: Ints) -> Ints:
        rows = cells.reshape(*cells.shape[:-1], -1, targets.sizes)[..., ::step]
        sums: Ints = np.cumsum(rows, axis=-1)[..., ::step].reshape(cells.shape)
        return sums

    totals = Targets(cumulate(targets.first), cumulate(targets.second), targets.weights, targets.sizes)
    nearness = _score_nearness(totals)
    name = f"nearness {'from above' if above else 'from below'}"
    return Score(name, lambda outcomes: nearness.function(cumulate(outcomes)))


def _fit_line(first: Ints, second: Ints) -> Score:
    """Fit Fisher's linear discriminant: the sum of cells that differs most, in standard deviations.

    It needs no prior knowledge to find noise that is smaller in some cells than in others, or shared by them.
    """
    spread = (np.cov(first, rowvar=False) + np.cov(second, rowvar=False)) / 2
    spread = spread.reshape(first.shape[1], first.shape[1]) + RIDGE * np.eye(first.shape[1])
    line: Floats = np.linalg.solve(spread, first.mean(axis=0) - second.mean(axis=0))
    line /= max(float(np.abs(line).max()), RIDGE)
    return Score("fitted line", lambda outcomes: outcomes @ line)


THRESHOLDS = 200
"""The most thresholds tried for each score."""

BOLD, CAREFUL = 1.0, 2.6
"""Standard deviations by which an event's estimate is discounted in choosing: rare events are uncertain.

After few runs every event is, and a discount for 99 % confidence would prefer those that tell nothing.
"""


@dataclass(frozen=True, eq=False)
class Event:
    """The event that a score is at least (or below) a threshold, meant to be likelier with one neighbour."""

    score: Score
    threshold: float
    is_above: bool
    is_first_likelier: bool

    def count(self, outcomes: Ints) -> int:
        """Count the outcomes in which it happened."""
        return self.count_rated(self.score.rate(outcomes))

    def count_rated(self, rated: Floats) -> int:
        """Count the outcomes in which it happened, by their scores."""
        above = int((rated >= self.threshold).sum())
        return above if self.is_above else len(rated) - above

    def __str__(self) -> str:
        return f"{self.score.name} {'>=' if self.is_above else '<'} {self.threshold:g}"


@dataclass(frozen=True)
class Evidence:
    """How often an event happened with the neighbour that makes it likelier, and with the other."""

    event: str
    hits: int
    other_hits: int
    runs: int
    """Runs on each of the two."""
    bound: float
    """The lower bound on epsilon."""
    most: float
    """The largest bound that this many runs can give: from an event that always happens with one, never with
    the other."""


def choose_event(
    targets: Targets, first: Ints, second: Ints, *, deviations: float = CAREFUL
) -> tuple[float, Event]:
    """Return the event that bounds epsilon best on outcomes of the two neighbours, after the estimated bound.

    For every score, events are chosen on one half of the outcomes, and the best of them on the other half: a
    line fitted to few outcomes overfits them. Its threshold is then chosen on all.
    """
    half = len(first) // 2
    found: list[tuple[float, Score, Floats, Floats]] = []
    for score in list_scores(targets, first[:half], second[:half]):
        ones, others = score.rate(first), score.rate(second)
        events = _list_events(score, ones[:half], others[:half], deviations)
        guess = max(_guess(event, ones[half:], others[half:], deviations) for event in events)
        found.append((guess, score, ones, others))
    guess, score, ones, others = max(found, key=lambda each: each[0])
    again = _list_events(score, ones, others, deviations)
    return guess, max(again, key=lambda event: _guess(event, ones, others, deviations))


def _list_events(score: Score, first: Floats, second: Floats, deviations: float) -> Iterator[Event]:
    """Yield the best threshold by the scores, for each side of it and each neighbour as the likelier one."""
    ranked = [np.sort(rated) for rated in (first, second)]
    tried = np.unique(np.concatenate(ranked))
    if len(tried) > THRESHOLDS:
        tried = tried[np.linspace(0, len(tried) - 1, THRESHOLDS).astype(np.int64)]
    below = [np.searchsorted(rated, tried, side="left") for rated in ranked]
    for is_above in (True, False):
        hits = [len(first) - count if is_above else count for count in below]
        for likelier in (0, 1):
            guesses = _discount(hits[likelier], hits[1 - likelier], len(first), deviations)
            best = int(np.argmax(guesses))
            yield Event(score, float(tried[best]), is_above, likelier == 0)


def _guess(event: Event, first: Floats, second: Floats, deviations: float) -> float:
    """Estimate the lower bound from the scores of outcomes."""
    hits = np.array([event.count_rated(first), event.count_rated(second)])
    if not event.is_first_likelier:
        hits = hits[::-1]
    return float(_discount(hits[:1], hits[1:], len(first), deviations)[0])


def _discount(hits: Ints, other_hits: Ints, runs: int, deviations: float) -> Floats:
    """Estimate the lower bound by the normal approximation, which is good enough for choosing."""
    p, other = (hits + 0.5) / (runs + 1), (other_hits + 0.5) / (runs + 1)
    doubt = np.sqrt((1 - p) / (runs * p)) + np.sqrt((1 - other) / (runs * other))
    guess: Floats = np.log(p / other) - deviations * doubt
    return guess


def estimate(event: Event, first: Ints, second: Ints, *, error: float) -> Evidence:
    """Bound epsilon by the event, from outcomes that it was not chosen on."""
    hits, other_hits = event.count(first), event.count(second)
    if not event.is_first_likelier:
        hits, other_hits = other_hits, hits
    runs = len(first)
    bound, most = (bound_epsilon(*seen, runs, error) for seen in ((hits, other_hits), (runs, 0)))
    return Evidence(str(event), hits, other_hits, runs, bound, most)
