"""Estimates from the noisy answers of the selected regions alone, for releases too large for replicates."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tallytree as tt
from tallytree.errors import IntervalsError
from tallytree.intervals import own_answers
from tallytree.intervals.estimates import Estimate
from tallytree.intervals.own_answers import estimate_from_answers
from tallytree.intervals.region_sets import locate
from tallytree.intervals.selections import select
from tallytree.privacy.neighbours import TotalKind
from tallytree.releases.flags import LIMITS
from tests.commands import Run

COUNTIES: list[tuple[str, ...]] = [("N", state, f"{state}{county}") for state in "ABC" for county in range(4)]
TREE = tt.Hierarchy.from_paths(["nation", "state", "county"], COUNTIES)
MIXED = [("N", "A"), ("N", "B", "B1"), ("N", "B", "B2")]
STATISTICS = ("groups", "size_sum", "size_mean", "share")


def make_counts(seed: int, sizes: int) -> tt.GroupCounts:
    leaf = np.random.default_rng(seed).poisson(400 * 0.7 ** np.arange(sizes), (len(COUNTIES), sizes))
    return tt.GroupCounts(TREE, (1, sizes), leaf)


def simulate(name: str, seed: int, *, sizes: int = 6, total: TotalKind = "public") -> tt.Simulation:
    return tt.simulate(make_counts(seed, sizes), epsilon="1", mechanism=name, seed=seed, total=total)


def estimate(run: tt.Simulation, statistic: str, span: tuple[int | None, int | None] | None) -> Estimate:
    plan = run.measurements.plan
    selection = select(plan, locate(TREE, MIXED), sizes=span, statistic=statistic)
    return estimate_from_answers(
        selection, run.measurements, run.counts, coverage=Fraction(9, 10), flags=LIMITS
    )


def measure_plainly(run: tt.Simulation, span: tuple[int, int]) -> tuple[float, float, float]:
    """Groups in a range, their sum of sizes, and all groups: counts first, from each region's answers."""
    plan, low, high = run.measurements.plan, *span
    rows = []
    for path in MIXED:
        level = len(path) - 1
        answers = run.measurements.values[level][TREE.regions(level).index(path)].astype(float)
        if plan.levels[level].query == "cumulative":
            answers = np.diff(answers, prepend=0)
        elif plan.levels[level].query == "above":
            answers = -np.diff(answers, append=0)
        rows.append(answers)
    counts = np.sum(rows, axis=0)
    sizes = np.arange(1, len(counts) + 1)
    inside = (sizes >= low) & (sizes <= high)
    return counts[inside].sum(), (counts * sizes)[inside].sum(), counts.sum()


@settings(max_examples=40, deadline=None)
@given(
    name=st.sampled_from(["direct-dp", "cumulative-dp", "cumulative-joint"]),
    total=st.sampled_from(["public", "private"]),
    seed=st.integers(0, 1000),
    ends=st.tuples(st.integers(1, 6), st.integers(1, 6)),
)
def test_the_middle_is_what_the_answers_say(
    name: str, total: TotalKind, seed: int, ends: tuple[int, int]
) -> None:
    run, span = simulate(name, seed, total=total), (min(ends), max(ends))
    groups, size_sum, whole = measure_plainly(run, span)
    for statistic, wanted in (("groups", groups), ("size_sum", size_sum), ("share", groups / whole)):
        found = estimate(run, statistic, span)
        if found.exact:
            continue
        reach = 1.6449 * found.error
        assert found.low <= max(wanted - reach, 0) + 1e-6
        assert found.high >= min(wanted + reach, found.draws.range.most) - 1e-6
        assert found.high - found.low <= 2 * reach + 2 + 1e-6  # whole numbers are rounded outwards


def find_truth(counts: tt.GroupCounts, plan: tt.Plan, statistic: str) -> float:
    selection = select(plan, locate(TREE, MIXED), sizes=(2, 5), statistic=statistic)
    return float(selection.find(selection.add_up([counts.array(level) for level in range(3)]))[0])


@pytest.mark.parametrize(("name", "total"), [("direct-dp", "public"), ("cumulative-joint", "private")])
def test_intervals_cover_the_truth(name: str, total: TotalKind) -> None:
    """And would not with half the standard error: they are as wide as they have to be."""
    times, inside, narrow = 200, dict.fromkeys(STATISTICS, 0), dict.fromkeys(STATISTICS, 0)
    counts = make_counts(1, 6)
    for seed in range(times):
        run = tt.simulate(counts, epsilon="1", mechanism=name, seed=seed, total=total)
        for statistic in STATISTICS:
            found = estimate(run, statistic, (2, 5))
            truth = find_truth(counts, run.measurements.plan, statistic)
            middle, reach = (found.low + found.high) / 2, (found.high - found.low) / 4
            inside[statistic] += found.low <= truth <= found.high
            narrow[statistic] += abs(truth - middle) <= reach
    for statistic in STATISTICS:
        assert 0.84 * times <= inside[statistic], statistic
        assert narrow[statistic] <= 0.75 * times, statistic


@pytest.fixture
def release(monkeypatch: pytest.MonkeyPatch) -> tt.Release:
    """A release for which a dozen cells are too many."""
    monkeypatch.setattr("tallytree.intervals.replicates.MOST_CELLS", 12)
    return tt.release(make_counts(0, 6), epsilon="1")


def test_a_large_release_is_estimated_without_replicates(
    release: tt.Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tallytree.intervals.estimator.draw_replicates", None)
    found = release.estimate(regions=MIXED, sizes=(2, None))
    places = [(len(path) - 1, TREE.regions(len(path) - 1).index(path)) for path in MIXED]
    assert found.value == sum(release.counts[level][place, 1:].sum() for level, place in places)
    assert found.low < found.high
    assert abs(found.value - (found.low + found.high) / 2) < 20 * found.error  # by chance not in a lifetime
    assert math.isnan(found.bias)
    assert "Bias" not in found._repr_html_()
    assert release.estimate().exact
    several = release.estimate_areas({"A": ["N/A"], "B": ["N/B"]}, statistic="size_mean")
    assert [each.name for each in several] == ["A", "B"]
    with pytest.raises(IntervalsError, match="too large for replicates, so it is not known"):
        several[0] - several[1]
    with pytest.raises(IntervalsError, match="no intervals of quantiles"):
        release.estimate(regions=MIXED, statistic="median")
    with pytest.raises(IntervalsError, match="Intervals are not made: there are more than"):
        release.estimate(lambda counts: counts[0].sum())


def test_a_share_of_nothing_that_is_known_may_be_anything(release: tt.Release) -> None:
    paths = [("N", "C", "C3")]
    counts = tt.GroupCounts(TREE, (1, 6), np.zeros((len(COUNTIES), 6), dtype=np.int64))
    made = tt.release(counts, epsilon="1", total="private")
    for statistic, ends in (("size_mean", (1, 6)), ("share", (0, 1))):
        found = made.estimate(regions=paths, sizes=(1, 6), statistic=statistic)
        if math.isfinite(found.value):
            assert (found.low, found.high) == ends
        assert found.flag == "noise" or found.low == found.high


def test_answers_are_read_some_regions_at_a_time(
    release: tt.Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = release.estimate(regions=TREE.regions("county")[:7], statistic="size_sum")
    monkeypatch.setattr(own_answers, "CHUNK_CELLS", 12)
    assert release.estimate(regions=TREE.regions("county")[:7], statistic="size_sum") == whole


def test_the_command_says_where_its_intervals_are_from(release: tt.Release, tmp_path: Path, run: Run) -> None:
    release.save(tmp_path / "made")
    told = run("estimate", str(tmp_path / "made"), "--region", "N/A", "--sizes", "2:")
    assert "too large for replicates" in told.err
    facts = json.loads(
        run("estimate", str(tmp_path / "made"), "--region", "N/A", "--sizes", "2:", "--json").out
    )
    assert facts["bias"] is None
    assert facts["low"] < facts["high"]
