"""What lies between simulated settings: the noise that is left, and the surfaces through them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallytree.planning.response_surfaces import (
    LEAST_PART,
    find_left,
    find_noise,
    fit_surface,
    spread_settings,
)

Floats = npt.NDArray[np.float64]

SCALES = st.lists(st.floats(0.3, 100), min_size=3, max_size=3)


def solve_least_squares(deviations: list[float], children: int) -> list[float]:
    """The deviation of a region of each level, by weighted least squares over the whole tree: a slow twin."""
    leaves = children**2
    rows = [np.ones(leaves)]
    rows += [np.repeat(np.eye(children)[i], children) for i in range(children)]
    rows += list(np.eye(leaves))
    design = np.array(rows)
    levels = [0] + [1] * children + [2] * leaves
    weights = np.array([1 / deviations[level] ** 2 for level in levels])
    covariance = np.linalg.inv(design.T @ (weights[:, None] * design))
    return [float(np.sqrt(design[place] @ covariance @ design[place])) for place in (0, 1, children + 1)]


@given(SCALES, st.integers(1, 5))
def test_what_is_left_is_what_least_squares_leaves(noise: list[float], children: int) -> None:
    left = find_left(np.array([noise]), [1, children, children**2])[0]
    assert left == pytest.approx(solve_least_squares(noise, children), rel=1e-6)
    assert (left <= np.array(noise) * (1 + 1e-9)).all()


@given(st.lists(st.floats(0.01, 1e4), min_size=1, max_size=4), st.lists(st.integers(1, 99), min_size=4))
def test_levels_may_have_fewer_regions_than_those_above(noise: list[float], regions: list[int]) -> None:
    left = find_left(np.array([noise]), regions[: len(noise)])[0]
    assert np.isfinite(left).all()
    assert (left > 0).all()


def test_noise_is_the_mean_absolute_value() -> None:
    for scale in (0.4, 1.0, 20.0):
        ratio = np.exp(-1 / scale)
        values = np.arange(-4000, 4001)
        chances = (1 - ratio) / (1 + ratio) * ratio ** np.abs(values)
        assert find_noise(np.array([scale]))[0] == pytest.approx(float(chances @ np.abs(values)))


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


def make_setting(count: int, seed: int) -> tuple[Floats, Floats]:
    noise = find_noise(1 / spread_settings([10, 20, 70], count, low=0.1, high=5, seed=seed))
    return noise, find_left(noise, [1, 10, 200])


def test_a_surface_finds_what_lies_between() -> None:
    def respond(noise: Floats, left: Floats) -> Floats:
        trend = 0.8 * np.log(left[:, 1]) + 0.4 * np.tanh(np.log(noise[:, 0] / noise[:, 1]) / 2)
        return np.column_stack([trend, np.full(len(noise), 3.0)])

    noise, left = make_setting(40, 1)
    surface = fit_surface(noise, left, 1, respond(noise, left), ["error", "constant"])
    there = make_setting(25, 2)
    off = surface.find(*there) - respond(*there)
    assert np.abs(off).max(axis=0) == pytest.approx([0.0, 0.0], abs=0.12)
    # Not by the trend alone: what deviates from it is found as well.
    plain = fit_surface(noise, left, 1, np.column_stack([np.log(left[:, 1])] * 2), ["a", "b"])
    assert np.abs(plain.find(*there)[:, 0] - respond(*there)[:, 0]).max() > 0.3


def test_chance_is_smoothed() -> None:
    noise, left = make_setting(48, 3)
    truth = np.log(left[:, [2]])
    heard = truth + np.random.default_rng(4).normal(0, 0.3, truth.shape)
    there = make_setting(30, 5)
    off = fit_surface(noise, left, 2, heard, ["error"]).find(*there) - np.log(there[1][:, [2]])
    assert np.sqrt((off**2).mean()) < 0.5 * 0.3


def test_settings_that_are_all_the_same_give_what_they_gave() -> None:
    noise = find_noise(1 / spread_settings([50, 50], 12, low=100, high=900, seed=6))
    left = find_left(noise, [1, 9])
    answers = np.column_stack([np.full(12, 0.25), np.linspace(1, 2, 12)])
    found = fit_surface(noise, left, 1, answers, ["a", "b"]).find(noise, left)
    assert np.isfinite(found).all()
    assert found[:, 0] == pytest.approx(0.25, abs=1e-3)
    assert found[:, 1] == pytest.approx(1.5, abs=0.3)
