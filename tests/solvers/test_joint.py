"""The joint model: its relaxation against a QP solver, its rounding against min-cost flow and enumeration."""

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from ortools.graph.python import min_cost_flow
from scipy.sparse import csc_matrix, vstack

import tallytree as tt
from tallytree.errors import MechanismError
from tallytree.solvers.checks import verify_counts
from tallytree.solvers.general.conditions import Conditions, write_steps, write_sums
from tallytree.solvers.general.qp_model import solve_relaxed
from tallytree.solvers.joint.cumulative_rounding import hand_down, raise_towards
from tallytree.solvers.joint.leaf_fits import Part, find_steps, fit_part, write_fits
from tallytree.solvers.solution import weigh_levels
from tests.instances import random_hierarchy
from tests.solvers.joint_support import random_run, relax

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


def measure_objective(values: list[Floats], noisy: tt.Measurements) -> float:
    weights = weigh_levels(noisy.plan.scales)
    return sum(
        float(w) * float(((a - t) ** 2).sum()) for w, a, t in zip(weights, values, noisy.values, strict=True)
    )


@pytest.mark.parametrize("seed", range(150))
def test_the_relaxed_optimum_is_that_of_a_qp_solver(seed: int) -> None:
    counts, noisy, total = random_run(seed)
    sizes = noisy.values[0].shape[1]
    sums = write_sums(counts.hierarchy, sizes, total, total_columns=[sizes - 1])
    steps = write_steps(counts.hierarchy.region_count, sizes)
    found, _ = solve_relaxed(noisy.values, noisy.plan.scales, Conditions(sums.equalities, sums.right, steps))
    expected = measure_objective(found, noisy)
    _, relaxed = relax(noisy, total)
    assert relaxed.accuracy.gap <= 5e-7
    assert relaxed.accuracy.bound == pytest.approx(expected, rel=1e-6, abs=1e-4)


@pytest.mark.parametrize("seed", range(100))
def test_known_totals_are_conditions_of_the_relaxed_model(seed: int) -> None:
    counts, noisy, _ = random_run(seed)
    h = counts.hierarchy
    sizes, depth = noisy.values[0].shape[1], len(h.levels)
    known = int(np.random.default_rng(seed).integers(1, depth + 1))
    values = [level.copy() for level in noisy.values]
    for level in range(known):
        values[level][:, -1] = counts.array(level).sum(axis=1)
    exact = tt.Measurements(noisy.plan, values)
    sums = write_sums(h, sizes, counts.total, total_columns=[sizes - 1])
    first = np.cumsum([0, *(level.size for level in values)])
    last = np.concatenate([first[i] + sizes * np.arange(1, len(values[i]) + 1) - 1 for i in range(known)])
    rows = csc_matrix((np.ones(len(last)), (np.arange(len(last)), last)), shape=(len(last), first[-1]))
    conditions = Conditions(
        csc_matrix(vstack([sums.equalities, rows])),
        np.concatenate([sums.right, *(values[i][:, -1] for i in range(known))]).astype(np.float64),
        write_steps(h.region_count, sizes),
    )
    expected = measure_objective(solve_relaxed(values, noisy.plan.scales, conditions)[0], exact)
    _, relaxed = relax(exact, counts.total, known)
    assert relaxed.accuracy.gap <= 5e-7
    assert relaxed.accuracy.bound == pytest.approx(expected, rel=1e-6, abs=1e-4)


def random_part(rng: np.random.Generator, rows: int, sizes: int, nodes: int, *, capped: bool) -> Part:
    """Leaves below some nodes, as a part of a tree."""
    noisy = rng.integers(-5, 20, (rows, sizes))
    caps = rng.integers(0, 20, rows).astype(np.float64) if capped else np.full(rows, np.inf)
    parents = np.sort(rng.integers(0, nodes, rows))
    return Part(0, nodes, find_steps(noisy), parents, rng.random(rows) + 0.1, caps)


@given(
    rows=st.integers(1, 6),
    sizes=st.integers(1, 15),
    nodes=st.integers(1, 3),
    seed=st.integers(0, 10**6),
    capped=st.booleans(),
)
def test_leaves_are_fitted_as_the_definition_says(
    rows: int, sizes: int, nodes: int, seed: int, capped: bool
) -> None:
    rng = np.random.default_rng(seed)
    part = random_part(rng, rows, sizes, nodes, capped=capped)
    prices = rng.normal(size=(nodes, sizes)) * 3
    expected = fit_plainly(part, prices)
    np.testing.assert_allclose(write_fits(part, prices), expected, atol=1e-9)
    sums = np.empty((nodes, sizes))
    fits = fit_part(part, prices, sums)
    added = np.zeros_like(sums)
    np.add.at(added, part.parent, expected)
    np.testing.assert_allclose(sums, added, atol=1e-9)
    squares = ((expected - write_targets(part, sizes)) ** 2).sum(axis=1) / part.ease
    assert fits.squares == pytest.approx(squares.sum())


def write_targets(part: Part, sizes: int) -> Floats:
    """The targets written out."""
    steps = part.targets
    rows = []
    for r in range(len(part.parent)):
        here = slice(steps.first[r], steps.first[r + 1])
        rows.append(np.repeat(steps.heights[here], np.diff(steps.ends[here], prepend=0)))
    return np.array(rows, dtype=np.float64).reshape(-1, sizes)


def fit_plainly(part: Part, prices: Floats) -> Floats:
    """By the definition of the isotonic fit, clipped."""
    n = prices.shape[1]
    targets = write_targets(part, n)
    fitted = np.empty(targets.shape)
    for r in range(len(targets)):
        y = targets[r] - part.ease[r] * prices[part.parent[r]]
        m = n - 1 if np.isfinite(part.cap[r]) else n
        for k in range(m):
            fitted[r, k] = max(min(y[i : j + 1].mean() for j in range(k, m)) for i in range(k + 1))
        fitted[r, m:] = part.cap[r]
    return np.clip(fitted, 0, part.cap[:, None])


@given(
    counts=st.lists(st.integers(0, 6), min_size=1, max_size=6),
    more=st.integers(0, 15),
    seed=st.integers(0, 10**6),
    limited=st.booleans(),
)
def test_raising_hands_each_group_to_whoever_is_furthest_below(
    counts: list[int], more: int, seed: int, limited: bool
) -> None:
    rng = np.random.default_rng(seed)
    start = np.array(counts)
    targets = start + rng.normal(size=len(start)) * 4
    room = rng.integers(0, 8, len(start)) if limited else np.full(len(start), 100)
    most = (start + room).astype(np.float64) if limited else np.full(len(start), np.inf)
    more = min(more, int(room.sum()))
    found = start.copy()
    raise_towards(targets, most, int(start.sum()) + more, found)
    expected = start.copy()
    for _ in range(more):
        below = np.where(expected < start + room, targets - expected, -np.inf)
        expected[np.argmax(below)] += 1
    assert found.sum() == expected.sum()
    assert (found >= start).all()
    assert (found <= most).all()
    assert ((found - targets) ** 2).sum() == pytest.approx(((expected - targets) ** 2).sum())


def solve_family_by_flow(parent: Ints, targets: Floats) -> float:
    """The least sum of squares over whole, non-decreasing children that add up to ``parent`` at every size.

    Groups enter at their size, choose a child, and move on along the sizes: the flow from size i to i + 1 of
    a child is its cumulative count, whose k-th group costs (k - f)^2 - (k - 1 - f)^2, in thousandths.
    """
    children, sizes = targets.shape
    flow = min_cost_flow.SimpleMinCostFlow()
    place = np.arange(children * sizes).reshape(children, sizes)
    entry, sink = children * sizes, children * sizes + sizes
    gained = np.diff(parent, prepend=0)
    for i in range(sizes):
        flow.set_node_supply(int(entry + i), int(gained[i]))
        for c in range(children):
            flow.add_arc_with_capacity_and_unit_cost(int(entry + i), int(place[c, i]), int(gained[i]), 0)
            onward = int(place[c, i + 1]) if i + 1 < sizes else int(sink)
            for k in range(1, int(parent[-1]) + 1):
                cost = round(1000 * ((k - targets[c, i]) ** 2 - (k - 1 - targets[c, i]) ** 2))
                flow.add_arc_with_capacity_and_unit_cost(int(place[c, i]), onward, 1, cost)
    flow.set_node_supply(int(sink), -int(parent[-1]))
    assert flow.solve() == flow.OPTIMAL
    return flow.optimal_cost() / 1000 + float((targets**2).sum())


def test_rounding_one_family_is_near_the_best_and_within_one() -> None:
    """From the root down, size by size, is not the optimum of a family, but next to it."""
    excess, off = [], []
    for seed in range(80):
        rng = np.random.default_rng(seed)
        children, sizes = int(rng.integers(2, 6)), int(rng.integers(2, 7))
        true = np.cumsum(rng.random((children, sizes)) * rng.integers(0, 3, (children, sizes)), axis=1)
        root = true.sum(axis=0)
        total = round(float(root[-1]))
        inner = np.clip(np.floor(root + 0.5), 0, total).astype(np.int64)
        inner[-1] = total
        leaf = np.cumsum(hand_down(inner, np.ascontiguousarray(true.T), np.full(children, np.inf)), axis=0).T
        assert (leaf.sum(axis=0) == inner).all()
        assert (np.diff(leaf, axis=1, prepend=0) >= 0).all()
        best = solve_family_by_flow(inner, true)
        cost = float(((leaf - true) ** 2).sum())
        assert cost >= best - 0.01
        excess.append(cost - best)
        off.append(np.abs(leaf - true).max())
    assert np.mean(excess) < 0.05
    assert np.mean(np.array(off) < 1) > 0.95


def random_shape(seed: int) -> tt.Hierarchy:
    """Deep trees, chains of only children, ragged ones, and a root alone."""
    rng = np.random.default_rng(seed)
    kind = seed % 4
    if kind == 0:
        return random_hierarchy(rng, int(rng.integers(5, 9)), width=2)
    if kind == 1:
        return random_hierarchy(rng, int(rng.integers(1, 7)), width=1)
    return random_hierarchy(rng, int(rng.integers(1, 5)), width=4)


@settings(max_examples=1500)
@given(
    seed=st.integers(0, 10**6),
    low=st.integers(0, 2),
    width=st.integers(0, 9),
    largest=st.sampled_from([0, 1, 9, 10**8]),
    epsilon=st.sampled_from(["0.001", "0.1", "1", "50"]),
    known=st.booleans(),
    smooth=st.booleans(),
)
@example(seed=370, low=0, width=7, largest=1, epsilon="0.001", known=False, smooth=False)  # singular once
def test_any_tree_keeps_all_conditions(
    seed: int, low: int, width: int, largest: int, epsilon: str, known: bool, smooth: bool
) -> None:
    h = random_shape(seed)
    rng = np.random.default_rng(seed)
    leaf = rng.integers(0, largest + 1, (len(h.leaves), width + 1))
    leaf[rng.random(len(leaf)) < 0.3] = 0
    counts = tt.GroupCounts(h, (low, low + width), leaf)
    level = h.levels[int(rng.integers(len(h.levels)))] if known else None
    mechanism = tt.mechanism("cumulative-joint", smooth=smooth)
    run = tt.simulate(counts, epsilon=epsilon, mechanism=mechanism, seed=seed, public_totals=level)
    for check in verify_counts(h, counts.sizes, run.counts, counts.total):
        assert check.passed, check
    if level is not None:
        for at in range(h.index(level) + 1):
            np.testing.assert_array_equal(run.counts[at].sum(axis=1), counts.array(at).sum(axis=1))
    accuracy = run.solution.accuracy
    assert accuracy is not None
    assert accuracy.gap <= 1e-6
    if not smooth:  # the bound is for the noisy answers themselves: no whole counts are below it
        assert run.solution.objective >= accuracy.bound * (1 - 1e-6) - 1e-3


def test_cumulative_counts_are_far_better_than_differences_give() -> None:
    """What the mechanism is for: errors of cumulative counts that do not add up along the sizes."""
    rng = np.random.default_rng(1)
    h = tt.Hierarchy.from_paths(["a", "b"], [("r", str(i)) for i in range(30)])
    counts = tt.GroupCounts(h, (1, 300), rng.poisson(40 * np.exp(-np.arange(300) / 20), (30, 300)))
    emd = {
        name: np.mean(
            [
                tt.evaluate(tt.simulate(counts, epsilon=1, mechanism=name, seed=s), counts)["emd"].to_numpy()
                for s in range(3)
            ],
            axis=0,
        )
        for name in ("cumulative-dp", "cumulative-joint")
    }
    assert (emd["cumulative-joint"] * 3 < emd["cumulative-dp"]).all()


def test_smoothing_makes_leaves_more_accurate() -> None:
    rng = np.random.default_rng(2)
    h = tt.Hierarchy.from_paths(["a", "b"], [("r", str(i)) for i in range(20)])
    counts = tt.GroupCounts(h, (1, 1000), rng.poisson(30 * np.exp(-np.arange(1000) / 3), (20, 1000)))
    errors = {}
    for smooth in (True, False):
        mechanism = tt.mechanism("cumulative-joint", smooth=smooth)
        runs = [tt.simulate(counts, epsilon="1/5", mechanism=mechanism, seed=seed) for seed in range(10)]
        tables = [tt.evaluate(run, counts).to_pydict() for run in runs]
        errors[smooth] = [np.mean([table[error][1] for table in tables]) for error in ("l1", "emd")]
    assert errors[True][0] < 0.97 * errors[False][0]
    assert errors[True][1] < 0.97 * errors[False][1]


def test_smooth_is_a_switch() -> None:
    with pytest.raises(MechanismError, match="must be True or False"):
        tt.mechanism("cumulative-joint", smooth="yes")


@pytest.mark.parametrize("smooth", [False, True])
def test_the_objective_weighs_every_level_by_its_own_noise(smooth: bool) -> None:
    rng = np.random.default_rng(5)
    hierarchy = random_hierarchy(rng, 4)
    counts = tt.GroupCounts(hierarchy, (1, 6), rng.integers(0, 40, (hierarchy.leaf_count, 6)))
    method = tt.mechanism("cumulative-joint", smooth=smooth)
    budget = {name: 1 + 2 * level for level, name in enumerate(hierarchy.levels)}
    plan = method.plan(hierarchy, sizes=counts.sizes, epsilon="1", budget=budget)
    noisy = tt.Measurements(
        plan, [answer + rng.integers(-9, 9, answer.shape) for answer in plan.answers(counts)]
    )
    solution = method.postprocess(noisy, total=counts.total)
    weights = weigh_levels(plan.scales)
    assert len(set(weights.tolist())) == len(hierarchy.levels) > 2
    assert solution.objective == sum(
        int(weight) * int(((np.cumsum(found, axis=1) - values) ** 2).sum())
        for weight, found, values in zip(weights, solution.counts, noisy.values, strict=True)
    )
