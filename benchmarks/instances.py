"""What is solved: noisy measurements of invented data, the same for everyone who asks."""

from collections.abc import Mapping
from dataclasses import dataclass

import tallytree as tt
from benchmarks.variants import DIRECT
from tallytree.datasets.invented import generate_nation
from tallytree.privacy.door import measure_with_seed
from tallytree.privacy.noise import SeededNoise
from tallytree.research.reproduction.paper_figures import Variant
from tallytree.sizes import count_sizes
from tallytree.solvers.checks import verify_counts

SEED = 7


@dataclass(frozen=True, eq=False)
class Instance:
    """A mechanism and the input of its post-processing."""

    method: tt.Mechanism
    measurements: tt.Measurements
    total: int

    @property
    def cells(self) -> int:
        """Regions x sizes, over all levels."""
        plan = self.measurements.plan
        return plan.hierarchy.region_count * count_sizes(plan.sizes)

    def solve(self) -> tt.Solution:
        """The whole post-processing, with the exact objective and, where there is one, the certificate."""
        return self.method.postprocess(self.measurements, total=self.total)

    def check(self, solution: tt.Solution) -> None:
        """A fast wrong answer is worth nothing: stop if this one is not what the mechanism promises.

        A relaxation that is rounded promises whole, non-negative counts and nothing else.
        """
        plan = self.measurements.plan
        checks = verify_counts(plan.hierarchy, plan.sizes, solution.counts, self.total)
        broken = [check.name for check in checks if check.failed]
        if (self.method.consistent and broken) or "validity" in broken:
            raise AssertionError(f"The solution of {self.method.name} does not hold: {broken}.")
        if solution.certificate and not solution.certificate.optimal:
            raise AssertionError(f"The solution of {self.method.name} is not optimal.")


def measure_counts(
    method: tt.Mechanism, counts: tt.GroupCounts, epsilon: str, budget: Mapping[str, int] | None = None
) -> Instance:
    """The counts with seeded noise, epsilon split over the levels as ``budget`` says, or evenly."""
    plan = method.plan(counts.hierarchy, sizes=counts.sizes, epsilon=epsilon, budget=budget)
    return Instance(method, measure_with_seed(plan, counts, noise=SeededNoise(SEED)), counts.total)


def make_nation(sizes: int) -> tt.GroupCounts:
    """The invented nation's counts at the sizes 1 to ``sizes``; a larger household counts as the largest."""
    return generate_nation(sizes=(1, sizes))


def make_instance(sizes: int, epsilon: str, variant: Variant = DIRECT) -> Instance:
    """The invented nation, epsilon split evenly."""
    return measure_counts(variant.make(), make_nation(sizes), epsilon)
