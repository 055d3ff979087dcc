"""``count-of-counts`` as the public code of Kuo et al. runs it: all regions have the same noise.

That code re-creates one seeded generator for every region. Such noise is not worth its epsilon, since it
cancels out of the difference of two regions; it is measured here only to understand published figures.
"""

from fractions import Fraction

import numpy as np

from tallytree.counts import GroupCounts
from tallytree.evaluation import Simulation, evaluate
from tallytree.measurement import measure_with_seed
from tallytree.mechanisms.count_of_counts import CountOfCounts
from tallytree.privacy.noise import Advance, Ints, SeededNoise
from tallytree.reproduction.results import Spread, spread
from tallytree.sizes import count_sizes


class SharedNoise(SeededNoise):
    """The same draws for every region, at every level: research only, and not even private there."""

    def __init__(self, seed: int, sizes: int) -> None:
        super().__init__(seed)
        self._seed, self._sizes = seed, sizes

    def draw(self, scale: Fraction, count: int, advance: Advance) -> Ints:
        """One region's draws, once for each region."""
        draws = SeededNoise(self._seed).draw(scale, self._sizes, advance)
        return np.tile(draws, count // self._sizes)


def measure_shared_noise(counts: GroupCounts, epsilon: str, seeds: int) -> list[Spread]:
    """The EMD, level by level from the root."""
    method = CountOfCounts()
    plan = method.plan(counts.hierarchy, sizes=counts.sizes, epsilon=epsilon, bounds=counts.bounds)
    runs = []
    for seed in range(1, seeds + 1):
        noise = SharedNoise(seed, count_sizes(counts.sizes))
        noisy = measure_with_seed(plan, counts, noise=noise)
        run = Simulation(noisy, method.postprocess(noisy, total=counts.total), counts.total)
        runs.append([level["emd"] for level in evaluate(run, counts).to_pylist()])
    return [spread(level) for level in zip(*runs, strict=True)]
