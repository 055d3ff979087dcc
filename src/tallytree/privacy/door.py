"""The one door: the only code that sees the true counts and randomness together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tallytree.arrays import MAX_MEASURED, LevelArrays, Stored, is_large
from tallytree.errors import PrivacyError, name_choices, show
from tallytree.privacy.budget import EPSILON, RHO
from tallytree.privacy.digits import DigitNoise
from tallytree.privacy.measurements import Measurements, PrivateMeasurements
from tallytree.privacy.noise import Advance, ExactNoise, GaussianNoise, Noise, OpenDPNoise, SeededNoise
from tallytree.progress import Progress, no_progress

if TYPE_CHECKING:
    from tallytree.counts.group_counts import GroupCounts
    from tallytree.privacy.plan import Plan

# The samplers that releases draw their noise with, by name.

NOISES: dict[str, type[ExactNoise]] = {
    "digits": DigitNoise,
    "opendp": OpenDPNoise,
    "gaussian": GaussianNoise,
}
"""The exact samplers by name. The first two agree in distribution: ours is fast, OpenDP's independent."""


def find_noise(name: str | None, delta: object) -> ExactNoise:
    """Return the sampler of that name, or the default one; refuse one that does not fit delta."""
    if name is None:
        name = "digits" if delta is None else "gaussian"
    if not isinstance(name, str) or name not in NOISES:
        raise PrivacyError(f"There is no noise {show(name)}: {name_choices(name, NOISES)}")
    noise = NOISES[name]()
    if delta is None and noise.distribution != EPSILON.distribution:
        raise PrivacyError(f"The noise {name!r} needs a delta, far below 1 / (number of people).")
    if delta is not None and noise.distribution != RHO.distribution:
        raise PrivacyError(
            f"The noise {name!r} gives pure differential privacy and takes no delta: leave out the noise or "
            "the delta."
        )
    return noise


Ints = npt.NDArray[np.int64]


def measure(
    plan: Plan, counts: GroupCounts, *, noise: ExactNoise, progress: Progress = no_progress
) -> PrivateMeasurements:
    """Return the plan's noisy answers, which are differentially private from here on."""
    # The types say so already, but a wrong call must not pass either, nor a class that is both.
    if not isinstance(noise, ExactNoise) or isinstance(noise, SeededNoise):
        raise TypeError("A release needs exact noise.")
    return PrivateMeasurements(plan, _add_noise(plan, counts, noise, progress), noise.description)


def measure_with_seed(
    plan: Plan, counts: GroupCounts, *, noise: SeededNoise, progress: Progress = no_progress
) -> Measurements:
    """Return the plan's answers with repeatable noise, for research: they are *not* private."""
    return Measurements(plan, _add_noise(plan, counts, noise, progress))


def _add_noise(plan: Plan, counts: GroupCounts, noise: Noise, progress: Progress) -> Sequence[Ints]:
    if noise.distribution != plan.unit.distribution:
        raise TypeError(f"The plan needs {plan.unit.distribution} noise, not {noise.distribution} noise.")
    shapes = [plan.shape(index) for index in range(len(plan.levels))]
    report = progress("Drawing noise", sum(regions * sizes for regions, sizes in shapes))
    noisy: list[Stored] = []
    for index, shape in enumerate(shapes):
        if not is_large(shape):
            noisy.append(_add_noise_to(plan, index, plan.answer(counts, index), noise, report))
            continue
        # Every cell has independent noise, so regions may be measured in any order, a few at a time.
        stored = np.empty(shape, dtype=np.int32)
        for start, answer in plan.answer_in_parts(counts, index):
            stored = _store(stored, start, _add_noise_to(plan, index, answer, noise, report))
        noisy.append(stored)
    return LevelArrays(noisy)


def _add_noise_to(plan: Plan, level: int, answer: Ints, noise: Noise, report: Advance) -> Ints:
    """The answers of some regions of a level, with noise."""
    draws = noise.draw(plan.levels[level].scale, answer.size, report).reshape(answer.shape)
    if plan.has_public_totals(level):
        draws[:, -1] = 0  # the number of groups: public, and the same on all neighbours
    return _add_and_clamp(answer, draws)


def _store(stored: npt.NDArray[Any], start: int, rows: Ints) -> npt.NDArray[Any]:
    """Store rows in their place, in 32 bits as long as all values fit."""
    if stored.dtype == np.int32 and np.abs(rows).max(initial=0) >= 2**31:
        stored = stored.astype(np.int64)
    stored[start : start + len(rows)] = rows
    return stored


def _add_and_clamp(answer: Ints, draws: Ints) -> Ints:
    """Return answer + draws, clamped to +-MAX_MEASURED.

    The result is exactly the ideal mechanism's answer, clamped, which is post-processing: answers are
    within 0 .. MAX_MEASURED (= MAX_GROUPS), so a draw beyond twice that decides the outcome whatever
    the answer is, and may be clamped first, before the sum can overflow.
    """
    cut = np.clip(draws, -2 * MAX_MEASURED, 2 * MAX_MEASURED)
    noisy: Ints = np.clip(answer + cut, -MAX_MEASURED, MAX_MEASURED)
    return noisy
