"""Many runs of a mechanism on the same counts, by the code that makes releases, with repeatable noise."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from tallytree.auditing.targets import flatten
from tallytree.counts import GroupCounts
from tallytree.measurement import measure_with_seed
from tallytree.mechanisms.base import Mechanism
from tallytree.privacy.digit_noise import fill_draws
from tallytree.privacy.digit_probabilities import expand_probabilities
from tallytree.privacy.noise import Advance, SeededNoise
from tallytree.privacy.plan import Plan

Ints = npt.NDArray[np.int64]

Look = Callable[[GroupCounts, SeededNoise], Ints]
"""One run on these counts with fresh noise; what is then seen, as one row of cells."""

AT_ONCE = 4096
"""Draws made at once, beyond those asked for."""


class SeededDigits(SeededNoise):
    """The noise of releases, ``DigitNoise``, on bytes that can be repeated: the same sampler is attacked.

    Draws are made many at a time and handed out once each: a run takes a few, and asks often.
    """

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self._left: dict[Fraction, Ints] = {}

    def draw(self, scale: Fraction, count: int, advance: Advance) -> Ints:
        """The next ``count`` draws of the scale."""
        left = self._left.get(scale, np.empty(0, dtype=np.int64))
        if len(left) < count:
            more = np.empty(count + AT_ONCE, dtype=np.int64)
            fill_draws(expand_probabilities(scale), self._generator.bytes, more)
            left = np.concatenate([left, more])
        self._left[scale] = left[count:]
        advance(count)
        return left[:count].copy()


def look_at_measurements(plan: Plan) -> Look:
    """See the noisy answers."""
    return lambda counts, noise: flatten(measure_with_seed(plan, counts, noise=noise).values)


def look_at_counts(method: Mechanism, plan: Plan) -> Look:
    """See what is released: the counts after post-processing."""

    def look(counts: GroupCounts, noise: SeededNoise) -> Ints:
        measurements = measure_with_seed(plan, counts, noise=noise)
        return flatten(method.postprocess(measurements, total=counts.total).counts)

    return look


def repeat(
    look: Look, counts: GroupCounts, *, runs: int, noise: SeededNoise, report: Callable[[int], None]
) -> Ints:
    """What is seen in so many runs, a row each; the noise goes on from run to run."""
    rows = []
    with one_processor():
        for _ in range(runs):
            rows.append(look(counts, noise))
            report(1)
    return np.array(rows)


@contextmanager
def one_processor() -> Iterator[None]:
    """Keep this thread on one processor, where that can be done.

    Solvers share their rows among the processors there are. On a few rows, starting a thread takes longer
    than the work, and runs are two to five times as fast without.
    """
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {sorted(allowed)[os.getpid() % len(allowed)]})  # another one for another process
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)
