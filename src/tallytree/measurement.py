"""The one door: the only code that sees the true counts and randomness together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from tallytree.limits import MAX_MEASURED
from tallytree.privacy.measurements import Measurements, PrivateMeasurements
from tallytree.privacy.noise import ExactNoise, Noise, SeededNoise
from tallytree.progress import Progress, no_progress

if TYPE_CHECKING:
    from tallytree.counts import GroupCounts
    from tallytree.privacy.plan import Plan

Ints = npt.NDArray[np.int64]


def measure(
    plan: Plan, counts: GroupCounts, *, noise: ExactNoise, progress: Progress = no_progress
) -> PrivateMeasurements:
    """The plan's noisy answers, which are differentially private from here on."""
    # Types say so already; a wrong call must not pass either, nor a class that is both.
    if not isinstance(noise, ExactNoise) or isinstance(noise, SeededNoise):
        raise TypeError("A release needs exact noise.")
    return PrivateMeasurements(plan, _add_noise(plan, counts, noise, progress), noise.description)


def measure_with_seed(
    plan: Plan, counts: GroupCounts, *, noise: SeededNoise, progress: Progress = no_progress
) -> Measurements:
    """The same with repeatable noise, for research: these measurements are *not* private."""
    return Measurements(plan, _add_noise(plan, counts, noise, progress))


def _add_noise(plan: Plan, counts: GroupCounts, noise: Noise, progress: Progress) -> list[Ints]:
    if noise.distribution != plan.unit.distribution:
        raise TypeError(f"The plan needs {plan.unit.distribution} noise, not {noise.distribution} noise.")
    answers = plan.answers(counts)
    report = progress("Drawing noise", sum(answer.size for answer in answers))
    noisy = []
    for index, (level, answer) in enumerate(zip(plan.levels, answers, strict=True)):
        draws = noise.draw(level.scale, answer.size, report).reshape(answer.shape)
        if plan.has_public_totals(index):
            draws[:, -1] = 0  # the number of groups: public, and the same on all neighbours
        noisy.append(_add_and_clamp(answer, draws))
    return noisy


def _add_and_clamp(answer: Ints, draws: Ints) -> Ints:
    """answer + draws, set to +-MAX_MEASURED where it lies beyond.

    The result is exactly the ideal mechanism's answer, clamped, which is post-processing: answers are
    within 0 .. MAX_MEASURED (= MAX_GROUPS), so a draw beyond twice that decides the outcome whatever
    the answer is, and may be cut to it, before the sum can overflow.
    """
    cut = np.clip(draws, -2 * MAX_MEASURED, 2 * MAX_MEASURED)
    noisy: Ints = np.clip(answer + cut, -MAX_MEASURED, MAX_MEASURED)
    return noisy
