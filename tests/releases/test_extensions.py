"""A statistic, a column and a key figure are added from outside; earlier folders stay readable."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pa_parquet
import pytest

import tallytree as tt
from tallytree.errors import FolderError, HierarchyError
from tallytree.releases import release_columns, statistics
from tallytree.releases.release_columns import BOUNDS, Column
from tallytree.releases.statistics import EARLIEST, Statistic
from tallytree.report import key_figures
from tallytree.report.key_figures import Figure
from tallytree.report.report_page import write_page

EARLIER = Path(__file__).parent / "folder-0.1.0"
"""Made by version 0.1.0, with intervals."""

LARGE = Statistic(
    "share_of_3_and_more",
    lambda regions: regions.share(regions.counts[:, regions.size >= 3].sum(axis=1)),
    "share",
)
SHARE = Column("share", pa.float64(), lambda cells: cells.groups / np.maximum(cells.total, 1))


def make_release() -> tt.Release:
    paths = [("N", state, f"{state}{number}") for state in "AB" for number in range(3)]
    hierarchy = tt.Hierarchy.from_paths(["nation", "state", "county"], paths)
    leaf = np.random.default_rng(4).integers(0, 60, (6, 4))
    leaf[0] = 0  # a region without groups has no shares
    return tt.release(tt.GroupCounts(hierarchy, (1, 4), leaf), epsilon=5)


def add_statistic(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statistics, "STATISTICS", (LARGE, *statistics.STATISTICS))


def add_column(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(release_columns, "COLUMNS", (*release_columns.COLUMNS, SHARE))


def test_a_folder_of_the_version_before_is_read_and_verified() -> None:
    earlier = tt.load(EARLIER)
    assert json.loads((EARLIER / "manifest.json").read_text())["software"]["tallytree"] == "0.1.0"
    assert earlier.verify().passed
    assert earlier.intervals is not None
    assert earlier.intervals.statistics == EARLIEST
    assert earlier.region("Nation", "A").total > 0


@pytest.mark.parametrize("add", [add_statistic, add_column])
def test_a_folder_of_the_version_before_is_read_whatever_was_added(
    add: object, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert callable(add)
    add(monkeypatch)
    earlier = tt.load(EARLIER)
    assert earlier.verify().passed
    assert earlier.intervals is not None
    assert earlier.intervals.statistics == EARLIEST
    earlier.save(tmp_path / "again")
    assert tt.load(tmp_path / "again").verify().passed


def test_statistics_that_are_not_added_are_not_named(tmp_path: Path) -> None:
    make_release().save(tmp_path / "out")
    stated = json.loads((tmp_path / "out" / "manifest.json").read_text())["intervals"]
    assert list(stated) == ["coverage", "replicates", "seed", "columns", "flags", "kept", "usefulness"]
    assert stated["columns"] == [*BOUNDS, "flag"]


def test_a_statistic_from_outside_gets_its_intervals(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    before = tt.add_intervals(made := make_release(), replicates=10)
    add_statistic(monkeypatch)
    made.save(tmp_path / "out", replicates=10)
    found = tt.load(tmp_path / "out")
    assert found.verify().passed
    assert found.intervals is not None
    assert before.intervals is not None
    assert found.intervals.statistics == (LARGE.name, *EARLIEST)
    for level, counts in enumerate(found.counts):
        told = found.intervals.summaries[level]
        groups = counts.sum(axis=1)
        for region in range(len(counts)):
            value = counts[region, 2:].sum() / groups[region] if groups[region] else np.nan
            np.testing.assert_equal(told.value[region, 0], value)
        some = groups > 0
        assert ((told.low[some, 0] >= 0) & (told.high[some, 0] <= 1)).all()
        assert (told.low[some, 0] <= told.high[some, 0]).all()
        # The intervals of the others are what they were.
        others = before.intervals.summaries[level]
        for name in ("value", "low", "high", "bias", "error"):
            np.testing.assert_array_equal(getattr(told, name)[:, 1:], getattr(others, name))


def test_a_statistic_that_is_not_known_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with monkeypatch.context() as patched:
        add_statistic(patched)
        make_release().save(tmp_path / "out", replicates=10)
    with pytest.raises(FolderError, match="Unknown statistic 'share_of_3_and_more'"):
        tt.load(tmp_path / "out")


def test_a_column_from_outside_is_in_the_table_and_in_the_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    add_column(monkeypatch)
    made = make_release()
    made.save(tmp_path / "out", replicates=10)
    found = tt.load(tmp_path / "out")
    assert found.verify().passed
    for table in (found.to_arrow(), pa_parquet.read_table(tmp_path / "out" / "intervals.parquet")):
        assert table.column_names[-6:] == [*BOUNDS, "flag", "share"]
        top = [row for row in table.to_pylist() if row["level"] == "nation"]
        assert [row["share"] for row in top] == [row["groups"] / found.total for row in top]
    assert found.region("N", "A").to_arrow().column_names[-1] == "share"
    hierarchy = tt.Hierarchy.from_paths(["nation", "share"], [("N", "A")])
    counts = tt.GroupCounts(hierarchy, (1, 2), [[3, 4]])
    with pytest.raises(HierarchyError, match="column of that name"):
        tt.release(counts, epsilon=1)


def test_a_column_from_outside_must_follow_from_the_counts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    add_column(monkeypatch)
    make_release().save(tmp_path / "out", replicates=10)
    path = tmp_path / "out" / "intervals.parquet"
    table = pa_parquet.read_table(path)
    wrong = table["share"].to_numpy().copy()
    wrong[3] += 1e-9
    pa_parquet.write_table(table.set_column(len(table.column_names) - 1, "share", pa.array(wrong)), path)
    failed = {check.name for check in tt.load(tmp_path / "out").verify().checks if check.failed}
    assert failed == {"files", "interval files"}


def test_a_column_that_is_not_known_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with monkeypatch.context() as patched:
        add_column(patched)
        make_release().save(tmp_path / "out", replicates=10)
    with pytest.raises(FolderError, match="does not know: 'share'"):
        tt.load(tmp_path / "out")


@pytest.mark.parametrize(
    "stated",
    [
        {"columns": ["groups_low"]},
        {"columns": [*BOUNDS, "groups_low"]},
        {"columns": 7},
        {"statistics": [["groups"]]},
        {"statistics": {"groups": 1}},
        {"statistics": []},
    ],
    ids=str,
)
def test_what_a_manifest_says_of_its_columns_is_not_believed(
    stated: dict[str, object], tmp_path: Path
) -> None:
    make_release().save(tmp_path / "out", replicates=10)
    path = tmp_path / "out" / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["intervals"] |= stated
    path.write_text(json.dumps(manifest))
    with pytest.raises(FolderError, match=r"damaged|rows"):
        tt.load(tmp_path / "out")


def test_a_figure_from_outside_is_in_the_report(monkeypatch: pytest.MonkeyPatch) -> None:
    """How a page shows it in a browser is tested with the report."""
    add_statistic(monkeypatch)
    figure = Figure(
        "3 and more", "share_of_3_and_more", "share", LARGE.find, LARGE.name, shade="Share of 3 and more"
    )
    monkeypatch.setattr(key_figures, "FIGURES", (*key_figures.FIGURES, figure))
    made = tt.add_intervals(make_release(), replicates=10)
    page = write_page(made, made.verify())
    facts = json.loads(page.partition('id="facts">')[2].partition("</script>")[0])
    assert facts["figures"][-1] == {
        "name": "3 and more",
        "column": "share_of_3_and_more",
        "show": "share",
        "grid": 10**9,
        "shade": "Share of 3 and more",
    }
