"""What two neighbours would show without noise: what an attacker knows, who chose the two."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tallytree.auditing.exact import Pair
from tallytree.privacy.plan import Plan
from tallytree.sizes import count_sizes

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
