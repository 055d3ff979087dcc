"""Accuracy at settings that were not simulated, compared with simulations of these."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import tallytree as tt
from tallytree.planning.landscapes import Family, Landscape, explore
from tallytree.planning.outcomes import ClassOutcome, LevelOutcome, choose_places, measure_outcome
from tallytree.planning.response_surfaces import spread_settings
from tallytree.privacy.budget import Budget
from tallytree.privacy.neighbours import Neighbours
from tallytree.research.evaluation import simulate_within
from tests.planning.plan_page_support import (
    make_advice,
    make_known_landscape,
    make_landscape,
    make_stand_in,
)

RUNS = 40
WITHIN = 0.15


def simulate_again(landscape: Landscape, family: Family, parts: list[float], seed: int) -> list[LevelOutcome]:
    """A fresh simulation, with other noise than the landscape was made with."""
    exact = [Fraction(f"{part:.6g}") for part in parts]
    levels = landscape.stand_in.hierarchy.levels
    budget = Budget(epsilon=sum(exact), split=dict(zip(levels, exact, strict=True)), total=family.total)
    runs = [
        simulate_within(budget, landscape.stand_in, mechanism=family.mechanism, seed=10**6 + seed + run)
        for run in range(RUNS)
    ]
    return measure_outcome(runs, landscape.stand_in, landscape.places, family.total)


def test_ten_settings_that_were_not_simulated() -> None:
    landscape, planned = make_known_landscape(), make_advice().planned
    family = landscape.find_family("cumulative-joint", "public")
    split = [float(part) for part in planned.budget.values()]
    there = spread_settings(split, 10, low=0.15, high=4, seed=77)
    ratios, shares = [], []
    for number, parts in enumerate(there.tolist()):
        fresh = simulate_again(landscape, family, parts, 100 * number)
        for told, found in zip(landscape.answer(family, "person", parts), fresh, strict=True):
            for mine, theirs in zip(told.classes, found.classes, strict=True):
                ratios += [mine.errors[name] / theirs.errors[name] for name in ("l1", "emd", "relative")]
                shares.append((mine.quantiles <= 0.05).mean() - (theirs.quantiles <= 0.05).mean())
    off = np.abs(np.log(ratios))
    assert np.median(off) < WITHIN / 3
    assert np.quantile(off, 0.95) < WITHIN
    assert np.abs(shares).max() <= 0.2
    # And would not be for another epsilon: it is these settings that are answered.
    other = landscape.answer(family, "person", (there[0] / 2).tolist())[2].classes[0].errors["l1"]
    true = simulate_again(landscape, family, there[0].tolist(), 0)[2].classes[0].errors["l1"]
    assert other > 1.5 * true


def test_errors_fall_as_epsilon_rises() -> None:
    landscape = make_known_landscape()
    split = np.array(list(make_advice().planned.budget.values())) / 100
    for family in landscape.families:
        for protect in family.sensitivities:
            told = [
                [
                    level.classes[0].errors["l1"]
                    for level in landscape.answer(family, protect, split * epsilon)
                ]
                for epsilon in np.geomspace(float(landscape.low), 5, 12)
            ]
            assert (np.diff(np.log(told), axis=0) < 0.02).all()


def test_units_and_kinds_of_totals_are_offered_where_they_make_sense() -> None:
    offered = {
        (family.mechanism, family.total): set(family.sensitivities)
        for family in make_known_landscape().families
    }
    assert offered == {
        ("cumulative-joint", "public"): {"person", "group"},  # of six sizes: not five times the noise
        ("cumulative-joint", "private"): {"person"},
        ("direct-dp", "public"): {"person", "group"},
        ("direct-dp", "private"): {"person", "group"},
    }


def test_another_unit_is_another_noise() -> None:
    """Half the sensitivity is what twice the epsilon is."""
    landscape = make_known_landscape()
    family = landscape.find_family("direct-dp", "private")
    assert family.sensitivities == {"person": (2.0, 2.0, 2.0), "group": (1.0, 1.0, 1.0)}
    group = landscape.answer(family, "group", [0.1, 0.2, 0.7])
    person = landscape.answer(family, "person", [0.2, 0.4, 1.4])
    assert group[1].classes[0].errors == person[1].classes[0].errors


@pytest.mark.parametrize("sizes", [(0, 5), (1, 6)])
def test_a_frame_has_a_public_total(sizes: tuple[int, int]) -> None:
    known = make_stand_in()
    counts = tt.GroupCounts(known.hierarchy, sizes, known.leaf)
    found = explore(
        counts,
        around=Fraction(1),
        public_totals=None if sizes[0] == 0 else "state",
        planned=Neighbours(),
        mechanism="cumulative-joint",
        split=dict.fromkeys(counts.hierarchy.levels, 33),
    )
    assert {family.total for family in found.families} == {"public"}
    assert ("direct-dp" in {family.mechanism for family in found.families}) == (sizes[0] == 0)


def test_regions_are_told_apart_by_size() -> None:
    counts = make_stand_in()
    nation, state, county = choose_places(counts)
    assert [kind.name for kind in nation.classes] == ["all"]
    assert [kind.name for kind in state.classes] == ["all", "small", "middle", "large"]
    groups = counts.array("county").sum(axis=1)
    every, small, middle, large = county.classes
    assert len(every.members) == len(groups) == sum(len(kind.members) for kind in county.classes[1:])
    assert small.most <= middle.least <= middle.most <= large.least
    assert groups[large.members].min() == large.least
    for typical, kind in zip(county.typical, county.classes[1:], strict=True):
        assert kind.least <= groups[typical.region] <= kind.most
        assert sum(typical.groups) == groups[typical.region]
        assert typical.region in typical.alike


def test_outcomes_are_those_of_the_runs() -> None:
    counts = make_stand_in()
    places = choose_places(counts)
    runs = [tt.simulate(counts, epsilon="1/2", mechanism="direct-dp", seed=seed) for seed in range(2)]
    outcome = measure_outcome(runs, counts, places, "public")
    tables = [tt.evaluate(run, counts).to_pydict() for run in runs]
    for level, found in enumerate(outcome):
        every: ClassOutcome = found.classes[0]
        regions = counts.hierarchy.region_counts[level]
        assert every.errors["l1"] * regions == pytest.approx(
            np.mean([table["l1"][level] for table in tables])
        )
        for name, column in (("emd", "emd"), ("groups", "groups_off"), ("size_sum", "size_sum_off")):
            assert every.errors[name] == pytest.approx(np.mean([table[column][level] for table in tables]))
    true, made = counts.array(2), [run.counts[2] for run in runs]
    lost = sum(((found == 0) & (true > 0)).sum() for found in made) / (2 * (true > 0).sum())
    spurious = sum(((found > 0) & (true == 0)).sum() for found in made) / sum((f > 0).sum() for f in made)
    assert outcome[2].classes[0].cells == pytest.approx({"spurious": spurious, "lost": lost})
    typical = places[2].typical[0]
    off = np.array([[(found - true)[region] for region in typical.alike] for found in made])
    first = slice(typical.starts[0], typical.starts[1])
    assert outcome[2].typical[0][0] == pytest.approx((off[:, :, first].sum(axis=2) ** 2).mean())


def test_gaussian_noise_has_a_landscape(monkeypatch: pytest.MonkeyPatch) -> None:
    """The levels share a rho; what is told is what is then simulated."""
    monkeypatch.setattr("tallytree.planning.landscapes.SETTINGS", 8)
    monkeypatch.setattr("tallytree.planning.landscapes.MOST_RUNS", 3)
    delta = Fraction(1, 10**9)
    advice = tt.advise(make_stand_in(), epsilon="1", mechanism="cumulative-joint", delta=delta)
    landscape = make_landscape(advice)
    family = landscape.find_family("cumulative-joint", "public")
    assert family.sensitivities["person"] == (1.0, 1.0, 1.0)  # squared
    levels = landscape.stand_in.hierarchy.levels
    for epsilon, shares in (("1/2", (2, 10, 88)), ("3", (40, 30, 30))):
        split = dict(zip(levels, shares, strict=True))
        budget = Budget(epsilon=epsilon, delta=delta, split=split)
        runs = [
            simulate_within(budget, landscape.stand_in, mechanism=family.mechanism, seed=10**6 + run)
            for run in range(RUNS)
        ]
        rhos = [float(level.loss) for level in runs[0].measurements.plan.levels]
        fresh = measure_outcome(runs, landscape.stand_in, landscape.places, "public")
        for told, found in zip(landscape.answer(family, "person", rhos), fresh, strict=True):
            assert told.classes[0].errors["l1"] == pytest.approx(found.classes[0].errors["l1"], rel=0.2)
    # Those of geometric noise of these epsilons are others.
    pure = make_known_landscape()
    other = pure.answer(pure.find_family("cumulative-joint", "public"), "person", [0.9, 0.9, 1.2])
    assert other[2].classes[0].errors["l1"] < 0.8 * fresh[2].classes[0].errors["l1"]
