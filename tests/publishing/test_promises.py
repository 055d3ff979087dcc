"""Releases that protect whole groups, keep the number of groups private, and count in classes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pa_parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import tallytree as tt
from tallytree.cli.main import app
from tallytree.errors import CountsError, InputError, LedgerError, MechanismError, PrivacyError
from tallytree.privacy.neighbours import Protected, TotalKind, Whom
from tallytree.releases.manifest import seal
from tallytree.releases.released import MAKER
from tallytree.sizes import Sizes, count_sizes, list_edges
from tallytree.solvers.unbiased import estimate_counts, estimate_size_sums

REGIONS = tt.Hierarchy.from_paths(
    ["nation", "state", "county"], [("US", f"s{i % 3}", f"c{i}") for i in range(9)]
)
CLASSES = tt.SizeClasses([1, 2, 5, 10, 50])
MECHANISMS = [name for name in tt.list_mechanisms() if tt.mechanism(name).private_total]


def make_counts(sizes: Sizes) -> tt.GroupCounts:
    rng = np.random.default_rng(1)
    mean = 200 * np.exp(-np.arange(count_sizes(sizes)) / 3)
    return tt.GroupCounts(REGIONS, sizes, rng.poisson(mean, (9, count_sizes(sizes))))


def find_failures(folder: Path) -> list[str]:
    try:
        return [check.name for check in tt.load(folder).verify(recompute=True).checks if check.failed]
    except tt.errors.FolderError:
        return ["refused"]


@pytest.mark.parametrize("sizes", [(1, 12), CLASSES], ids=str)
@pytest.mark.parametrize("protect", ["person", "group"])
@pytest.mark.parametrize("total", ["public", "private"])
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_release_of_each_kind_is_whole(
    tmp_path: Path, mechanism: str, total: TotalKind, protect: Protected, sizes: Sizes
) -> None:
    counts = make_counts(sizes)
    made = tt.release(counts, epsilon=1, mechanism=mechanism, total=total, protect=protect)
    made.save(tmp_path / "out", replicates=10)
    assert find_failures(tmp_path / "out") == []
    again = tt.load(tmp_path / "out")
    assert again.measurements.plan == made.measurements.plan
    assert again.sizes == sizes
    assert again.total == made.total
    assert (made.total == counts.total) or total == "private"
    assert again.intervals is not None
    summary = again.intervals.summaries[0]
    groups = summary.names.index("groups")
    exact = summary.low[0, groups] == summary.high[0, groups]
    assert exact == (total == "public")


@pytest.mark.parametrize(
    ("total", "protect", "words"),
    [
        (
            "private",
            "person",
            ["one person, with whom groups may appear or vanish", "Neither the list of groups"],
        ),
        ("public", "group", ["differ by the size of one group", "does not hide whether a group exists"]),
        ("private", "group", ["one whole group, of any size", "covered with epsilon = 2 x 1"]),
    ],
)
def test_the_statement_says_who_is_protected_from_what(
    total: TotalKind, protect: Protected, words: list[str]
) -> None:
    made = tt.release(make_counts((1, 5)), epsilon=1, total=total, protect=protect, mechanism="direct-dp")
    privacy = made.manifest["privacy"]
    for part in words:
        assert part in privacy["statement"]
    assert any("number of groups" in fact for fact in privacy["public"]) == (total == "public")
    assert ("A person has at most" in privacy["statement"]) == (protect == "person")
    assert ("max_records" in privacy) == (protect == "person")


FORGERIES: dict[str, tuple[dict[str, str], dict[str, str | None], list[str]]] = {
    "a group's as a person's": ({"protect": "group", "total": "private"}, {"protect": "person"}, ["refused"]),
    "a person's as a group's": (
        {"protect": "person", "total": "private"},
        {"protect": "group"},
        ["budget", "statement"],
    ),
    "a public total as private": (
        {"protect": "group", "total": "public"},
        {"total": "private"},
        ["budget", "statement"],
    ),
    "a private total as public": (
        {"protect": "person", "total": "private"},
        {"total": "public"},
        ["statement"],
    ),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_promise_that_was_changed_is_found(tmp_path: Path, name: str) -> None:
    kinds, changed, expected = FORGERIES[name]
    made: Any = tt.release
    made(make_counts((1, 5)), epsilon=1, mechanism="direct-dp", **kinds).save(tmp_path / "out", replicates=0)
    path = tmp_path / "out" / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["privacy"] |= changed
    path.write_text(seal(manifest))
    found = find_failures(tmp_path / "out")
    assert set(expected) <= set(found)


def test_classes_are_in_the_files_by_their_first_and_last_size(tmp_path: Path) -> None:
    tt.release(make_counts(CLASSES), epsilon=1).save(tmp_path / "out", replicates=10)
    for name in ("release", "measurements", "intervals"):
        table = pa_parquet.read_table(tmp_path / "out" / f"{name}.parquet")
        ends = dict(zip(table["size"].to_pylist(), table["size_high"].to_pylist(), strict=True))
        assert ends == {1: 1, 2: 4, 5: 9, 10: 49, 50: None}
    summaries = pa_parquet.read_table(tmp_path / "out" / "summaries.parquet").to_pandas()
    assert {"size_sum_least", "size_mean_least"} < set(summaries["statistic"])
    assert not {"size_sum", "size_mean"} & set(summaries["statistic"])
    quantiles = summaries[summaries["statistic"].isin(["q10", "median", "q90"])]
    assert set(quantiles["low"]) | set(quantiles["value"]) | set(quantiles["high"]) <= set(CLASSES.edges)


def test_a_region_of_classes_says_that_its_mean_is_a_bound() -> None:
    region = tt.release(make_counts(CLASSES), epsilon=1).region("US", "s1")
    assert "mean size at least" in region._repr_html_()
    assert "10-49" in region.plot().svg
    assert region.quantile(0.5) in CLASSES.edges


def test_tables_of_sizes_and_of_classes_are_put_into_classes() -> None:
    table = pa.table({"state": ["a", "a", "a", "b"], "size": [1, 2, 3, 60], "groups": [5, 6, 7, 8]})
    counts = tt.GroupCounts.from_table(table, regions=["state"], sizes=CLASSES)
    assert counts.leaf.tolist() == [[5, 13, 0, 0, 0], [0, 0, 0, 0, 8]]
    with pytest.raises(CountsError, match="below 2, where the first class begins"):
        tt.GroupCounts.from_table(table, regions=["state"], sizes=tt.SizeClasses([2, 5]))


# From records.


def count(rows: list[tuple[int, int, int]], **options: Any) -> tt.GroupCounts:
    """Records of person, group and quantity, where a group's number says its region."""
    people = pa.table(
        {
            "person": pa.array([row[0] for row in rows], pa.int64()),
            "firm": pa.array([row[1] for row in rows], pa.int64()),
            "jobs": pa.array([row[2] for row in rows], pa.int64()),
            "state": pa.array(["ab"[row[1] % 2] for row in rows], pa.string()),
        }
    )
    regions = tt.Hierarchy.from_paths(["root", "state"], [("all", "a"), ("all", "b")])
    return tt.count_groups(people, group="firm", regions=["state"], hierarchy=regions, **options)


RECORD = st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 3))


@settings(max_examples=25, deadline=None)
@given(
    rows=st.lists(RECORD, min_size=1, max_size=8),
    m=st.integers(1, 3),
    z=st.integers(1, 3),
    sizes=st.sampled_from([(1, 4), tt.SizeClasses([1, 3, 4])]),
)
def test_one_person_less_changes_the_answers_by_the_sensitivity_at_most(
    rows: list[tuple[int, int, int]], m: int, z: int, sizes: Sizes
) -> None:
    """Also where the person's group vanishes, and whichever records are kept."""
    bounds: dict[str, Any] = {"person": "person", "quantity": "jobs", "max_records": m, "max_quantity": z}
    rest = [row for row in rows if row[0] != rows[0][0]]
    here = count(rows, sizes=sizes, **bounds)
    there = count(rest, sizes=sizes, **bounds) if rest else here.replace(here.leaf * 0)
    for name in MECHANISMS:
        plan = tt.mechanism(name).plan(
            here.hierarchy, sizes=sizes, epsilon=1, bounds=here.bounds, total="private"
        )
        for level, a, b in zip(plan.levels, plan.answers(here), plan.answers(there), strict=True):
            assert int(np.abs(a - b).sum()) <= level.sensitivity


@settings(max_examples=25, deadline=None)
@given(rows=st.lists(RECORD, min_size=1, max_size=8))
def test_one_group_less_changes_one_cell(rows: list[tuple[int, int, int]]) -> None:
    options: dict[str, Any] = {"quantity": "jobs", "sizes": (1, 4), "protect": "group"}
    rest = [row for row in rows if row[1] != rows[0][1]]
    here = count(rows, **options)
    there = count(rest, **options) if rest else here.replace(here.leaf * 0)
    has_size = sum(row[2] for row in rows if row[1] == rows[0][1]) > 0
    assert int(np.abs(here.leaf - there.leaf).sum()) == has_size
    assert here.only == "group"


def test_records_without_a_frame_have_a_private_total() -> None:
    rows = [(1, 1, 1), (2, 1, 1), (3, 2, 0), (4, 4, 2)]
    counts = count(rows, sizes=(1, 3), quantity="jobs", max_quantity=2)
    assert counts.total == 2  # the firm without jobs does not exist
    made = tt.release(counts, epsilon=1)
    assert made.measurements.plan.total == "private"
    assert not any("must be public, as a frame" in note for note in made.manifest["privacy"]["assumed"])
    assert tt.release(counts, epsilon=1, total="public").total == 2
    framed = tt.GroupCounts(counts.hierarchy, (1, 3), counts.leaf, has_frame=True)
    assert tt.release(framed, epsilon=1).measurements.plan.total == "public"


def test_counts_are_released_for_whom_they_were_counted() -> None:
    rows = [(1, 1, 1), (2, 1, 1), (3, 2, 5)]
    whole = count(rows, sizes=(1, 3), quantity="jobs", protect="group")
    with pytest.raises(CountsError, match="nothing bounds what one person adds"):
        tt.release(whole, epsilon=1)
    assert tt.release(whole, epsilon=1, protect="group").measurements.plan.protect == "group"
    with pytest.raises(CountsError, match="nothing bounds what one person adds"):
        tt.release(whole.replace(whole.leaf), epsilon=1)
    persons = count(rows, sizes=(1, 3), person="person")
    with pytest.raises(CountsError, match="which records of a person are kept depends on all groups"):
        tt.release(persons, epsilon=1, protect="group")


@pytest.mark.parametrize(
    ("given_", "name"),
    [
        ({"person": "person"}, "person"),
        ({"max_records": 2}, "max_records"),
        ({"max_quantity": 9}, "max_quantity"),
    ],
)
def test_bounds_on_persons_are_refused_for_whole_groups(given_: dict[str, Any], name: str) -> None:
    with pytest.raises(CountsError, match=f"leave '{name}' out"):
        count([(1, 1, 1)], sizes=(1, 3), quantity="jobs", protect="group", **given_)


def test_rows_may_be_groups_with_their_sizes() -> None:
    rows = [(0, 1, 3), (0, 2, 0), (0, 3, 60)]  # a firm without employees does not exist
    counts = count(rows, sizes=CLASSES, size="jobs", protect="group")
    assert counts.leaf.tolist() == [[0] * 5, [0, 1, 0, 0, 1]]
    with pytest.raises(CountsError, match=r"Groups with more than one row: 1\. .* give quantity="):
        count([*rows, (0, 3, 1)], sizes=CLASSES, size="jobs", protect="group")
    with pytest.raises(CountsError, match="need protect='group' and no 'quantity'"):
        count(rows, sizes=CLASSES, size="jobs")
    added = count([*rows, (0, 3, 1)], sizes=CLASSES, quantity="jobs", protect="group")
    assert added.leaf.tolist() == counts.leaf.tolist()


def test_the_command_line_takes_all_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lines = ["firm,county,employees", "a,Kings,3", "b,Kings,12", "c,Erie,700", "d,Erie,0"]
    (tmp_path / "firms.csv").write_text("\n".join(lines) + "\n")
    words = [
        "firms.csv",
        "--group",
        "firm",
        "--region",
        "county",
        "--size",
        "employees",
        "--classes",
        "us-cbp",
    ]
    runner = CliRunner()
    given_ = [*words, "--protect", "group"]
    made = runner.invoke(app, ["release", *given_, "--epsilon", "1", "--out", "out", "--replicates", "10"])
    assert made.exit_code == 0, made.output
    assert "one whole group, of any size" in " ".join(made.output.split())
    release = tt.load("out")
    assert release.sizes == tt.SizeClasses("us-cbp")
    assert release.verify()
    counted = runner.invoke(app, ["count", *given_, "--out", "counts.parquet"])
    assert counted.exit_code == 0, counted.output
    later = [
        "counts.parquet",
        "--region",
        "county",
        "--classes",
        "us-cbp",
        "--epsilon",
        "1",
        "--out",
        "later",
    ]
    refused = runner.invoke(app, ["release", *later])
    assert isinstance(refused.exception, CountsError)
    assert "give protect='group'" in str(refused.exception)
    assert runner.invoke(app, ["release", *later, "--protect", "group"]).exit_code == 0
    assert tt.load("later").manifest["privacy"]["neighbours"] == release.manifest["privacy"]["neighbours"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--classes", "1,x"], "nor one of us-cbp, eu-sbs"),
        (["--classes", "1,5", "--sizes", "1:5"], "not both"),
        (["--sizes", "1:5", "--total", "secret"], "'total' cannot be 'secret'"),
        (["--sizes", "1:5", "--protect", "firm"], "'protect' cannot be 'firm'"),
        (["--sizes", "1:5", "--total", ""], "'total' cannot be ''"),
        (["--sizes", "1:5", "--mechanism", ""], "no mechanism ''"),
        (["--sizes", "1:5", "--protect", "group", "--person", "x"], "leave 'person' out"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_bad_settings_get_one_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "firms.csv").write_text("firm,county,x\na,Kings,1\n")
    given_ = ["firms.csv", "--group", "firm", "--region", "county", "--epsilon", "1", "--out", "out", *words]
    outcome = CliRunner().invoke(app, ["release", *given_])
    assert isinstance(outcome.exception, InputError)
    assert message in str(outcome.exception)
    assert not (tmp_path / "out").exists()


def test_the_default_mechanism_follows_from_who_is_protected() -> None:
    counts = make_counts((1, 5))
    assert tt.release(counts, epsilon=1).manifest["mechanism"]["name"] == "cumulative-joint"
    assert tt.release(counts, epsilon=1, protect="group").manifest["mechanism"]["name"] == "direct-dp"


def test_public_totals_of_regions_need_a_public_total() -> None:
    with pytest.raises(PrivacyError, match="need a public total"):
        tt.release(make_counts((1, 5)), epsilon=1, total="private", public_totals="state")
    with pytest.raises(MechanismError, match="count-of-counts needs a public total"):
        tt.release(make_counts((1, 5)), epsilon=1, total="private", mechanism="count-of-counts")


WHOM: dict[tuple[Protected, TotalKind | None], Whom] = {
    ("person", None): "person",
    ("group", "private"): "group",
    ("group", "public"): "listed group",
}


@pytest.mark.parametrize("kinds", WHOM, ids=WHOM.get)
def test_a_ledger_adds_up_the_losses_of_the_same_alone(
    kinds: tuple[Protected, TotalKind | None], tmp_path: Path
) -> None:
    protect, total = kinds
    ledger = tt.Ledger.create(
        tmp_path / "ledger.db", dataset="d", epsilon=2, protect=protect, total=total or "private"
    )
    for others, whom in WHOM.items():
        if others != kinds:
            with pytest.raises(LedgerError, match=f"may lose, and this is what a {whom} loses"):
                tt.release(make_counts((1, 5)), epsilon=1, protect=others[0], total=others[1], ledger=ledger)
    assert ledger.balance().spent == 0
    made = tt.release(make_counts((1, 5)), epsilon=2, protect=protect, total=total, ledger=ledger)
    assert ledger.balance().remaining == 0
    assert ledger.balance().whom == WHOM[kinds]
    assert made.verify()
    assert ledger.verify([made])


def test_a_charge_for_others_does_not_pay_for_a_release(tmp_path: Path) -> None:
    """Somebody who writes the charge by hand does not say whose loss it is: the release does."""
    ledger = tt.Ledger.create(tmp_path / "ledger.db", dataset="d", epsilon=2, protect="group")
    made = tt.release(make_counts((1, 5)), epsilon=1, protect="group", total="private", ledger=ledger)
    other = tt.release(make_counts((1, 5)), epsilon=1)
    manifest = json.loads(json.dumps(other.manifest))
    manifest["privacy"]["ledger"] = made.manifest["privacy"]["ledger"]
    forged = replace(other, manifest=manifest, made_by=MAKER)
    (problem,) = [check.example for check in ledger.verify([forged]).checks if check.failed]
    assert problem == "entry 2 paid for what a group loses, and its release costs a person"


@pytest.mark.parametrize("sizes", [(1, 5), CLASSES], ids=str)
def test_unbiased_estimates_from_above_are_the_truth_without_noise(sizes: Sizes) -> None:
    counts = make_counts(sizes)
    plan = tt.mechanism("cumulative-joint").plan(REGIONS, sizes=sizes, epsilon=1, total="private")
    noisy = tt.Measurements(plan, plan.answers(counts))
    edges = np.array(list_edges(sizes))
    for level, (found, sums) in enumerate(
        zip(estimate_counts(noisy), estimate_size_sums(noisy), strict=True)
    ):
        np.testing.assert_allclose(found.value, counts.array(level), atol=1e-6)
        np.testing.assert_allclose(sums.value[:, 0], counts.array(level) @ edges, rtol=1e-9)
    # An answer from above is in two counts, but for that of the largest size, which is in one.
    own = estimate_counts(noisy)[0].variance[0]
    assert own[-1] == pytest.approx(own[0] / 2)


def test_errors_of_totals_and_of_sums_are_told() -> None:
    counts = make_counts((1, 5))
    run = tt.simulate(counts, epsilon=1, seed=3, total="private")
    told = tt.evaluate(run, counts).to_pylist()[1]
    error = run.counts[1] - counts.array(1)
    assert told["groups_off"] == pytest.approx(np.abs(error.sum(axis=1)).mean())
    assert told["size_sum_off"] == pytest.approx(np.abs(error @ np.arange(1, 6)).mean())
    above = np.cumsum(error[:, ::-1], axis=1)
    assert told["emd_above"] == pytest.approx(np.abs(above).sum(axis=1).mean())


@pytest.mark.parametrize(
    ("sizes", "quantity", "name"),
    [
        ((1, 20), 1, "cumulative-joint"),
        ((1, 20), 4, "cumulative-joint"),
        ((1, 20), 5, "direct-dp"),
        (tt.SizeClasses([1, 10, 20, 50]), 9, "cumulative-joint"),  # one edge at most
        (tt.SizeClasses([1, 2, 3, 4, 5]), 100, "direct-dp"),
    ],
)
def test_the_default_mechanism_is_chosen_by_the_noise_it_needs(
    sizes: Sizes, quantity: int, name: str
) -> None:
    leaf = np.ones((9, count_sizes(sizes)), dtype=np.int64)
    counts = tt.GroupCounts(REGIONS, sizes, leaf, bounds=tt.Bounds(max_quantity=quantity))
    made = tt.release(counts, epsilon=1, total="private")
    assert made.manifest["mechanism"]["name"] == name
    run = tt.simulate(counts, epsilon=1, seed=1, total="private")
    assert run.measurements.plan.levels == made.measurements.plan.levels
