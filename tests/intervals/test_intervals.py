"""Intervals: pools of like cells, region summaries, unbiased estimates, and what they promise together."""

from __future__ import annotations

import json
import math
import os
import statistics
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pa_parquet
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import tallytree as tt
from tallytree.errors import FolderError, InputError, IntervalsError, MechanismError
from tallytree.intervals import pools
from tallytree.intervals.likely_ranges import Range, correct, find_likely
from tallytree.intervals.pools import (
    EDGES,
    LEAST_REACH,
    REACH,
    CellPool,
    SummaryPool,
    find_contexts,
    find_quantile,
    find_value_edges,
    find_windows,
    merge,
)
from tallytree.intervals.replicates import make_intervals
from tallytree.mechanisms.registry import find_mechanism
from tallytree.privacy.accuracy import find_count_deviation, find_variance
from tallytree.privacy.plan import LevelPlan, Plan
from tallytree.releases.interval_bounds import INTERVALS, SUMMARIES, check_intervals
from tallytree.releases.kept_replicates import FEWEST, LUMPY, ROUNDING, find_rank, find_reach
from tallytree.releases.release_columns import BOUNDS
from tallytree.releases.statistics import QUANTILES, list_statistics, summarize
from tallytree.solvers.unbiased import estimate_counts, estimate_size_sums
from tests.instances import random_hierarchy

Ints = npt.NDArray[np.int64]

Run = Callable[..., tuple[int, str, str]]

small_counts = st.integers(0, 2**32 - 1).map(
    lambda seed: np.random.default_rng(seed).integers(0, 4, (3, 12)) ** 3
)


@pytest.fixture(scope="module")
def counts() -> tt.GroupCounts:
    """Twelve states of many counties each, with sizes that thin out and a tail of a few large groups."""
    rng = np.random.default_rng(3)
    paths = [("N", f"s{state}", f"c{state}.{county}") for state in range(12) for county in range(20)]
    h = tt.Hierarchy.from_paths(["nation", "state", "county"], paths)
    scale = rng.lognormal(7, 1, (len(paths), 1))
    leaf = rng.poisson(scale * 0.5 ** np.arange(25))
    return tt.GroupCounts(h, (1, 25), leaf)


@pytest.fixture(scope="module")
def release(counts: tt.GroupCounts) -> tt.Release:
    return tt.add_intervals(tt.release(counts, epsilon="1"), replicates=10)


# The parts, each beside a slow twin.


@given(small_counts)
def test_contexts_are_means_of_the_cells_around(counts: Ints) -> None:
    found = find_contexts(counts, find_windows(counts.shape[1]))
    for (region, size), context in np.ndenumerate(found):
        reach = max(LEAST_REACH, int(REACH * size))
        low, high = max(0, size - reach), min(counts.shape[1], size + reach + 1)
        around = [int(counts[region, s]) for s in range(low, high) if s != size]
        mean = sum(around) / len(around)
        assert context == sum(edge < mean for edge in EDGES)


@given(st.lists(st.tuples(st.integers(-50, 50), st.integers(1, 9)), min_size=1), st.floats(0.01, 0.99))
def test_a_quantile_is_the_least_value_that_enough_do_not_exceed(
    pairs: list[tuple[int, int]], share: float
) -> None:
    values, times = (np.array(column) for column in zip(*pairs, strict=True))
    written_out = np.sort(np.repeat(values, times))
    found = find_quantile(values, times, share)
    below = (written_out <= found).sum()
    assert below >= share * len(written_out) - 1e-9
    assert (written_out < found).sum() < share * len(written_out) + 1e-9


@given(st.lists(st.integers(0, 300), min_size=6, max_size=40), st.integers(1, 3))
def test_merged_groups_are_a_partition_with_enough_in_each(pairs: list[int], rows: int) -> None:
    width = len(pairs)
    above = np.tile(pairs, rows)
    groups = merge(list(np.arange(rows * width).reshape(rows, width)), above)
    assert sorted(np.concatenate(groups).tolist()) == list(range(rows * width))
    full = [above[group].sum() >= pools.ENOUGH for group in groups]
    assert all(full) or len(groups) == 1


def test_value_classes_cover_all_small_counts() -> None:
    for limit in (0, 1, 5, 34, 1000):
        edges = find_value_edges(limit)
        assert edges[0] == 0
        assert edges[-1] > limit
        assert (np.diff(edges) > 0).all()


@given(small_counts.filter(lambda counts: counts.any()), st.integers(0, 3))
def test_statistics_are_those_of_the_groups_written_out(counts: Ints, low: int) -> None:
    sizes = (low, low + counts.shape[1] - 1)
    found = summarize(counts, sizes)
    for region, row in enumerate(counts):
        groups = np.repeat(np.arange(sizes[0], sizes[1] + 1), row)
        assert found[region, :2].tolist() == [len(groups), groups.sum()]
        if not len(groups):
            assert np.isnan(found[region, 2:]).all()
            continue
        assert found[region, 2] == pytest.approx(groups.mean())
        for place, share in enumerate(QUANTILES.values(), 3):
            least = next(s for s in groups if (groups <= s).sum() >= share * len(groups))
            assert found[region, place] == least


def random_measurements(seed: int, query: str, *, known: bool = False) -> tt.Measurements:
    rng = np.random.default_rng(seed)
    hierarchy = random_hierarchy(rng, 4)
    levels = tuple(
        LevelPlan(name, query, Fraction(2), Fraction(1), Fraction(int(rng.integers(1, 30)), 4))
        for name in hierarchy.levels
    )
    public = hierarchy.levels[int(rng.integers(len(hierarchy.levels)))] if known else None
    plan = Plan(hierarchy, (1, 3), tt.Bounds(), levels, public)
    leaf = rng.integers(0, 40, (hierarchy.leaf_count, 3))
    answers = plan.answers(tt.GroupCounts(hierarchy, (1, 3), leaf))
    values = []
    for level, answer in enumerate(answers):
        noise = rng.integers(-20, 21, answer.shape)
        if plan.has_public_totals(level):
            noise[:, -1] = 0
        values.append(answer + noise)
    return tt.Measurements(plan, values)


def solve_least_squares(
    measurements: tt.Measurements, size: int
) -> tuple[list[npt.NDArray[np.float64]], list[npt.NDArray[np.float64]]]:
    """The estimates of one answer in all regions and their variances, by one large linear system.

    What is known exactly is a constraint: the system is that of the Lagrangian.
    """
    plan, h = measurements.plan, measurements.plan.hierarchy
    places = [(level, region) for level in range(len(h.levels)) for region in range(h.region_counts[level])]
    paths = [h.regions(level)[region] for level, region in places]
    a = np.array([[float(leaf[: len(path)] == path) for leaf in h.leaves] for path in paths])
    measured = np.array([float(measurements.values[level][region, size]) for level, region in places])
    variance = np.array([find_variance(plan.levels[level]) for level, _ in places])
    exact = np.array([plan.has_public_totals(level) and size == 2 for level, _ in places])
    weights = np.where(exact, 0.0, 1 / variance)
    known = a[exact]
    system = np.block([[a.T @ (weights[:, None] * a), known.T], [known, np.zeros((len(known), len(known)))]])
    solve = np.linalg.pinv(system)[: a.shape[1]]
    best = solve @ np.concatenate([a.T @ (weights * measured), measured[exact]])
    moves = a @ solve[:, : a.shape[1]] @ (a.T * weights)
    cuts = np.cumsum(h.region_counts)[:-1]
    return np.split(a @ best, cuts), np.split(moves**2 @ variance, cuts)


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("seed", range(12))
def test_unbiased_estimates_are_the_least_squares_ones(seed: int, known: bool) -> None:
    measurements = random_measurements(seed, "cumulative", known=known)
    found, sums = estimate_counts(measurements), estimate_size_sums(measurements)
    answers = [solve_least_squares(measurements, size) for size in range(3)]
    for level in range(len(found)):
        value = np.stack([answers[size][0][level] for size in range(3)], axis=1)
        spread = np.stack([answers[size][1][level] for size in range(3)], axis=1)
        assert np.allclose(found[level].value, np.diff(value, axis=1, prepend=0), atol=1e-6)
        expected = spread + np.concatenate([np.zeros((len(spread), 1)), spread[:, :-1]], axis=1)
        assert np.allclose(found[level].variance, expected, atol=1e-6)
        # 1 n_1 + 2 n_2 + 3 n_3 = 3 c_3 - c_1 - c_2
        weights = np.array([-1, -1, 3])
        assert np.allclose(sums[level].value[:, 0], value @ weights, atol=1e-6)
        assert np.allclose(sums[level].variance[:, 0], spread @ weights**2, atol=1e-6)


@pytest.mark.parametrize("seed", range(6))
def test_unbiased_estimates_of_sizes_are_those_of_each_size(seed: int) -> None:
    measurements = random_measurements(seed, "sizes")
    found, sums = estimate_counts(measurements), estimate_size_sums(measurements)
    for size in range(3):
        values, spreads = solve_least_squares(measurements, size)
        for level in range(len(found)):
            assert np.allclose(found[level].value[:, size], values[level])
            assert np.allclose(found[level].variance[:, size], spreads[level])
    for level, summed in enumerate(sums):
        assert np.allclose(summed.value[:, 0], found[level].value @ [1, 2, 3])
        assert np.allclose(summed.variance[:, 0], found[level].variance @ [1, 4, 9])


def test_estimates_of_a_chain_are_refused() -> None:
    with pytest.raises(MechanismError, match="add up over regions"):
        estimate_counts(random_measurements(0, "chain"))


def test_the_variance_of_gaussian_noise_is_that_of_its_distribution() -> None:
    for sigma in (Fraction(1, 5), Fraction(7, 10), Fraction(3), Fraction(25)):
        level = LevelPlan("n", "sizes", Fraction(2), Fraction(1), sigma, "rho")
        k = np.arange(-2000, 2001)
        weights = np.exp(-(k**2) / (2 * float(sigma) ** 2))
        assert find_variance(level) == pytest.approx((k**2 * weights).sum() / weights.sum(), rel=1e-9)
        cumulative = LevelPlan("n", "cumulative", Fraction(2), Fraction(1), sigma, "rho")
        assert find_count_deviation(cumulative) ** 2 == pytest.approx(2 * find_variance(level))


# Pools: what goes in is known, so what must come out is too.


def test_large_counts_get_intervals_of_their_own_errors() -> None:
    rng = np.random.default_rng(1)
    spread = np.tile([5.0, 12.0], (400, 5))
    truth = rng.integers(10_000, 20_000, spread.shape)
    released = truth + np.rint(rng.normal(0, spread)).astype(np.int64)
    pool = CellPool(released, 5.0)
    for _ in range(50):
        pool.add(released, released + np.rint(rng.normal(0, spread)).astype(np.int64))
    found = pool.finish(SHARE)
    covered = (found.low <= truth) & (truth <= found.high)
    assert 0.87 < covered[:, ::2].mean() < 0.94
    assert 0.87 < covered[:, 1::2].mean() < 0.94
    assert np.allclose(found.error.mean(axis=0), spread[0], rtol=0.1)
    # A control: with half the width, intervals do not cover.
    middle, half = (found.low + found.high) / 2, (found.high - found.low) / 4
    assert (abs(truth - middle) <= half).mean() < 0.7


@given(small_counts, small_counts, st.floats(0.3, 3))
def test_replicates_are_sorted_into_pools_as_written_out(known: Ints, made: Ints, deviation: float) -> None:
    pool = CellPool(known, deviation)
    pool.add(known, made)
    limit = math.ceil(pools.LARGE * deviation)
    classes, contexts = find_value_edges(limit).tolist(), find_contexts(made, find_windows(made.shape[1]))
    zeros, pairs, large = Counter[int](), Counter[tuple[int, int]](), 0
    for place, count in np.ndenumerate(made):
        if count > limit:
            large += 1
            continue
        value = sum(edge <= count for edge in classes) - 1
        kind = value * (len(EDGES) + 1) + int(contexts[place])
        if known[place] == 0:
            zeros[kind] += 1
        else:
            pairs[kind, int(known[place] - count)] += 1
    found = pool._pool(np.arange(len(pool._sums.zeros)))
    assert {kind: times for kind, times in enumerate(pool._sums.zeros.tolist()) if times} == dict(zeros)
    assert found.above_zero == sum(pairs.values())
    for kind in range(len(pool._sums.zeros)):
        own = pool._pool(np.array([kind]))
        written = {distance: times for (at, distance), times in pairs.items() if at == kind}
        assert dict(zip(own.distance.tolist(), own.times.tolist(), strict=True)) == written
    assert pool._large == large
    assert (pool._sums.errors == made - known).all()
    assert (pool._sums.squares == (made - known) ** 2).all()


def test_a_known_bias_moves_the_interval_off_the_released_count() -> None:
    rng = np.random.default_rng(2)
    truth = rng.integers(10_000, 20_000, (300, 4))
    released = truth - 50 + rng.integers(-5, 6, truth.shape)
    pool = CellPool(released, 5.0)
    for _ in range(20):
        pool.add(released, released - 50 + rng.integers(-5, 6, truth.shape))
    found = pool.finish(SHARE)
    assert ((found.low <= truth) & (truth <= found.high)).mean() > 0.87
    assert (found.low > released).all()
    assert np.allclose(found.bias, -50, atol=5)


def test_the_errors_of_zeros_agree_with_their_intervals() -> None:
    """Most zeros are zero in all replicates: their errors are those of all zeros like them."""
    rng = np.random.default_rng(4)
    truth = rng.poisson([0.0, 0.0, 0.0, 0.4, 3.0, 0.0], (4000, 6))

    def change(counts: Ints) -> Ints:
        lower = np.maximum(counts - rng.integers(0, 3, counts.shape), 0)
        changed: Ints = np.where(rng.random(counts.shape) < 0.8, lower, counts)
        return changed

    released = change(truth)
    pool = CellPool(released, 1.0)
    for _ in range(10):
        pool.add(truth, change(truth))
    found = pool.finish(SHARE)
    zeros = released == 0
    assert ((found.error > 0) == (found.high > 0))[zeros].all()
    some = zeros & (found.high > 0)
    assert some.any()
    assert not some.all()
    wanted = np.sqrt((truth[some] ** 2).mean())
    assert np.sqrt((found.error[some].astype(float) ** 2).mean()) == pytest.approx(wanted, rel=0.1)


def test_counts_that_do_not_change_have_intervals_without_width() -> None:
    released = np.array([[0, 3, 100_000]] * 50)
    pool = CellPool(released, 1.0)
    for _ in range(10):
        pool.add(released, released)
    found = pool.finish(SHARE)
    assert (found.low == released).all()
    assert (found.high == released).all()


def test_zeros_among_zeros_stay_zero_and_zeros_among_others_do_not() -> None:
    rng = np.random.default_rng(4)
    near, far = rng.poisson(1.5, (2000, 10)), np.zeros((2000, 50), dtype=np.int64)
    truth = np.concatenate([near, far], axis=1)

    def mangle(counts: Ints) -> Ints:
        mangled: Ints = np.maximum(counts + rng.integers(-3, 4, counts.shape) * (counts > 0), 0)
        return mangled

    released = mangle(truth)
    pool = CellPool(released, 3.0)
    for _ in range(20):
        pool.add(released, mangle(released))
    found = pool.finish(SHARE)
    covered = (found.low <= truth) & (truth <= found.high)
    assert covered[truth > 0].mean() > 0.87
    assert (found.high[:, 20:] == 0).all()
    zeros = released[:, :10] == 0
    assert (found.high[:, :10][zeros] > 0).mean() > 0.9
    assert (found.low[:, :10][zeros] == 0).all()


SHARE = Fraction(9, 10)
TOLD = [statistic.name for statistic in list_statistics((1, 2))]


def pool_summaries(released: Ints, made: list[Ints]) -> SummaryPool:
    pool = SummaryPool(released, (1, released.shape[1]))
    for counts in made:
        pool.add(released, counts)
    return pool


def test_what_sums_up_a_region_gets_intervals_of_its_own_errors() -> None:
    rng = np.random.default_rng(6)
    truth = rng.integers(4000, 6000, (400, 6))

    def mangle(counts: Ints) -> Ints:
        mangled: Ints = counts + np.rint(rng.normal(0, 20, counts.shape)).astype(np.int64)
        return mangled

    released = mangle(truth)
    found = pool_summaries(released, [mangle(released) for _ in range(40)]).finish(SHARE)
    wanted = summarize(truth, (1, 6))
    for place in range(3):  # groups, the sum of sizes, their mean
        low, high = found.low[:, place], found.high[:, place]
        assert 0.86 < ((low <= wanted[:, place]) & (wanted[:, place] <= high)).mean() < 0.95
        # A control: with half the width, intervals do not cover.
        assert (abs(wanted[:, place] - (low + high) / 2) <= (high - low) / 4).mean() < 0.7
    assert (found.value == summarize(released, (1, 6))).all()


def test_intervals_of_quantiles_are_sizes() -> None:
    """Each replicate says one size less than it was made from, so the true median is one more."""
    sizes = np.arange(1, 6)
    released, made = (np.tile(1000 * (sizes == median), (4, 1)) for median in (3, 2))
    found = pool_summaries(released, [made] * 10).finish(SHARE)
    for place in map(TOLD.index, QUANTILES):
        assert found.low[:, place].tolist() == found.high[:, place].tolist() == [4] * 4


# Any number: the formula, beside a slow twin, and what it is for.


@given(
    st.floats(-100, 100),
    st.lists(st.one_of(st.floats(-50, 50), st.just(np.nan)), min_size=1, max_size=30),
    st.booleans(),
    st.sampled_from([(), (1, 5, 20, 80)]),
)
def test_a_likely_range_is_that_of_the_formula(
    value: float, errors: list[float], is_whole: bool, edges: tuple[int, ...]
) -> None:
    within = Range(-90, 90, is_whole, edges)
    found = find_likely(np.array([value]), np.array(errors)[:, None], SHARE, within)
    low, high, bias, spread = (float(each[0]) for each in found)
    seen = [each for each in errors if not np.isnan(each)]
    if len(seen) < FEWEST:
        assert (low, high) == (-90, 90)
        assert np.isnan([bias, spread]).all()
        return
    assert bias == pytest.approx(statistics.mean(seen), abs=1e-9)
    assert spread == pytest.approx(statistics.stdev(seen), abs=1e-9)
    taken = bias * (1 - (spread / bias) ** 2) if abs(bias) > spread else 0.0
    left = math.hypot(spread, bias - taken)
    reach = find_reach(SHARE, len(seen)) * left
    distances = sorted(abs(each - taken) for each in seen)
    assume(abs(statistics.median(distances) - LUMPY * left) > 1e-6 * left or left == 0)
    if statistics.median(distances) < LUMPY * left:
        rank = find_rank(SHARE, len(seen))
        first, second = distances[int(rank)], distances[min(int(rank) + 1, len(seen) - 1)]
        reach = max(reach, first + (rank - int(rank)) * (second - first))
    ends = [value - taken - reach, value - taken + reach]
    if is_whole:
        ends = [math.floor(ends[0] + ROUNDING), math.ceil(ends[1] - ROUNDING)]
    if edges:
        ends = [
            max((edge for edge in edges if edge <= ends[0]), default=edges[0]),
            min((edge for edge in edges if edge >= ends[1]), default=edges[-1]),
        ]
    wanted = [min(max(end, -90.0), 90.0) for end in ends]
    assert [low, high] == pytest.approx(wanted, abs=1e-6)


def test_a_number_that_is_not_there_has_no_range() -> None:
    found = find_likely(np.array([np.nan, 1.0]), np.zeros((9, 2)), SHARE, Range())
    assert [np.isnan(each).tolist() for each in found] == [[True, False]] * 4


@given(st.floats(-1e6, 1e6), st.floats(0, 1e6))
def test_only_what_exceeds_the_noise_is_taken_off(bias: float, spread: float) -> None:
    taken, left = correct(np.array(bias), np.array(spread))
    assert 0 <= float(np.sign(bias) * taken) <= abs(bias)
    assert float(taken) == 0 or abs(bias) > spread
    assert left >= spread
    assert left <= math.sqrt(2) * spread + 1e-9


def test_shrinking_twice_is_not_a_bias_of_the_truth() -> None:
    """Estimates that are pulled to the mean by half, as are those made again from what may be the truth.

    Taking off the whole bias of replicates is what the interval does not do: it would cover less.
    """
    rng = np.random.default_rng(8)
    truth = rng.normal(0, 1, 4000)
    released = (truth + rng.normal(0, 1, truth.shape)) / 2
    known = released + rng.normal(0, math.sqrt(0.5), (10, *truth.shape)).repeat(5, axis=0)
    errors = (known + rng.normal(0, 1, known.shape)) / 2 - known
    low, high, bias, spread = find_likely(released, errors, SHARE, Range())
    assert 0.87 < ((low <= truth) & (truth <= high)).mean() < 0.94
    reach = find_reach(SHARE, 50) * spread
    assert (abs(truth - (released - bias)) <= reach).mean() < 0.87


def test_errors_of_all_or_nothing_are_reached() -> None:
    """One release in six puts a huge group into the wrong half, and replicates do the same.

    Student's t reaches 70 % of the way, and would not cover those releases.
    """
    rng = np.random.default_rng(3)
    wrong = rng.random((21, 4000)) < 1 / 6
    errors = 5000.0 * np.where(wrong, rng.choice([-1, 1], wrong.shape), 0)
    low, high, _, spread = find_likely(errors[0], errors[1:], SHARE, Range())
    assert ((low <= 0) & (high >= 0)).mean() > 0.87
    assert (abs(errors[0]) <= find_reach(SHARE, 20) * spread).mean() < 0.86


@pytest.mark.parametrize(("low", "high"), [(3.0, 2.0), (-1.0, 2.0), (np.nan, 2.0), (1.0, np.inf)])
def test_a_summary_without_an_interval_is_found(release: tt.Release, low: float, high: float) -> None:
    assert release.intervals
    assert check_intervals(release.intervals).passed
    first, *others = release.intervals.summaries
    ends = first.low.copy(), first.high.copy()
    ends[0][0, 2], ends[1][0, 2] = low, high
    wrong = replace(first, low=ends[0], high=ends[1])
    check = check_intervals(replace(release.intervals, summaries=(wrong, *others)))
    assert check.violations == 1
    nothing = replace(wrong, value=np.full_like(first.value, np.nan))
    assert check_intervals(replace(release.intervals, summaries=(nothing, *others))).passed


# All of it.


@pytest.mark.parametrize("mechanism", ["direct-dp", "cumulative-dp", "cumulative-joint"])
def test_intervals_cover_what_they_promise(counts: tt.GroupCounts, mechanism: str) -> None:
    """`make coverage` measures this on the whole county table."""
    method = tt.mechanism(mechanism)
    covered: dict[tuple[int, str], list[npt.NDArray[np.bool_]]] = {}
    for seed in range(12):
        run = tt.simulate(counts, epsilon="1", mechanism=mechanism, seed=seed)
        found = make_intervals(method, run, replicates=10, seed=seed)
        for level, cells in enumerate(found.cells):
            truth = counts.array(level)
            inside = (cells.low <= truth) & (truth <= cells.high)
            well_above = truth > 8 * find_count_deviation(run.measurements.plan.levels[level])
            for name, which in (("all", truth >= 0), ("some", truth > 0), ("many", well_above)):
                covered.setdefault((level, name), []).append(inside[which])
            told = summarize(truth, counts.sizes)
            bounds = found.summaries[level]
            for place, name in enumerate(TOLD[:3]):  # these quantiles are all on the edge of two sizes
                held = (bounds.low <= told) & (told <= bounds.high)
                covered.setdefault((level, name), []).append(held[:, place])
            half = (cells.high - cells.low) // 4
            middle = (cells.high + cells.low) // 2
            covered.setdefault((level, "control"), []).append((abs(truth - middle) <= half)[well_above])
    for (level, name), parts in covered.items():
        share = np.concatenate(parts).mean()
        slack = 4 * np.sqrt(0.09 / sum(map(len, parts)))  # four deviations of a binomial
        if name == "control":
            assert share < 0.75, (level, name, share)
        elif name in TOLD:
            assert share > 0.85 - slack, (level, name, share)
        else:
            assert share > 0.87 - slack, (level, name, share)
        if name == "many":
            assert share < 0.94 + slack, (level, name, share)


def test_intervals_are_the_same_for_the_same_seed(release: tt.Release) -> None:
    same, other = (tt.add_intervals(release, replicates=10, seed=seed) for seed in (0, 1))
    assert release.intervals and same.intervals and other.intervals
    for level in range(3):
        assert (release.intervals.high[level] == same.intervals.high[level]).all()
    assert any((same.intervals.high[at] != other.intervals.high[at]).any() for at in range(3))


def test_adding_intervals_changes_nothing_else(release: tt.Release) -> None:
    assert release.verify().passed
    assert release.to_arrow().column_names[-6:] == ["groups", *BOUNDS, "flag"]
    table = release.to_arrow().to_pandas()
    assert (table.groups_low <= table.groups_high).all()
    assert table.groups.sum() == 3 * release.total


RELEASABLE = [name for name in tt.list_mechanisms() if not find_mechanism(name).obstacle]


@pytest.mark.parametrize("mechanism", [name for name in RELEASABLE if not find_mechanism(name).small])
@pytest.mark.parametrize("delta", [None, "1e-9"])
def test_every_kind_of_release_can_have_intervals(
    counts: tt.GroupCounts, mechanism: str, delta: str | None
) -> None:
    made = tt.add_intervals(tt.release(counts, epsilon="2", delta=delta, mechanism=mechanism), replicates=10)
    assert made.verify().passed


def test_public_totals_are_known_exactly(counts: tt.GroupCounts) -> None:
    made = tt.release(counts, epsilon="1", public_totals="state")
    found = tt.add_intervals(made, replicates=10).intervals
    assert found is not None
    states = found.summaries[1]
    assert (states.low[:, 0] == counts.array(1).sum(axis=1)).all()
    assert (states.high[:, 0] == states.low[:, 0]).all()
    assert (found.summaries[2].high[:, 0] > found.summaries[2].low[:, 0]).any()


# Files.


def test_intervals_survive_being_written_and_read(release: tt.Release, tmp_path: Path) -> None:
    release.save(tmp_path / "r", replicates=0)
    again = tt.load(tmp_path / "r")
    assert again.verify().passed
    assert again.intervals and release.intervals
    assert again.intervals.to_dict() == release.intervals.to_dict()
    for one, other in zip(release.intervals.cells, again.intervals.cells, strict=True):
        assert (one.low == other.low).all()
        assert (one.high == other.high).all()
        shown = (one.high > 0) | (one.low > 0)
        assert (one.bias[shown] == other.bias[shown]).all()
    for mine, theirs in zip(release.intervals.summaries, again.intervals.summaries, strict=True):
        for name in ("value", "low", "high", "bias", "error"):
            assert np.array_equal(getattr(mine, name), getattr(theirs, name), equal_nan=True)
    assert again.to_arrow().equals(release.to_arrow())


def test_intervals_can_be_added_to_a_folder(counts: tt.GroupCounts, tmp_path: Path) -> None:
    made = tt.release(counts, epsilon="1", mechanism="direct-dp")
    made.save(tmp_path / "r", replicates=0)
    before = (tmp_path / "r" / "release.parquet").read_bytes()
    tt.add_intervals(made, replicates=10).write_intervals(tmp_path / "r")
    assert tt.load(tmp_path / "r").verify().passed
    assert (tmp_path / "r" / "release.parquet").read_bytes() == before
    assert not list((tmp_path / "r").glob(".*"))
    with pytest.raises(FolderError, match="another release"):
        other = tt.release(counts, epsilon="1", mechanism="direct-dp")
        tt.add_intervals(other, replicates=10).write_intervals(tmp_path / "r")
    with pytest.raises(FolderError, match="another release"):
        made.write_intervals(tmp_path / "r")  # which has none


def test_intervals_are_on_the_disk_before_a_manifest_names_them(
    release: tt.Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else, when the power fails, files may be missing that it names, and nobody can read the release."""
    release.save(tmp_path / "r", replicates=0)
    named, flushed, sync, replace = list[set[str]](), set[str](), os.fsync, Path.replace

    def note_flush(handle: int) -> None:
        flushed.add(Path(f"/proc/self/fd/{handle}").resolve().name)
        sync(handle)

    def note_replace(stage: Path, target: Path) -> Path:
        if target.name == "manifest.json":
            assert stage.name in flushed
            named.append(set(json.loads(stage.read_bytes())["files"]) & {INTERVALS, SUMMARIES})
            assert named[-1] <= flushed
        else:
            flushed.discard(target.name)
        return replace(stage, target)

    monkeypatch.setattr(os, "fsync", note_flush)
    monkeypatch.setattr(Path, "replace", note_replace)
    tt.add_intervals(release, replicates=10, seed=1).write_intervals(tmp_path / "r")
    assert named == [set(), {INTERVALS, SUMMARIES}]


@pytest.mark.parametrize("name", [INTERVALS, SUMMARIES, "manifest.json"])
def test_making_intervals_anew_can_be_stopped_anywhere(
    release: tt.Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """What is left is a release without intervals, or with the old ones: never one that fails its checks."""
    release.save(tmp_path / "r", replicates=0)
    again = tt.add_intervals(release, replicates=10, seed=1)
    replace = Path.replace

    def stop(stage: Path, target: Path) -> Path:
        if Path(target).name == name:
            raise KeyboardInterrupt
        return replace(stage, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", stop)
        with pytest.raises(KeyboardInterrupt):
            again.write_intervals(tmp_path / "r")
    assert tt.load(tmp_path / "r").verify().passed
    again.write_intervals(tmp_path / "r")
    found = tt.load(tmp_path / "r")
    assert found.verify().passed
    assert found.intervals and found.intervals.seed == 1


@pytest.mark.parametrize("name", [INTERVALS, SUMMARIES])
def test_changed_intervals_are_found(release: tt.Release, tmp_path: Path, name: str) -> None:
    release.save(tmp_path / "r", replicates=0)
    table = pa_parquet.read_table(tmp_path / "r" / name)
    changed = table.set_column(
        table.num_columns - 2, table.column_names[-2], pa.chunked_array([np.zeros(table.num_rows)])
    )
    pa_parquet.write_table(changed, tmp_path / "r" / name)
    failed = [check.name for check in tt.load(tmp_path / "r").verify().checks if check.failed]
    assert failed == ["files"]


@pytest.mark.parametrize("name", [INTERVALS, SUMMARIES])
@pytest.mark.parametrize("damage", ["gone", "empty", "column", "rows", "regions"])
def test_damaged_intervals_are_refused(release: tt.Release, tmp_path: Path, name: str, damage: str) -> None:
    release.save(tmp_path / "r", replicates=0)
    path = tmp_path / "r" / name
    table = pa_parquet.read_table(path)
    if damage == "gone":
        path.unlink()
    elif damage == "empty":
        path.write_bytes(b"")
    elif damage == "column":
        pa_parquet.write_table(table.drop_columns([table.column_names[-1]]), path)
    elif damage == "rows":
        pa_parquet.write_table(pa.concat_tables([table, table.slice(0, 1)]), path)
    else:
        strangers = pa.array(["stranger"] * table.num_rows)
        pa_parquet.write_table(table.set_column(1, table.column_names[1], strangers), path)
    with pytest.raises(FolderError):
        tt.load(tmp_path / "r")


def test_ends_that_are_out_of_reach_are_refused(release: tt.Release, tmp_path: Path) -> None:
    release.save(tmp_path / "r", replicates=0)
    path = tmp_path / "r" / INTERVALS
    table = pa_parquet.read_table(path)
    for end in BOUNDS[:2]:
        far = pa.array([2**62] * table.num_rows)
        pa_parquet.write_table(table.set_column(table.column_names.index(end), end, far), path)
        with pytest.raises(FolderError, match="number beyond"):
            tt.load(tmp_path / "r")


@pytest.mark.parametrize(
    "stated",
    [
        {},
        {"coverage": "x"},
        {"coverage": "9/10", "replicates": "1", "seed": 0},
        {"coverage": "11/10", "replicates": 10, "seed": 0},
        {"coverage": 0.9, "replicates": 10, "seed": 0},
        {"coverage": "1e-999999999", "replicates": 10, "seed": 0},  # which would fill the memory
    ],
)
def test_a_manifest_that_misstates_intervals_is_refused(
    release: tt.Release, tmp_path: Path, stated: dict[str, object]
) -> None:
    release.save(tmp_path / "r", replicates=0)
    path = tmp_path / "r" / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["intervals"] = stated
    path.write_text(json.dumps(manifest))
    with pytest.raises(FolderError):
        tt.load(tmp_path / "r")


@pytest.mark.parametrize(
    "settings",
    [
        {"replicates": 9},
        {"replicates": 10_001},
        {"replicates": True},
        {"replicates": "50"},
        {"coverage": "0.4"},
        {"coverage": "1"},
        {"coverage": 0.9},
        {"seed": -1},
        {"seed": "0"},
    ],
)
def test_wrong_settings_are_refused(release: tt.Release, settings: dict[str, object]) -> None:
    with pytest.raises(InputError):
        tt.add_intervals(release, **settings)  # type: ignore[arg-type]


def test_only_releases_have_intervals(counts: tt.GroupCounts) -> None:
    with pytest.raises(IntervalsError, match="Release"):
        tt.add_intervals(counts)  # type: ignore[type-var]


# The command line.


def test_the_command_adds_intervals_and_says_how_wide(
    run: Run, counts: tt.GroupCounts, tmp_path: Path
) -> None:
    folder = tmp_path / "r"
    tt.release(counts, epsilon="1", mechanism="direct-dp").save(folder, replicates=0)
    code, out, err = run("intervals", str(folder), "--replicates", "10")
    assert (code, err) == (0, "")
    assert "90 % intervals" in out
    assert tt.load(folder).intervals is not None
    assert "90 %" in (folder / "report.html").read_text()
    code, out, _ = run("intervals", str(folder), "--replicates", "12", "--coverage", "0.8", "--json")
    assert json.loads(out)["intervals"]["coverage"] == "4/5"
    assert run("verify", str(folder))[0] == 0


def test_the_command_refuses_what_is_damaged(run: Run, release: tt.Release, tmp_path: Path) -> None:
    release.save(tmp_path / "r", replicates=0)
    table = pa_parquet.read_table(tmp_path / "r" / "release.parquet")
    pa_parquet.write_table(table.slice(1), tmp_path / "r" / "release.parquet")
    code, _, err = run("intervals", str(tmp_path / "r"))
    assert code == 2
    assert "fails its check" in err


def test_the_command_writes_unbiased_estimates(run: Run, release: tt.Release, tmp_path: Path) -> None:
    release.save(tmp_path / "r", replicates=0)
    for name in ("u.parquet", "u.csv"):
        code, out, err = run("unbiased", str(tmp_path / "r"), "--out", str(tmp_path / name))
        assert (code, err) == (0, "")
        assert name in out
    table = pa_parquet.read_table(tmp_path / "u.parquet").to_pandas()
    assert len(table) == 25 * (1 + 12 + 240)
    assert (table.variance > 0).all()
    assert (table.estimate < 0).any()
    code, _, err = run("unbiased", str(tmp_path / "r"), "--out", str(tmp_path / "no" / "u.csv"))
    assert code == 2
    assert "cannot be written" in err


@pytest.mark.parametrize(
    ("problem", "code"), [(KeyboardInterrupt, 130), (MemoryError, 0), (FolderError("full"), 0)]
)
def test_whatever_happens_to_intervals_a_release_is_not_lost(
    run: Run,
    counts: tt.GroupCounts,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    problem: BaseException,
    code: int,
) -> None:
    """The release has been paid for."""
    level = counts.hierarchy.levels
    rows = [
        {level[1]: path[1], level[2]: path[2], "size": size + 1, "groups": int(groups)}
        for path, row in zip(counts.hierarchy.leaves, counts.leaf, strict=True)
        for size, groups in enumerate(row)
    ]
    pa_parquet.write_table(pa.Table.from_pylist(rows), tmp_path / "counts.parquet")

    def fail(*args: object, **options: object) -> None:
        raise problem

    monkeypatch.setattr("tallytree.intervals.replicates.make_intervals", fail)
    words = ["release", str(tmp_path / "counts.parquet"), "--region", "state", "--region", "county"]
    words += ["--sizes", "1:25", "--epsilon", "1", "--out", str(tmp_path / "r")]
    found, _, err = run(*words)
    assert found == code
    assert "The release is complete without intervals" in err
    release = tt.load(tmp_path / "r")
    assert release.verify().passed
    assert release.intervals is None
    assert run(*words[:-1], str(tmp_path / "none"), "--replicates", "0")[::2] == (0, "")
    assert run(*words[:-1], str(tmp_path / "few"), "--replicates", "3")[0] == 2
    assert not (tmp_path / "few").exists()
