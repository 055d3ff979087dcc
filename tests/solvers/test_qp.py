"""The relaxations by a QP solver: lower bounds, and what rounding does to them."""

import sys
from fractions import Fraction
from itertools import combinations

import numpy as np
import numpy.typing as npt
import pytest
from scipy.sparse import csc_matrix

import tallytree as tt
from tallytree.errors import MechanismError
from tallytree.kernels import RowPool
from tallytree.solvers.general.conditions import Conditions, write_steps, write_sums
from tallytree.solvers.general.qp_model import solve_relaxed
from tallytree.solvers.layout import TreeLayout
from tallytree.solvers.solution import add_weighted_squares, weigh_levels
from tallytree.solvers.tree.tree_relaxation import relax
from tests import naive
from tests.instances import Instance, random_instance

Ints = npt.NDArray[np.int64]


def cost(instance: Instance, counts: list[npt.NDArray[np.float64]]) -> float:
    return sum(
        weight * float(((n - t) ** 2).sum())
        for weight, n, t in zip(instance.weights, counts, instance.noisy.values, strict=True)
    )


@pytest.mark.parametrize("seed", range(60))
def test_the_relaxed_sizes_model_is_ours_and_a_lower_bound(seed: int) -> None:
    instance = random_instance(seed)
    plan, values = instance.noisy.plan, instance.noisy.values
    scales = [level.scale for level in plan.levels]
    sizes = values[0].shape[1]
    sums = write_sums(instance.hierarchy, sizes, instance.total, total_columns=range(sizes))
    relaxed, _ = solve_relaxed(values, scales, sums)
    optimum = tt.mechanism("direct-dp").postprocess(instance.noisy, total=instance.total)
    assert cost(instance, relaxed) <= optimum.objective + 1e-4
    layout = TreeLayout.of(instance.hierarchy)
    weights, _ = layout.per_level(weigh_levels(scales), scales)
    noisy = layout.gather(values)
    pool = RowPool(sizes)
    lines, price = relax(layout.tree, noisy, weights.astype(float), instance.total, pool)
    np.testing.assert_allclose(relaxed[0][0], lines.start[:, 0] + lines.slope[:, 0] * price, atol=0.02)
    rounded = tt.mechanism("direct-qp").postprocess(instance.noisy, total=instance.total)
    for found, real in zip(rounded.counts, relaxed, strict=True):
        assert np.abs(found - real).max() <= 0.5 + 1e-6
    assert rounded.objective == naive.objective(instance, rounded.counts)
    assert rounded.effort["iterations"] > 0


def all_leaf_counts(cells: int, total: int) -> list[list[int]]:
    """Every way to put ``total`` groups into ``cells``."""
    bars = combinations(range(total + cells - 1), cells - 1)
    return [(np.diff([-1, *bar, total + cells - 1]) - 1).tolist() for bar in bars]


@pytest.mark.parametrize("seed", range(40))
def test_the_relaxed_cumulative_model_is_a_lower_bound_that_is_nearly_met(seed: int) -> None:
    small = random_instance(seed, levels=3, largest=2)
    sizes, leaves = small.noisy.values[0].shape[1], len(small.hierarchy.leaves)
    total = min(small.total, 4)
    if sizes * leaves > 8:
        return
    instance = Instance(small.hierarchy, small.noisy, total, small.centre)
    values = instance.noisy.values
    sums = write_sums(small.hierarchy, sizes, total, total_columns=[sizes - 1])
    steps = write_steps(small.hierarchy.region_count, sizes)
    scales = [level.scale for level in small.noisy.plan.levels]
    relaxed, _ = solve_relaxed(values, scales, Conditions(sums.equalities, sums.right, steps))
    candidates = []
    for cells in all_leaf_counts(sizes * leaves, total):
        leaf = np.array(cells, dtype=np.int64).reshape(leaves, sizes)
        cumulative = [np.cumsum(level, axis=1) for level in naive.sum_up(small.hierarchy, leaf)]
        candidates.append(add_weighted_squares(cumulative, values, np.array(instance.weights)))
    assert cost(instance, relaxed) <= min(candidates) + 1e-4
    assert all((np.diff(level, axis=1) >= -1e-6).all() and level.min() >= -1e-6 for level in relaxed)
    assert relaxed[0][0, -1] == pytest.approx(total, abs=1e-6)
    mechanism = tt.mechanism("cumulative-qp")
    plan = mechanism.plan(
        small.hierarchy,
        sizes=small.noisy.plan.sizes,
        epsilon=small.noisy.plan.epsilon,
        budget={level.name: level.epsilon for level in small.noisy.plan.levels},
    )
    rounded = mechanism.postprocess(tt.Measurements(plan, values), total=total)
    cumulative = [np.cumsum(level, axis=1) for level in rounded.counts]
    for found, real in zip(cumulative, relaxed, strict=True):
        assert np.abs(found - real).max() <= 0.5 + 1e-6
    assert all(level.min() >= 0 for level in rounded.counts)
    assert rounded.objective == add_weighted_squares(cumulative, values, np.array(instance.weights))


def test_rounding_breaks_the_sums_and_says_how_often() -> None:
    h = tt.Hierarchy.from_paths(["a", "b"], [("r", name) for name in "xyz"])
    mechanism = tt.mechanism("direct-qp")
    plan = mechanism.plan(h, sizes=(1, 1), epsilon=1)
    noisy = tt.Measurements(plan, [np.array([[1]]), np.zeros((3, 1), dtype=np.int64)])
    solution = mechanism.postprocess(noisy, total=1)  # a third each
    assert solution.counts[1].sum() == 0
    assert solution.effort["violations"] == 1


@pytest.mark.parametrize("name", ["direct-qp", "cumulative-qp"])
def test_without_the_solver_the_error_says_how_to_install_it(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "piqp", None)
    monkeypatch.delitem(sys.modules, "tallytree.solvers.general.qp_model", raising=False)
    assert name in tt.list_mechanisms()
    h = tt.Hierarchy.from_paths(["root"], [("r",)])
    counts = tt.GroupCounts(h, (1, 2), [[1, 2]])
    with pytest.raises(MechanismError, match=r"pip install 'tallytree\[solvers\]'"):
        tt.simulate(counts, epsilon=1, mechanism=name, seed=1)


def test_a_model_that_has_no_solution_is_an_error() -> None:
    noisy = [np.array([[1, 2]])]
    equalities = csc_matrix(np.array([[1.0, 1.0], [1.0, 1.0]]))
    with pytest.raises(MechanismError, match="PIQP did not solve the model: it stopped with PIQP_"):
        solve_relaxed(noisy, [Fraction(1)], Conditions(equalities, np.array([1.0, 2.0])))
