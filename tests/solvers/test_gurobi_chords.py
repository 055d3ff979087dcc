"""The chords that Gurobi is given in place of squares, by themselves."""

from importlib import import_module
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallytree.errors import MechanismError
from tallytree.solvers.general.qip_program import Program

pytest.importorskip("gurobipy")
gurobi = import_module("tallytree.solvers.general.qip_gurobi")


@given(
    chords=st.sets(st.integers(-30, 30), min_size=1, max_size=8),
    weight=st.integers(1, 9),
    at=st.integers(-40, 40),
)
def test_costs_are_the_largest_of_the_chords(chords: set[int], weight: int, at: int) -> None:
    known = sorted(chords)
    x, y = gurobi._draw_cost(known, weight, at)
    assert all(before < after for before, after in pairwise(x))
    assert (x[0], x[-1]) == (known[0] - 0.5, known[-1] + 1.5)  # beyond the last whole numbers of the chords
    for value in np.arange(2 * known[0] - 1, 2 * known[-1] + 4) / 2:
        largest = max((2 * k + 1) * value - k * (k + 1) for k in known)
        assert np.interp(value, x, y) == pytest.approx(weight * (largest - at**2))
        # No chord is above the parabola at a whole number, and at its own two it is just there.
        whole = int(np.floor(value))
        if whole in chords or whole - 1 in chords:
            assert max((2 * k + 1) * whole - k * (k + 1) for k in known) == whole**2


def test_chords_are_added_near_a_point_and_at_doubling_distances() -> None:
    near = set(range(-3, 13))
    assert gurobi._add_chords({-1, 0}, 5, (-100, 100)) == near | {-59, -27, -11, 21, 37, 69}
    assert gurobi._add_chords({-90, 200}, 5, (-100, 100)) == near | {-90, -59, -27, -11, 21, 37, 69}
    assert gurobi._add_chords(set(), 5, (-1, 6)) == set(range(-2, 7))  # from the one that ends at the least
    assert gurobi._add_chords(set(), 50, (-10, 10)) == {-6, *range(2, 11)}  # around the nearest there is
    assert gurobi._add_chords(set(), -50, (-10, 10)) == {*range(-11, -2), 6}


def test_the_optimum_is_where_no_term_is_more_than_a_solutions_sum() -> None:
    program = Program([1, 4, 4], [-10, -10, -2], [10, 1, 10], [], [])
    assert gurobi._narrow(program, 36) == [(-6, 6), (-3, 1), (-2, 3)]
    assert gurobi._narrow(program, 35) == [(-5, 5), (-2, 1), (-2, 2)]
    assert gurobi._narrow(program, 2**46 - 1) == [(-10, 10), (-10, 1), (-2, 10)]
    with pytest.raises(MechanismError, match="too large for Gurobi's floating-point arithmetic"):
        gurobi._narrow(program, 2**46)
    assert gurobi._add_squares(program, [3, -2, 1]) == 9 + 16 + 4
