"""Kuo et al.'s post-processing against a plain version of it, and against what it promises."""

from fractions import Fraction
from math import floor

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

import tallytree as tt
from tallytree.errors import MechanismError
from tallytree.solvers.isotonic import fit_medians_rows
from tallytree.solvers.matching import make_runs, merge_children
from tests.instances import random_hierarchy

Ints = npt.NDArray[np.int64]
Run = tuple[int, Fraction, Fraction]  # groups, size, precision


@given(
    row=st.lists(st.integers(-8, 8), min_size=1, max_size=9),
    low=st.integers(-4, 4),
    width=st.integers(0, 8),
)
def test_pooled_medians_are_nearest_in_the_sum_of_distances(row: list[int], low: int, width: int) -> None:
    high = low + width
    fitted = fit_medians_rows(np.array([row, row[::-1]]), low, high)
    for found, noisy in zip(fitted.tolist(), (row, row[::-1]), strict=True):
        assert found == sorted(found)
        assert low <= found[0]
        assert found[-1] <= high
        # By dynamic programming over the last value: some optimum has values among the given ones.
        cost = dict.fromkeys(range(low, high + 1), 0)
        for value in noisy:
            cheapest = [min(cost[last] for last in range(low, x + 1)) for x in range(low, high + 1)]
            cost = {x: cheapest[x - low] + abs(x - value) for x in range(low, high + 1)}
        assert sum(abs(a - b) for a, b in zip(found, noisy, strict=True)) == min(cost.values())


def merge_plainly(parent: list[Run], children: list[list[int]], weight: Fraction) -> list[list[Run]]:
    """Match in order of size, sharing each of the parent's runs in proportion; merge by precision."""
    merged: list[list[Run]] = [[] for _ in children]
    queue = list(parent)
    for size in range(len(children[0])):
        left = [child[size] for child in children]
        while sum(left):
            groups, parent_size, parent_precision = queue.pop(0)
            given = min(groups, sum(left))
            if groups > given:
                queue.insert(0, (groups - given, parent_size, parent_precision))
            of = sum(left)
            for c, wanted in enumerate(left.copy()):
                share = floor(Fraction(given * wanted, of) + Fraction(1, 2)) if of else 0
                share = max(min(share, wanted, given), given - (of - wanted))
                given, of, left[c] = given - share, of - wanted, wanted - share
                own = weight * children[c][size]
                precision = parent_precision + own
                if share:
                    merged[c].append(
                        (share, (parent_precision * parent_size + own * size) / precision, precision)
                    )
    return [sorted(runs, key=lambda run: run[1]) for runs in merged]


def count_plainly(runs: list[Run], sizes: int) -> list[int]:
    counts = [0] * sizes
    for groups, size, _ in runs:
        counts[floor(size + Fraction(1, 2))] += groups
    return counts


def fit_plainly(noisy: list[int], total: int, norm: str) -> list[int]:
    if norm == "l1":
        fitted = fit_medians_rows(np.array([noisy]), 0, 10**6)[0].tolist()
    else:
        n = len(noisy)
        mean = {(i, j): Fraction(sum(noisy[i : j + 1]), j - i + 1) for i in range(n) for j in range(i, n)}
        best = [max(min(mean[i, j] for j in range(k, n)) for i in range(k + 1)) for k in range(n)]
        fitted = [max(0, floor(value + Fraction(1, 2))) for value in best]
    ends = [min(value, total) for value in fitted[:-1]] + [total]
    return [b - a for a, b in zip([0, *ends], ends, strict=False)]


@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("seed", range(60))
def test_the_whole_mechanism_equals_its_plain_version(seed: int, norm: str) -> None:
    rng = np.random.default_rng(seed)
    hierarchy = random_hierarchy(rng, int(rng.integers(1, 5)))
    sizes = (int(rng.integers(0, 2)), int(rng.integers(2, 8)))
    width = sizes[1] - sizes[0] + 1
    counts = tt.GroupCounts(hierarchy, sizes, rng.integers(0, 12, (len(hierarchy.leaves), width)))
    budget = {name: int(rng.integers(1, 4)) for name in hierarchy.levels}
    run = tt.simulate(
        counts, epsilon="1/2", mechanism=tt.mechanism("count-of-counts", norm=norm), seed=seed, budget=budget
    )
    values, plan = run.measurements.values, run.measurements.plan
    weights = [1 / level.scale**2 for level in plan.levels]
    own = [
        [
            fit_plainly(noisy, int(total), norm)
            for noisy, total in zip(level.tolist(), counts.array(at).sum(axis=1), strict=True)
        ]
        for at, level in enumerate(values)
    ]
    runs: list[list[list[Run]]] = [
        [[(k, Fraction(s), weights[0] * k) for s, k in enumerate(own[0][0]) if k]],
    ]
    for level in range(1, len(values)):
        here: dict[int, list[Run]] = {}
        for parent, parent_runs in enumerate(runs[-1]):
            family = np.flatnonzero(hierarchy.parents(level) == parent).tolist()
            if family:
                merged = merge_plainly(parent_runs, [own[level][c] for c in family], weights[level])
                here |= dict(zip(family, merged, strict=True))
        runs.append([here[child] for child in range(len(here))])
    for place, index in zip(*hierarchy.leaf_places, strict=True):
        expected = count_plainly(runs[place][index], width)
        assert run.counts[place][index].tolist() == expected
    off = [np.cumsum(n, axis=1) - t for n, t in zip(run.counts, values, strict=True)]
    distances = [np.abs(level) if norm == "l1" else level**2 for level in off]
    assert run.solution.objective == sum(int(level.sum()) for level in distances)


@given(
    children=st.lists(st.lists(st.integers(0, 3), min_size=4, max_size=4), min_size=1, max_size=4).filter(
        lambda rows: sum(map(sum, rows)) > 0
    ),
    seed=st.integers(0, 10**6),
)
def test_the_matching_is_the_cheapest(children: list[list[int]], seed: int) -> None:
    counts = np.array(children)
    rng = np.random.default_rng(seed)
    parent_sizes = np.sort(rng.integers(0, 4, counts.sum()))
    parent = make_runs(np.bincount(parent_sizes, minlength=4), 1)
    # Only the parent's sizes are left if the children's own weigh nothing.
    merged = merge_children(parent, counts, 0)
    cost = 0.0
    for child, runs in enumerate(merged):
        assert runs.groups.sum() == counts[child].sum()
        mine = np.repeat(np.arange(4), counts[child])
        cost += np.abs(np.repeat(runs.size, runs.groups) - mine).sum()
    theirs = np.concatenate([np.repeat(np.arange(4), row) for row in counts])
    pairs = np.abs(parent_sizes[:, None] - theirs[None, :])
    assert cost == pytest.approx(pairs[linear_sum_assignment(pairs)].sum())


def make_counts(seed: int) -> tt.GroupCounts:
    rng = np.random.default_rng(seed)
    hierarchy = random_hierarchy(rng, 3)
    return tt.GroupCounts(hierarchy, (1, 6), rng.integers(0, 50, (len(hierarchy.leaves), 6)))


@pytest.mark.parametrize("seed", range(20))
def test_every_region_keeps_its_public_number_of_groups(seed: int) -> None:
    counts = make_counts(seed)
    release = tt.release(counts, epsilon="1/10", mechanism="count-of-counts")
    assert release.verify()
    assert "region totals" in [check.name for check in release.verify().checks]
    for level, found in enumerate(release.counts):
        np.testing.assert_array_equal(found.sum(axis=1), counts.array(level).sum(axis=1))
    deepest = counts.hierarchy.levels[-1]
    assert release.manifest["privacy"]["public_totals"] == deepest
    assert any(deepest in fact for fact in release.manifest["privacy"]["public"])


def test_totals_that_do_not_add_up_are_made_to() -> None:
    counts = make_counts(4)
    mechanism = tt.mechanism("count-of-counts")
    plan = mechanism.plan(counts.hierarchy, sizes=counts.sizes, epsilon=1)
    rng = np.random.default_rng(0)
    noisy = [answer + rng.integers(-9, 10, answer.shape) for answer in plan.answers(counts)]
    solution = mechanism.postprocess(tt.Measurements(plan, noisy), total=counts.total)
    assert solution.counts[0].sum() == counts.total


def test_it_needs_the_totals_of_all_regions() -> None:
    counts = make_counts(1)
    with pytest.raises(MechanismError, match="down to level"):
        tt.simulate(counts, epsilon=1, mechanism="count-of-counts", seed=1, public_totals="level 0")
    with pytest.raises(MechanismError, match="There is no norm 'l3'"):
        tt.mechanism("count-of-counts", norm="l3")


def test_a_mechanism_without_region_totals_refuses_them() -> None:
    with pytest.raises(MechanismError, match="cannot keep public totals"):
        tt.simulate(make_counts(1), epsilon=1, mechanism="direct-dp", seed=1, public_totals="level 1")
