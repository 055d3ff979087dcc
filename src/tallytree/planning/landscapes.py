"""Accuracy at all settings that may be asked for: some are simulated, and surfaces tell those between.

Errors depend on the noise, and so on epsilon, split and unit only by the scales that these lead to. What
has to be simulated anew is the mechanism, and whether the total is public: a :class:`Family` of settings.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product

import numpy as np
import numpy.typing as npt

from tallytree.counts.group_counts import GroupCounts
from tallytree.errors import PrivacyError
from tallytree.mechanisms.registry import find_default, find_mechanism
from tallytree.planning.forecasts import MANY_CELLS, list_candidates, share_runs
from tallytree.planning.outcomes import (
    CELLS,
    QUANTILES,
    Class,
    LevelOutcome,
    Places,
    choose_places,
    measure_outcome,
)
from tallytree.planning.response_surfaces import Settings, Surface, design_settings, fit_surface
from tallytree.planning.stand_ins import set_bounds
from tallytree.privacy.budget import MOST_EPSILON, Budget
from tallytree.privacy.neighbours import (
    PROTECTED,
    TOTALS,
    Bounds,
    Neighbours,
    Protected,
    TotalKind,
    check_neighbours,
)
from tallytree.privacy.zcdp import find_rho
from tallytree.progress import Progress, no_progress
from tallytree.research.evaluation import simulate_within
from tallytree.sizes import count_sizes

Floats = npt.NDArray[np.float64]

AROUND = 10
"""Epsilons from a tenth of the one that is asked for to ten times as much."""
SETTINGS = 16
"""So many settings are simulated for each level, and as many again."""
SLOWER_SETTINGS = {True: 45, False: 6}
"""Where one takes long: those of the planned family, and of the others."""
CELLS_PER_SETTING, MOST_RUNS = 40_000, 10
"""Each setting is simulated so often that so many cells are seen, but no more often than that."""
LEAST_SHARE = 1e-5
"""Shares of cells nearer to 0 or 1 than this are not told from these."""
SEED = 2010
MOST_TIMES = 4
"""A mechanism is not offered where it needs more than so many times the noise of the default one."""

# The order of these is that of the columns of surfaces, on the page as well.

SMOOTH = ("l1", "emd", "relative")
"""Errors that are sums of many: they hardly vary from run to run."""
SIGNED = ("size_sum", "groups")
"""Errors of a single number, of any sign: they vary as much as they are."""
OF_COUNT, OF_MOVE = 4.0, 0.15
"""The variance of the logarithm of an error of one group, and that of an EMD of one group moved along all
sizes. Of an error that is n times as large it is n times less."""
HARDLY = 0.3
"""Errors of fewer groups than this, in all regions and runs together, count as none."""
LOG_OF_SQUARE, LOG_OF_ABSOLUTE = 1.27, 0.41
"""By how much the mean logarithm of the square, or of the absolute value, of a normal number is below the
logarithm of its mean. Of the mean of several it is nearly so much less."""


@dataclass(frozen=True, eq=False)
class LevelSurfaces:
    """What to expect at a level."""

    smooth: Surface
    """For each class of regions: logarithms of its errors and quantiles, and log-odds of its cells."""
    floors: Floats
    """What was added to these numbers before the logarithms were taken: classes x numbers."""
    rough: Surface
    """For each class the logarithms of its signed errors, and then those of the bars' squared errors."""
    rough_floors: Floats
    """What was added to these, one after the other."""
    raised: Floats
    """What their logarithms lack, since the mean of a logarithm is less than that of the number."""


@dataclass(frozen=True, eq=False)
class Family:
    """A mechanism with a public or a private total."""

    mechanism: str
    total: TotalKind
    sensitivities: Mapping[Protected, tuple[float, ...]]
    """Of each level, for the units that it is worth offering for."""
    levels: tuple[LevelSurfaces, ...]


@dataclass(frozen=True)
class ClassAnswer:
    """What to expect of the regions of a class."""

    errors: Mapping[str, float]
    cells: Mapping[str, float]
    quantiles: Floats


@dataclass(frozen=True)
class LevelAnswer:
    """What to expect at a level."""

    classes: tuple[ClassAnswer, ...]
    bars: tuple[Floats, ...]
    """The standard errors of the typical regions' bars."""


@dataclass(frozen=True, eq=False)
class Landscape:
    """What to expect at any setting."""

    stand_in: GroupCounts
    places: tuple[Places, ...]
    families: tuple[Family, ...]
    low: Fraction
    high: Fraction
    """The smallest and the largest epsilon."""
    settings: int
    runs: int
    """How many settings of the planned family were simulated, and how often each."""
    delta: Fraction | None = None
    """Of Gaussian noise: the levels' losses are rhos then."""

    def find_family(self, mechanism: str, total: TotalKind) -> Family:
        """Return the family of a mechanism with this kind of total."""
        return next(each for each in self.families if (each.mechanism, each.total) == (mechanism, total))

    def answer(self, family: Family, protect: Protected, losses: Sequence[float]) -> list[LevelAnswer]:
        """Return what to expect where the levels have these losses: epsilons, or rhos with a delta."""
        settings = describe_settings(
            np.array(family.sensitivities[protect]), np.array([losses]), self.stand_in, self.delta
        )
        return [
            _read_answer(surfaces, here, settings)
            for surfaces, here in zip(family.levels, self.places, strict=True)
        ]


def describe_settings(
    sensitivities: Floats, losses: Floats, stand_in: GroupCounts, delta: Fraction | None
) -> Settings:
    """Return settings, in each of which the levels have such losses, by the noise that these lead to."""
    ratios = sensitivities / losses
    scales = ratios if delta is None else np.sqrt(ratios / 2)  # as in Unit.find_scale
    regions = stand_in.hierarchy.region_counts
    return Settings.of(scales, regions, is_gaussian=delta is not None)


def _read_answer(surfaces: LevelSurfaces, here: Places, settings: Settings) -> LevelAnswer:
    classes = len(here.classes)
    found = surfaces.smooth.find(settings)[0].reshape(classes, -1)
    sizes = np.maximum(np.exp(found[:, : -len(CELLS)]) - surfaces.floors, 0.0)
    shares = 1 / (1 + np.exp(-found[:, -len(CELLS) :]))
    rough = np.exp(surfaces.rough.find(settings)[0] + surfaces.raised)
    rough = np.maximum(rough - surfaces.rough_floors, 0.0)
    signed = rough[: classes * len(SIGNED)].reshape(classes, -1)
    cuts = np.cumsum([len(typical.starts) for typical in here.typical])[:-1]
    return LevelAnswer(
        tuple(
            ClassAnswer(
                {
                    **dict(zip(SMOOTH, map(float, sizes[place]), strict=False)),
                    **dict(zip(SIGNED, map(float, signed[place]), strict=True)),
                },
                dict(zip(CELLS, map(float, shares[place]), strict=True)),
                sizes[place, len(SMOOTH) :],
            )
            for place in range(classes)
        ),
        tuple(np.split(np.sqrt(rough[signed.size :]), cuts)),
    )


# The simulations.


def explore(
    stand_in: GroupCounts,
    *,
    around: Fraction,
    public_totals: str | None,
    planned: Neighbours,
    mechanism: str,
    split: Mapping[str, int],
    delta: Fraction | None = None,
    progress: Progress = no_progress,
) -> Landscape:
    """Simulate releases of the stand-in at settings around an epsilon, for all units and kinds of totals.

    The mechanisms are the default ones, and the one that was ``planned`` for a unit and a kind of total, with
    this split. With a ``delta``, the noise is Gaussian.
    """
    low, high = around / AROUND, min(around * AROUND, Fraction(MOST_EPSILON))
    levels = stand_in.hierarchy.levels
    is_slow = stand_in.leaf.size >= MANY_CELLS
    runs = max(1, min(MOST_RUNS, CELLS_PER_SETTING // stand_in.leaf.size))
    places = tuple(choose_places(stand_in))
    bounds = planned.bounds if planned.protect == "person" else Bounds()
    losses = [float(each if delta is None else find_rho(each, delta)) for each in (low, high)]
    offers = _list_offers(stand_in, public_totals, planned, mechanism, delta)
    settings = {
        each: (1 + len(levels))
        * (SLOWER_SETTINGS[each == (mechanism, planned.total)] if is_slow else SETTINGS)
        for each in offers
    }
    report = progress("Simulating releases for the page", sum(settings.values()))
    families = []
    for (name, total), sensitivities in offers.items():
        protect = next(iter(sensitivities))
        # The noise that an epsilon leads to for another unit is that of another epsilon for this one.
        times = [each[0] / sensitivities[protect][0] for each in sensitivities.values()]
        spread = design_settings(
            [float(split[level]) for level in levels],
            settings[name, total],
            low=losses[0] / max(times),
            high=losses[1] / min(times),
            seed=SEED,
        )
        counts = set_bounds(stand_in, bounds if protect == "person" else Bounds())
        budget = Budget(public_totals=public_totals, protect=protect, total=total, delta=delta)
        trial = _Trial(counts, places, name, budget, spread, runs)
        noise = describe_settings(np.array(sensitivities[protect]), spread, stand_in, delta)
        families.append(Family(name, total, sensitivities, _fit_levels(trial, trial.run(report), noise)))
    most = settings[mechanism, planned.total]
    return Landscape(stand_in, places, tuple(families), low, high, most, runs, delta)


def _list_offers(
    stand_in: GroupCounts,
    public_totals: str | None,
    planned: Neighbours,
    mechanism: str,
    delta: Fraction | None,
) -> dict[tuple[str, TotalKind], dict[Protected, tuple[float, ...]]]:
    """List the families, and for which units each is worth offering, with the sensitivities of the levels.

    For a unit, a mechanism is not worth it that needs several times the noise of the default one.
    """
    found: dict[tuple[str, TotalKind], dict[Protected, tuple[float, ...]]] = {}
    units = {planned.protect: planned}
    for each in PROTECTED:
        units.setdefault(each, Neighbours(protect=each))
    defaults = [find_default(kinds, stand_in.sizes) for kinds in units.values()]
    for total, protect in product(TOTALS if public_totals is None else TOTALS[:1], PROTECTED):
        kinds = replace(units[protect], total=total)
        try:
            usual = find_default(check_neighbours(kinds, stand_in.sizes), stand_in.sizes)
        except PrivacyError:  # sizes from 0 on have a public total
            continue
        candidates = list_candidates(public_totals, kinds)
        if total == "public" or find_mechanism(mechanism).private_total:
            candidates.append(mechanism)
        names = [name for name in dict.fromkeys((*defaults, mechanism)) if name in candidates]
        budget = Budget(epsilon=1, delta=delta, public_totals=public_totals, protect=protect, total=total)
        needs = {name: _list_sensitivities(name, stand_in, budget, kinds.bounds) for name in names}
        # Noise grows with the sensitivity, or with the root of that of a rho.
        most = MOST_TIMES ** (1 if delta is None else 2) * max(needs.get(usual, (math.inf,)))
        for name, need in needs.items():
            if max(need) <= most or (name, kinds) == (mechanism, planned):
                found.setdefault((name, total), {})[protect] = need
    return found


def _list_sensitivities(
    name: str, stand_in: GroupCounts, budget: Budget, bounds: Bounds
) -> tuple[float, ...]:
    plan = find_mechanism(name).plan_within(budget, stand_in.hierarchy, sizes=stand_in.sizes, bounds=bounds)
    return tuple(float(level.sensitivity) for level in plan.levels)


@dataclass(frozen=True)
class _Trial:
    """A family, ready to be simulated."""

    counts: GroupCounts
    places: Sequence[Places]
    mechanism: str
    budget: Budget
    spread: Floats
    """The levels' losses of each setting."""
    runs: int

    def run(self, report: Callable[[int], None]) -> list[list[LevelOutcome]]:
        """Simulate all settings."""

        def simulate(_: int, place: int) -> list[LevelOutcome]:
            outcome = self.simulate(place)
            report(1)
            return outcome

        return share_runs(simulate, range(len(self.spread)), self.counts)

    def simulate(self, place: int) -> list[LevelOutcome]:
        """Simulate one of the settings, each run with noise of its own."""
        parts = [Fraction(f"{part:.6g}") for part in self.spread[place]]
        split = dict(zip(self.counts.hierarchy.levels, parts, strict=True))
        whole = sum(parts, Fraction(0))
        spent = (
            replace(self.budget, epsilon=whole)
            if self.budget.delta is None
            else replace(self.budget, rho=whole)
        )
        budget = replace(spent, split=split)
        total = "public" if budget.total is None else budget.total
        made = [
            simulate_within(budget, self.counts, mechanism=self.mechanism, seed=place * self.runs + run)
            for run in range(self.runs)
        ]
        return measure_outcome(made, self.counts, self.places, total)


def _fit_levels(
    trial: _Trial, outcomes: Sequence[Sequence[LevelOutcome]], settings: Settings
) -> tuple[LevelSurfaces, ...]:
    sizes = count_sizes(trial.counts.sizes)
    return tuple(
        _fit_level([outcome[level] for outcome in outcomes], here, settings, level, trial.runs, sizes)
        for level, here in enumerate(trial.places)
    )


def _fit_level(
    outcomes: Sequence[LevelOutcome], here: Places, settings: Settings, level: int, runs: int, sizes: int
) -> LevelSurfaces:
    floors = np.stack([_find_floors(each, runs) for each in here.classes])
    seen = np.array(
        [len(each.members) * runs for each in here.classes for _ in SIGNED]
        + [len(each.alike) * runs for each in here.typical for _ in each.starts]
    )
    is_square = np.arange(len(seen)) >= len(here.classes) * len(SIGNED)
    rough_floors = np.where(is_square, HARDLY**2, HARDLY) / seen
    smooth, rough = [], []
    for outcome in outcomes:
        errors = [
            [*(each.errors[name] for name in SMOOTH), *each.quantiles.tolist()] for each in outcome.classes
        ]
        odds = np.array([[each.cells[name] for name in CELLS] for each in outcome.classes])
        odds = np.clip(odds, LEAST_SHARE, 1 - LEAST_SHARE)
        smooth.append(np.hstack([np.log(np.array(errors) + floors), np.log(odds / (1 - odds))]).ravel())
        signed = [each.errors[name] for each in outcome.classes for name in SIGNED]
        rough.append(np.log(np.concatenate([signed, *outcome.typical]) + rough_floors))
    smooth_kinds = [*SMOOTH, *(["quantiles"] * len(QUANTILES)), *CELLS] * len(here.classes)
    rough_kinds = [*SIGNED * len(here.classes), *(["bars"] * int(is_square.sum()))]
    every = len(here.classes[0].members) * runs
    groups, moves = (
        every * np.array([outcome.classes[0].errors[name] for outcome in outcomes]) for name in ("l1", "emd")
    )
    chance, of_emd = OF_COUNT / (1 + groups), OF_MOVE / (1 + moves / sizes)
    return LevelSurfaces(
        fit_surface(settings, level, np.array(smooth), smooth_kinds, chance, {"emd": of_emd}),
        floors,
        fit_surface(settings, level, np.array(rough), rough_kinds, chance),
        rough_floors,
        np.where(is_square, LOG_OF_SQUARE, LOG_OF_ABSOLUTE) / seen,
    )


def _find_floors(members: Class, runs: int) -> Floats:
    """Return what counts as hardly an error: of the mean region, and as a share of the groups of one."""
    groups = max(1.0, (members.least + members.most) / 2)
    mean = HARDLY / (len(members.members) * runs)
    floors: Floats = np.array([mean, mean, mean / groups, *([HARDLY / groups] * len(QUANTILES))])
    return floors
