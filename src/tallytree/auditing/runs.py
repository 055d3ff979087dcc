"""Many runs of a mechanism on the same counts, by the code that makes releases."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import numpy.typing as npt

from tallytree.auditing.targets import flatten
from tallytree.counts import GroupCounts
from tallytree.measurement import measure, measure_with_seed
from tallytree.mechanisms.base import Mechanism
from tallytree.privacy.digit_noise import DigitNoise
from tallytree.privacy.measurements import Measurements
from tallytree.privacy.noise import SeededNoise
from tallytree.privacy.plan import Plan
from tallytree.privacy.random_stream import Take
from tallytree.privacy.samplers import find_noise

Ints = npt.NDArray[np.int64]

Measure = Callable[[Plan, GroupCounts], Measurements]
"""Measure counts with fresh noise."""

Look = Callable[[GroupCounts], Ints]
"""One run on these counts with fresh noise; what is then seen, as one row of cells."""


def measure_as_released(plan: Plan, counts: GroupCounts) -> Measurements:
    """Measure as a release does, with the sampler that a release takes: whatever is wrong there is here."""
    return measure(plan, counts, noise=find_noise(None, delta=None))


class SeededDigits(DigitNoise, SeededNoise):
    """The sampler of releases on bytes that can be repeated.

    All but the bytes is the code of releases. ``measure`` refuses it, as it refuses all seeded noise.
    """

    def open_stream(self) -> Take:
        """The bytes that come next."""
        return self._generator.bytes


def measure_with(seed: int | None) -> Measure:
    """How to measure: as a release does, or the same repeatably if there is a seed."""
    if seed is None:
        return measure_as_released
    noise = SeededDigits(seed)
    return lambda plan, counts: measure_with_seed(plan, counts, noise=noise)


def look_at_measurements(plan: Plan, measure: Measure) -> Look:
    """See the noisy answers."""
    return lambda counts: flatten(measure(plan, counts).values)


def look_at_counts(method: Mechanism, plan: Plan, measure: Measure) -> Look:
    """See what is released: the counts after post-processing."""

    def look(counts: GroupCounts) -> Ints:
        return flatten(method.postprocess(measure(plan, counts), total=counts.total).counts)

    return look


def repeat(look: Look, counts: GroupCounts, *, runs: int, report: Callable[[int], None]) -> Ints:
    """What is seen in so many runs, a row each."""
    rows = []
    with one_processor():
        for _ in range(runs):
            rows.append(look(counts))
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
