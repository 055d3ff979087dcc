"""What is solved: noisy measurements of the invented nation, the same for everyone who asks."""

from dataclasses import dataclass

import tallytree as tt
from tallytree.measurement import measure_with_seed
from tallytree.nation import generate_nation
from tallytree.privacy.noise import SeededNoise
from tallytree.sizes import count_sizes
from tallytree.verification import verify_counts

SEED = 7


@dataclass(frozen=True, eq=False)
class Instance:
    """The input of post-processing."""

    measurements: tt.Measurements
    total: int

    @property
    def cells(self) -> int:
        """Regions x sizes, over all levels."""
        plan = self.measurements.plan
        return plan.hierarchy.region_count * count_sizes(plan.sizes)

    def solve(self, solver: str = "projection") -> tt.Solution:
        """The whole post-processing of ``direct-dp``, with certificate and objective."""
        method = tt.mechanism("direct-dp", solver=solver)
        return method.postprocess(self.measurements, total=self.total)

    def check(self, solution: tt.Solution) -> None:
        """A fast wrong answer is worth nothing: stop if this one is not feasible and optimal."""
        plan = self.measurements.plan
        checks = verify_counts(plan.hierarchy, plan.sizes, solution.counts, self.total)
        broken = [check.name for check in checks if not check.passed]
        if broken or (not (solution.certificate and solution.certificate.optimal)):
            raise AssertionError(f"The solution does not hold: {broken or 'not optimal'}.")


def make_instance(sizes: int, epsilon: str) -> Instance:
    """The nation's counts at the first ``sizes`` sizes with seeded noise, epsilon split evenly."""
    counts = generate_nation(sizes=(1, sizes))
    plan = tt.mechanism("direct-dp").plan(counts.hierarchy, sizes=counts.sizes, epsilon=epsilon)
    measurements = measure_with_seed(plan, counts, noise=SeededNoise(SEED))
    return Instance(measurements, counts.total)
