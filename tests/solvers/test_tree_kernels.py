"""The parts of the tree solver by themselves: relaxation, exchanges, weights."""

from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import nnls

import tallytree as tt
from tallytree.arrays import MAX_WEIGHT_SUM
from tallytree.kernels import RowPool
from tallytree.solvers.layout import Cells, TreeLayout
from tallytree.solvers.solution import add_weighted_squares, sum_squares, weigh_levels
from tallytree.solvers.tree.tree_projection import Subtree, balance_sizes, balance_tree
from tallytree.solvers.tree.tree_relaxation import relax
from tests import naive
from tests.instances import Instance, random_instance

Floats = npt.NDArray[np.float64]


def relax_by_nnls(instance: Instance) -> Floats:
    """The sizes' relaxed root values, by non-negative least squares over the leaf cells."""
    hierarchy, values = instance.hierarchy, instance.noisy.values
    sizes = values[0].shape[1]
    cells = [(leaf, size) for leaf in hierarchy.leaves for size in range(sizes)]
    rows, targets = [], []
    for level, weight in enumerate(instance.weights):
        for region, path in enumerate(hierarchy.regions(level)):
            for size in range(sizes):
                inside = [leaf[: level + 1] == path and s == size for leaf, s in cells]
                rows.append(np.sqrt(weight) * np.array(inside))
                targets.append(np.sqrt(weight) * values[level][region, size])
    heavy = 1e5  # the total is kept almost exactly
    rows.append(np.full(len(cells), heavy))
    targets.append(heavy * instance.total)
    solution, _ = nnls(np.array(rows), np.array(targets), maxiter=10_000)
    return np.array(
        [sum(solution[i] for i, (_, s) in enumerate(cells) if s == size) for size in range(sizes)]
    )


def prepare(instance: Instance) -> tuple[TreeLayout, Cells, npt.NDArray[np.int64]]:
    layout = TreeLayout.of(instance.hierarchy)
    scales = [level.scale for level in instance.noisy.plan.levels]
    weights, _ = layout.per_level(weigh_levels(scales), scales)
    return layout, layout.gather(instance.noisy.values), weights


@pytest.mark.parametrize("seed", range(60))
def test_the_relaxation_is_non_negative_least_squares(seed: int) -> None:
    instance = random_instance(seed)
    layout, noisy, weights = prepare(instance)
    pool = RowPool(len(noisy.inner))
    lines, price = relax(layout.tree, noisy, weights.astype(float), instance.total, pool)
    roots = lines.start[:, 0] + lines.slope[:, 0] * price
    assert roots.sum() == pytest.approx(instance.total, abs=1e-6)
    # A leaf may be left in at -SLACK, so the two agree to a few times that.
    np.testing.assert_allclose(roots, relax_by_nnls(instance), atol=0.02)


@pytest.mark.parametrize("seed", range(100))
def test_exchanges_lead_to_the_optimum_from_the_worst_start(seed: int) -> None:
    instance = random_instance(seed)
    layout, noisy, weights = prepare(instance)
    tree = layout.tree
    counts = Cells(np.zeros_like(noisy.inner), np.zeros_like(noisy.leaf))
    counts.leaf[0, -1] = instance.total  # everything in one leaf
    v = int(np.searchsorted(tree.family, counts.leaf.shape[1] - 1, side="right")) - 1
    while v >= 0:
        counts.inner[0, v] = instance.total
        v = int(tree.parent[v])
    start = naive.objective(instance, layout.scatter(counts))
    costs = np.zeros((len(noisy.inner), 4, len(tree.level)), dtype=np.int64)
    made = 0
    for s in range(len(noisy.inner)):
        part = (noisy.inner[s], noisy.leaf[s], counts.inner[s], counts.leaf[s])
        made += balance_tree(Subtree(tree, weights, *part, costs[s]))
    made += balance_sizes(tree, noisy, weights, counts, costs)
    arrays = layout.scatter(counts)
    leaf = naive.leaf_counts(instance.hierarchy, arrays)
    for found, expected in zip(arrays, naive.sum_up(instance.hierarchy, leaf), strict=True):
        np.testing.assert_array_equal(found, expected)
    window = max(instance.total, *(int(c.max()) for c in instance.centre))
    assert naive.objective(instance, arrays) == naive.solve_by_flow(instance, window=window)
    assert (made > 0) == (naive.objective(instance, arrays) < start)


@given(st.lists(st.integers(1, 1000), min_size=1, max_size=6))
def test_any_split_in_thousandths_is_weighted_exactly(shares: list[int]) -> None:
    shares = [max(1, 1000 * share // sum(shares)) for share in shares]
    weights = weigh_levels([Fraction(2, share) for share in shares])
    for share, weight in zip(shares, weights.tolist(), strict=True):
        assert Fraction(weight, int(weights[0])) == Fraction(share, shares[0]) ** 2
    assert np.gcd.reduce(weights) == 1


@given(st.lists(st.fractions(min_value=Fraction(1, 10**6), max_value=10**6), min_size=1, max_size=8))
def test_weights_are_positive_and_small_enough_whatever_the_scales(scales: list[Fraction]) -> None:
    weights = weigh_levels(scales)
    assert weights.min() >= 1
    assert weights.sum() <= MAX_WEIGHT_SUM


def test_the_objective_does_not_overflow() -> None:
    huge = np.array([[2**38, -(2**38)]])
    assert add_weighted_squares([huge], [np.zeros_like(huge)], np.array([3])) == 3 * 2 * 2**76


@pytest.mark.parametrize("signs", [[1], [-1], [1, 1], [-1, -1], [1, -1], [-1, 1, 1, 1], [-1, -1, -1, -1]])
def test_squares_are_added_up_beyond_64_bits(signs: list[int]) -> None:
    """Two times 2^62 is the least that does not fit."""
    for value in (2**31, 2**31 - 1):
        assert sum_squares(value * np.array([signs])) == len(signs) * value**2
    assert sum_squares(np.empty((0, 3), dtype=np.int64)) == 0


def test_weights_that_are_rounded_keep_within_their_sum() -> None:
    """Thirds of the room, of which each rounds up or down."""
    for most in range(6, 40):
        for scales in ([1, 1, 1], [1, 2, 3], [10**6, 1, 1], [1, 10**6, 10**6]):
            weights = weigh_levels([Fraction(scale) for scale in scales], most=most).tolist()
            assert min(weights) >= 1
            assert sum(weights) <= most
    # As near to the ratios as there is room: three less than it, and each rounded.
    assert weigh_levels([Fraction(1), Fraction(2), Fraction(1)], most=8).tolist() == [2, 1, 2]
    assert weigh_levels([Fraction(1), Fraction(2), Fraction(1)], most=9).tolist() == [4, 1, 4]


def test_every_exchange_is_counted_once() -> None:
    """Seven groups in the wrong leaf, and seven of the wrong size."""
    weights = np.array([1, 1])
    pair = TreeLayout.of(tt.Hierarchy.from_paths(["a", "b"], [("r", "x"), ("r", "y")])).tree
    costs = np.zeros((1, 4, 1), dtype=np.int64)
    counts = np.array([10, 0])
    sub = Subtree(pair, weights, np.array([10]), np.array([3, 7]), np.array([10]), counts, costs[0])
    assert balance_tree(sub) == 7
    assert counts.tolist() == [3, 7]
    alone = TreeLayout.of(tt.Hierarchy.from_paths(["a"], [("r",)])).tree
    noisy, found = np.array([[3], [7]]), Cells(np.array([[10], [0]]), np.array([[10], [0]]))
    costs = np.zeros((2, 4, 1), dtype=np.int64)
    for s in range(2):
        part = (noisy[s], noisy[s], found.inner[s], found.leaf[s])
        assert balance_tree(Subtree(alone, weights, *part, costs[s])) == 0
    assert balance_sizes(alone, Cells(noisy, noisy), weights, found, costs) == 7
    assert found.leaf.ravel().tolist() == [3, 7]
