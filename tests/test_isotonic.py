"""The isotonic fit against SciPy's and against its definition."""

from fractions import Fraction
from math import floor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import isotonic_regression

import tallytree as tt
from tallytree.postprocess.isotonic import _is_less, fit_isotonic, fit_isotonic_rows, fit_large
from tests.instances import random_hierarchy


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
    assert fast == fit_large(sums, weights, low, low + 30)
    # A point of weight w is w points in the same place, which end in one block.
    repeated = np.repeat([value for value, _ in points], weights)[None, :]
    ends = np.cumsum(weights) - 1
    assert fast == fit_isotonic_rows(repeated, low, low + 30)[0, ends].tolist()


@given(
    a=st.integers(-(2**60), 2**60),
    m=st.integers(1, 2**60),
    b=st.integers(-(2**60), 2**60),
    n=st.integers(1, 2**60),
    k=st.integers(1, 2**20),
)
def test_fractions_are_compared_exactly(a: int, m: int, b: int, n: int, k: int) -> None:
    assert _is_less(a, m, b, n) == (Fraction(a, m) < Fraction(b, n))
    assert not _is_less(a % 2**40 * k, m % 2**40 * k + k, a % 2**40, m % 2**40 + 1)  # equal ones


def test_huge_values_do_not_overflow() -> None:
    row = np.where(np.arange(100_000) % 2 == 0, 2**39, -(2**39))[None, :]
    fitted = fit_isotonic_rows(row, -(2**39), 2**39)
    assert fitted[0, 0] == 0
    assert (np.diff(fitted[0]) >= 0).all()


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
