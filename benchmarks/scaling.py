"""How the time of ``direct-dp`` grows with the cells, and whether it depends on epsilon."""

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.instances import make_instance
from benchmarks.timing import Timing, best, growth_exponent, time_call


@dataclass(frozen=True)
class Scaling:
    """One instance: its size and the best time."""

    sizes: int
    epsilon: str
    cells: int
    timing: Timing
    exchanges: int
    """From the rounded relaxation to the optimum."""


def measure_scaling(sizes: int, epsilons: Sequence[str], *, repeats: int) -> list[Scaling]:
    """Whole post-processing at each epsilon, which take turns so that a busy moment hits all alike."""
    instances = {epsilon: make_instance(sizes, epsilon) for epsilon in epsilons}
    for instance in instances.values():  # warm: compiled, and right
        instance.check(instance.solve())
    timings: dict[str, list[Timing]] = {epsilon: [] for epsilon in epsilons}
    exchanges = {}
    for _ in range(repeats):
        for epsilon, instance in instances.items():
            timing, solution = time_call(instance.solve)
            timings[epsilon].append(timing)
            exchanges[epsilon] = solution.effort["exchanges"]
    return [
        Scaling(sizes, epsilon, instances[epsilon].cells, best(timings[epsilon]), exchanges[epsilon])
        for epsilon in epsilons
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
