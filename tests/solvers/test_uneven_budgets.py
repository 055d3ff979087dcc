"""The joint model where levels differ in noise by factors of ten and more: the search ends at its goal."""

import numpy as np
import pytest

import tallytree as tt
from tallytree.research.evaluation import Simulation
from tallytree.solvers.checks import verify_counts
from tallytree.solvers.joint.joint_model import find_totals, lay_out
from tallytree.solvers.joint.joint_relaxation import GAP, _Search
from tallytree.solvers.layout import TreeLayout
from tests.instances import random_hierarchy


def simulate(seed: int) -> tuple[tt.GroupCounts, Simulation]:
    """Any tree, any counts, and a budget that is split by up to 1 to 100."""
    rng = np.random.default_rng(seed)
    h = random_hierarchy(rng, int(rng.integers(2, 5)), width=int(rng.integers(1, 6)))
    sizes = int(rng.integers(2, 60))
    expected = 10.0 ** rng.integers(-1, 5) * np.exp(-np.arange(sizes) / (1 + rng.integers(0, 20)))
    counts = tt.GroupCounts(h, (1, sizes), rng.poisson(expected, (len(h.leaves), sizes)))
    budget = {name: str(round(float(10 ** rng.uniform(0, 2)), 2)) for name in h.levels}
    level = h.levels[int(rng.integers(len(h.levels)))] if rng.random() < 0.4 else None
    mechanism = tt.mechanism("cumulative-joint", smooth=bool(rng.random() < 0.5))
    epsilon = str(rng.choice(["0.01", "1", "10"]))
    run = tt.simulate(
        counts, epsilon=epsilon, mechanism=mechanism, seed=seed, budget=budget, public_totals=level
    )
    return counts, run


@pytest.mark.parametrize(
    "seed", [9, 72, 119]
)  # they went round in circles: up, and down where the gap is less
@pytest.mark.parametrize("more", [0, 1])
def test_a_search_does_not_go_in_circles(seed: int, more: int) -> None:
    counts, run = simulate(seed + more)
    assert run.solution.accuracy is not None
    assert run.solution.accuracy.gap <= GAP
    assert run.solution.effort["newton_steps"] < 150
    for check in verify_counts(counts.hierarchy, counts.sizes, run.counts, counts.total):
        assert check.passed, check


@pytest.mark.parametrize("seed", [4, 138, 140, 249])
def test_a_search_that_takes_long_is_not_given_up(seed: int) -> None:
    _, run = simulate(seed)
    assert run.solution.accuracy is not None
    assert run.solution.accuracy.gap <= GAP


def test_a_step_into_nowhere_is_not_taken() -> None:
    counts, run = simulate(4)
    plan, values = run.measurements.plan, run.measurements.values
    layout = TreeLayout.of(plan.hierarchy)
    totals = find_totals(plan.hierarchy, layout, values, counts.total, plan.scales, 1)
    search = _Search(lay_out(layout, values, plan.scales, *totals))
    search.weigh(1.0)
    value, multipliers = search.value, search.multipliers
    with np.errstate(over="ignore", invalid="ignore"):
        assert search._step(-1e200 * search.deficit) is None
    assert search.value == value
    np.testing.assert_array_equal(search.multipliers, multipliers)
