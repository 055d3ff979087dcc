"""The solvers of Model M_H against each other and against min-cost flow."""

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tallytree as tt
from tallytree.errors import CheckError
from tallytree.solvers.layout import Cells, Tree, TreeLayout
from tallytree.solvers.solution import Solution, weigh_levels
from tallytree.solvers.tree.tree_model import certify
from tallytree.solvers.tree.tree_projection import project_onto_tree
from tallytree.solvers.tree.tree_rounding import fill
from tests import naive
from tests.instances import Instance, random_hierarchy, random_instance

Ints = npt.NDArray[np.int64]


def solve(instance: Instance, solver: str = "projection") -> Solution:
    return tt.mechanism("direct-dp", solver=solver).postprocess(instance.noisy, total=instance.total)


def is_optimal(instance: Instance, counts: list[Ints]) -> bool:
    layout = TreeLayout.of(instance.hierarchy)
    plan = instance.noisy.plan
    scales = [level.scale for level in plan.levels]
    weights, _ = layout.per_level(weigh_levels(scales), scales)
    return certify(layout.tree, layout.gather(instance.noisy.values), weights, layout.gather(counts)).optimal


@pytest.mark.parametrize("block", range(20))
def test_projection_tables_and_flow_have_the_same_objective(block: int) -> None:
    for seed in range(30 * block, 30 * block + 30):  # 600 instances
        instance = random_instance(seed)
        fast, tables = solve(instance), solve(instance, "tables")
        for solution in (fast, tables):
            naive.check_feasible(instance.hierarchy, solution.counts, instance.total)
            assert solution.objective == naive.objective(instance, solution.counts)
        # Within this window every feasible point lies.
        window = max(instance.total, *(int(c.max()) for c in instance.centre))
        assert fast.objective == tables.objective == naive.solve_by_flow(instance, window=window)


@pytest.mark.parametrize("block", range(10))
def test_huge_counts(block: int) -> None:
    for seed in range(20 * block, 20 * block + 20):  # 200 instances, counts up to a billion
        instance = random_instance(seed, largest=10**9)
        fast = solve(instance)
        naive.check_feasible(instance.hierarchy, fast.counts, instance.total)
        assert fast.objective == naive.objective(instance, fast.counts)
        off = max(int(np.abs(a - b).max()) for a, b in zip(fast.counts, instance.centre, strict=True))
        assert fast.objective == naive.solve_by_flow(instance, window=2 * off + 60)
        if len(fast.counts[0][0]) * len(instance.hierarchy.leaves) <= 12:
            leaf = naive.leaf_counts(instance.hierarchy, fast.counts)
            assert not naive.some_exchange_pays(instance, leaf)


@pytest.mark.parametrize("seed", range(40))
def test_totals_far_from_huge_noisy_answers(seed: int) -> None:
    rng = np.random.default_rng(seed)
    near = random_instance(seed, largest=10**9)
    noisy = [rng.integers(-(10**9), 10**9, values.shape) for values in near.noisy.values]
    total = int(10 ** rng.uniform(0, 11))
    instance = Instance(near.hierarchy, tt.Measurements(near.noisy.plan, noisy), total, near.centre)
    solution = solve(instance)
    naive.check_feasible(instance.hierarchy, solution.counts, instance.total)
    leaf = naive.leaf_counts(instance.hierarchy, solution.counts)
    if leaf.size <= 20:
        assert not naive.some_exchange_pays(instance, leaf)


@pytest.mark.parametrize("seed", range(60))
def test_the_certificate_rejects_exactly_what_an_exchange_improves(seed: int) -> None:
    instance = random_instance(seed, levels=3)
    if instance.total == 0:
        return
    rng = np.random.default_rng(seed)
    leaf = naive.leaf_counts(instance.hierarchy, solve(instance).counts)
    assert is_optimal(instance, naive.sum_up(instance.hierarchy, leaf))
    for _ in range(12):  # walk away from the optimum, one random exchange at a time
        neighbours = list(naive.exchanges(leaf))
        if not neighbours or len(neighbours) > 400:
            return
        leaf = neighbours[int(rng.integers(len(neighbours)))]
        expected = not naive.some_exchange_pays(instance, leaf)
        assert is_optimal(instance, naive.sum_up(instance.hierarchy, leaf)) == expected


@given(
    noisy=st.lists(st.integers(-20, 20), min_size=1, max_size=8),
    total=st.integers(0, 60),
    guess=st.floats(-100, 100),
    turn=st.integers(0, 20),
)
def test_filling_a_family_is_optimal(noisy: list[int], total: int, guess: float, turn: int) -> None:
    values, counts = np.array(noisy), np.empty(len(noisy), dtype=np.int64)
    fill(values, total, guess, turn, counts)
    slow = naive.fill(values, total)
    assert counts.min() >= 0
    assert counts.sum() == total
    assert ((counts - values) ** 2).sum() == ((slow - values) ** 2).sum()


@pytest.mark.parametrize("name", ["direct-dp", "topdown"])
@pytest.mark.parametrize("processors", [1, 4])
def test_units_that_cannot_be_split_go_to_different_leaves(
    name: str, processors: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tallytree.kernels.count_processors", lambda: processors)
    h = tt.Hierarchy.from_paths(["a", "b"], [("r", child) for child in "xyz"])
    plan = tt.mechanism(name).plan(h, sizes=(1, 6), epsilon=1)
    noisy = tt.Measurements(plan, [np.full((1, 6), 1), np.zeros((3, 6), dtype=np.int64)])
    counts = tt.mechanism(name).postprocess(noisy, total=6).counts
    assert (counts[1].sum(axis=1) == 2).all()
    assert counts[1].argmax(axis=0).tolist() == [0, 1, 2, 0, 1, 2]  # in turn


def test_exchanges_are_few_from_a_rounded_relaxation() -> None:
    """Whatever makes the start worse costs time only, and would go unnoticed otherwise."""
    exchanges = cells = 0
    for seed in range(300):
        instance = random_instance(seed, largest=1000)
        exchanges += solve(instance).effort["exchanges"]
        cells += sum(values.size for values in instance.noisy.values)
    assert exchanges < 0.015 * cells


@pytest.mark.parametrize("levels", range(1, 7))
def test_deep_and_wide_trees(levels: int) -> None:
    rng = np.random.default_rng(levels)
    hierarchy = random_hierarchy(rng, levels, width=5)
    plan = tt.mechanism("direct-dp").plan(hierarchy, sizes=(0, 9), epsilon="0.3")
    noisy = [rng.integers(-50, 50, plan.shape(i)) for i in range(len(hierarchy.levels))]
    instance = Instance(hierarchy, tt.Measurements(plan, noisy), 1000, [])
    naive.check_feasible(hierarchy, solve(instance).counts, instance.total)


def test_read_only_and_strided_values_are_fine() -> None:
    instance = random_instance(3)
    strided = [np.asfortranarray(np.repeat(v, 2, axis=1))[:, ::2] for v in instance.noisy.values]
    for values in strided:
        values.flags.writeable = False
    again = Instance(
        instance.hierarchy, tt.Measurements(instance.noisy.plan, strided), instance.total, instance.centre
    )
    assert solve(again).objective == solve(instance).objective


def test_a_result_that_is_not_optimal_is_withheld(monkeypatch: pytest.MonkeyPatch) -> None:
    def solve_another(tree: Tree, noisy: Cells, weights: Ints, total: int) -> tuple[Cells, int]:
        return project_onto_tree(
            tree, Cells(noisy.inner[:, ::-1] + 9, noisy.leaf[:, ::-1] * 2), weights, total
        )

    instance = random_instance(3)
    monkeypatch.setattr("tallytree.solvers.tree.tree_model.project_onto_tree", solve_another)
    with pytest.raises(CheckError, match="not optimal by its own certificate"):
        solve(instance)
