"""Attacks on a whole mechanism as a black box: what many runs on two neighbours say about epsilon, at least.

Half of the runs are there to choose an event that tells the two neighbours apart, the other half to estimate
how much likelier it is with the one than with the other. That gives a lower bound on the epsilon that the
mechanism really has. Nothing about the mechanism is taken on trust, so this also finds what no enumeration of
answers can: noise that is not what the plan says, or shared by cells, or a release that shows more than the
measurements.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from tallytree.auditing.datasets import Case
from tallytree.auditing.events import Evidence, choose_event, estimate
from tallytree.auditing.exact import Pair, compare, find_worst_pair, plan_case
from tallytree.auditing.runs import Look, SeededDigits, look_at_counts, look_at_measurements, repeat
from tallytree.auditing.scores import list_scores
from tallytree.auditing.targets import Targets, target_counts, target_measurements
from tallytree.auditing.verdicts import Verdict, judge
from tallytree.mechanisms.base import Mechanism
from tallytree.privacy.noise import SeededNoise
from tallytree.privacy.plan import Plan

ERROR = 0.01
"""The probability that a bound is wrong, at most."""

CONFIDENCE = f"{100 * (1 - ERROR):g} %"

BACKGROUND = 1
"""Groups in every cell of both neighbours, beside the one that moves: zeros would hide much by themselves."""


@dataclass(frozen=True)
class Attack:
    """What was attacked, and what that says."""

    seen: str
    """What the attacker looks at: the measurements, or the counts that are released."""
    asked: Fraction
    stated: Fraction
    """The epsilon that the plan of the attacked case states."""
    evidence: Evidence

    @property
    def verdict(self) -> Verdict:
        """On the lower bound."""
        return judge(self.evidence.bound, stated=self.stated, asked=self.asked)


def find_target(case: Case, plan: Plan) -> Pair:
    """The neighbours to attack: those with the worst loss, among other groups."""
    worst = find_worst_pair(case, plan)
    counts, neighbour = (
        counts.replace(counts.leaf + BACKGROUND) for counts in (worst.counts, worst.neighbour)
    )
    return compare(plan, counts, neighbour)


def attack(
    method: Mechanism,
    case: Case,
    *,
    epsilon: Fraction,
    measured_runs: int,
    runs: int,
    seed: int,
    noise: Callable[[int], SeededNoise] = SeededDigits,
    report: Callable[[int], None],
) -> tuple[Attack, Attack]:
    """Attack the measurements, and then the counts that are made of them.

    What is made of the measurements can only hide (``exact.py``), so the first attack is the stronger one;
    the second is on what people get to see. Either makes so many runs on each of the two neighbours.
    """
    plan = plan_case(method, case, epsilon=epsilon)
    pair = find_target(case, plan)

    def find_evidence(look: Look, targets: Targets, runs: int, seeds: tuple[int, int]) -> Evidence:
        first, second = (
            repeat(look, counts, runs=runs, noise=noise(own), report=report)
            for counts, own in zip((pair.counts, pair.neighbour), seeds, strict=True)
        )
        half = runs // 2
        event = choose_event(list_scores(targets, first[:half], second[:half]), first[:half], second[:half])
        return estimate(event, first[half:], second[half:], error=ERROR)

    streams = range(4 * seed, 4 * seed + 4)  # noise of its own for each attack and neighbour
    measured = find_evidence(
        look_at_measurements(plan), target_measurements(plan, pair), measured_runs, (streams[0], streams[1])
    )
    released = find_evidence(
        look_at_counts(method, plan), target_counts(plan, pair), runs, (streams[2], streams[3])
    )
    return (
        Attack("measurements", epsilon, plan.epsilon, measured),
        Attack("counts", epsilon, plan.epsilon, released),
    )
