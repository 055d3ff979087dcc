"""The isotonic fit against SciPy's and against its definition."""

from fractions import Fraction
from math import floor, gcd
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import isotonic_regression

import tallytree as tt
from tallytree.arrays import MAX_CELLS, MAX_CHAIN_WEIGHT_SUM, MAX_MEASURED
from tallytree.solvers.isotonic import (
    Blocks,
    fit_isotonic,
    fit_isotonic_rows,
    is_less,
    join,
    pool,
    round_blocks,
)
from tests import naive
from tests.instances import random_hierarchy

VALUES = st.one_of(
    st.integers(-MAX_MEASURED, MAX_MEASURED),
    st.integers(-3, 3),
    st.integers(MAX_MEASURED - 3, MAX_MEASURED),
    st.integers(-MAX_MEASURED, 3 - MAX_MEASURED),
)
MOST = MAX_CHAIN_WEIGHT_SUM * MAX_CELLS
"""What the weights of a chain add up to at most."""


def fit_by_minimax(row: list[int]) -> list[Fraction]:
    """The definition: the largest over starts of the least over ends of the mean in between."""
    n = len(row)
    mean = {(i, j): Fraction(sum(row[i : j + 1]), j - i + 1) for i in range(n) for j in range(i, n)}
    return [max(min(mean[i, j] for j in range(k, n)) for i in range(k + 1)) for k in range(n)]


@given(
    row=st.lists(st.integers(-30, 30), min_size=1, max_size=12),
    low=st.integers(-10, 10),
    width=st.integers(0, 20),
)
def test_the_fit_equals_its_definition_rounded_half_up(row: list[int], low: int, width: int) -> None:
    fitted = fit_isotonic_rows(np.array([row, row[::-1]]), low, low + width)
    for found, given_row in zip(fitted.tolist(), (row, row[::-1]), strict=True):
        rounded = [floor(value + Fraction(1, 2)) for value in fit_by_minimax(given_row)]
        assert found == [min(max(value, low), low + width) for value in rounded]


@pytest.mark.parametrize("seed", range(5))
def test_the_fit_is_within_rounding_of_scipys_on_long_rows(seed: int) -> None:
    rng = np.random.default_rng(seed)
    noisy = np.cumsum(rng.integers(0, 3, (4, 2000)), axis=1) + rng.integers(-200, 200, (4, 2000))
    fitted = fit_isotonic_rows(noisy, 0, int(noisy.max()))
    for found, row in zip(fitted, noisy, strict=True):
        expected = np.clip(isotonic_regression(row.astype(float)).x, 0, noisy.max())
        assert np.abs(found - expected).max() <= 0.5 + 1e-6
        assert (np.diff(found) >= 0).all()


@given(
    st.lists(st.tuples(st.integers(-50, 50), st.integers(1, 9)), min_size=1, max_size=15),
    st.integers(-5, 5),
)
def test_the_weighted_fit_equals_its_twin_and_repeated_points(
    points: list[tuple[int, int]], low: int
) -> None:
    sums, weights = [value * weight for value, weight in points], [weight for _, weight in points]
    fast = fit_isotonic(np.array(sums), np.array(weights), low, low + 30).tolist()
    assert fast == naive.fit_isotonic(sums, weights, low, low + 30)
    # A point of weight w is w points in the same place, which end in one block.
    repeated = np.repeat([value for value, _ in points], weights)[None, :]
    ends = np.cumsum(weights) - 1
    assert fast == fit_isotonic_rows(repeated, low, low + 30)[0, ends].tolist()


@st.composite
def fractions_below_one(draw: st.DrawFn) -> tuple[int, int]:
    most = draw(st.sampled_from([10, 2**31, 2**53, MOST // 2]))
    weight = draw(st.integers(1, most))
    return draw(st.integers(0, weight - 1)), weight


@given(fractions_below_one(), fractions_below_one(), st.integers(1, 2**20))
def test_fractions_are_compared_exactly(one: tuple[int, int], other: tuple[int, int], k: int) -> None:
    assert is_less(*one, *other) == (Fraction(*one) < Fraction(*other))
    a, m = one[0] % 2**40, one[0] % 2**40 + one[1] % 2**40 + 1
    assert not is_less(a * k, m * k, a, m)  # equal ones
    assert is_less(a * k, m * k, a * k + 1, m * k)
    assert not is_less(a * k + 1, m * k, a, m)


def test_fractions_as_near_as_can_be_are_told_apart() -> None:
    """a / m and b / n with a n - b m = 1, which floats cannot see."""
    random = Random(1)
    for _ in range(1000):
        m = random.randrange(2, MOST)
        a = random.randrange(1, m)
        a, m = a // gcd(a, m), m // gcd(a, m)
        n = pow(a, -1, m)
        b = (a * n - 1) // m
        assert is_less(b, n, a, m)
        assert not is_less(a, m, b, n)


@given(VALUES, fractions_below_one(), VALUES, fractions_below_one())
def test_joined_means_are_exact(p: int, one: tuple[int, int], q: int, other: tuple[int, int]) -> None:
    (r, w), (s, v) = one, other
    assert w + v <= MOST <= 2**62
    whole, rest = divmod(p * w + r + q * v + s, w + v)
    assert join(p, r, w, q, s, v) == (whole, rest, w + v)


def test_joined_means_next_to_whole_numbers_are_exact() -> None:
    """The rests are chosen so that the sum is a multiple of w + v, or one off: floats miss the floor."""
    random = Random(1)
    for _ in range(5000):
        p, q = (random.randint(-MAX_MEASURED, MAX_MEASURED) for _ in range(2))
        w, v = (random.randint(1, MOST // 2) for _ in range(2))
        rests = (random.choice([-1, 0, 1]) - p * w - q * v) % (w + v)
        r = min(rests, w - 1)
        s = min(rests - r, v - 1)
        whole, rest = divmod(p * w + r + q * v + s, w + v)
        assert join(p, r, w, q, s, v) == (whole, rest, w + v)


@given(
    st.lists(st.tuples(VALUES, st.one_of(st.integers(1, 3), st.integers(1, MOST // 30))), max_size=30),
    st.integers(0, 30),
)
def test_points_at_the_limits_are_fitted_exactly(points: list[tuple[int, int]], cut: int) -> None:
    """Pooled in one go, or in two parts that are then pooled with each other."""
    sums = [value * weight for value, weight in points]
    expected = naive.fit_isotonic(sums, [weight for _, weight in points], -MAX_MEASURED, MAX_MEASURED)
    floors, masses = (np.array([point[i] for point in points], dtype=np.int64) for i in range(2))
    given_points = Blocks(floors, np.zeros_like(floors), masses, np.ones_like(floors))
    blocks = Blocks.empty(len(points))
    first = pool(given_points.some(slice(0, cut)), blocks, 0)
    second = pool(given_points.some(slice(cut, None)), blocks.some(slice(cut, None)), 0)
    count = pool(blocks.some(slice(cut, cut + second)), blocks, first)
    for found in (blocks.some(slice(0, count)), blocks.some(slice(0, pool(given_points, blocks, 0)))):
        assert (found.rests >= 0).all() and (found.rests < found.weights).all()
        steps = round_blocks(found, -MAX_MEASURED, MAX_MEASURED)
        assert np.repeat(steps.heights, found.lengths).tolist() == expected
        assert steps.ends.tolist() == np.cumsum(found.lengths).tolist()


def test_huge_values_do_not_overflow() -> None:
    row = np.where(np.arange(100_000) % 2 == 0, 2**39, -(2**39))[None, :]
    fitted = fit_isotonic_rows(row, -(2**39), 2**39)
    assert fitted[0, 0] == 0
    assert (np.diff(fitted[0]) >= 0).all()


def test_rows_that_64_bits_cannot_add_up_are_fitted_all_the_same() -> None:
    half = 2**22 + 1
    row = np.repeat([MAX_MEASURED, MAX_MEASURED - 1], half)[None, :]  # one block; twice its sum is above 2^63
    assert (fit_isotonic_rows(row, 0, MAX_MEASURED) == MAX_MEASURED).all()
    assert (fit_isotonic_rows(row[:, 1:], 0, MAX_MEASURED) == MAX_MEASURED - 1).all()


def test_cumulative_dp_follows_algorithm_2_step_by_step() -> None:
    rng = np.random.default_rng(4)
    hierarchy = random_hierarchy(rng, 3)
    mechanism = tt.mechanism("cumulative-dp")
    plan = mechanism.plan(hierarchy, sizes=(1, 6), epsilon=1)
    noisy = [np.cumsum(rng.integers(-3, 9, plan.shape(i)), axis=1) for i in range(len(plan.levels))]
    total = 40
    found = mechanism.postprocess(tt.Measurements(plan, noisy), total=total)

    differences = []
    for values in noisy:
        fits = [
            [floor(min(max(c, Fraction(0)), Fraction(total)) + Fraction(1, 2)) for c in fit_by_minimax(row)]
            for row in values.tolist()
        ]
        differences.append(np.array([[row[0], *np.diff(row)] for row in fits]))
    direct = tt.mechanism("direct-dp")
    sizes_plan = direct.plan(hierarchy, sizes=(1, 6), epsilon=1)
    expected = direct.postprocess(tt.Measurements(sizes_plan, differences), total=total)
    assert found.objective == expected.objective
    for a, b in zip(found.counts, expected.counts, strict=True):
        np.testing.assert_array_equal(a, b)
