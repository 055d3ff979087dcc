"""What a mechanism is: a query, a plan for measuring it, and a way back to consistent counts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from tallytree.arrays import MAX_GROUPS, reverse_sizes
from tallytree.errors import MechanismError
from tallytree.hierarchy import Hierarchy
from tallytree.privacy.budget import Budget, Exact
from tallytree.privacy.measurements import Measurements
from tallytree.privacy.neighbours import Bounds, Protected, TotalKind
from tallytree.privacy.plan import Draft, Plan, draft_plan, make_plan
from tallytree.privacy.queries import ABOVE, Query, find_query
from tallytree.progress import expect_holds, hold_signals, one_processor
from tallytree.sizes import Sizes, find_whole
from tallytree.solvers.solution import Evidence, Solution

Ints = npt.NDArray[np.int64]
RegionTotals = Literal["unused", "optional", "needed"]


TINY, SMALL = 2**14, 2**19
"""Regions x sizes up to which a problem is solved in one go; and on one processor, as threads cost more."""


@dataclass(frozen=True, kw_only=True)
class Mechanism(ABC):
    """A mechanism with its options, which are the fields of its class, checked at once."""

    name: ClassVar[str]
    symbol: ClassVar[str]
    """In the paper."""
    summary: ClassVar[str]
    query: ClassVar[Query]
    exact: ClassVar[bool]
    """Its solution is the optimum of its model, over whole numbers."""
    consistent: ClassVar[bool]
    """Its counts meet all conditions of a release by construction."""
    cost: ClassVar[str]
    reference: ClassVar[str]
    shrinks: ClassVar[bool] = False
    """It pulls counts towards others (a parent, a curve): the truth need not come back without noise."""
    private_total: ClassVar[bool] = False
    """Whether it can do without a public number of groups."""
    region_totals: ClassVar[RegionTotals] = "unused"
    """Whether it keeps public numbers of groups of regions below the root."""
    small: ClassVar[bool] = False
    """Its time or memory grows too fast for large problems; it serves for comparison on small ones."""
    caveat: ClassVar[str] = ""
    """What a user must know before choosing it."""
    revision: ClassVar[int] = 1
    """Raised when the same measurements and options give other counts than in the version before."""
    earlier: ClassVar[Mapping[int, Mapping[str, Any]]] = {}
    """Options with which it still gives the counts of an earlier revision: {1: {"option": value}}."""
    solver_module: ClassVar[str] = ""
    """The solver's module, if it needs a library that may be missing."""

    @property
    def obstacle(self) -> str | None:
        """Why it cannot make a release, as the end of a sentence; None if it can."""
        return None if self.consistent else "its counts do not add up"

    def require(self) -> None:
        """Load the solver, so that a missing library is found before noise is drawn."""
        if self.solver_module:
            import_module(self.solver_module)

    def plan(
        self,
        hierarchy: Hierarchy,
        *,
        sizes: Sizes,
        epsilon: Exact | None = None,
        budget: Mapping[str, Exact] | None = None,
        bounds: Bounds | None = None,
        public_totals: str | None = None,
        delta: Exact | None = None,
        rho: Exact | None = None,
        total: TotalKind = "public",
        protect: Protected = "person",
    ) -> Plan:
        """Plan what to measure, and with how much noise.

        ``budget`` weighs the levels (None: evenly); ``public_totals`` is the level down to which the
        regions' numbers of groups are public, and will be kept (None: only the root's). With ``delta`` the
        noise is discrete Gaussian, for (epsilon, delta)-differential privacy or for a ``rho`` in place of
        epsilon. ``total`` says whether the list of groups is "public" or "private", and ``protect`` whether a
        "person" or a whole "group" is protected.
        """
        asked = Budget(
            epsilon=epsilon,
            delta=delta,
            rho=rho,
            split=budget,
            public_totals=public_totals,
            total=total,
            protect=protect,
        )
        return self.plan_within(asked, hierarchy, sizes=sizes, bounds=bounds)

    def plan_within(
        self, budget: Budget, hierarchy: Hierarchy, *, sizes: Sizes, bounds: Bounds | None
    ) -> Plan:
        """Plan what to measure, as :meth:`plan` does, with the budget as one value."""
        if isinstance(hierarchy, Hierarchy):
            budget = self._settle_totals(budget, hierarchy.levels)
        query = self.find_query(budget.total)
        return self.calibrate(make_plan(query, hierarchy, budget, sizes=sizes, bounds=bounds))

    def need(self, total: int | None) -> int:
        """Return the public total, which a mechanism that cannot do without always has."""
        if total is None:
            raise MechanismError(f"{self.name} needs a public total.")
        return total

    def find_query(self, total: TotalKind | None) -> Query:
        """Return what is measured: with a private total, what a group that appears changes least."""
        if total != "private":
            return self.query
        if not self.private_total:
            raise MechanismError(
                f"{self.name} needs a public total: give total='public', or choose another mechanism."
            )
        return find_query(self.query.when_private or self.query.name)

    def draft(self, budget: Budget, levels: Sequence[str], *, sizes: Sizes, bounds: Bounds) -> Draft:
        """Return what a plan will cost, before the regions are known: as if each level had one region."""
        settled = self._settle_totals(budget, levels)
        query = self.find_query(budget.total)
        return draft_plan(query, dict.fromkeys(levels, 1), settled, sizes=sizes, bounds=bounds)

    def _settle_totals(self, budget: Budget, levels: Sequence[str]) -> Budget:
        """Return the budget with the level down to which totals are public, if this mechanism supports it."""
        level = budget.public_totals
        if self.region_totals == "unused" and level is not None:
            raise MechanismError(f"{self.name} cannot keep public totals of regions: leave them out.")
        if self.region_totals == "needed":
            if level not in (None, levels[-1]):
                raise MechanismError(
                    f"{self.name} needs the totals of all regions, down to level {levels[-1]!r}."
                )
            return replace(budget, public_totals=levels[-1])
        return budget

    def calibrate(self, plan: Plan) -> Plan:
        """Return the plan as this mechanism measures it: unchanged, with the noise that epsilon requires."""
        return plan

    def postprocess(self, measurements: Measurements, *, total: int | None = None) -> Solution:
        """Return counts that meet the conditions of a release, from noisy answers and the public total.

        Where the plan's total is private there is none: the number of groups is measured like all else.
        """
        total = self._check(measurements, total)
        plan, values = measurements.plan, measurements.values
        is_above = plan.levels[0].query == ABOVE.name  # the cumulative query, with the sizes in reverse
        with self._prepare(plan):
            if not is_above:
                return self.solve(plan, values, total=total)
            solution = self.solve(plan, reverse_sizes(values), total=total)
        return replace(solution, counts=reverse_sizes(solution.counts))

    def imagine(
        self, measurements: Measurements, *, total: int | None = None, seed: int
    ) -> Sequence[Ints] | None:
        """Draw counts that may be the true ones, given the noisy answers; None if the mechanism cannot.

        Counts that are smoothed are not like the true ones, which scatter: the errors of running the
        mechanism on the former would be too small.
        """
        total = self._check(measurements, total)
        plan, values = measurements.plan, measurements.values
        with self._prepare(plan):
            if plan.levels[0].query != ABOVE.name:
                return self.draw(plan, values, total=total, seed=seed)
            counts = self.draw(plan, reverse_sizes(values), total=total, seed=seed)
        return None if counts is None else reverse_sizes(counts)

    def draw(
        self, plan: Plan, values: Sequence[Ints], *, total: int | None, seed: int
    ) -> Sequence[Ints] | None:
        """Draw counts for :meth:`imagine`, from answers that have been checked."""
        return None

    @contextmanager
    def _prepare(self, plan: Plan) -> Iterator[None]:
        """Prepare for many kernel calls: small problems are solved on one processor, tiny ones in one go."""
        shapes = [plan.shape(level) for level in range(len(plan.levels))]
        cells = sum(regions * sizes for regions, sizes in shapes)
        hold = hold_signals if cells <= TINY and not self.small else expect_holds
        with hold(), one_processor() if cells <= SMALL else nullcontext():
            yield

    @abstractmethod
    def solve(self, plan: Plan, values: Sequence[Ints], *, total: int | None) -> Solution:
        """Post-process noisy answers that have been checked: regions x sizes for each level.

        Where the query counts from above, sizes are in reverse here, and the answers cumulative as ever.
        """

    def assess(
        self, measurements: Measurements, counts: Sequence[Ints], *, total: int | None = None
    ) -> Evidence:
        """Return the objective and certificate of given counts, as :meth:`postprocess` would state them."""
        total = self._check(measurements, total)
        plan, values = measurements.plan, measurements.values
        if plan.levels[0].query == ABOVE.name:
            values, counts = reverse_sizes(values), reverse_sizes(counts)
        with self._prepare(plan):
            return self.evaluate(plan, values, counts, total=total)

    def evaluate(
        self, plan: Plan, values: Sequence[Ints], counts: Sequence[Ints], *, total: int | None
    ) -> Evidence:
        """Return the squared distances of the query's answers added up, each level weighted by 1 / scale^2.

        A level weighs 1 / scale^2. A mechanism with another objective, or with a certificate, overrides this.
        """
        from tallytree.solvers.solution import add_squares_at, weigh_levels

        answer = self.query.row_answer
        if answer is None:
            raise MechanismError(f"{self.name} does not say what its objective is.")
        return Evidence(add_squares_at(counts, values, weigh_levels(plan.scales), answer))

    @property
    def twin(self) -> Mechanism | None:
        """A fast mechanism for the same model, with which the solutions of a slow one can be checked."""
        return None

    def _check(self, measurements: Measurements, total: int | None) -> int | None:
        """Refuse what does not fit this mechanism; return the total as an int, None if it is private."""
        if not isinstance(measurements, Measurements):
            raise MechanismError("Post-processing takes Measurements and nothing else.")
        plan = measurements.plan
        query = self.find_query(plan.total).name
        for level in plan.levels:
            if level.query != query:
                raise MechanismError(
                    f"{self.name} works on the {query!r} query, but level {level.name!r} "
                    f"measured {level.query!r}."
                )
        if not plan.has_public_total:
            if total is not None:
                raise MechanismError("The plan's total is private: leave the total out.")
            return None
        number = find_whole(total)
        if number is None or not 0 <= number <= MAX_GROUPS:
            raise MechanismError(f"The total must be a whole number from 0 to {MAX_GROUPS}.")
        return number
