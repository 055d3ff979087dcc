"""The measurement plan: what is asked at each level, and with how much noise."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from tallytree.arrays import cut_rows, get_rows
from tallytree.errors import CountsError, HierarchyError, PrivacyError
from tallytree.hierarchy import Hierarchy
from tallytree.limits import MAX_CELLS, MAX_SCALE
from tallytree.markup import shorten, tag, write_box, write_paragraph, write_table
from tallytree.privacy.budget import (
    EPSILON,
    LARGE_EPSILON,
    RHO,
    Exact,
    Loss,
    Unit,
    UnitName,
    add_losses,
    parse_exact,
    show_exact,
    show_short,
    split_budget,
)
from tallytree.privacy.neighbours import Bounds, check_bounds
from tallytree.privacy.queries import Counted, Query, find_query
from tallytree.privacy.zcdp import convert_rho, parse_delta, settle_rho
from tallytree.sizes import Sizes, check_sizes, count_sizes

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class LevelPlan:
    """One level's part of a plan; all numbers are exact."""

    name: str
    query: str
    sensitivity: Fraction
    """That of all regions of the level together: in L1 for an epsilon, in L2 and squared for a rho."""
    loss: Fraction
    """The level's part of the budget, in its unit."""
    scale: Fraction
    """Of the noise: the paper's lambda for two-sided geometric noise, sigma for discrete Gaussian noise."""
    unit: UnitName = "epsilon"

    @property
    def epsilon(self) -> Fraction:
        """The level's part of epsilon. Under Gaussian noise it has none of its own, but a rho."""
        if self.unit != "epsilon":
            raise PrivacyError("A level with Gaussian noise has a rho: only the whole plan has an epsilon.")
        return self.loss


@dataclass(frozen=True)
class Plan:
    """What will be measured, and what it costs: made from public facts alone."""

    hierarchy: Hierarchy
    sizes: Sizes
    bounds: Bounds
    levels: tuple[LevelPlan, ...]
    public_totals: str | None = None
    """The level down to which the number of groups of each region is public, and measured without noise."""
    delta: Fraction | None = None
    """None: pure differential privacy. Else Gaussian noise, and epsilon is stated at this delta."""

    @property
    def unit(self) -> Unit:
        """In what the levels' parts of the budget are counted."""
        return EPSILON if self.delta is None else RHO

    @property
    def loss(self) -> Loss:
        """The privacy loss of the whole plan: the levels' parts add up (sequential composition)."""
        return add_losses(self.unit.name, [level.loss for level in self.levels])

    @property
    def epsilon(self) -> Fraction:
        """The privacy loss of the whole plan, for Gaussian noise at ``delta``."""
        if self.delta is not None:
            return convert_rho(self.loss.rho, self.delta)
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
        return self.hierarchy.region_counts[level], count_sizes(self.sizes)

    def answers(self, counts: Counted) -> list[Ints]:
        """The queries' true answers, root first. Sensitive: this is what the noise is added to."""
        return [self.answer(counts, index) for index in range(len(self.levels))]

    def answer(self, counts: Counted, level: int) -> Ints:
        """The same for one level."""
        self._check(counts)
        return find_query(self.levels[level].query).answer(counts, level)

    def answer_in_parts(self, counts: Counted, level: int) -> Iterator[tuple[int, Ints]]:
        """The same a few regions at a time, each time with the number of the first of them."""
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
        # By its methods, not its type, which is out of reach for code that runs after measuring.
        if not hasattr(counts, "array"):
            raise CountsError("The answers are made from GroupCounts.")
        if counts.hierarchy != self.hierarchy:
            raise CountsError("The counts are on another hierarchy than the plan.")
        if counts.sizes != self.sizes:
            raise CountsError(f"The counts are on sizes {counts.sizes}, the plan on {self.sizes}.")
        if counts.bounds != self.bounds:
            raise CountsError("The counts were made under other bounds on a person than the plan's.")


def make_plan(
    query: Query,
    hierarchy: Hierarchy,
    *,
    sizes: Sizes,
    epsilon: Exact | None = None,
    rho: Exact | None = None,
    delta: Exact | None = None,
    budget: Mapping[str, Exact] | None = None,
    bounds: Bounds | None = None,
    public_totals: str | None = None,
) -> Plan:
    """Ask one query at every level, the loss split over the levels by ``budget`` (evenly, if None).

    The loss is an ``epsilon``; or, with a ``delta``, the largest rho that implies (epsilon, delta)-DP; or a
    ``rho``. The regions' numbers of groups are public down to the level ``public_totals``: then the last
    entry of each region's answers needs no noise, if the query ends with them.
    """
    if not isinstance(hierarchy, Hierarchy):
        raise HierarchyError("A plan is made for a tallytree.Hierarchy.")
    bounds = check_bounds(bounds)
    sizes = check_sizes(sizes)
    parts, settled = split_loss(hierarchy.levels, epsilon=epsilon, rho=rho, delta=delta, budget=budget)
    unit = EPSILON if settled is None else RHO
    levels = tuple(
        _plan_level(query, name, part, unit, unit.find_sensitivity(query, bounds, sizes, regions))
        for name, part, regions in zip(hierarchy.levels, parts, hierarchy.region_counts, strict=True)
    )
    for index, level in enumerate(levels):
        if level.scale > MAX_SCALE:
            raise PrivacyError(
                f"{unit.name} is too small at level {level.name!r}: its noise would have the scale "
                f"{float(level.scale):.3g}, above {MAX_SCALE}."
            )
        if hierarchy.region_counts[index] * count_sizes(sizes) > MAX_CELLS:
            raise PrivacyError(f"Level {level.name!r} has more than {MAX_CELLS} regions x sizes.")
    if public_totals is not None:
        if not query.ends_with_total:
            raise PrivacyError(f"The {query.name!r} query does not ask for the regions' numbers of groups.")
        public_totals = hierarchy.levels[hierarchy.index(public_totals)]
    if settled is not None:
        convert_rho(sum(parts, Fraction(0)), settled)  # now, before anything is charged: it has its limits
    return Plan(hierarchy, sizes, bounds, levels, public_totals, settled)


def split_loss(
    levels: Sequence[str],
    *,
    epsilon: Exact | None = None,
    rho: Exact | None = None,
    delta: Exact | None = None,
    budget: Mapping[str, Exact] | None = None,
) -> tuple[tuple[Fraction, ...], Fraction | None]:
    """The levels' parts of the loss that was asked for, and delta: they are rhos if there is one."""
    if epsilon is not None and rho is not None:
        raise PrivacyError("Give the budget as epsilon or as rho, not as both.")
    if delta is None:
        if rho is not None:
            raise PrivacyError("With rho, give the delta at which its epsilon is to be stated as well.")
        return split_budget(parse_exact(epsilon, "epsilon"), levels, budget), None
    settled = parse_delta(delta)
    return split_budget(settle_rho(epsilon, rho, settled), levels, budget), settled


def _plan_level(query: Query, name: str, loss: Fraction, unit: Unit, sensitivity: Fraction) -> LevelPlan:
    return LevelPlan(name, query.name, sensitivity, loss, unit.find_scale(sensitivity, loss), unit.name)


def describe_privacy(plan: Plan) -> str:
    """What epsilon promises, in a sentence."""
    epsilon = show_short(plan.epsilon)
    if plan.epsilon >= LARGE_EPSILON:
        return f"Private with epsilon = {epsilon}, which is so large that the promise says little."
    return f"Private with epsilon = {epsilon}: {describe_factor(plan)}."


def describe_factor(plan: Plan) -> str:
    """What epsilon, if it is not too large to say anything, comes to."""
    words = (
        f"no result is more than {_round_up(math.exp(plan.epsilon)):,g} times as likely with a person's "
        "records as without them"
    )
    if plan.delta is None:
        return words
    return f"{words}, and on top of that {show_short(plan.delta)}, which is delta"


def _round_up(number: float) -> float:
    """To three digits: what is said to be the most must not be less."""
    places = 2 - math.floor(math.log10(number))
    return float(math.ceil(number * 10.0**places) / 10.0**places)
