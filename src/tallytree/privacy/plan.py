"""The measurement plan: what is asked at each level, and with how much noise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from tallytree.errors import CountsError, HierarchyError, PrivacyError
from tallytree.hierarchy import Hierarchy
from tallytree.limits import MAX_CELLS, MAX_SCALE
from tallytree.privacy.budget import Exact, parse_exact, split_budget
from tallytree.privacy.neighbours import Bounds, check_bounds
from tallytree.privacy.queries import Query, find_query
from tallytree.sizes import Sizes, check_sizes, count_sizes

if TYPE_CHECKING:
    from tallytree.counts import GroupCounts

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class LevelPlan:
    """One level's part of a plan; all numbers are exact."""

    name: str
    query: str
    sensitivity: Fraction
    epsilon: Fraction
    """The level's part of the budget; the sensitivity is that of all its regions together."""
    scale: Fraction
    """sensitivity / epsilon: the scale of the two-sided geometric noise, the paper's lambda."""


@dataclass(frozen=True)
class Plan:
    """What will be measured, and what it costs: made from public facts alone."""

    hierarchy: Hierarchy
    sizes: Sizes
    bounds: Bounds
    levels: tuple[LevelPlan, ...]
    public_totals: str | None = None
    """The level down to which the number of groups of each region is public, and measured without noise."""

    @property
    def epsilon(self) -> Fraction:
        """The privacy loss of the whole plan: the levels' parts add up (sequential composition)."""
        return sum((level.epsilon for level in self.levels), Fraction(0))

    @property
    def scales(self) -> list[Fraction]:
        """The levels' noise scales."""
        return [level.scale for level in self.levels]

    def has_public_totals(self, level: int) -> bool:
        """Whether the number of groups of each region of the level is public."""
        return self.public_totals is not None and level <= self.hierarchy.index(self.public_totals)

    def shape(self, level: int) -> tuple[int, int]:
        """Regions x sizes of a level's answers."""
        return len(self.hierarchy.regions(level)), count_sizes(self.sizes)

    def answers(self, counts: GroupCounts) -> list[Ints]:
        """The queries' true answers, root first. Sensitive: this is what the noise is added to."""
        # By its methods, not its type, which is out of reach for code that runs after measuring.
        if not hasattr(counts, "array"):
            raise CountsError("The answers are made from GroupCounts.")
        if counts.hierarchy != self.hierarchy:
            raise CountsError("The counts are on another hierarchy than the plan.")
        if counts.sizes != self.sizes:
            raise CountsError(f"The counts are on sizes {counts.sizes}, the plan on {self.sizes}.")
        if counts.bounds != self.bounds:
            raise CountsError("The counts were made under other bounds on a person than the plan's.")
        return [find_query(level.query).answer(counts, index) for index, level in enumerate(self.levels)]


def make_plan(
    query: Query,
    hierarchy: Hierarchy,
    *,
    sizes: Sizes,
    epsilon: Exact,
    budget: Mapping[str, Exact] | None = None,
    bounds: Bounds | None = None,
    public_totals: str | None = None,
) -> Plan:
    """Ask one query at every level, epsilon split over the levels by ``budget`` (evenly, if None).

    The regions' numbers of groups are public down to the level ``public_totals``: then the last entry of
    each region's answers needs no noise, if the query ends with them.
    """
    if not isinstance(hierarchy, Hierarchy):
        raise HierarchyError("A plan is made for a tallytree.Hierarchy.")
    bounds = check_bounds(bounds)
    sizes = check_sizes(sizes)
    parts = split_budget(parse_exact(epsilon, "epsilon"), hierarchy.levels, budget)
    levels = tuple(
        _plan_level(query, name, part, bounds, len(hierarchy.regions(name)))
        for name, part in zip(hierarchy.levels, parts, strict=True)
    )
    for index, level in enumerate(levels):
        if level.scale > MAX_SCALE:
            raise PrivacyError(
                f"epsilon is too small at level {level.name!r}: its noise would have the scale "
                f"{float(level.scale):.3g}, above {MAX_SCALE}."
            )
        if len(hierarchy.regions(index)) * count_sizes(sizes) > MAX_CELLS:
            raise PrivacyError(f"Level {level.name!r} has more than {MAX_CELLS} regions x sizes.")
    if public_totals is not None:
        if not query.ends_with_total:
            raise PrivacyError(f"The {query.name!r} query does not ask for the regions' numbers of groups.")
        public_totals = hierarchy.levels[hierarchy.index(public_totals)]
    return Plan(hierarchy, sizes, bounds, levels, public_totals)


def _plan_level(query: Query, name: str, epsilon: Fraction, bounds: Bounds, regions: int) -> LevelPlan:
    sensitivity = Fraction(query.sensitivity(bounds, regions))
    return LevelPlan(name, query.name, sensitivity, epsilon, sensitivity / epsilon)
