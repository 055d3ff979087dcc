"""Many runs of a mechanism on the same counts, by the code that makes releases."""

from __future__ import annotations

from collections.abc import Callable

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
from tallytree.processors import one_processor

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
