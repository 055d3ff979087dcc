"""What lies between simulated settings: the noise that is left, and the surfaces through them."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallytree.planning.response_surfaces import (
    EVERY,
    LEAST_PART,
    MOST_RATIO,
    Settings,
    design_settings,
    find_amount,
    find_left,
    find_variances,
    fit_surface,
    spread_settings,
)

Floats = npt.NDArray[np.float64]

SCALES = st.lists(st.floats(0.3, 100), min_size=3, max_size=3)


def solve_least_squares(variances: list[float], scales: list[float], children: int) -> list[float]:
    """The variance of a region of each level, by weighted least squares over the whole tree: a slow twin."""
    leaves = children**2
    rows = [np.ones(leaves)]
    rows += [np.repeat(np.eye(children)[i], children) for i in range(children)]
    rows += list(np.eye(leaves))
    design = np.array(rows)
    levels = [0] + [1] * children + [2] * leaves
    weighted = np.array([1 / scales[level] ** 2 for level in levels])[:, None] * design
    solve = np.linalg.solve(design.T @ weighted, weighted.T)
    noise = np.array([variances[level] for level in levels])
    return [float((design[place] @ solve) ** 2 @ noise) for place in (0, 1, children + 1)]


@given(SCALES, st.integers(1, 5))
def test_what_is_left_is_what_least_squares_leaves(scales: list[float], children: int) -> None:
    there = np.array([scales])
    variances = find_variances(there, is_gaussian=False)
    left = find_left(variances, there, [1, children, children**2])[0]
    assert left == pytest.approx(solve_least_squares(variances[0].tolist(), scales, children), rel=1e-6)
    # With other weights than the solvers', it would be something else.
    if children > 1 and max(scales) > 2 * min(scales):
        even = solve_least_squares(variances[0].tolist(), [1.0] * 3, children)
        assert left != pytest.approx(even, rel=1e-3)


@given(st.lists(st.floats(0.01, 1e4), min_size=1, max_size=4), st.lists(st.integers(1, 99), min_size=4))
def test_levels_may_have_fewer_regions_than_those_above(scales: list[float], regions: list[int]) -> None:
    there = np.array([scales])
    found = Settings.of(there, regions[: len(scales)], is_gaussian=False)
    assert np.isfinite(found.left).all()
    assert np.isfinite(found.scales).all()


@pytest.mark.parametrize("scale", [0.4, 1.0, 7.9, 20.0])
def test_variances_are_those_of_the_noise(scale: float) -> None:
    values = np.arange(-4000, 4001)
    geometric = np.exp(-np.abs(values) / scale)
    gaussian = np.exp(-(values**2) / (2 * scale**2))
    for weights, is_gaussian in ((geometric, False), (gaussian, True)):
        variance = float((weights / weights.sum()) @ values**2)
        assert find_variances(np.array([scale]), is_gaussian=is_gaussian)[0] == pytest.approx(variance)
    mean = float((geometric / geometric.sum()) @ np.abs(values))
    assert find_amount(find_variances(np.array([scale]), is_gaussian=False))[0] == pytest.approx(mean)


def test_settings_are_spread_over_all_that_can_be_chosen() -> None:
    planned = [1.0, 4.0, 95.0]
    spread = spread_settings(planned, 64, low=0.1, high=10, seed=1)
    epsilon = spread.sum(axis=1)
    assert epsilon.min() >= 0.1
    assert epsilon.max() <= 10
    assert np.histogram(np.log10(epsilon), bins=8, range=(-1, 1))[0].tolist() == [8] * 8
    parts = spread / epsilon[:, None]
    assert parts.min() >= LEAST_PART
    near = np.abs(np.log(parts[::2] / (0.01 + 0.97 * np.array(planned) / 100))).max()
    assert near < 2 * np.log(2) + 0.1
    assert parts[1::2].std(axis=0).min() > 0.15


def test_no_setting_is_simulated_that_takes_long() -> None:
    planned, regions = [1.0, 4.0, 95.0], [1, 10, 200]
    found = design_settings(planned, 90, low=0.1, high=10, seed=1)
    plain = spread_settings(planned, 90, low=0.1, high=10, seed=1, every=EVERY)
    has_any = np.arange(90) % EVERY == EVERY - 1
    assert (found[~has_any] == plain[~has_any]).all()
    some, any_split = found[has_any], plain[has_any]
    assert (some[:, :2] / some[:, [2]]).max() <= MOST_RATIO * (1 + 1e-9)
    assert (any_split[:, :2] / any_split[:, [2]]).max() > MOST_RATIO  # else there was nothing to do
    # What is left out is answered by what was simulated in its place.
    asked = Settings.of(1 / any_split[::2], regions, is_gaussian=False).find_points(2)
    simulated = Settings.of(1 / some[::2], regions, is_gaussian=False).find_points(2)
    assert simulated == pytest.approx(asked)
    # Every other one has a large loss.
    assert np.median(some[1::2, 2]) > 3 * np.median(some[::2, 2])


def make_settings(count: int, seed: int) -> Settings:
    scales = 1 / spread_settings([10, 20, 70], count, low=0.1, high=5, seed=seed)
    return Settings.of(scales, [1, 10, 200], is_gaussian=False)


NONE = 1e-6
"""The variance of errors of so many groups that they do not vary by chance."""


def test_a_surface_finds_what_lies_between() -> None:
    def respond(settings: Settings) -> Floats:
        trend = 0.8 * settings.left[:, 1] + 0.4 * np.tanh((settings.scales[:, 0] - settings.scales[:, 1]) / 2)
        return np.column_stack([trend, np.full(len(trend), 3.0)])

    settings, there = make_settings(60, 1), make_settings(25, 2)
    chance = np.full(60, NONE)
    surface = fit_surface(settings, 1, respond(settings), ["error", "constant"], chance)
    off = surface.find(there) - respond(there)
    assert np.abs(off).max(axis=0) == pytest.approx([0.0, 0.0], abs=0.12)
    # Not by the trend alone: what deviates from it is found as well.
    plain = fit_surface(settings, 1, settings.left[:, [1, 1]], ["a", "b"], chance)
    assert np.abs(plain.find(there)[:, 0] - respond(there)[:, 0]).max() > 0.3


def test_chance_is_smoothed() -> None:
    settings, there = make_settings(48, 3), make_settings(30, 5)
    truth = settings.left[:, [2]]
    heard = truth + np.random.default_rng(4).normal(0, 0.3, truth.shape)
    off = fit_surface(settings, 2, heard, ["error"], np.full(48, NONE)).find(there) - there.left[:, [2]]
    assert np.sqrt((off**2).mean()) < 0.5 * 0.3


def test_settings_where_hardly_a_group_is_off_hardly_count() -> None:
    settings, there = make_settings(60, 3), make_settings(30, 5)
    few = np.arange(60) % 2 == 0
    heard = settings.left[:, [2]] + np.where(few, np.random.default_rng(4).normal(0, 2, 60), 0)[:, None]

    def miss(chance: Floats, **chances: Floats) -> float:
        off = fit_surface(settings, 2, heard, ["error"], chance, chances).find(there) - there.left[:, [2]]
        return math.sqrt((off**2).mean())

    known, unknown = np.where(few, 2.0, NONE), np.full(60, NONE)
    assert miss(known) < 0.5 * miss(unknown)
    assert miss(unknown, error=known) == miss(known)  # a kind may have a chance of its own


def test_levels_that_are_as_good_as_known_are_not_told_apart() -> None:
    """Far beyond what is simulated, more budget for a level above changes nothing at the last one."""
    scales = np.array([[0.01, 1.0, 3.0], [0.05, 1.0, 3.0], [1.0, 1.0, 3.0]])
    points = Settings.of(scales, [1, 10, 200], is_gaussian=False).find_points(2)
    assert points[0].tolist() == points[1].tolist()
    assert points[2, 0] > points[1, 0]
    assert points[0, 0] == pytest.approx(math.log(3 / MOST_RATIO))


def test_a_last_level_that_is_of_no_use_is_not_told_apart() -> None:
    """And less budget for the last level changes nothing at one above."""
    scales = np.array([[0.5, 1.0, 20.0], [0.5, 1.0, 50.0], [0.5, 1.0, 1.0]])
    points = Settings.of(scales, [1, 10, 200], is_gaussian=False).find_points(0)
    assert points[0].tolist() == points[1].tolist()
    assert points[2, 2] < points[1, 2] == pytest.approx(math.log(0.5 * MOST_RATIO))
    assert points[0, 1] == pytest.approx(0.0)  # what a level between the two has is of use


def test_settings_that_are_all_the_same_give_what_they_gave() -> None:
    scales = 1 / spread_settings([50, 50], 12, low=100, high=900, seed=6)
    settings = Settings.of(scales, [1, 9], is_gaussian=False)
    answers = np.column_stack([np.full(12, 0.25), np.linspace(1, 2, 12)])
    found = fit_surface(settings, 1, answers, ["a", "b"], np.full(12, 4.0)).find(settings)
    assert np.isfinite(found).all()
    assert found[:, 0] == pytest.approx(0.25, abs=1e-3)
    assert found[:, 1] == pytest.approx(1.5, abs=0.5)
