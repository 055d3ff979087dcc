"""Released counts in the place of true ones, as what a plan asks its query of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from tallytree.hierarchy import Hierarchy
from tallytree.level_arrays import LevelArrays
from tallytree.privacy.neighbours import Bounds
from tallytree.privacy.plan import Plan
from tallytree.sizes import Sizes, count_sizes

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class StandIn:
    """Counts that add up and are public: those of a release."""

    hierarchy: Hierarchy
    sizes: Sizes
    bounds: Bounds
    levels: LevelArrays

    def array(self, level: int | str) -> Ints:
        """Regions x sizes."""
        return self.levels[self.hierarchy.index(level)]

    @cached_property
    def leaf(self) -> Ints:
        """Leaves x sizes, in the order of ``hierarchy.leaves``."""
        level, index = self.hierarchy.leaf_places
        leaf = np.empty((len(level), count_sizes(self.sizes)), dtype=np.int64)
        for at in range(len(self.levels)):
            here = level == at
            leaf[here] = self.levels[at][index[here]]
        return leaf


def answer_again(plan: Plan, counts: Sequence[Ints]) -> list[Ints]:
    """What the plan's query gives for released counts, without noise."""
    levels = counts if isinstance(counts, LevelArrays) else LevelArrays(counts)
    stand_in = StandIn(plan.hierarchy, plan.sizes, plan.bounds, levels)
    return [plan.answer(stand_in, level) for level in range(len(plan.levels))]
