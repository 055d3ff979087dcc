"""The mechanism once more, on released counts in the place of true ones.

No true count is in reach here. The noise is drawn from seeds that are stated, so that anyone can make the
same intervals from the same release.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tallytree.limits import MAX_MEASURED
from tallytree.mechanisms.base import Mechanism
from tallytree.privacy.measurements import Measurements
from tallytree.privacy.noise import SeededGaussianNoise, SeededNoise
from tallytree.privacy.plan import Plan

Ints = npt.NDArray[np.int64]


def replicate(
    method: Mechanism, plan: Plan, answered: Sequence[Ints], *, total: int, seed: int
) -> Sequence[Ints]:
    """Counts that the mechanism makes of answers with new noise."""
    noise = SeededNoise(seed) if plan.delta is None else SeededGaussianNoise(seed)
    noisy = []
    for level, values in enumerate(answered):
        draws = noise.draw(plan.levels[level].scale, values.size, lambda done: None).reshape(values.shape)
        if plan.has_public_totals(level):
            draws[:, -1] = 0
        noisy.append(np.clip(values + draws, -MAX_MEASURED, MAX_MEASURED))
    return method.postprocess(Measurements(plan, noisy), total=total).counts
