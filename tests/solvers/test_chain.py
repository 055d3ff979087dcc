"""The chain mechanism: the paper's worked example, enumeration, and its real privacy loss."""

from contextlib import nullcontext
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tallytree as tt
from tallytree.arrays import MAX_CELLS, MAX_CHAIN_WEIGHT_SUM, MAX_GROUPS, MAX_MEASURED, LevelArrays
from tallytree.errors import MechanismError
from tallytree.mechanisms.cumulative_chain import CumulativeChain
from tallytree.privacy.neighbours import enumerate_additions
from tallytree.solvers.chain import build_tables, list_chain, solve_chain_model, trace_back
from tallytree.solvers.solution import weigh_levels
from tests import naive
from tests.instances import Instance, random_hierarchy

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
    weights = Instance(h, measured, total, []).weights
    for solution in solutions:
        naive.check_feasible(h, solution.counts, total)
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


FINE = Fraction(46340)
"""Next to a level with scale 1, one with this scale makes the weights 46340^2, just below 2^31, and 1."""


def some_scales(rng: np.random.Generator, levels: int) -> list[Fraction]:
    """Weights that add up to about 2^31 (in any order), or few."""
    return [Fraction(int(rng.choice([1, 2, 3, 1000, 46340]))) for _ in range(levels)]


def check_against_twin(
    h: tt.Hierarchy, noisy: list[Ints], scales: list[Fraction], total: int
) -> tuple[list[Ints], int]:
    weights = weigh_levels(scales, most=MAX_CHAIN_WEIGHT_SUM)
    assert sum(weights.tolist()) <= MAX_CHAIN_WEIGHT_SUM
    solution = solve_chain_model(h, noisy, total=total, scales=scales)
    counts, objective = naive.fit_chain(h, noisy, weights.tolist(), total)
    for found, expected in zip(solution.counts, counts, strict=True):
        np.testing.assert_array_equal(found, expected)
    assert solution.objective == objective
    return counts, objective


@given(
    seed=st.integers(0, 10**9),
    sizes=st.integers(1, 40),
    spread=st.sampled_from([0, 2, 1000, 2**20, 2**31, MAX_MEASURED]),
    processors=st.integers(1, 5),
)
def test_the_chain_equals_its_twin_in_pythons_numbers(
    seed: int, sizes: int, spread: int, processors: int
) -> None:
    rng = np.random.default_rng(seed)
    h = random_hierarchy(rng, int(rng.integers(1, 5)))
    total = int(rng.choice([0, 7, 10**6, MAX_GROUPS]))
    centre = np.linspace(0, total, sizes).astype(np.int64)
    noisy = [
        np.clip(
            centre + rng.integers(-spread, spread + 1, (len(h.regions(level)), sizes)),
            -MAX_MEASURED,
            MAX_MEASURED,
        )
        for level in range(len(h.levels))
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tallytree.kernels.count_processors", lambda: processors)
        check_against_twin(h, noisy, some_scales(rng, len(h.levels)), total)


@pytest.mark.parametrize("seed", range(20))
def test_the_farthest_answers_are_fitted_exactly(seed: int) -> None:
    """All at one limit or the other: the objective goes beyond 2^100."""
    rng = np.random.default_rng(seed)
    h = random_hierarchy(rng, 3)
    noisy = [
        rng.choice([-MAX_MEASURED, MAX_MEASURED], (len(h.regions(level)), 30))
        for level in range(len(h.levels))
    ]
    scales = [Fraction(1), FINE, FINE][: len(h.levels)]
    _, objective = check_against_twin(h, noisy, scales if seed % 2 else scales[::-1], MAX_GROUPS)
    assert objective > 2**100


@pytest.mark.parametrize("budget", [None, {"n": 1000, "s": 1}, {"n": 1, "s": 1000}])
@pytest.mark.parametrize("calibration", ["sound", "published"])
@pytest.mark.parametrize("groups", [12 * 10**9, MAX_GROUPS])
def test_without_noise_the_truth_comes_back_at_the_limits(
    budget: dict[str, int] | None, calibration: str, groups: int
) -> None:
    h = tt.Hierarchy.from_paths(["n", "s"], [("n", f"s{i}") for i in range(40)])
    leaf = np.full((40, 3), groups // 120)
    leaf[0, 0] += groups - leaf.sum()
    counts = tt.GroupCounts(h, (1, 3), leaf)
    chain = tt.mechanism("cumulative-chain", calibration=calibration)
    plan = chain.plan(h, sizes=(1, 3), epsilon=1, budget=budget)
    solution = chain.postprocess(tt.Measurements(plan, plan.answers(counts)), total=groups)
    assert solution.objective == 0
    for level, found in enumerate(solution.counts):
        np.testing.assert_array_equal(found, counts.array(level))


def test_the_weights_of_a_chain_stay_within_what_blocks_can_hold() -> None:
    """Each level's weight times its cells, added up: what ``blocks`` asks for."""
    assert MAX_CHAIN_WEIGHT_SUM * MAX_CELLS <= 2**62
    assert max(MAX_GROUPS, MAX_MEASURED) <= 2**39
    for scales in ([Fraction(1), FINE * 7], [Fraction(1, 3**30), Fraction(1)], [Fraction(2**32)] * 9):
        assert sum(weigh_levels(scales, most=MAX_CHAIN_WEIGHT_SUM).tolist()) <= MAX_CHAIN_WEIGHT_SUM


def test_counts_that_64_bits_cannot_add_up_are_fitted_all_the_same() -> None:
    h = tt.Hierarchy.from_paths(["nation", "state"], [("US", f"{i}") for i in range(8)])
    chain = tt.mechanism("cumulative-chain")
    plan = chain.plan(h, sizes=(1, 2**17), epsilon=1)
    rng = np.random.default_rng(3)
    noisy = [2**39 - rng.integers(0, 1000, plan.shape(level)) for level in range(2)]
    solution = chain.postprocess(tt.Measurements(plan, noisy), total=2**39)
    assert solution.counts[0].sum() == solution.counts[1].sum() == 2**39
    assert all(counts.min() >= 0 for counts in solution.counts)
    # Moving everything down together moves the fit with it.
    low = chain.postprocess(tt.Measurements(plan, [n - 2**39 + 2000 for n in noisy]), total=2000)
    assert low.objective == solution.objective


def test_a_level_that_is_kept_in_less_room_is_written_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    h = random_hierarchy(np.random.default_rng(5), 3)
    rng = np.random.default_rng(6)
    noisy = [rng.integers(-9, 99, (regions, 40)) for regions in h.region_counts]
    scales = [Fraction(regions) for regions in h.region_counts]
    expected = solve_chain_model(h, noisy, total=70, scales=scales)
    asked = []
    get = LevelArrays.__getitem__

    def count(arrays: LevelArrays, level: Any) -> Any:
        asked.append(level)
        return get(arrays, level)

    monkeypatch.setattr(LevelArrays, "__getitem__", count)
    small = LevelArrays([level.astype(np.int32) for level in noisy])
    found = solve_chain_model(h, small, total=70, scales=scales)
    assert [asked.count(level) for level in range(len(noisy))] == [1] * len(noisy)
    assert found.objective == expected.objective
    for a, b in zip(found.counts, expected.counts, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    ("noisy", "heights"),
    [
        ([90, 90, 0], 60),  # at 48, twice the paper's delta four times, the last could only rise to 48
        ([100, 10, 10], 40),  # there the first could only fall to 52
        ([49, -30, -30], 0),  # and here to 1
        ([48, -30, -30], 0),  # to 0, where it stays for good
    ],
)
def test_domains_are_widened_for_every_value_at_an_end(noisy: list[int], heights: int) -> None:
    h = tt.Hierarchy.from_paths(["root"], [("r",)])
    slow = tt.mechanism("cumulative-chain", solver="tables")
    plan = slow.plan(h, sizes=(1, 4), epsilon=10)  # scale 1/10: the paper's delta is 3
    solution = slow.postprocess(tt.Measurements(plan, [np.array([[*noisy, 200]])]), total=200)
    assert solution.counts[0].tolist() == [[heights, 0, 0, 200 - heights]]
    assert solution.objective == sum((t - heights) ** 2 for t in noisy)
    assert solution.effort == {"domain_doublings": 4 if noisy[0] == 48 else 5}


def test_tables_have_as_many_entries_as_the_machine_has_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    h = tt.Hierarchy.from_paths(["n", "s"], [("n", "a"), ("n", "b")])
    noisy = [np.array([[2, 6]]), np.array([[1, 4], [2, 6]])]
    entries = 2 * (2 * 3 + 1) + 4 * (2 * 6 + 1)  # the root's two sizes, and the leaves'
    for most, refused in ((entries, False), (entries - 1, True)):
        monkeypatch.setattr("tallytree.solvers.chain.MOST_ENTRIES", most)
        with pytest.raises(MechanismError, match=f"more than {most:,} entries") if refused else nullcontext():
            solve_chain_model(h, noisy, total=6, scales=[Fraction(1, 2), Fraction(1)], solver="tables")


def test_every_node_has_its_own_domain_and_weight() -> None:
    first, last = build_tables([30, 30], [1, 0], [2, 7], [3, 5])
    assert (first.low, first.high, last.low, last.high) == (27, 33, 25, 35)
    assert first.costs.tolist() == [2 * (v - 30) ** 2 for v in range(27, 34)]
    assert last.costs[2:9].tolist() == [9 * (v - 30) ** 2 for v in range(27, 34)]
