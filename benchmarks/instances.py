"""What is solved, the same for everyone who asks, and two ways to solve it that take turns."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import tallytree as tt
from benchmarks.timing import Timing, best, one_processor, time_call
from tallytree.datasets.invented import generate_nation
from tallytree.privacy.door import measure_with_seed
from tallytree.privacy.noise import SeededNoise
from tallytree.research.reproduction.paper_figures import Variant
from tallytree.sizes import count_sizes
from tallytree.solvers.checks import verify_counts
from tallytree.solvers.solution import Accuracy

DIRECT = Variant("direct-dp")
JOINT = Variant("cumulative-joint")
PLAIN_JOINT = Variant("cumulative-joint", {"smooth": False})
"""Model M_c for the noisy answers as they are, as the paper poses it."""
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


@dataclass(frozen=True)
class Evidence:
    """The objective, what it took to find it, and how good the relaxation is where there is one."""

    objective: int
    effort: dict[str, int]
    accuracy: Accuracy | None

    @classmethod
    def of(cls, solution: tt.Solution) -> "Evidence":
        """Of this solution."""
        return cls(solution.objective, solution.effort, solution.accuracy)

    @property
    def gap(self) -> float:
        """The relaxation's duality gap as stated, relative; infinite if none is stated."""
        return self.accuracy.gap if self.accuracy else math.inf

    def above(self, other: "Evidence") -> float:
        """How far the objective is above the bound of ``other``, relatively; infinite if it has none.

        Both have to be about the same model.
        """
        return self.objective / other.accuracy.bound - 1 if other.accuracy else math.inf


R = TypeVar("R")
CALLS = 3
"""Calls of our own mechanism in a round: it takes milliseconds, its peers seconds."""
LONG_SECONDS = 10.0
"""A peer that took longer is not called again: it would take as long."""


@dataclass(frozen=True)
class Race:
    """The best times on one instance, ours and a peer's."""

    cells: int
    ours: Timing
    ours_alone: Timing
    """Our own on one processor."""
    peer: Timing

    @property
    def ratio(self) -> float:
        """How many times longer the peer took."""
        return self.peer.seconds / self.ours.seconds

    @property
    def ratio_alone(self) -> float:
        """The same with our own on one processor."""
        return self.peer.seconds / self.ours_alone.seconds


@dataclass(frozen=True)
class Contest(Race):
    """The same, over all rounds."""

    objective: int
    """Of our own solution; for ``direct-dp`` it is the integer optimum."""


@dataclass(frozen=True, kw_only=True)
class RelaxedRace(Race):
    """A race to an optimum that both sides find."""

    objective: float
    """The peer's."""
    reference: float
    """Our relaxed optimum; where the peer finds whole numbers, the objective of ours."""
    peak: int
    """Bytes of the whole process while the peer ran."""

    @property
    def difference(self) -> float:
        """How far the peer's objective is above ours, relatively."""
        return self.objective / self.reference - 1


def compare(instance: Instance, peer: Callable[[], R], rounds: int) -> tuple[Contest, R]:
    """Time both sides; also returned is what the peer's best call did."""
    ours: list[Timing] = []
    ours_alone: list[Timing] = []
    theirs: list[Timing] = []
    solution = instance.solve()  # warm: compiled
    instance.check(solution)
    for _ in range(rounds):
        if theirs and best(theirs).seconds > LONG_SECONDS:
            break
        together, alone = time_ours(instance)
        ours.append(together)
        ours_alone.append(alone)
        timing, outcome = time_call(peer)
        theirs.append(timing)
        if timing is best(theirs):
            result = outcome
    contest = Contest(instance.cells, best(ours), best(ours_alone), best(theirs), solution.objective)
    return contest, result


def time_ours(instance: Instance) -> tuple[Timing, Timing]:
    """The best of a few calls on all processors, and of as many on one."""

    def time_calls() -> Timing:
        return best([time_call(instance.solve)[0] for _ in range(CALLS)])

    ours = time_calls()
    with one_processor():
        return ours, time_calls()


def take_turns(calls: Sequence[Callable[[], object]], rounds: int) -> list[Timing]:
    """The best time of each call, all called once a round."""
    timings: list[list[Timing]] = [[] for _ in calls]
    for _ in range(rounds):
        for call, found in zip(calls, timings, strict=True):
            found.append(time_call(call)[0])
    return [best(found) for found in timings]


def time_instances(instances: Sequence[Instance], rounds: int) -> list[tuple[Timing, Evidence]]:
    """The best time and the evidence of each, all solved once a round.

    So a busy while of the machine does not fall on a few of them alone.
    """
    evidence = []
    for instance in instances:  # warm: compiled, and right
        solution = instance.solve()
        instance.check(solution)
        evidence.append(Evidence.of(solution))
    timings = take_turns([instance.solve for instance in instances], rounds)
    return list(zip(timings, evidence, strict=True))
