"""Solvers without a public total: against enumeration, cost tables and a general solver."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tallytree as tt
from tallytree.arrays import LevelArrays, SparseRows, reverse_sizes
from tallytree.sizes import Sizes, count_sizes
from tallytree.solvers.checks import verify_counts
from tallytree.solvers.general.conditions import Conditions, write_steps, write_sums
from tallytree.solvers.general.qp_model import solve_relaxed
from tallytree.solvers.joint.joint_model import MOST_TRUST, TRUST_COST, find_root_trust
from tests import naive
from tests.instances import random_hierarchy, random_instance
from tests.mechanisms.test_conformance import make_counts
from tests.solvers.joint_support import random_run, relax
from tests.solvers.test_joint import measure_objective

MECHANISMS = [name for name in tt.list_mechanisms() if tt.mechanism(name).private_total]
CLASSES = tt.SizeClasses([1, 2, 5, 9, 20])


def without_total(noisy: tt.Measurements) -> tt.Measurements:
    """The same answers of a plan whose total is private, with the same scales."""
    plan = noisy.plan
    budget = {level.name: 1 / level.scale for level in plan.levels}
    private = tt.mechanism("direct-dp").plan(
        plan.hierarchy, sizes=plan.sizes, epsilon=plan.epsilon, budget=budget, total="private"
    )
    assert private.scales == plan.scales
    return tt.Measurements(private, noisy.values)


@pytest.mark.parametrize("seed", range(60))
def test_no_counts_are_nearer_than_those_of_direct_dp(seed: int) -> None:
    """Every size is a problem of its own: all counts of few leaves are tried for it."""
    rng = np.random.default_rng(seed)
    hierarchy = random_hierarchy(rng, int(rng.integers(1, 4)), width=2)
    if len(hierarchy.leaves) > 4:
        hierarchy = random_hierarchy(rng, 2, width=2)
    weights = {name: int(rng.integers(1, 6)) for name in hierarchy.levels}
    method = tt.mechanism("direct-dp")
    plan = method.plan(hierarchy, sizes=(1, 3), epsilon=3, budget=weights, total="private")
    noisy = tt.Measurements(plan, [rng.integers(-4, 6, plan.shape(at)) for at in range(len(plan.levels))])
    solution = method.postprocess(noisy)
    scales = plan.scales
    ratios = [(max(scales) / scale) ** 2 for scale in scales]
    best = [
        min(
            sum(
                ratio * int(((own[:, 0] - values[:, size]) ** 2).sum())
                for ratio, own, values in zip(ratios, sums, noisy.values, strict=True)
            )
            for numbers in product(range(7), repeat=len(hierarchy.leaves))
            for sums in [naive.sum_up(hierarchy, np.array(numbers)[:, None])]
        )
        for size in range(3)
    ]
    own = sum(
        ratio * int(((counts - values) ** 2).sum())
        for ratio, counts, values in zip(ratios, solution.counts, noisy.values, strict=True)
    )
    assert own == sum(best)
    assert solution.certificate is not None
    assert solution.certificate.optimal


@pytest.mark.parametrize("seed", range(60))
def test_cost_tables_find_the_same_optimum(seed: int) -> None:
    noisy = without_total(random_instance(seed).noisy)
    fast, tables = (
        tt.mechanism("direct-dp", solver=solver).postprocess(noisy) for solver in ("projection", "tables")
    )
    assert fast.objective == tables.objective
    naive.check_feasible(noisy.plan.hierarchy, fast.counts, int(fast.counts[0].sum()))


@pytest.mark.parametrize("seed", range(60))
def test_the_relaxed_optimum_of_the_joint_model_is_that_of_a_qp_solver(seed: int) -> None:
    counts, noisy, _ = random_run(seed)
    sizes = noisy.values[0].shape[1]
    sums = write_sums(counts.hierarchy, sizes, 0, total_columns=[sizes - 1])
    steps = write_steps(counts.hierarchy.region_count, sizes)
    conditions = Conditions(sums.equalities[:-1], sums.right[:-1], steps)  # the last row is the total
    if conditions.equalities.shape[0] == 0:  # a root alone has no sums
        conditions = Conditions(sums.equalities * 0, sums.right * 0, steps)
    found, _ = solve_relaxed(noisy.values, noisy.plan.scales, conditions)
    _, relaxed = relax(noisy, None)
    assert relaxed.accuracy.gap <= 5e-7
    assert relaxed.accuracy.bound == pytest.approx(measure_objective(found, noisy), rel=1e-6, abs=1e-4)


@pytest.mark.parametrize("sizes", [(1, 5), CLASSES], ids=str)
@pytest.mark.parametrize("protect", ["person", "group"])
@pytest.mark.parametrize("name", MECHANISMS)
def test_without_noise_the_truth_comes_back(name: str, protect: str, sizes: Sizes) -> None:
    method = tt.mechanism(name, **({"smooth": False} if tt.mechanism(name).shrinks else {}))
    base = make_counts(3, 3, (1, 5), 40)
    counts = tt.GroupCounts(base.hierarchy, sizes, base.leaf)
    plan = method.plan(counts.hierarchy, sizes=sizes, epsilon=1, total="private", protect=protect)  # type: ignore[arg-type]
    noisy = tt.Measurements(plan, plan.answers(counts))
    solution = method.postprocess(noisy)
    assert solution.objective == method.assess(noisy, solution.counts).objective == 0
    for level, found in enumerate(solution.counts):
        np.testing.assert_array_equal(found, counts.array(level))


@pytest.mark.parametrize("name", MECHANISMS)
@given(seed=st.integers(0, 10_000), levels=st.integers(1, 4), width=st.integers(0, 4))
def test_counts_add_up_whatever_the_noise(name: str, seed: int, levels: int, width: int) -> None:
    counts = make_counts(seed, levels, (1, 1 + width), 9)
    run = tt.simulate(counts, epsilon="1/2", mechanism=name, seed=seed, total="private")
    assert not any(check.failed for check in verify_counts(run.hierarchy, run.sizes, run.counts, run.total))
    evidence = tt.mechanism(name).assess(run.measurements, run.counts)
    assert evidence.objective == run.solution.objective
    assert evidence.certificate == run.solution.certificate


@pytest.mark.parametrize("name", ["direct-dp", "cumulative-dp"])
def test_control_two_groups_more_or_less_are_no_optimum(name: str) -> None:
    counts = make_counts(3, 3, (1, 5), 40)
    run = tt.simulate(counts, epsilon=1, mechanism=name, seed=5, total="private")
    assert run.solution.certificate is not None
    assert run.solution.certificate.optimal
    for step in (2, -2):  # of two neighbouring optima, both are
        moved = [level.copy() for level in run.counts]
        leaf_level, leaf_index = counts.hierarchy.leaf_places
        at, index = int(leaf_level[0]), int(leaf_index[0])
        size = int(np.argmax(moved[at][index]))
        for level in range(at, -1, -1):
            moved[level][index, size] += step
            index = int(counts.hierarchy.parents(level)[index]) if level else 0
        found = tt.mechanism(name).assess(run.measurements, moved)
        assert found.certificate is not None
        assert not found.certificate.optimal


def measure_root_variance(hierarchy: tt.Hierarchy, scales: list[Fraction], trust: float) -> float:
    """The variance of the root in the least-squares fit on the tree whose root weighs so many times more."""
    leaves = np.eye(hierarchy.leaf_count, dtype=np.int64)
    answers = np.concatenate(naive.sum_up(hierarchy, leaves)).astype(np.float64)
    variances = np.repeat([float(scale) ** 2 for scale in scales], hierarchy.region_counts)
    weights = 1 / variances
    weights[0] *= trust
    solve = np.linalg.solve(answers.T * weights @ answers, answers.T * weights)
    return float((solve.sum(axis=0) ** 2 * variances).sum())


@given(st.integers(0, 10_000), st.integers(1, 4), st.lists(st.integers(1, 50), min_size=4, max_size=4))
def test_trust_in_the_root_costs_at_most_its_share_where_groups_are_many(
    seed: int, levels: int, parts: list[int]
) -> None:
    hierarchy = random_hierarchy(np.random.default_rng(seed), levels, width=4)
    scales = [Fraction(1, part) for part in parts[: len(hierarchy.levels)]]
    trust = find_root_trust(hierarchy, scales)
    cost = measure_root_variance(hierarchy, scales, trust) / measure_root_variance(hierarchy, scales, 1)
    if len(hierarchy.levels) == 1:
        assert trust == 1
    elif trust < MOST_TRUST:
        assert cost == pytest.approx(1 + TRUST_COST)
    else:
        assert cost <= 1 + TRUST_COST + 1e-9


@given(st.integers(0, 10_000), st.integers(1, 7), st.integers(1, 9))
def test_sizes_in_reverse(seed: int, rows: int, width: int) -> None:
    dense = np.random.default_rng(seed).integers(0, 3, (rows, width))
    stored = LevelArrays([SparseRows.from_dense(dense), dense])
    for level in reverse_sizes(stored):
        np.testing.assert_array_equal(level, dense[:, ::-1])
    for level in reverse_sizes(reverse_sizes([dense])):
        np.testing.assert_array_equal(level, dense)


def test_private_totals_of_whole_levels_are_near_the_truth() -> None:
    """The total is an estimate: its error is of the size of the noise, whatever the number of groups."""
    counts = make_counts(3, 3, (1, 5), 4_000)
    off = [
        abs(tt.simulate(counts, epsilon=1, mechanism=name, seed=seed, total="private").total - counts.total)
        for name in MECHANISMS
        for seed in range(5)
    ]
    assert 0 < max(off) < 400
    assert count_sizes(counts.sizes) == 5
