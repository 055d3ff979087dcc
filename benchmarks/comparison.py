"""What is timed takes turns in one process: two ways to solve one instance, or many instances."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from benchmarks.evidence import Evidence
from benchmarks.instances import Instance
from benchmarks.timing import Timing, best, one_processor, time_call

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
