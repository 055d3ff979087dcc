"""Estimates of combined numbers: what must hold whatever is combined, and what is refused."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

import tallytree as tt
from tallytree.errors import CountsError, HierarchyError, IntervalsError
from tallytree.intervals.estimates import Draws, settle
from tallytree.intervals.likely_ranges import Range
from tallytree.intervals.region_sets import locate
from tallytree.intervals.replicates import draw_replicates
from tallytree.intervals.selections import select
from tallytree.releases.flags import LIMITS
from tallytree.releases.kept_replicates import (
    KeptReplicates,
    Replicate,
    ReplicateKeeper,
    find_student_quantile,
)
from tests.commands import Run

Ints = npt.NDArray[np.int64]

SIZES = (1, 9)
COUNTIES: list[tuple[str, ...]] = [("N", state, f"{state}{county}") for state in "ABC" for county in range(3)]
STATES: list[tuple[str, ...]] = [("N", state) for state in "ABC"]
SMALL = 10


def make_counts(seed: int = 0, sizes: Any = SIZES, columns: int = 9) -> tt.GroupCounts:
    leaf = np.random.default_rng(seed).poisson(300 * 0.6 ** np.arange(columns), (len(COUNTIES), columns))
    hierarchy = tt.Hierarchy.from_paths(["nation", "state", "county"], COUNTIES)
    return tt.GroupCounts(hierarchy, sizes, leaf)


@pytest.fixture(scope="module")
def release() -> tt.Release:
    made = tt.release(make_counts(), epsilon="1")
    return tt.add_intervals(made, replicates=SMALL, keep_replicates=True)


@pytest.fixture(scope="module")
def classes() -> tt.Release:
    counts = make_counts(sizes=tt.SizeClasses([1, 2, 5, 10]), columns=4)
    return tt.add_intervals(tt.release(counts, epsilon="1"), replicates=SMALL, keep_replicates=True)


county_sets = st.lists(st.sampled_from(COUNTIES), min_size=1, max_size=9, unique=True)
ranges = st.tuples(st.integers(1, 9), st.integers(1, 9)).map(lambda pair: (min(pair), max(pair)))


# The number itself.


@given(st.sampled_from(COUNTIES), st.integers(1, 9))
def test_an_estimate_of_one_cell_is_the_released_count(
    release: tt.Release, county: tuple[str, ...], size: int
) -> None:
    found = release.estimate(regions=[county], sizes=(size, size))
    assert found.value == release.region(*county).groups[size - 1]
    assert isinstance(found.value, int)
    assert 0 <= found.low <= found.high


@given(county_sets, ranges)
def test_values_add_up_over_regions_and_sizes(
    release: tt.Release, counties: list[tuple[str, ...]], span: tuple[int, int]
) -> None:
    for statistic in ("groups", "size_sum"):
        whole = release.estimate(regions=counties, sizes=span, statistic=statistic)
        parts = [release.estimate(regions=[one], sizes=span, statistic=statistic) for one in counties]
        assert whole.value == sum(part.value for part in parts)
        if span[0] < span[1]:
            cut = (span[0], span[0]), (span[0] + 1, span[1])
            low, high = (release.estimate(regions=counties, sizes=some, statistic=statistic) for some in cut)
            assert (low + high).value == whole.value
            assert ((low + high).bias, (low + high).error) == pytest.approx((whole.bias, whole.error))


@given(county_sets, st.randoms(use_true_random=False))
def test_the_order_of_regions_does_not_matter(
    release: tt.Release, counties: list[tuple[str, ...]], random: Any
) -> None:
    shuffled = random.sample(counties, len(counties))
    assert release.estimate(regions=counties).draws.made.tolist() == pytest.approx(
        release.estimate(regions=shuffled).draws.made.tolist()
    )


@given(county_sets, ranges, st.sampled_from(["size_mean", "median", "quantile:0.9", "share"]))
def test_statistics_are_those_of_the_groups_written_out(
    release: tt.Release, counties: list[tuple[str, ...]], span: tuple[int, int], statistic: str
) -> None:
    rows = sum(release.region(*county).groups for county in counties)
    assert isinstance(rows, np.ndarray)
    some = rows[span[0] - 1 : span[1]]
    written_out = np.repeat(np.arange(span[0], span[1] + 1), some)
    found = release.estimate(regions=counties, sizes=span, statistic=statistic).value
    if statistic == "share":
        assert found == pytest.approx(some.sum() / rows.sum())
    elif not len(written_out):
        assert math.isnan(found)
    elif statistic == "size_mean":
        assert found == pytest.approx(written_out.mean())
    else:
        share = {"median": Fraction(1, 2), "quantile:0.9": Fraction(9, 10)}[statistic]
        assert found == written_out[max(0, math.ceil(share * len(written_out)) - 1)]


@given(county_sets, county_sets, st.sampled_from(["groups", "size_sum", "size_mean"]))
def test_a_number_minus_itself_is_nothing(
    release: tt.Release, some: list[tuple[str, ...]], others: list[tuple[str, ...]], statistic: str
) -> None:
    one, other = (release.estimate(regions=each, statistic=statistic) for each in (some, others))
    nothing = one - one
    assert (nothing.value, nothing.low, nothing.high, nothing.error) == (0, 0, 0, 0)
    there, back = one - other, other - one
    assert there.value == pytest.approx(-back.value)
    assert there.low == pytest.approx(-back.high)
    ratio = one / one
    assert (ratio.value, ratio.low, ratio.high) == (1, 1, 1)


def test_a_difference_takes_the_correlation_into_account(release: tt.Release) -> None:
    """The errors of the nation's parts cancel out: there are as many groups as everybody knows."""
    some, others = (release.estimate(regions=each) for each in (STATES[:1], STATES[1:]))
    assert some.error > 0
    assert (some + others).error == 0
    assert (some - others).error == pytest.approx(2 * some.error)


# What is public.


def test_what_is_public_is_exact(release: tt.Release) -> None:
    mixed = [STATES[0], *COUNTIES[3:6], STATES[2]]
    for regions in (None, [("N",)], STATES, COUNTIES, mixed):
        found = release.estimate(regions=regions)
        assert found.exact
        assert (found.value, found.low, found.high) == (release.total,) * 3
        assert found.flag == "good"
        assert found.describe().endswith("(public, exact)")
    assert not release.estimate(regions=STATES[:2]).exact
    assert not release.estimate(sizes=(2, None)).exact
    assert not release.estimate(statistic="size_sum").exact


def test_public_totals_of_regions_are_exact() -> None:
    made = tt.release(make_counts(), epsilon="1", public_totals="state")
    assert made.estimate(regions=STATES[:1], replicates=SMALL).exact
    assert made.estimate(regions=[*COUNTIES[:3], STATES[1]], replicates=SMALL).exact
    county = made.estimate(regions=COUNTIES[:2], replicates=SMALL)
    assert not county.exact
    assert county.high > county.low


def test_a_private_total_is_not_exact() -> None:
    made = tt.release(make_counts(), epsilon="1", total="private")
    found = made.estimate(replicates=SMALL)
    assert not found.exact
    assert found.high > found.low


def test_a_ratio_to_nothing_has_no_number_and_no_warning(release: tt.Release) -> None:
    """Warnings are errors here: both of a replicate's numbers may be infinite."""
    none = release.estimate(lambda counts: 0)
    ratio = release.estimate(lambda counts: counts[1][0].sum()) / none
    assert math.isinf(ratio.value)
    assert ratio.flag == "noise"
    assert ratio.to_dict()["value"] is None


# Replicates that are kept, and those that are made anew.


@pytest.mark.parametrize("statistic", ["groups", "size_mean", "median", "share"])
def test_kept_replicates_give_the_same_as_new_ones(release: tt.Release, statistic: str) -> None:
    assert release.intervals is not None
    anew = tt.add_intervals(release, replicates=SMALL, keep_replicates=False)
    assert anew.intervals is not None and anew.intervals.kept is None
    for regions in (STATES[1:], COUNTIES[2:7]):
        asked: dict[str, Any] = {"regions": regions, "sizes": (2, 4), "statistic": statistic}
        assert release.estimate(**asked) == anew.estimate(**asked)
    other = release.estimate(regions=STATES[1:], sizes=(2, 4), seed=5)
    assert other.value == release.estimate(regions=STATES[1:], sizes=(2, 4)).value
    assert other.draws.made.tolist() != release.estimate(regions=STATES[1:], sizes=(2, 4)).draws.made.tolist()


def test_kept_replicates_come_back_from_the_folder(release: tt.Release, tmp_path: Path) -> None:
    release.save(tmp_path / "r", replicates=0)
    loaded = tt.load(tmp_path / "r")
    assert loaded.verify().passed
    assert loaded.estimate(regions=STATES[:2], sizes=(3, None)) == release.estimate(
        regions=STATES[:2], sizes=(3, None)
    )
    loaded.save(tmp_path / "again")
    for name in ("replicates.parquet", "intervals.parquet"):
        assert (tmp_path / "again" / name).read_bytes() == (tmp_path / "r" / name).read_bytes()


def test_a_function_is_estimated_like_what_it_computes(release: tt.Release) -> None:
    def count_large(counts: Any) -> float:
        return float(counts[1][:2, 4:].sum())

    asked = release.estimate(regions=STATES[:2], sizes=(5, None))
    found = release.estimate(count_large)
    assert (found.value, found.bias, found.error) == pytest.approx((asked.value, asked.bias, asked.error))
    assert found.title == "count_large"
    without = tt.add_intervals(release, replicates=SMALL, keep_replicates=False)
    assert without.estimate(count_large) == found
    with pytest.raises(IntervalsError, match="must return one number"):
        release.estimate(lambda counts: counts[0])
    with pytest.raises(IntervalsError, match="not both"):
        release.estimate(count_large, regions=STATES)


tables = st.integers(0, 2**32 - 1).map(lambda seed: np.random.default_rng(seed))


@given(tables, st.integers(1, 6))
def test_packed_replicates_are_what_was_packed(rng: np.random.Generator, number: int) -> None:
    counts = [rng.integers(0, 3, (rows, 5)) for rows in (1, 4)]
    drawn = [
        Replicate(*([each + rng.integers(0, 2, each.shape) for each in counts] for _ in range(2)))
        for _ in range(number)
    ]
    keeper = ReplicateKeeper(counts)
    for replicate in drawn:
        keeper.add(replicate)
    kept = keeper.finish(seed=3)
    for before, after in zip(drawn, kept.replay(counts), strict=True):
        for one, other in zip((*before.known, *before.made), (*after.known, *after.made), strict=True):
            assert (one == other).all()
    some = np.flatnonzero(rng.integers(0, 2, 4))
    known, made = kept.add_up(1, some, slice(1, 4))
    for place, replicate in enumerate(drawn):
        first, second = (each[1][some, 1:4].sum(axis=0) for each in replicate)
        assert (known[place] == first - counts[1][some, 1:4].sum(axis=0)).all()
        assert (made[place] == second - first).all()


# The interval.


@given(st.floats(0.75, 0.995), st.integers(9, 500))
def test_quantiles_of_students_t_are_those_of_scipy(share: float, degrees: int) -> None:
    assert find_student_quantile(share, degrees) == pytest.approx(
        float(scipy.stats.t.ppf(share, degrees)), rel=2e-3
    )


def make_draws(value: float, errors: Any, **more: Any) -> Draws:
    made = np.asarray(errors, dtype=float)
    return Draws(value, np.zeros_like(made), made, (), Fraction(9, 10), LIMITS, **more)


def test_intervals_of_normal_errors_cover() -> None:
    rng = np.random.default_rng(1)
    for factor, least, most in ((1.0, 0.885, 0.915), (0.7, 0.0, 0.8)):  # the second one is a control
        covered = 0
        for _ in range(4000):
            found = settle("", "", make_draws(3 + rng.normal(0, 1), 3 + factor * rng.normal(0, 1, 20)))
            covered += found.low <= 0 <= found.high
        assert least < covered / 4000 < most


def test_ends_are_possible_and_rounded_outwards() -> None:
    whole = settle("", "", make_draws(2, [-1.0, 1, 2, -3, 0, 4] * 4, range=Range(0, 3, is_whole=True)))
    assert (whole.low, whole.high) == (0, 3)
    edges = settle("", "", make_draws(5, [0.0, 1, 0, -1] * 5, range=Range(1, 10, True, (1, 2, 5, 10))))
    assert (edges.low, edges.high) == (2, 10)
    sure = settle("", "", make_draws(5, [0.0] * 20, range=Range(1, 10, True, (1, 2, 5, 10))))
    assert (sure.low, sure.high) == (5, 5)


def test_a_mean_of_no_groups_is_none() -> None:
    counts = tt.GroupCounts(make_counts().hierarchy, (1, 2), [[90, 0]] * 9)
    made = tt.release(counts, epsilon="1000")
    found = made.estimate(regions=COUNTIES[:1], sizes=(2, 2), statistic="size_mean", replicates=SMALL)
    assert math.isnan(found.value)
    assert found.to_dict()["value"] is None
    assert (found.low, found.high, found.flag) == (2, 2, "noise")  # all that is known: a size of 2
    assert found.describe().endswith("there is none, for no such groups were released")
    assert json.dumps(found.to_dict(), allow_nan=False)


@pytest.mark.parametrize(("stand_in", "least"), [("truth", 0.86), ("release", 0.8)])
def test_combined_numbers_are_covered(stand_in: str, least: float) -> None:
    """Of several regions and sizes, and differences, with a control.

    With the truth in place of the known counts, nothing is left to go wrong but the interval itself.
    """
    counts = make_counts(4)
    truth = [counts.array(level) for level in range(3)]
    plan = tt.mechanism("direct-dp").plan(counts.hierarchy, sizes=SIZES, epsilon=1)
    regions = [COUNTIES[:2], COUNTIES[4:8], STATES[:1], [STATES[0], *COUNTIES[3:5]]]
    selections = [
        select(plan, locate(plan.hierarchy, some), sizes=span, statistic=statistic)
        for some in regions
        for span, statistic in (((1, 2), "groups"), ((2, 6), "size_sum"), ((3, None), "size_mean"))
    ]
    inside, near = [], []
    for seed in range(30):
        run = tt.simulate(counts, epsilon="1", mechanism="direct-dp", seed=100 + seed)
        known = truth if stand_in == "truth" else run.counts
        kept = pack(run, known, seed)
        found = []
        for selection in selections:
            true, made = (float(selection.find(selection.add_up(each))[0]) for each in (truth, run.counts))
            replayed = selection.replay(kept, selection.add_up(known))
            draws = Draws(made, *replayed, (), Fraction(9, 10), LIMITS)
            found.append((settle("", "", draws), true))
        pairs = [(one - other, a - b) for (one, a), (other, b) in zip(found, found[3:], strict=False)]
        for estimate, true in (*found, *pairs):
            inside.append(estimate.low <= true <= estimate.high)
            middle, reach = (estimate.high + estimate.low) / 2, (estimate.high - estimate.low) / 4
            near.append(abs(true - middle) <= reach)
    assert least < np.mean(inside) < 0.95
    assert np.mean(near) < 0.7


def pack(run: tt.Simulation, known: Sequence[Ints], seed: int) -> KeptReplicates:
    keeper, method = ReplicateKeeper(known), tt.mechanism("direct-dp")
    made = replace(run, solution=replace(run.solution, counts=known))
    for replicate in draw_replicates(method, made, replicates=30, seed=seed, report=lambda _: None):
        keeper.add(replicate)
    return keeper.finish(seed)


# Classes of sizes.


def test_sums_of_classes_are_lower_bounds(classes: tt.Release) -> None:
    groups = classes.region("N", "A").groups
    found = classes.estimate(regions=[("N", "A")], statistic="size_sum")
    assert found.value == int(groups @ [1, 2, 5, 10])
    assert found.title == "Sum of sizes, at least"
    same = classes.estimate(regions=[("N", "A")], statistic="size_sum_least")
    assert same == found
    some = classes.estimate(regions=[("N", "A")], sizes=(2, 9))
    assert some.value == groups[1:3].sum()
    assert some.name == "N/A, sizes 2 to 9"
    median = classes.estimate(regions=[("N", "A")], statistic="median")
    assert {median.value, median.low, median.high} <= {1, 2, 5, 10}


@pytest.mark.parametrize("span", [(3, None), (None, 3), (2, 10), (0, None)])
def test_ranges_that_cut_a_class_are_refused(classes: tt.Release, span: Any) -> None:
    with pytest.raises(IntervalsError, match="No class of the release begins or ends at"):
        classes.estimate(sizes=span)


# What is wrong is said.


@pytest.mark.parametrize(
    ("asked", "error", "message"),
    [
        ({"regions": []}, IntervalsError, "give at least one"),
        ({"regions": "N"}, IntervalsError, "must be a list of paths"),
        ({"regions": 7}, IntervalsError, "must be a list of paths"),
        ({"regions": [7]}, IntervalsError, "must be a list of paths"),
        ({"regions": [("N", 7)]}, HierarchyError, "names"),
        ({"regions": [()]}, HierarchyError, "empty"),
        ({"regions": [("N", "Z")]}, HierarchyError, "no region 'Z' in 'N'"),
        ({"regions": ["N/A/A0/more"]}, HierarchyError, "only 3 levels"),
        ({"regions": ["A"]}, HierarchyError, "begins with the root"),
        ({"regions": ["N/\ud800"]}, HierarchyError, "UTF-8"),
        ({"regions": [STATES[0], STATES[0]]}, IntervalsError, "selected twice"),
        ({"regions": [STATES[0], COUNTIES[1]]}, IntervalsError, "inside another one"),
        ({"regions": [("N",), COUNTIES[1]]}, IntervalsError, "inside another one"),
        ({"sizes": 3}, IntervalsError, "a pair of whole numbers"),
        ({"sizes": (1, 2, 3)}, IntervalsError, "a pair of whole numbers"),
        ({"sizes": (1.5, None)}, IntervalsError, "a pair of whole numbers"),
        ({"sizes": (4, 3)}, IntervalsError, "no sizes from 4 to 3"),
        ({"sizes": (0, 3)}, IntervalsError, "begins or ends at 0"),
        ({"sizes": (None, 0)}, IntervalsError, "no sizes up to 0"),
        ({"sizes": (3, 10)}, IntervalsError, "begins or ends at 10"),
        ({"statistic": "mean"}, IntervalsError, "did you mean 'median'"),
        ({"statistic": 3}, IntervalsError, "no statistic"),
        ({"statistic": "quantile:2"}, IntervalsError, "a share between 0 and 1"),
        ({"statistic": "quantile:"}, IntervalsError, "a share between 0 and 1"),
        ({"coverage": "0.999"}, IntervalsError, "coverage"),
        ({"replicates": 2}, IntervalsError, "number of replicates"),
        ({"seed": -1}, IntervalsError, "seed"),
        ({"flags": (0.1, 0.2)}, IntervalsError, "FlagLimits"),
    ],
)
def test_wrong_selections_are_refused(
    release: tt.Release, asked: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        release.estimate(**asked)


def test_estimates_of_two_releases_are_not_combined(release: tt.Release, classes: tt.Release) -> None:
    with pytest.raises(IntervalsError, match="not of one release"):
        release.estimate(regions=STATES[:1]) - classes.estimate(regions=STATES[:1])
    with pytest.raises(IntervalsError, match="not of one release"):
        release.estimate(regions=STATES[:1]) / release.estimate(regions=STATES[:1], seed=9)
    operations: list[Callable[[Any], Any]] = [
        lambda found: found + 1,
        lambda found: found - 1,
        lambda found: found / 2,
    ]
    for apply in operations:
        with pytest.raises(TypeError):
            apply(release.estimate())


def test_names_may_have_slashes() -> None:
    paths = [("N", "A/B", "c"), ("N", "A", "d"), ("N", "A", "B/c")]
    hierarchy = tt.Hierarchy.from_paths(["n", "s", "c"], paths)
    made = tt.release(tt.GroupCounts(hierarchy, (1, 2), [[500, 60], [700, 80], [90, 10]]), epsilon="5")
    value = made.estimate(regions=["N/A/d"], replicates=SMALL).value
    assert value == made.region("N", "A", "d").total
    assert made.estimate(regions=["N/A/B"], replicates=SMALL).name == "N/A/B"
    with pytest.raises(IntervalsError, match="fits several regions"):
        made.estimate(regions=["N/A/B/c"], replicates=SMALL)


# Areas.


def test_areas_are_read_from_tables(release: tt.Release, tmp_path: Path) -> None:
    areas = {"west": [STATES[0], COUNTIES[3]], "east": STATES[2:]}
    wanted = list(release.estimate_areas(areas, sizes=(2, None)))
    assert wanted[0].value == release.estimate(regions=areas["west"], sizes=(2, None)).value
    table = pa.table(
        {"area": ["west", "west", "east"], "state": ["A", "B", "C"], "county": [None, "B0", None]}
    )
    paths = pa.table({"area": ["west", "west", "east"], "region": ["N/A", "N/B/B0", "N/C"]})
    pa_csv.write_csv(paths, tmp_path / "areas.csv")
    for given_areas in (table, table.to_pandas(), paths, tmp_path / "areas.csv"):
        assert list(release.estimate_areas(given_areas, sizes=(2, None))) == wanted
    found = release.estimate_areas(areas, sizes=(2, None))
    assert [each.name for each in found[1:]] == ["east, size 2 and more"]
    assert "west" in found._repr_html_()
    assert found.to_pandas()["value"].tolist() == [each.value for each in wanted]
    assert found.to_polars()["flag"].to_list() == [each.flag for each in wanted]


@pytest.mark.parametrize(
    ("areas", "error", "message"),
    [
        ({}, IntervalsError, "mapping"),
        ({"a": []}, IntervalsError, "'a' has no regions"),
        ({"a": "N/A"}, IntervalsError, "mapping"),
        ({1: [("N",)]}, IntervalsError, "mapping"),
        ({"a": [STATES[0], STATES[0]]}, IntervalsError, "selected twice"),
        (pa.table({"area": ["a"]}), CountsError, "neither a column 'region'"),
        (pa.table({"region": ["N"]}), CountsError, "'area'"),
        (pa.table({"area": ["a", None], "region": ["N", "N/A"]}), CountsError, "row 2"),
        (pa.table({"area": [1.5], "region": ["N"]}), CountsError, "must hold text"),
        (pa.table({"area": ["a"], "region": ["N"]}).slice(1), CountsError, "no rows"),
        ("nowhere.csv", CountsError, "no file"),
        (3, CountsError, "cannot be read as a table"),
    ],
)
def test_wrong_areas_are_refused(
    release: tt.Release, areas: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        release.estimate_areas(areas)


# On the command line.


@pytest.fixture(scope="module")
def folder(release: tt.Release, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("estimates") / "release"
    release.save(path, replicates=0)
    return str(path)


def test_the_command_says_what_the_library_says(release: tt.Release, folder: str, run: Run) -> None:
    words = ["estimate", folder, "--region", "N/A", "--region", "N/B/B1", "--sizes", "3:"]
    wanted = release.estimate(regions=["N/A", "N/B/B1"], sizes=(3, None))
    code, out, err = run(*words)
    assert (code, err) == (0, "")
    assert " ".join(out.split()) == wanted.describe()
    code, out, err = run(*words, "--json")
    assert json.loads(out) == {**wanted.to_dict(), "replicates": SMALL, "seed": 0}
    code, out, err = run(*words, "--against", "N/C", "--ratio", "--json")
    ratio = wanted / release.estimate(regions=["N/C"], sizes=(3, None))
    assert json.loads(out)["value"] == ratio.value
    code, out, err = run(*words, "--against-sizes", "1", "--statistic", "size_sum", "--table")
    rows = [line.split("\t") for line in out.splitlines()]
    assert rows[0] == ["Area", "Sum of sizes", "90 % interval", "flag"]
    first, second = (
        release.estimate(regions=["N/A", "N/B/B1"], sizes=span, statistic="size_sum")
        for span in ((3, None), (1, 1))
    )
    assert rows[-1][1] == (first - second).rounded.value
    code, out, err = run("estimate", folder, "--each", "state", "--flags", "1e-9,1e-8", "--json")
    told = json.loads(out)["estimates"]
    assert [each["value"] for each in told] == [each.total for each in release.region("N").children]
    assert {each["flag"] for each in told} == {"noise"}


def test_a_margin_is_estimated_as_areas_are(folder: str, release: tt.Release, run: Run) -> None:
    code, out, _ = run("estimate", folder, "--margin", "state", "--margin", "county", "--json")
    assert code == 0
    told = json.loads(out)["estimates"]
    areas = tt.group_regions(release.hierarchy, ["state", "county"])
    assert told == [each.to_dict() for each in release.estimate_areas(areas)]
    assert sum(each["value"] for each in told) == release.total


def test_the_command_says_that_replicates_are_made(folder: str, run: Run) -> None:
    code, out, err = run("estimate", folder, "--region", "N/A", "--replicates", "11", "--seed", "3")
    assert code == 0
    assert "11 are made anew, with seed 3" in err
    assert "interval" in out


@pytest.mark.parametrize(
    "wrong",
    [
        ["--sizes", "3-5"],
        ["--sizes", ":"],
        ["--flags", "0.5"],
        ["--flags", "0.5,0.25"],
        ["--ratio"],
        ["--each", "state", "--region", "N/A"],
        ["--each", "village"],
        ["--margin", "village"],
        ["--margin", "county", "--margin", "state"],
        ["--margin", "state", "--each", "state"],
        ["--areas", "nowhere.csv"],
        ["--region", ""],
        ["--statistic", "x"],
    ],
)
def test_wrong_words_are_refused(folder: str, run: Run, wrong: list[str]) -> None:
    code, out, err = run("estimate", folder, *wrong)
    assert (code, out) == (2, "")
    assert err.startswith("Error: ")
