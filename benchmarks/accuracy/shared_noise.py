"""``count-of-counts`` as the public code of Kuo et al. runs it: all regions have the same noise.

That code re-creates one seeded generator for every region. Such noise is not worth its epsilon, since it
cancels out of the difference of two regions; it is measured here only to understand published figures.
"""

from functools import cache

import tallytree as tt
from benchmarks.accuracy.results import Spread, spread
from tallytree.evaluation import Simulation
from tallytree.mechanisms.count_of_counts import CountOfCounts
from tallytree.privacy.noise import SeededNoise
from tallytree.privacy.plan import Plan


@cache
def measure_shared_noise(counts: tt.GroupCounts, epsilon: str, seeds: int) -> list[Spread]:
    """The EMD, level by level from the root."""
    method = CountOfCounts()
    plan = method.plan(counts.hierarchy, sizes=counts.sizes, epsilon=epsilon, bounds=counts.bounds)
    runs = []
    for seed in range(1, seeds + 1):
        noisy = add_shared_noise(plan, counts, seed)
        run = Simulation(noisy, method.postprocess(noisy, total=counts.total), counts.total)
        runs.append([level["emd"] for level in tt.evaluate(run, counts).to_pylist()])
    return [spread(level) for level in zip(*runs, strict=True)]


def add_shared_noise(plan: Plan, counts: tt.GroupCounts, seed: int) -> tt.Measurements:
    """The answers, with one vector of noise for every region; public totals stay without."""
    values = []
    for index, (level, answer) in enumerate(zip(plan.levels, plan.answers(counts), strict=True)):
        noise = SeededNoise(seed).draw(level.scale, answer.shape[1], lambda count: None)
        if plan.has_public_totals(index):
            noise[-1] = 0
        values.append(answer + noise)
    return tt.Measurements(plan, values)
