"""Which event to bet on, and what it says about epsilon: chosen on some runs, estimated on others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tallytree.auditing.binomial import bound_epsilon
from tallytree.auditing.scores import Floats, Ints, Score, list_scores
from tallytree.auditing.targets import Targets

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
