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


def measure_scaling(sizes: Sequence[int], epsilons: Sequence[str], *, repeats: int) -> list[Scaling]:
    """Whole post-processing at each number of sizes and each epsilon.

    All take turns, so that a busy while of the machine does not fall on a few of them alone.
    """
    instances = {(n, epsilon): make_instance(n, epsilon) for n in sizes for epsilon in epsilons}
    timings: dict[tuple[int, str], list[Timing]] = {which: [] for which in instances}
    exchanges = {}
    for which, instance in instances.items():  # warm: compiled, and right
        solution = instance.solve()
        instance.check(solution)
        exchanges[which] = solution.effort["exchanges"]
    for _ in range(repeats):
        for which, instance in instances.items():
            timings[which].append(time_call(instance.solve)[0])
    return [
        Scaling(*which, instance.cells, best(timings[which]), exchanges[which])
        for which, instance in instances.items()
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
