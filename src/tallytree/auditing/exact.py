"""The exact worst privacy loss of a plan on a small hierarchy, by trying all neighbours.

Let one neighbour have the answer a and the other b to an entry. The noise has P(X = k) proportional to
exp(-|k| / scale), so an outcome o is exp((|o - b| - |o - a|) / scale) times as likely with a as with b. That
is at most exp(|a - b| / scale), by the triangle inequality, and just that at o = a. Entries have independent
noise: the factors multiply, the exponents add up, and all are at their largest at once when the outcome is
the first neighbour's answers, which does happen with positive probability. So the largest privacy loss is the
sum over entries of |a - b| / scale: not a bound on it, but the loss itself, attained, and the same both ways.
No event has a larger one, since a ratio of sums is at most the largest ratio of their terms; nor has anything
made of the noisy answers, since an event there is an event here.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from tallytree.auditing.datasets import Case, enumerate_counts
from tallytree.auditing.verdicts import Verdict, judge
from tallytree.counts import GroupCounts
from tallytree.mechanisms.base import Mechanism
from tallytree.privacy.neighbours import enumerate_additions
from tallytree.privacy.plan import Plan


@dataclass(frozen=True, eq=False)
class Pair:
    """Two neighbours, the second with one person more, and the loss that is between them."""

    counts: GroupCounts
    neighbour: GroupCounts
    loss: Fraction | None
    """None: without bound, for an entry without noise differs, which tells the two apart with certainty."""

    @property
    def rank(self) -> tuple[bool, Fraction]:
        """By which the worst is found."""
        return self.loss is None, self.loss or Fraction(0)


@dataclass(frozen=True, eq=False)
class Enumeration:
    """A case with the worst of all its pairs of neighbours."""

    case: Case
    public_totals: str | None
    """The level down to which the regions' numbers of groups are public."""
    asked: Fraction
    """The epsilon that was asked for."""
    stated: Fraction
    """The one that the plan states."""
    worst: Pair
    pairs: int
    """How many were tried."""

    @property
    def verdict(self) -> Verdict:
        """On the exact loss."""
        return judge(self.worst.loss, stated=self.stated, asked=self.asked)


def compare(plan: Plan, counts: GroupCounts, neighbour: GroupCounts) -> Pair:
    """The exact loss between two neighbours."""
    loss, is_unbounded = Fraction(0), False
    pairs = zip(plan.answers(counts), plan.answers(neighbour), strict=True)
    for index, (level, (here, there)) in enumerate(zip(plan.levels, pairs, strict=True)):
        distances = np.abs(here - there)
        if plan.has_public_totals(index):  # the last entries are measured as they are
            is_unbounded |= bool(distances[:, -1].any())
            distances = distances[:, :-1]
        loss += int(distances.sum()) / level.scale
    return Pair(counts, neighbour, None if is_unbounded else loss)


@lru_cache(maxsize=32)
def list_pairs(case: Case) -> list[tuple[GroupCounts, GroupCounts]]:
    """All pairs of neighbours that the case has: every dataset, with every one that has a person more."""
    return [
        (counts, neighbour) for counts in enumerate_counts(case) for neighbour in enumerate_additions(counts)
    ]


@lru_cache(maxsize=256)  # mechanisms that measure alike have the same plans
def find_worst_pair(case: Case, plan: Plan) -> Pair:
    """The neighbours with the largest loss of all that the case has; the first of several."""
    found = (compare(plan, counts, neighbour) for counts, neighbour in list_pairs(case))
    return max(found, key=lambda pair: pair.rank)


def enumerate_losses(
    method: Mechanism, case: Case, *, epsilon: Fraction, public_totals: str | None = None
) -> Enumeration:
    """The worst loss of a mechanism on a case, beside the epsilon that its plan states there."""
    plan = plan_case(method, case, epsilon=epsilon, public_totals=public_totals)
    worst = find_worst_pair(case, plan)
    return Enumeration(case, plan.public_totals, epsilon, plan.epsilon, worst, len(list_pairs(case)))


def plan_case(method: Mechanism, case: Case, *, epsilon: Fraction, public_totals: str | None = None) -> Plan:
    """The plan of a mechanism for a case."""
    return method.plan(
        case.hierarchy,
        sizes=case.sizes,
        epsilon=epsilon,
        budget=case.budget,
        bounds=case.bounds,
        public_totals=public_totals,
    )
