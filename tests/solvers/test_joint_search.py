"""The search for the relaxed joint optimum: where it starts, what it says of itself, and what it takes."""

from collections import Counter

import numpy as np
import numpy.typing as npt
import pytest

import tallytree as tt
from tallytree.solvers.joint.cumulative_rounding import round_joint_model
from tallytree.solvers.joint.joint_relaxation import JointProblem, Relaxed
from tallytree.solvers.layout import TreeLayout
from tests.instances import random_hierarchy
from tests.solvers.joint_support import random_run, relax

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
SEARCH = "tallytree.solvers.joint.joint_relaxation"


def steep_run(seed: int) -> tuple[tt.GroupCounts, tt.Measurements]:
    """Many groups of every size in every leaf, and so little noise that no cumulative count falls."""
    rng = np.random.default_rng(seed)
    hierarchy = random_hierarchy(rng, 1 + seed % 4)
    counts = tt.GroupCounts(hierarchy, (1, 6), rng.integers(500, 1500, (hierarchy.leaf_count, 6)))
    budget = {name: int(rng.integers(1, 5)) for name in hierarchy.levels}
    plan = tt.mechanism("cumulative-joint").plan(hierarchy, sizes=(1, 6), epsilon=1, budget=budget)
    noisy = [answer + rng.integers(-9, 10, answer.shape) for answer in plan.answers(counts)]
    return counts, tt.Measurements(plan, noisy)


@pytest.mark.parametrize("seed", range(24))
def test_where_no_order_is_broken_the_search_starts_at_the_optimum(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"{SEARCH}.FIRST_STAGE", 1e-9)  # the weights are what they are from the start
    counts, noisy = steep_run(seed)
    known = 1 + seed % len(counts.hierarchy.levels)
    _, relaxed = relax(noisy, counts.total, known)
    assert relaxed.accuracy.gap <= 5e-7
    assert relaxed.effort == {"newton_steps": 0, "fits": 1, "inner_steps": 0}


def find_settled(problem: JointProblem) -> Bools:
    """Inner nodes whose number of groups is known, as are those of all their children."""
    tree = problem.tree
    known, leaf_known = np.isfinite(problem.inner_totals), np.isfinite(problem.leaf_totals)
    return np.array(
        [
            known[v]
            and known[tree.inner[v] : tree.inner[v + 1]].all()
            and leaf_known[tree.family[v] : tree.family[v + 1]].all()
            for v in range(len(tree.level))
        ]
    )


def add_up(problem: JointProblem, leaf: Floats) -> Floats:
    """Each inner node's leaves added up."""
    tree = problem.tree
    sums = np.zeros((len(tree.level), leaf.shape[1]))
    for v in reversed(range(len(sums))):
        sums[v] += leaf[tree.family[v] : tree.family[v + 1]].sum(axis=0)
        if v:
            sums[tree.parent[v]] += sums[v]
    return sums


def check_accuracy(problem: JointProblem, relaxed: Relaxed, noisy: tt.Measurements) -> None:
    """What the search says of itself, from the definitions."""
    tree, fixed, settled = problem.tree, np.isfinite(problem.inner_totals), find_settled(problem)
    weights = problem.weights[tree.level][:, None]
    leaf_weights = np.append(problem.weights, problem.weights[-1])[tree.level + 1]
    own, below = TreeLayout.of(noisy.plan.hierarchy).stack(noisy.values)
    missing = relaxed.inner - add_up(problem, relaxed.leaf)
    missing[settled, -1] = 0.0
    multipliers = relaxed.prices.copy()
    multipliers[1:] -= relaxed.prices[tree.parent[1:]]
    np.testing.assert_allclose(
        relaxed.inner[~fixed], (own + multipliers / weights)[~fixed], atol=1e-6, rtol=1e-9
    )
    np.testing.assert_array_equal(relaxed.inner[fixed, -1], problem.inner_totals[fixed])

    families = np.repeat(leaf_weights, np.diff(tree.family))[:, None]
    squares = (families * (relaxed.leaf - below) ** 2).sum() + (weights * (relaxed.inner - own) ** 2).sum()
    accuracy = relaxed.accuracy
    assert accuracy.bound == pytest.approx(squares - 2 * (multipliers * missing).sum(), rel=1e-6, abs=1e-4)

    pull = weights * missing
    pull[fixed, -1] = 0.0
    gap = (pull * missing).sum() + 2 * np.abs(multipliers * missing)[fixed, -1].sum()
    assert accuracy.gap == pytest.approx(gap / max(accuracy.bound, 1.0), rel=1e-5, abs=1e-12)
    assert accuracy.primal_residual == pytest.approx(np.abs(missing[fixed, -1]).max(initial=0.0), abs=1e-9)
    for v in range(1, len(pull)):
        pull[v] += pull[tree.parent[v]]
    has_leaves = np.diff(tree.family) > 0
    felt = np.abs(pull).max(axis=1) / leaf_weights
    assert accuracy.dual_residual == pytest.approx(felt[has_leaves].max(), rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("most", [1, 2, 60])
@pytest.mark.parametrize("seed", range(25))
def test_a_search_says_how_far_it_got(seed: int, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where it is cut short."""
    monkeypatch.setattr(f"{SEARCH}.MOST_STEPS", most)
    counts, noisy, total = random_run(seed)
    known = 1 + seed % len(counts.hierarchy.levels)
    problem, relaxed = relax(noisy, total, known)
    check_accuracy(problem, relaxed, noisy)
    # One fit when a stage begins, and one at least for every step.
    assert relaxed.effort["fits"] > relaxed.effort["newton_steps"]
    assert relaxed.effort["inner_steps"] >= 0


def test_some_searches_that_are_cut_short_are_far_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """A control of the test before this one."""
    monkeypatch.setattr(f"{SEARCH}.MOST_STEPS", 1)
    gaps = []
    for seed in range(25):
        _, noisy, total = random_run(seed)
        gaps.append(relax(noisy, total)[1].accuracy.gap)
    assert np.sum(np.array(gaps) > 1e-3) > 5


def large_run() -> tuple[tt.GroupCounts, tt.Measurements]:
    """A nation, its states and their counties, with as many steps as leaves have in practice."""
    rng = np.random.default_rng(11)
    paths = [("n", f"s{i}", f"c{i}.{j}") for i in range(12) for j in range(int(rng.integers(3, 25)))]
    hierarchy = tt.Hierarchy.from_paths(["nation", "state", "county"], paths)
    rates = 400 * rng.random((hierarchy.leaf_count, 1)) * np.exp(-np.arange(150) / 12)
    counts = tt.GroupCounts(hierarchy, (1, 150), rng.poisson(rates))
    run = tt.simulate(counts, epsilon="1/2", mechanism="cumulative-dp", seed=5)
    return counts, run.measurements


def test_a_search_takes_few_steps() -> None:
    """Whatever slows it down without changing what it finds would go unnoticed otherwise."""
    counts, noisy = large_run()
    problem, relaxed = relax(noisy, counts.total)
    assert relaxed.accuracy.gap <= 5e-7
    check_accuracy(problem, relaxed, noisy)
    assert relaxed.effort["newton_steps"] <= 10
    assert relaxed.effort["fits"] <= 13
    assert relaxed.effort["inner_steps"] <= 57


def test_searches_of_all_kinds_take_few_steps() -> None:
    effort = Counter[str]()
    for seed in range(150):
        _, noisy, total = random_run(seed)
        _, relaxed = relax(noisy, total)
        assert relaxed.accuracy.gap <= 5e-7
        effort.update(relaxed.effort)
    assert 150 <= effort["newton_steps"] <= 620
    assert effort["newton_steps"] < effort["fits"] <= 1860
    assert effort["newton_steps"] <= effort["inner_steps"] <= 690


@pytest.mark.parametrize("seed", range(60))
def test_whole_counts_are_next_to_the_relaxed_ones(seed: int) -> None:
    counts, noisy, total = random_run(seed)
    known = 1 + seed % len(counts.hierarchy.levels)
    if known > 1:
        total = counts.total
    problem, relaxed = relax(noisy, total, known)
    inner, rises = round_joint_model(problem, relaxed, total)
    groups = np.concatenate([part.groups for part in rises])
    places = np.concatenate([part.sizes for part in rises])
    leaf = np.zeros((len(problem.leaf_totals), inner.shape[1]), dtype=np.int64)
    leaf[np.repeat(np.arange(len(leaf)), np.concatenate([part.counts for part in rises])), places] = groups
    cumulative = np.cumsum(leaf, axis=1)
    assert (groups > 0).all()
    np.testing.assert_array_equal(add_up(problem, cumulative.astype(np.float64)), inner)
    assert inner[0, -1] == total
    assert np.abs(inner - relaxed.inner).max() < 2
    assert np.abs(cumulative - relaxed.leaf).max() < 2
