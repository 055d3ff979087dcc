"""How the time of a mechanism grows with the cells, and whether it depends on epsilon."""

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.comparison import time_instances
from benchmarks.evidence import Evidence
from benchmarks.instances import make_instance
from benchmarks.timing import Timing, growth_exponent
from tallytree.research.reproduction.paper_figures import Variant


@dataclass(frozen=True)
class Scaling:
    """One instance: its size, the best time, and the solution's evidence."""

    sizes: int
    epsilon: str
    cells: int
    timing: Timing
    evidence: Evidence


def measure_scaling(
    variant: Variant, sizes: Sequence[int], epsilons: Sequence[str], *, repeats: int
) -> list[Scaling]:
    """Whole post-processing at each number of sizes and each epsilon."""
    cases = [(n, epsilon) for n in sizes for epsilon in epsilons]
    instances = [make_instance(n, epsilon, variant) for n, epsilon in cases]
    return [
        Scaling(n, epsilon, instance.cells, timing, evidence)
        for (n, epsilon), instance, (timing, evidence) in zip(
            cases, instances, time_instances(instances, repeats), strict=True
        )
    ]


def growth_by_epsilon(records: Sequence[Scaling]) -> dict[str, float]:
    """The growth exponent in cells, for each epsilon."""
    return {
        epsilon: growth_exponent(
            [record.cells for record in records if record.epsilon == epsilon],
            [record.timing.seconds for record in records if record.epsilon == epsilon],
        )
        for epsilon in dict.fromkeys(record.epsilon for record in records)
    }


def spread_by_sizes(records: Sequence[Scaling]) -> dict[int, float]:
    """The slowest epsilon's time divided by the fastest's, for each number of sizes."""
    spread = {}
    for sizes in dict.fromkeys(record.sizes for record in records):
        seconds = [record.timing.seconds for record in records if record.sizes == sizes]
        spread[sizes] = max(seconds) / min(seconds)
    return spread
