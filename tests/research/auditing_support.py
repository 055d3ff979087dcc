"""What the tests of audits share: repeatable keys, attacks, and mechanisms that are wrong on purpose."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from fractions import Fraction
from random import Random
from types import SimpleNamespace

import pytest

import tallytree as tt
from tallytree.mechanisms.cumulative_dp import CumulativeDP
from tallytree.mechanisms.cumulative_joint import CumulativeJoint
from tallytree.mechanisms.direct_dp import DirectDP
from tallytree.privacy import digits
from tallytree.privacy.budget import Budget
from tallytree.privacy.neighbours import Bounds, Neighbours, TotalKind
from tallytree.privacy.plan import Plan
from tallytree.privacy.queries import CUMULATIVE, Query, find_query
from tallytree.research.auditing.attack import ERROR, Attack, prepare_attacks
from tallytree.research.auditing.exact_losses import Promise, Verdict, enumerate_losses, list_cases

TWO = Fraction(2)
ONE_FOR_EACH_QUERY = ("direct-dp", "cumulative-joint", "cumulative-chain", "count-of-counts")
PERSONS: Promise = ("person", "public")


def fix_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """The keys of releases are the same in every run: by chance alone, an attack may miss a fault."""
    keys = Random(0)
    monkeypatch.setattr(digits, "os", SimpleNamespace(urandom=keys.randbytes, getpid=os.getpid))


def say_nothing(done: int) -> None:
    """Nobody waits."""


MEASUREMENTS, CLASSES, COUNTS = 0, 1, -1
"""The attacks: on measurements of sizes, for a person also of classes, and on the counts."""


def attack(
    method: str | tt.Mechanism,
    promise: Promise = PERSONS,
    *,
    aim: int = MEASUREMENTS,
    runs: int,
    seed: int | None = None,
) -> Attack:
    """One attack, with the noise of releases or with a seed."""
    method = tt.mechanism(method) if isinstance(method, str) else method
    attackers = prepare_attacks(method, promise, epsilon=TWO, measured_runs=runs, runs=runs, seed=seed)
    return attackers[aim].attack(asked=TWO, error=ERROR / 2, report=say_nothing)


def find_verdict(method: tt.Mechanism, promise: Promise) -> Verdict:
    """The verdict on the exact losses in all cases."""
    found = (enumerate_losses(method, case, epsilon=TWO) for case in list_cases(*promise))
    return max(each.verdict for each in found)


# Mechanisms with too little noise, of which their plans do not tell.


def shrink(plan: Plan, factor: Fraction) -> Plan:
    """All scales are smaller than they should be."""
    return replace(plan, levels=tuple(replace(level, scale=level.scale * factor) for level in plan.levels))


@dataclass(frozen=True, kw_only=True)
class HalvedDirect(DirectDP):
    """Half the noise."""

    def calibrate(self, plan: Plan) -> Plan:
        return shrink(plan, Fraction(1, 2))


@dataclass(frozen=True, kw_only=True)
class HalvedJoint(CumulativeJoint):
    """Half the noise."""

    def calibrate(self, plan: Plan) -> Plan:
        return shrink(plan, Fraction(1, 2))


@dataclass(frozen=True, kw_only=True)
class QuarterLess(DirectDP):
    """A quarter less noise."""

    def calibrate(self, plan: Plan) -> Plan:
        return shrink(plan, Fraction(3, 4))


def recalibrate(plan: Plan, neighbours: Neighbours) -> Plan:
    """The noise is for other neighbours than those of the plan."""
    levels = []
    for index, level in enumerate(plan.levels):
        regions = plan.shape(index)[0]
        needed = plan.unit.find_sensitivity(find_query(level.query), neighbours, plan.sizes, regions)
        levels.append(replace(level, scale=plan.unit.find_scale(needed, level.loss)))
    return replace(plan, levels=tuple(levels))


@dataclass(frozen=True, kw_only=True)
class FromBelow(CumulativeDP):
    """Counts from below, so that a group that appears changes all counts from its size on."""

    def find_query(self, total: TotalKind | None) -> Query:
        return CUMULATIVE


@dataclass(frozen=True, kw_only=True)
class ForPersons(CumulativeDP):
    """The noise that protects a person, whoever is to be protected."""

    def calibrate(self, plan: Plan) -> Plan:
        return recalibrate(plan, replace(plan.neighbours, protect="person"))


@dataclass(frozen=True, kw_only=True)
class ForPublicTotals(CumulativeDP):
    """The noise for a public total: the first edge is not counted."""

    def calibrate(self, plan: Plan) -> Plan:
        return recalibrate(plan, replace(plan.neighbours, total="public"))


@dataclass(frozen=True, kw_only=True)
class ForPrivateTotals(DirectDP):
    """The noise for a private total: a group that changes its size is taken for one that appears."""

    def calibrate(self, plan: Plan) -> Plan:
        return recalibrate(plan, replace(plan.neighbours, total="private"))


@dataclass(frozen=True, kw_only=True)
class NarrowWindow(CumulativeDP):
    """Edges are counted in a window that is one size too narrow."""

    def calibrate(self, plan: Plan) -> Plan:
        bounds = Bounds(
            max_records=plan.bounds.max_records, max_quantity=max(1, plan.bounds.max_quantity - 1)
        )
        return recalibrate(plan, replace(plan.neighbours, bounds=bounds))


@dataclass(frozen=True, kw_only=True)
class KeepsTotal(DirectDP):
    """Keeps the number of groups as if it were public: the noise is right, but the counts add up to it."""

    def plan_within(
        self, budget: Budget, hierarchy: tt.Hierarchy, *, sizes: tt.SizeClasses | tuple[int, int],
        bounds: Bounds | None,
    ) -> Plan:  # fmt: skip
        return super().plan_within(replace(budget, total="public"), hierarchy, sizes=sizes, bounds=bounds)


MISCALIBRATED: dict[tt.Mechanism, set[Promise]] = {
    FromBelow(): {("person", "private")},  # for a whole group, all sizes are counted from either side
    ForPersons(): {("group", "public"), ("group", "private")},
    ForPublicTotals(): {("person", "private"), ("group", "private")},
    ForPrivateTotals(): {("group", "public")},
    NarrowWindow(): {("person", "public"), ("person", "private")},
    KeepsTotal(): set(),
}
"""Mechanisms that have too little noise, and for which promises."""
