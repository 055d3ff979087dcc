"""The measurement plan: what is asked at each level, and with how much noise."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from tallytree.arrays import MAX_CELLS, MAX_SCALE, cut_rows, get_rows
from tallytree.errors import CountsError, HierarchyError, PrivacyError
from tallytree.hierarchy import Hierarchy, find_level
from tallytree.markup import shorten, tag, write_box, write_paragraph, write_table
from tallytree.privacy.budget import (
    EPSILON,
    LARGE_EPSILON,
    RHO,
    Budget,
    Loss,
    Unit,
    UnitName,
    add_losses,
    parse_exact,
    show_exact,
    show_short,
    split_budget,
)
from tallytree.privacy.neighbours import (
    TOTALS,
    Bounds,
    Neighbours,
    Protected,
    TotalKind,
    Whom,
    check_bounds,
    check_neighbours,
)
from tallytree.privacy.queries import Counted, Query, find_query
from tallytree.privacy.zcdp import convert_rho, parse_delta, settle_rho
from tallytree.sizes import Sizes, check_sizes, count_sizes, cut_sizes, show_sizes

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class LevelPlan:
    """One level's part of a plan; all numbers are exact."""

    name: str
    query: str
    sensitivity: Fraction
    """The sensitivity of all regions of the level together: L1 for an epsilon, squared L2 for a rho."""
    loss: Fraction
    """The level's part of the budget, in its unit."""
    scale: Fraction
    """The scale of the noise: the paper's lambda if two-sided geometric, sigma if discrete Gaussian."""
    unit: UnitName = "epsilon"

    @property
    def epsilon(self) -> Fraction:
        """The level's part of epsilon. Under Gaussian noise a level has a rho instead, and no epsilon."""
        if self.unit != "epsilon":
            raise PrivacyError("A level with Gaussian noise has a rho: only the whole plan has an epsilon.")
        return self.loss


@dataclass(frozen=True)
class Plan:
    """What will be measured, and what it costs: made from public facts alone.

    >>> import tallytree as tt
    >>> regions = tt.Hierarchy.from_paths(["nation", "state"], [("US", "GA"), ("US", "NY")])
    >>> plan = tt.mechanism("direct-dp").plan(regions, sizes=(1, 3), epsilon=1)
    >>> [(level.name, str(level.loss), str(level.scale)) for level in plan.levels]
    [('nation', '1/2', '4'), ('state', '1/2', '4')]
    """

    hierarchy: Hierarchy
    sizes: Sizes
    bounds: Bounds
    levels: tuple[LevelPlan, ...]
    public_totals: str | None = None
    """The level down to which the number of groups of each region is public, and measured without noise."""
    delta: Fraction | None = None
    """None: pure differential privacy. Else Gaussian noise, and epsilon is stated at this delta."""
    protect: Protected = "person"
    """Who is protected: a person, or a whole group."""
    total: TotalKind = "public"
    """Whether the list of groups, so also their number, is public."""

    @property
    def neighbours(self) -> Neighbours:
        """Which datasets are hard to tell apart."""
        return Neighbours(protect=self.protect, total=self.total, bounds=self.bounds)

    @property
    def has_public_total(self) -> bool:
        """Whether the number of groups is public."""
        return self.total == "public"

    def hide_total(self, total: int) -> int | None:
        """Return the number of groups if it is public, else None."""
        return total if self.has_public_total else None

    @property
    def unit(self) -> Unit:
        """The unit of the levels' parts of the budget."""
        return EPSILON if self.delta is None else RHO

    @property
    def loss(self) -> Loss:
        """The privacy loss of the whole plan: the levels' parts add up (sequential composition)."""
        return _add_up(self.levels, self.delta, self.neighbours.whom)

    @property
    def epsilon(self) -> Fraction:
        """The privacy loss of the whole plan; for Gaussian noise, at ``delta``."""
        return find_epsilon([level.loss for level in self.levels], self.delta)

    @property
    def scales(self) -> list[Fraction]:
        """The levels' noise scales."""
        return [level.scale for level in self.levels]

    def find_group_loss(self, place: int) -> Fraction:
        """Return the privacy loss of a whole group whose size is not above the one at ``place``.

        It may be any of these sizes and, if the total is private, not exist. Each edge that it crosses
        changes one answer by one, whoever the noise was made for; on the sizes query, two answers change
        at most.
        """
        sizes = cut_sizes(self.sizes, place)
        kinds = TOTALS if place and not self.has_public_total else (self.total,)
        parts = []
        for index, level in enumerate(self.levels):
            query, regions = find_query(level.query), self.shape(index)[0]
            apart = [Neighbours(protect="group", total=kind) for kind in kinds]
            most = max(self.unit.find_sensitivity(query, two, sizes, regions) for two in apart)
            parts.append(self.unit.find_loss(most, level.scale))
        return sum(parts, Fraction(0))

    def has_public_totals(self, level: int) -> bool:
        """Return whether the number of groups of each region of the level is public."""
        return self.public_totals is not None and level <= self.hierarchy.index(self.public_totals)

    def shape(self, level: int) -> tuple[int, int]:
        """Return the shape of a level's answers: regions x sizes."""
        return self.hierarchy.region_counts[level], count_sizes(self.sizes)

    def answers(self, counts: Counted) -> list[Ints]:
        """Return the queries' true answers, root first. Sensitive: noise has yet to be added to them."""
        return [self.answer(counts, index) for index in range(len(self.levels))]

    def answer(self, counts: Counted, level: int) -> Ints:
        """Return the query's true answers at one level. Sensitive."""
        self._check(counts)
        return find_query(self.levels[level].query).answer(counts, level)

    def answer_in_parts(self, counts: Counted, level: int) -> Iterator[tuple[int, Ints]]:
        """Yield a level's true answers, a few regions at a time, with the index of the first. Sensitive."""
        self._check(counts)
        query = find_query(self.levels[level].query)
        parts = cut_rows(*self.shape(level))
        if query.row_answer is None:  # other regions matter too
            whole = query.answer(counts, level)
            yield from ((start, whole[start:stop]) for start, stop in parts)
            return
        for start, stop in parts:
            yield start, query.row_answer(get_rows(counts.levels, level, start, stop))

    def _repr_html_(self) -> str:
        rows = [
            [
                shorten(level.name),
                level.query,
                f"{self.shape(index)[0]:,}",
                show_exact(level.sensitivity),
                show_short(level.loss),
                show_short(level.scale),
            ]
            for index, level in enumerate(self.levels)
        ]
        columns = ["level", "query", "regions", "sensitivity", self.unit.name, "scale of the noise"]
        return write_box(
            tag("span", "Plan"), write_paragraph(describe_privacy(self)), write_table(columns, rows, left=2)
        )

    def _check(self, counts: Counted) -> None:
        """Refuse counts that this plan was not made for."""
        # Checked by its methods, because code that runs after measuring may not import its type.
        if not hasattr(counts, "array"):
            raise CountsError("counts must be a tallytree.GroupCounts.")
        if counts.hierarchy != self.hierarchy:
            raise CountsError("The counts are on another hierarchy than the plan.")
        if counts.sizes != self.sizes:
            raise CountsError(
                f"The counts are on sizes {show_sizes(counts.sizes)}, the plan on {show_sizes(self.sizes)}."
            )
        if counts.bounds != self.bounds:
            raise CountsError("The counts were made under other bounds on a person than the plan's.")


@dataclass(frozen=True)
class Draft:
    """A plan before its regions are known: what it will cost, from the names of the levels alone."""

    levels: tuple[LevelPlan, ...]
    public_totals: str | None
    delta: Fraction | None
    whom: Whom | None
    """Whose loss it is; None if that depends on the counts."""

    @property
    def loss(self) -> Loss:
        """The privacy loss, as :attr:`Plan.loss`."""
        return _add_up(self.levels, self.delta, self.whom)

    @property
    def epsilon(self) -> Fraction:
        """The privacy loss as an epsilon, as :attr:`Plan.epsilon`."""
        return find_epsilon([level.loss for level in self.levels], self.delta)


def make_plan(
    query: Query, hierarchy: Hierarchy, budget: Budget, *, sizes: Sizes, bounds: Bounds | None = None
) -> Plan:
    """Plan to ask one query at every level, with the loss split over the levels as ``budget`` says.

    Where the regions' numbers of groups are public and the query ends with them, the last entry of each
    region's answers needs no noise.
    """
    if not isinstance(hierarchy, Hierarchy):
        raise HierarchyError("The hierarchy must be a tallytree.Hierarchy.")
    bounds, sizes = check_bounds(bounds), check_sizes(sizes)
    regions = dict(zip(hierarchy.levels, hierarchy.region_counts, strict=True))
    draft = draft_plan(query, regions, budget, sizes=sizes, bounds=bounds)
    for name, count in regions.items():
        if count * count_sizes(sizes) > MAX_CELLS:
            raise PrivacyError(f"Level {name!r} has more than {MAX_CELLS} regions x sizes.")
    kinds = budget.find_neighbours(bounds)
    return Plan(
        hierarchy, sizes, bounds, draft.levels, draft.public_totals, draft.delta, kinds.protect, kinds.total
    )


def draft_plan(
    query: Query, regions: Mapping[str, int], budget: Budget, *, sizes: Sizes, bounds: Bounds
) -> Draft:
    """Split the loss over the levels: ``regions`` has their names and how many regions each has, or 1."""
    neighbours = budget.find_neighbours(bounds)
    check_neighbours(neighbours, sizes)
    parts, delta = split_loss(list(regions), budget)
    unit = EPSILON if delta is None else RHO
    levels = tuple(
        _plan_level(query, name, part, unit, unit.find_sensitivity(query, neighbours, sizes, count))
        for (name, count), part in zip(regions.items(), parts, strict=True)
    )
    for level in levels:
        if level.scale > MAX_SCALE:
            raise PrivacyError(
                f"{unit.name} is too small at level {level.name!r}: its noise would have the scale "
                f"{float(level.scale):.3g}, above {MAX_SCALE}."
            )
    public_totals = budget.public_totals
    if public_totals is not None:
        if not neighbours.has_public_total:
            raise PrivacyError('Public totals of regions need a public total: give total="public" as well.')
        if not query.ends_with_total:
            raise PrivacyError(f"The {query.name!r} query does not ask for the regions' numbers of groups.")
        public_totals = levels[find_level(list(regions), public_totals)].name
    if delta is not None:
        convert_rho(sum(parts, Fraction(0)), delta)  # it may fail, so try it before anything is charged
    is_open = budget.total is None and budget.protect == "group"
    return Draft(levels, public_totals, delta, None if is_open else neighbours.whom)


def split_loss(levels: Sequence[str], budget: Budget) -> tuple[tuple[Fraction, ...], Fraction | None]:
    """Return the levels' parts of the requested loss, and delta; with a delta, the parts are rhos."""
    if budget.epsilon is not None and budget.rho is not None:
        raise PrivacyError("Give the budget as epsilon or as rho, not as both.")
    if budget.epsilon is None and budget.rho is None:
        raise PrivacyError("Give the budget: an epsilon or, for Gaussian noise, a rho and a delta.")
    if budget.delta is None:
        if budget.rho is not None:
            raise PrivacyError("With rho, give the delta at which its epsilon is to be stated as well.")
        return split_budget(parse_exact(budget.epsilon, "epsilon"), levels, budget.split), None
    delta = parse_delta(budget.delta)
    return split_budget(settle_rho(budget.epsilon, budget.rho, delta), levels, budget.split), delta


def _add_up(levels: Sequence[LevelPlan], delta: Fraction | None, whom: Whom | None) -> Loss:
    """The levels' parts added up (sequential composition)."""
    return replace(
        add_losses("epsilon" if delta is None else "rho", [level.loss for level in levels]), whom=whom
    )


def find_epsilon(parts: Sequence[Fraction], delta: Fraction | None) -> Fraction:
    """Return the epsilon of the levels' losses together: with a delta, they are rhos."""
    whole = sum(parts, Fraction(0))
    return whole if delta is None else convert_rho(whole, delta)


def _plan_level(query: Query, name: str, loss: Fraction, unit: Unit, sensitivity: Fraction) -> LevelPlan:
    return LevelPlan(name, query.name, sensitivity, loss, unit.find_scale(sensitivity, loss), unit.name)


LIKELY: dict[tuple[Protected, TotalKind], str] = {
    ("person", "public"): "with a person's records as without them",
    ("person", "private"): "with a person's records as without them",
    ("group", "public"): "with a group at one size as at another",
    ("group", "private"): "with a group as without it",
}
"""What epsilon compares."""


def describe_privacy(plan: Plan) -> str:
    """Describe what epsilon promises, in a sentence."""
    epsilon = show_short(plan.epsilon)
    if plan.epsilon >= LARGE_EPSILON:
        return f"Private with epsilon = {epsilon}, which is so large that the promise says little."
    return f"Private with epsilon = {epsilon}: {describe_factor(plan)}."


def describe_factor(plan: Plan) -> str:
    """Describe the factor that epsilon stands for, which says little where epsilon is large."""
    words = (
        f"no result is more than {_round_up(math.exp(plan.epsilon)):,g} times as likely "
        f"{LIKELY[plan.protect, plan.total]}"
    )
    if plan.delta is None:
        return words
    return f"{words}, and on top of that {show_short(plan.delta)}, which is delta"


def _round_up(number: float) -> float:
    """Round up to three digits: a stated maximum must not be too small."""
    places = 2 - math.floor(math.log10(number))
    return float(math.ceil(number * 10.0**places) / 10.0**places)
