"""What noisy answers tell of their own noise: right of the right scale, and a scale that is off is found."""

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import tallytree as tt
from tallytree.privacy.budget import UnitName
from tallytree.privacy.door import measure_with_seed
from tallytree.privacy.measurements import Measurements
from tallytree.privacy.noise import SeededGaussianNoise, SeededNoise
from tallytree.privacy.plan import LevelPlan, Plan
from tallytree.releases.contrasts import bound_chance, find_characteristic, measure_scatter
from tallytree.releases.evidence import FALSE_ALARMS, check_noise

# Regions of one to seven subregions, one of none; 40 x 50 contrasts of states with counties, 50 of the root.
PATHS = [("US", f"s{i}", f"c{j}") for i in range(40) for j in range(1 + i % 7)] + [("US", "leaf")]
H = tt.Hierarchy.from_paths(["nation", "state", "county"], PATHS)
COUNTS = tt.GroupCounts(H, (1, 50), np.random.default_rng(0).integers(0, 100, (len(PATHS), 50)))

MECHANISMS = ["direct-dp", "cumulative-joint", "cumulative-chain", "count-of-counts"]
BUDGETS: list[dict[str, str]] = [
    {"epsilon": "1"},
    {"epsilon": "1/1000"},
    {"epsilon": "20"},
    {"epsilon": "1", "delta": "1e-9"},
    {"epsilon": "30", "delta": "1e-9"},
]


def make_plan(mechanism: str, **budget: Any) -> Plan:
    return tt.mechanism(mechanism).plan(H, sizes=(1, 50), **budget)


def measure(plan: Plan, seed: int) -> Measurements:
    noise = SeededNoise(seed) if plan.delta is None else SeededGaussianNoise(seed)
    return measure_with_seed(plan, COUNTS, noise=noise)


def restate(
    measurements: Measurements, factor: Fraction, levels: tuple[int, ...] = (0, 1, 2)
) -> Measurements:
    """The same answers under another scale of some levels."""
    plan = measurements.plan
    stated = [
        replace(level, scale=level.scale * factor) if at in levels else level
        for at, level in enumerate(plan.levels)
    ]
    return Measurements(replace(plan, levels=tuple(stated)), list(measurements.values))


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_noise_as_stated_passes_as_often_as_is_said(mechanism: str, budget: dict[str, str]) -> None:
    plan = make_plan(mechanism, **budget)
    chances = np.array([[s.chance for s in measure_scatter(measure(plan, seed))] for seed in range(60)])
    # A bound on a probability is below p at most in so many cases; 60 x 2 levels x 2 sides.
    for p in (0.2, 0.05):
        assert (chances < math.log(p)).mean() <= 2 * p + 3 * math.sqrt(2 * p / 120)
    assert chances.min() > math.log(1e-5)


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("budget", [BUDGETS[0], BUDGETS[1], BUDGETS[3]], ids=str)
@pytest.mark.parametrize("factor", [Fraction(7, 10), Fraction(13, 10), Fraction(1, 100), Fraction(100)])
def test_a_scale_that_is_off_is_found(mechanism: str, budget: dict[str, str], factor: Fraction) -> None:
    for seed in range(5):
        honest = measure(make_plan(mechanism, **budget), seed)
        check = check_noise(honest)
        assert check.passed, check
        check = check_noise(restate(honest, factor))
        assert check.failed
        assert check.example.endswith(f"differ by {'less' if factor > 1 else 'more'} than that noise")


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_true_answers_in_place_of_noisy_ones_are_found(mechanism: str) -> None:
    plan = make_plan(mechanism, epsilon="1")
    check = check_noise(Measurements(plan, plan.answers(COUNTS)))
    assert check.failed
    assert "less than that noise" in check.example


def test_noise_of_one_level_that_is_missing_is_found_where_it_weighs() -> None:
    plan = make_plan("direct-dp", epsilon="1")
    for level in (1, 2):
        values = list(measure(plan, 3).values)
        values[level] = plan.answer(COUNTS, level)
        assert check_noise(Measurements(plan, values)).failed, level


def test_the_check_states_its_error_rate_and_what_it_cannot_tell() -> None:
    assert Fraction(1, 10**6) == FALSE_ALARMS
    statement = check_noise(measure(make_plan("cumulative-chain", epsilon="1"), 1)).statement
    assert "2,050 differences, one false alarm in 1,000,000 at most" in statement
    assert statement.endswith("too few to tell a lack of noise at level 'nation'")


@pytest.mark.parametrize(
    ("paths", "sizes"), [([("US",)], (1, 1000)), ([("US", "GA"), ("US", "NY")], (1, 20))], ids=["root", "few"]
)
def test_too_few_answers_tell_nothing(paths: list[tuple[str, ...]], sizes: tuple[int, int]) -> None:
    h = tt.Hierarchy.from_paths(["nation", "state"][: len(paths[0])], paths)
    counts = tt.GroupCounts(h, sizes, np.ones((len(paths), sizes[1] - sizes[0] + 1), dtype=np.int64))
    plan = tt.mechanism("direct-dp").plan(h, sizes=sizes, epsilon=1)
    check = check_noise(Measurements(plan, plan.answers(counts)))
    assert not check.made
    assert "too few regions and sizes" in check.statement


@pytest.mark.parametrize("unit", ["epsilon", "rho"])
@pytest.mark.parametrize("scale", ["1/5", "1", "7", "50"])
@pytest.mark.parametrize("t", [0.01, 0.3, 2.0, math.pi, 6.0])
def test_the_mean_of_a_cosine_is_that_of_its_terms(unit: UnitName, scale: str, t: float) -> None:
    level = LevelPlan("a", "sizes", Fraction(1), Fraction(1), Fraction(scale), unit)
    k = np.arange(-4000, 4001)
    wide = float(Fraction(scale))
    weights = np.exp(-np.abs(k) / wide) if unit == "epsilon" else np.exp(-(k**2) / (2 * wide**2))
    expected = float((weights * np.cos(t * k)).sum() / weights.sum())
    assert find_characteristic(level, t) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("n", [1, 10, 200])
@pytest.mark.parametrize("p", [0.01, 0.3, 0.9])
def test_the_bound_is_never_below_the_probability(n: int, p: float) -> None:
    """For sums of n cosines that are 1 with probability p and else -1, whose tails are known exactly."""
    chances = [math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]
    mean, variance = n * (2 * p - 1), n * (1 - (2 * p - 1) ** 2)
    for k in range(n + 1):
        excess = 2 * k - n - mean
        tail = math.fsum(chances[k:]) if excess > 0 else math.fsum(chances[: k + 1])
        most = 1 - (2 * p - 1) if excess > 0 else 1 + (2 * p - 1)
        assert math.exp(bound_chance(abs(excess), variance, most)) >= tail * (1 - 1e-9)
    assert bound_chance(0.0, 1.0, 1.0) == 0.0
