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
class Contest:
    """The best times on one instance, over all rounds."""

    cells: int
    ours: Timing
    ours_alone: Timing
    """Our own on one processor."""
    peer: Timing
    objective: int
    """Of our own solution; for ``direct-dp`` it is the integer optimum."""

    @property
    def ratio(self) -> float:
        """How many times longer the peer took."""
        return self.peer.seconds / self.ours.seconds

    @property
    def ratio_alone(self) -> float:
        """The same with our own on one processor."""
        return self.peer.seconds / self.ours_alone.seconds


def compare(instance: Instance, peer: Callable[[], R], rounds: int) -> tuple[Contest, R]:
    """Time both sides; also returned is what the peer's best call did."""
    ours: list[Timing] = []
    alone: list[Timing] = []
    theirs: list[Timing] = []
    solution = instance.solve()  # warm: compiled
    instance.check(solution)
    for _ in range(rounds):
        if theirs and best(theirs).seconds > LONG_SECONDS:
            break
        ours += _time_ours(instance)
        with one_processor():
            alone += _time_ours(instance)
        timing, outcome = time_call(peer)
        theirs.append(timing)
        if timing is best(theirs):
            result = outcome
    contest = Contest(instance.cells, best(ours), best(alone), best(theirs), solution.objective)
    return contest, result


def _time_ours(instance: Instance) -> list[Timing]:
    return [time_call(instance.solve)[0] for _ in range(CALLS)]


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
