"""The chain mechanism: the paper's worked example, enumeration, and its real privacy loss."""

from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np
import numpy.typing as npt
import pytest

import tallytree as tt
from tallytree.errors import MechanismError
from tallytree.mechanisms.cumulative_chain import CumulativeChain
from tallytree.postprocess.chain_tables import build_tables, list_chain, trace_back
from tallytree.postprocess.isotonic import fit_large
from tallytree.privacy.neighbours import enumerate_additions
from tests import naive
from tests.instances import random_hierarchy

Ints = npt.NDArray[np.int64]


def test_the_papers_table_number_by_number() -> None:
    """Table "Tch": groups of size 1, noisy cumulative counts 3 (GA), 3 (NY) and 2 (US)."""
    levels = [1, 1, 0]
    tables = build_tables([3, 3, 2], levels, [1, 1, 1], [3, 3, 3])
    assert all(table.low == 0 for table in tables)
    assert tables[0].costs[:5].tolist() == [9, 4, 1, 0, 1]
    assert tables[1].costs[:5].tolist() == [9 + 9, 4 + 4, 1 + 1, 0 + 0, 1 + 0]
    assert tables[2].costs[:5].tolist() == [4 + 18, 1 + 8, 0 + 2, 1 + 0, 4 + 1]
    assert trace_back(tables, levels, 3) == [3, 3, 3]  # the starred entries


def test_the_chain_of_the_running_example() -> None:
    h = tt.Hierarchy.from_paths(["nation", "state"], [("US", "GA"), ("US", "NY")])
    assert list_chain(h) == [(1, 0), (1, 1), (0, 0)]  # GA, NY, US
    counts = tt.GroupCounts(h, (1, 3), [[2, 0, 1], [1, 1, 1]])
    plan = tt.mechanism("cumulative-chain").plan(h, sizes=(1, 3), epsilon=1)
    nation, state = plan.answers(counts)
    assert nation.tolist() == [[3, 4, 6]]
    assert state.tolist() == [[2, 3, 5], [3, 4, 6]]
    assert [level.sensitivity for level in plan.levels] == [1, 2]


def best_by_enumeration(h: tt.Hierarchy, noisy: list[Ints], weights: list[int], total: int) -> int:
    """The least cost over all non-decreasing chains that end at the total."""
    leaves, sizes = len(h.leaves), noisy[0].shape[1]
    best = None
    for steps in combinations_with_replacement(range(total + 1), leaves * sizes - 1):
        chain = np.array([*steps, total]).reshape(sizes, leaves)
        cost = sum(
            weight * int(((chain[:, h.last_leaves(level)].T - noisy[level]) ** 2).sum())
            for level, weight in enumerate(weights)
        )
        best = cost if best is None else min(best, cost)
    assert best is not None
    return best


@pytest.mark.parametrize("seed", range(150))
def test_isotonic_fit_tables_and_enumeration_have_the_same_objective(seed: int) -> None:
    rng = np.random.default_rng(seed)
    h = random_hierarchy(rng, int(rng.integers(1, 4)), width=2)
    sizes = 1 if len(h.leaves) > 2 else 2
    budget = {name: int(rng.integers(1, 4)) for name in h.levels} if seed % 2 else None
    published = {"calibration": "published"} if seed % 3 else {}
    fast = tt.mechanism("cumulative-chain", **published)
    slow = tt.mechanism("cumulative-chain", solver="tables", **published)
    plan = fast.plan(h, sizes=(1, sizes), epsilon=len(h.levels), budget=budget)
    total = int(rng.integers(0, 6))
    noisy = [rng.integers(-3, total + 4, plan.shape(level)) for level in range(len(h.levels))]
    measured = tt.Measurements(plan, noisy)
    solutions = [mechanism.postprocess(measured, total=total) for mechanism in (fast, slow)]
    scales = [level.scale for level in plan.levels]
    ratios = [(max(scales) / scale) ** 2 for scale in scales]
    common = int(np.lcm.reduce([ratio.denominator for ratio in ratios]))
    weights = [int(ratio * common) for ratio in ratios]
    weights = [weight // int(np.gcd.reduce(weights)) for weight in weights]
    for solution in solutions:
        leaf = naive.leaf_counts(h, solution.counts)
        for found, expected in zip(solution.counts, naive.sum_up(h, leaf), strict=True):
            np.testing.assert_array_equal(found, expected)
        assert leaf.min() >= 0
        assert leaf.sum() == total
    assert solutions[0].objective == solutions[1].objective
    if len(h.leaves) * sizes <= 5:
        assert solutions[0].objective == best_by_enumeration(h, noisy, weights, total)


@pytest.mark.parametrize("regions", [1, 3, 8])
def test_the_published_chain_loses_what_its_plan_says(regions: int) -> None:
    h = tt.Hierarchy.from_paths(["nation", "state"], [("US", f"{i}") for i in range(regions)])
    counts = tt.GroupCounts(h, (1, 3), np.ones((regions, 3), dtype=np.int64))
    plan = CumulativeChain(calibration="published").plan(h, sizes=(1, 3), epsilon="1/2")
    assert [level.scale for level in plan.levels] == [4, 4]  # L / epsilon, as the paper has it
    assert plan.epsilon == Fraction(1 + regions, 2) / 2  # (regions of all levels) / L times epsilon
    here = plan.answers(counts)
    loss = max(
        sum(
            (int(np.abs(a - b).sum()) / level.scale)
            for a, b, level in zip(here, plan.answers(other), plan.levels, strict=True)
        )
        for other in enumerate_additions(counts)
    )
    assert loss == plan.epsilon


def test_the_published_chain_cannot_make_a_release() -> None:
    h = tt.Hierarchy.from_paths(["root"], [("r",)])
    counts = tt.GroupCounts(h, (1, 3), [[1, 2, 3]])
    published = tt.mechanism("cumulative-chain", calibration="published")
    with pytest.raises(MechanismError, match="cannot make a release"):
        tt.release(counts, epsilon=1, mechanism=published)
    assert tt.simulate(counts, epsilon=1, mechanism=published, seed=1).counts[0].sum() == 6
    with pytest.raises(MechanismError, match="no calibration 'publishd': did you mean 'published'"):
        tt.mechanism("cumulative-chain", calibration="publishd")


def test_tables_too_large_for_the_machine_are_refused() -> None:
    h = tt.Hierarchy.from_paths(["root"], [("r",)])
    tables = tt.mechanism("cumulative-chain", solver="tables")
    wide = tables.plan(h, sizes=(1, 1000), epsilon="0.0001")
    with pytest.raises(MechanismError, match="same optimum"):
        tables.postprocess(tt.Measurements(wide, [np.zeros((1, 1000), dtype=np.int64)]), total=5)


def test_counts_that_64_bits_cannot_add_up_are_fitted_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    h = tt.Hierarchy.from_paths(["nation", "state"], [("US", f"{i}") for i in range(8)])
    chain = tt.mechanism("cumulative-chain")
    plan = chain.plan(h, sizes=(1, 2**17), epsilon=1)
    slow: list[int] = []

    def fit_slowly(sums: list[int], weights: list[int], low: int, high: int) -> list[int]:
        slow.append(len(sums))
        return fit_large(sums, weights, low, high)

    monkeypatch.setattr("tallytree.postprocess.isotonic.fit_large", fit_slowly)
    rng = np.random.default_rng(3)
    noisy = [2**39 - rng.integers(0, 1000, plan.shape(level)) for level in range(2)]
    solution = chain.postprocess(tt.Measurements(plan, noisy), total=2**39)
    assert solution.counts[0].sum() == solution.counts[1].sum() == 2**39
    assert all(counts.min() >= 0 for counts in solution.counts)
    # Moving everything down together moves the fit with it.
    low = chain.postprocess(tt.Measurements(plan, [n - 2**39 + 2000 for n in noisy]), total=2000)
    assert low.objective == solution.objective
    assert slow == [8 * 2**17 - 1]  # the first only
