"""The exact worst privacy loss of a plan on a small hierarchy, by trying all neighbours.

Let one neighbour have the answer a and the other b to an entry. The noise has P(X = k) proportional to
exp(-|k| / scale), so an outcome o is exp((|o - b| - |o - a|) / scale) times as likely with a as with b. That
is at most exp(|a - b| / scale), by the triangle inequality, with equality at o = a. Entries have independent
noise: the factors multiply, the exponents add up, and all are largest at once when the outcome is the first
neighbour's answers, which happens with positive probability. So the largest privacy loss is the sum over
entries of |a - b| / scale: not a bound on it, but the loss itself, attained, and the same both ways. No event
has a larger one, since a ratio of sums is at most the largest ratio of their terms; nor has anything computed
from the noisy answers, since an event there is an event here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import IntEnum
from fractions import Fraction
from functools import lru_cache
from itertools import combinations_with_replacement, product

import numpy as np

from tallytree.counts.group_counts import GroupCounts
from tallytree.hierarchy import Hierarchy
from tallytree.mechanisms.base import Mechanism
from tallytree.privacy.neighbours import (
    PROTECTED,
    TOTALS,
    Bounds,
    Neighbours,
    Protected,
    TotalKind,
    check_kinds,
    enumerate_additions,
)
from tallytree.privacy.plan import Plan
from tallytree.sizes import SizeClasses, Sizes, count_sizes, get_ends, list_edges

# Verdicts on a loss, given the requested epsilon and the stated one.


class Verdict(IntEnum):
    """The verdicts, from good to bad."""

    HOLDS = 0
    """At most the requested epsilon and at most the stated one."""
    OVERSPENDS = 1
    """Above the requested epsilon, but at most the stated one, so that nobody who reads it is deceived."""
    BROKEN = 2
    """Above the stated epsilon: a false claim."""

    def __str__(self) -> str:
        return WORDS[self]


WORDS = {
    Verdict.HOLDS: "holds",
    Verdict.OVERSPENDS: "more than asked for",
    Verdict.BROKEN: "more than stated",
}


def judge(loss: Fraction | float | None, *, stated: Fraction, asked: Fraction) -> Verdict:
    """Return the verdict on a loss, or on a lower bound of one; None is a loss without bound.

    Python compares floats with fractions exactly.
    """
    if loss is None or loss > stated:
        return Verdict.BROKEN
    return Verdict.OVERSPENDS if loss > asked else Verdict.HOLDS


# What is promised: to whom, and whether the list of groups is public.

Promise = tuple[Protected, TotalKind]


def list_promises(
    method: Mechanism, *, protect: Protected | None = None, total: TotalKind | None = None
) -> list[Promise]:
    """Return the promises that a mechanism offers, or those of them that are asked for; refuse any other."""
    offered = TOTALS if method.private_total else TOTALS[:1]
    promises: list[Promise] = list(
        product(
            PROTECTED if protect is None else (protect,),
            offered if total is None else (total,),
        )
    )
    for unit, kind in promises:
        check_kinds(Neighbours(protect=unit, total=kind))
        method.find_query(kind)
    return promises


# The small hierarchies and invented group counts on which privacy losses are computed.


@dataclass(frozen=True)
class Case:
    """A small problem: its public facts, what a person may contribute, and what is promised."""

    hierarchy: Hierarchy
    sizes: Sizes
    bounds: Bounds
    weights: tuple[int, ...] | None = None
    """How the levels share epsilon, root first; None: evenly."""
    protect: Protected = "person"
    total: TotalKind = "public"

    @property
    def promise(self) -> Promise:
        """Who is protected, and which kind of total there is."""
        return self.protect, self.total

    @property
    def neighbours(self) -> Neighbours:
        """The datasets that must be hard to tell apart, whatever the plan of a mechanism says."""
        return Neighbours(protect=self.protect, total=self.total, bounds=self.bounds)

    def under(self, protect: Protected, total: TotalKind) -> Case:
        """Return the case for a promise.

        Whole groups have no bounds on a person, and with a private total there is no size 0: all sizes are
        one larger then.

        >>> Case(PAIR, (0, 3), Bounds(max_records=2)).under("group", "private").sizes
        (1, 4)
        """
        bounds = self.bounds if protect == "person" else Bounds()
        sizes = self.sizes if total == "public" else _shift_from_zero(self.sizes)
        return replace(self, sizes=sizes, bounds=bounds, protect=protect, total=total)

    @property
    def budget(self) -> dict[str, int] | None:
        """The weights by level."""
        return dict(zip(self.hierarchy.levels, self.weights, strict=True)) if self.weights else None

    @property
    def regions(self) -> str:
        """The regions of each level, root first, such as 1+3+8; ``ragged`` if leaves are above the last.

        >>> Case(grow_tree([("a",), ("b", "c")]), (0, 1), Bounds()).regions
        '1+2+1 ragged'
        """
        levels = self.hierarchy.levels
        shape = "+".join(map(str, self.hierarchy.region_counts))
        is_ragged = bool((self.hierarchy.leaf_places[0] < len(levels) - 1).any())
        return f"{shape} ragged" if is_ragged else shape


def _shift_from_zero(sizes: Sizes) -> Sizes:
    low, high = get_ends(sizes)
    if low > 0:
        return sizes
    if isinstance(sizes, SizeClasses):
        return SizeClasses(edge + 1 for edge in list_edges(sizes))
    return low + 1, high + 1


def grow_tree(paths: list[tuple[str, ...]]) -> Hierarchy:
    """Return the hierarchy of these leaves below one root."""
    depth = max(map(len, paths))
    return Hierarchy.from_paths([f"level {i}" for i in range(depth + 1)], [("all", *path) for path in paths])


ALONE = grow_tree([()])
PAIR = grow_tree([("a",), ("b",)])
FLAT = grow_tree([("a",), ("b",), ("c",)])
DEEP = grow_tree([(state, f"{state}{i}") for state, i in zip("abcabcab", range(8), strict=True)])
"""1, 3 and 8 regions; siblings are not adjacent, since the order of regions is the user's."""
RAGGED = grow_tree([("b", "b0"), ("a",), ("c", "c0"), ("b", "b1")])

CASES = (
    Case(ALONE, (0, 2), Bounds()),
    Case(ALONE, (1, 4), Bounds(max_records=3, max_quantity=3)),
    Case(PAIR, (0, 3), Bounds(max_records=3, max_quantity=3)),
    Case(PAIR, (1, 3), Bounds(max_records=3), weights=(1, 2)),
    Case(FLAT, (0, 1), Bounds()),
    Case(FLAT, (1, 4), Bounds(max_quantity=3), weights=(3, 1)),
    Case(FLAT, (1, 3), Bounds(max_records=2, max_quantity=2)),
    Case(DEEP, (0, 2), Bounds()),
    Case(DEEP, (1, 3), Bounds(max_quantity=2), weights=(1, 2, 7)),
    Case(DEEP, (0, 1), Bounds(max_records=2)),
    Case(RAGGED, (0, 3), Bounds(max_quantity=3), weights=(2, 1, 2)),
    Case(RAGGED, (1, 3), Bounds(max_records=2, max_quantity=2)),
    Case(PAIR, (2, 4), Bounds(max_quantity=2)),
    Case(PAIR, SizeClasses([0, 1, 5, 10]), Bounds(max_quantity=3), weights=(2, 3)),
    Case(FLAT, SizeClasses([1, 8, 9, 11]), Bounds(max_quantity=3)),
    Case(RAGGED, SizeClasses([1, 2, 4]), Bounds(max_records=2, max_quantity=2)),
)
"""The cases enumerated: bounds from 1 to 3, sizes from 0, 1 and 2, and classes, some narrower than a person's
quantity and some wider; even and uneven splits of epsilon."""

ATTACKED = Case(grow_tree([(name,) for name in "abcdef"]), (0, 3), Bounds())
"""The case on which mechanisms are attacked: a first, a last and other regions, and likewise sizes."""

ATTACKED_WIDE = Case(ATTACKED.hierarchy, SizeClasses([0, 1, 3, 4]), Bounds(max_quantity=2))
"""Persons who cross one edge of the classes, or two: another case on which measurements are attacked."""

ATTACKED_SMALL = Case(grow_tree([("a",)]), (0, 1), Bounds())
"""The case for attacks on the counts of mechanisms with slow solvers; their measurements use ATTACKED."""


@lru_cache(maxsize=8)
def list_cases(protect: Protected, total: TotalKind) -> list[Case]:
    """Return the cases to enumerate for a promise: some are the same without bounds on a person."""
    return list(dict.fromkeys(case.under(protect, total) for case in CASES))


def enumerate_counts(case: Case) -> Iterator[GroupCounts]:
    """Yield all datasets with as many groups as can change: m = ``max_records``, or one that is protected.

    No others are needed. The queries are linear, so that groups that both neighbours share cancel in the
    difference of their answers; and a person is in m groups at most. So every difference that two neighbours
    on this hierarchy can have is found here, however many groups they have.
    """
    shape = (case.hierarchy.leaf_count, count_sizes(case.sizes))
    for cells in combinations_with_replacement(range(shape[0] * shape[1]), case.neighbours.moves):
        leaf = np.bincount(cells, minlength=shape[0] * shape[1]).reshape(shape)
        yield GroupCounts(case.hierarchy, case.sizes, leaf, bounds=case.bounds)


@dataclass(frozen=True, eq=False)
class Pair:
    """Two neighbours, the second with one person or group more or changed, and the loss between them."""

    counts: GroupCounts
    neighbour: GroupCounts
    loss: Fraction | None
    """None: unbounded, because an entry without noise differs, which tells the two apart with certainty."""

    @property
    def rank(self) -> tuple[bool, Fraction]:
        """The sort key by which the worst pair is found."""
        return self.loss is None, self.loss or Fraction(0)


@dataclass(frozen=True, eq=False)
class Enumeration:
    """A case with the worst of all its pairs of neighbours."""

    case: Case
    public_totals: str | None
    """The level down to which the regions' numbers of groups are public."""
    asked: Fraction
    """The epsilon that was requested."""
    stated: Fraction
    """The epsilon that the plan states."""
    worst: Pair
    pairs: int
    """The number of pairs that were tried: one for each way in which neighbours differ."""

    @property
    def verdict(self) -> Verdict:
        """The verdict on the exact loss."""
        return judge(self.worst.loss, stated=self.stated, asked=self.asked)


def compare(plan: Plan, counts: GroupCounts, neighbour: GroupCounts) -> Pair:
    """Compute the exact loss between two neighbours."""
    loss, is_unbounded = Fraction(0), False
    pairs = zip(plan.answers(counts), plan.answers(neighbour), strict=True)
    for index, (level, (here, there)) in enumerate(zip(plan.levels, pairs, strict=True)):
        distances = np.abs(here - there)
        if plan.has_public_totals(index):  # the last entries are measured without noise
            is_unbounded |= bool(distances[:, -1].any())
            distances = distances[:, :-1]
        loss += int(distances.sum()) / level.scale
    return Pair(counts, neighbour, None if is_unbounded else loss)


@lru_cache(maxsize=128)
def list_pairs(case: Case) -> list[tuple[GroupCounts, GroupCounts]]:
    """Return all pairs of neighbours of the case that differ differently: the others have the same losses."""
    found: dict[bytes, tuple[GroupCounts, GroupCounts]] = {}
    for counts in enumerate_counts(case):
        for neighbour in enumerate_additions(counts, case.neighbours):
            found.setdefault((neighbour.leaf - counts.leaf).tobytes(), (counts, neighbour))
    return list(found.values())


@lru_cache(maxsize=256)  # mechanisms with the same query have the same plans
def find_worst_pair(case: Case, plan: Plan) -> Pair:
    """Return the pair of neighbours with the largest loss in the case; of several, the first."""
    found = (compare(plan, counts, neighbour) for counts, neighbour in list_pairs(case))
    return max(found, key=lambda pair: pair.rank)


def enumerate_losses(
    method: Mechanism, case: Case, *, epsilon: Fraction, public_totals: str | None = None
) -> Enumeration:
    """Find the worst loss of a mechanism on a case, and the epsilon that its plan states there."""
    plan = plan_case(method, case, epsilon=epsilon, public_totals=public_totals)
    worst = find_worst_pair(case, plan)
    return Enumeration(case, plan.public_totals, epsilon, plan.epsilon, worst, len(list_pairs(case)))


def plan_case(method: Mechanism, case: Case, *, epsilon: Fraction, public_totals: str | None = None) -> Plan:
    """Return the plan of a mechanism for a case."""
    return method.plan(
        case.hierarchy,
        sizes=case.sizes,
        epsilon=epsilon,
        budget=case.budget,
        bounds=case.bounds,
        public_totals=public_totals,
        total=case.total,
        protect=case.protect,
    )
