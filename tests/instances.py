"""Random problems: hierarchies of any shape, noisy answers, totals near and far."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

import tallytree as tt

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Instance:
    """Model M_H on a random tree."""

    hierarchy: tt.Hierarchy
    noisy: tt.Measurements
    total: int
    centre: list[Ints]
    """Feasible counts (for another total, perhaps) near which the optimum is expected."""

    @property
    def weights(self) -> list[int]:
        """The level weights, worked out anew from the plan's scales."""
        scales = [level.scale for level in self.noisy.plan.levels]
        ratios = [(max(scales) / scale) ** 2 for scale in scales]
        common = np.lcm.reduce([ratio.denominator for ratio in ratios])
        whole = [int(ratio * int(common)) for ratio in ratios]
        return [weight // int(np.gcd.reduce(whole)) for weight in whole]


def random_hierarchy(rng: np.random.Generator, levels: int, *, width: int = 3) -> tt.Hierarchy:
    """A tree with up to ``levels`` levels, in which a leaf may stand above the last one."""
    leaves: list[tuple[str, ...]] = []

    def grow(path: tuple[str, ...]) -> None:
        if len(path) == levels or (len(path) > 1 and rng.random() < 0.2):
            leaves.append(path)
            return
        for child in range(int(rng.integers(1, width + 1))):
            grow((*path, f"{len(path)}.{child}"))

    grow(("root",))
    rng.shuffle(leaves)  # the order of regions is the user's
    depth = max(map(len, leaves))
    return tt.Hierarchy.from_paths([f"level {i}" for i in range(depth)], leaves)


def random_instance(seed: int, *, largest: int = 8, levels: int = 4) -> Instance:
    """A problem whose true counts go up to ``largest``."""
    rng = np.random.default_rng(seed)
    hierarchy = random_hierarchy(rng, int(rng.integers(1, levels + 1)))
    depth = len(hierarchy.levels)
    sizes = (1, int(rng.integers(1, 5)))
    leaf = rng.integers(0, largest + 1, (len(hierarchy.leaves), sizes[1]))
    leaf[rng.random(leaf.shape) < 0.4] = 0
    counts = tt.GroupCounts(hierarchy, sizes, leaf)
    budget = {name: int(rng.integers(1, 6)) for name in hierarchy.levels} if rng.random() < 0.6 else None
    plan = tt.mechanism("direct-dp").plan(
        hierarchy, sizes=sizes, epsilon=int(rng.integers(1, 4)) * depth, budget=budget
    )
    centre = [counts.array(level) for level in range(depth)]
    spread = int(rng.integers(1, 8))
    noisy = [values + rng.integers(-spread, spread + 1, values.shape) for values in centre]
    total = counts.total
    if rng.random() < 0.5:  # the public total may be far from what the noisy answers add up to
        total = max(0, total + int(rng.integers(-30, 31)))
    return Instance(hierarchy, tt.Measurements(plan, noisy), total, centre)
