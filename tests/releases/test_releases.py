"""Releases: made, written, read back, and checked."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pa_parquet
import pytest

import tallytree as tt
from tallytree.errors import CheckError, FolderError, HierarchyError
from tallytree.files import new_folder
from tallytree.mechanisms.direct_dp import DirectDP

PATHS = [("US", "NY", "Kings"), ("US", "DC"), ("US", "GA", "Fulton"), ("US", "NY", "Erie")]


@pytest.fixture
def counts() -> tt.GroupCounts:
    h = tt.Hierarchy.from_paths(["nation", "state", "county"], PATHS)
    leaf = np.random.default_rng(0).integers(0, 50, (4, 6))
    return tt.GroupCounts(h, (0, 5), leaf)


def test_a_release_holds_what_it_promises(counts: tt.GroupCounts) -> None:
    release = tt.release(counts, epsilon="0.7", budget={"nation": 1, "state": 2, "county": 4})
    assert release.verify().passed
    assert release.total == counts.total
    assert [level.epsilon for level in release.measurements.plan.levels] == [
        pytest.approx(x) for x in (0.1, 0.2, 0.4)
    ]
    privacy = release.manifest["privacy"]
    assert privacy["epsilon"] == "7/10"
    assert "epsilon = 0.7" in privacy["statement"]
    assert "also covers a person whose group becomes empty" in privacy["statement"]
    assert "exact probabilities" in privacy["noise"]


def test_sizes_from_one_on_narrow_the_promise(counts: tt.GroupCounts) -> None:
    h = tt.Hierarchy.from_paths(["root"], [("r",)])
    release = tt.release(tt.GroupCounts(h, (1, 2), [[3, 4]]), epsilon=1)
    assert "no group falls below size 1" in release.manifest["privacy"]["statement"]


def test_releases_of_the_same_counts_differ(counts: tt.GroupCounts) -> None:
    first, second = (tt.release(counts, epsilon="0.1") for _ in range(2))
    assert any(
        (a != b).any() for a, b in zip(first.measurements.values, second.measurements.values, strict=True)
    )


def test_a_release_survives_being_written_and_read(counts: tt.GroupCounts, tmp_path: Path) -> None:
    release = tt.release(counts, epsilon="1/3")
    release.save(tmp_path / "new" / "out", replicates=0)
    again = tt.load(tmp_path / "new" / "out")
    assert again.verify().passed
    assert [check.name for check in again.verify().checks][-1] == "files"
    assert again.hierarchy == release.hierarchy
    assert again.measurements.plan == release.measurements.plan
    assert again.total == release.total
    for name in ("counts", "values"):
        for a, b in zip(
            getattr(release if name == "counts" else release.measurements, name),
            getattr(again if name == "counts" else again.measurements, name),
            strict=True,
        ):
            np.testing.assert_array_equal(a, b)


def test_the_table_is_as_other_tools_expect_it(counts: tt.GroupCounts, tmp_path: Path) -> None:
    release = tt.release(counts, epsilon=1)
    release.save(tmp_path / "out", replicates=0)
    table = pa_parquet.read_table(tmp_path / "out" / "release.parquet")
    assert table.column_names == ["nation", "state", "county", "level", "size", "groups"]
    rows = table.to_pylist()
    assert all(row["groups"] > 0 for row in rows)
    for row in rows:
        depth = release.hierarchy.index(row["level"])
        path = tuple(row[name] for name in release.hierarchy.levels[: depth + 1])
        assert [row[name] for name in release.hierarchy.levels[depth + 1 :]] == [None] * (2 - depth)
        region = release.hierarchy.regions(depth).index(path)
        assert release.counts[depth][region, row["size"]] == row["groups"]
    assert len(rows) == sum(int((level > 0).sum()) for level in release.counts)


def change_count(folder: Path) -> None:
    path = folder / "release.parquet"
    table = pa_parquet.read_table(path)
    groups = table["groups"].to_numpy().copy()
    groups[0] += 1_000  # one more or less can leave the objective as it is: (d + 1)^2 may be d^2 in sum
    pa_parquet.write_table(table.set_column(5, "groups", pa.array(groups)), path)


def test_a_changed_count_is_found(counts: tt.GroupCounts, tmp_path: Path) -> None:
    tt.release(counts, epsilon=1).save(tmp_path / "out", replicates=0)
    change_count(tmp_path / "out")
    failed = [check.name for check in tt.load(tmp_path / "out").verify().checks if check.failed]
    assert failed == ["consistency", "faithfulness", "mechanism", "files"]


def test_a_changed_budget_is_found(counts: tt.GroupCounts, tmp_path: Path) -> None:
    tt.release(counts, epsilon=1).save(tmp_path / "out", replicates=0)
    path = tmp_path / "out" / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["privacy"]["epsilon"] = "1/10"  # claims more than was done
    path.write_text(json.dumps(manifest))
    failed = [check.name for check in tt.load(tmp_path / "out").verify().checks if check.failed]
    assert failed == ["budget", "statement", "manifest"]


def test_the_release_folder_holds_no_true_counts(tmp_path: Path) -> None:
    secret = 7_391_442_815
    h = tt.Hierarchy.from_paths(["root", "leaf"], [("r", "a"), ("r", "b")])
    counts = tt.GroupCounts(h, (1, 2), [[secret, 5], [0, 0]])
    tt.release(counts, epsilon="0.0001").save(tmp_path / "out", replicates=0)
    for file in (tmp_path / "out").iterdir():
        data = file.read_bytes()
        assert str(secret).encode() not in data
        assert secret.to_bytes(8, "little") not in data


def test_a_mechanism_with_options_can_make_a_release(counts: tt.GroupCounts) -> None:
    release = tt.release(counts, epsilon=3, mechanism=DirectDP(solver="tables"))
    assert release.manifest["solution"]["solver"] == "tables"
    assert release.verify()


def test_an_existing_place_is_never_touched(counts: tt.GroupCounts, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    release = tt.release(counts, epsilon=1)
    for name in ("file", "folder", "link"):
        with pytest.raises(FolderError, match="exists already"):
            release.save(tmp_path / name, replicates=0)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file", "folder", "link"]
    assert (tmp_path / "file").read_text() == "mine"


def test_a_folder_appears_complete_or_not_at_all(tmp_path: Path) -> None:
    for error in (RuntimeError, KeyboardInterrupt, SystemExit):
        with pytest.raises(error), new_folder(tmp_path / "out") as stage:
            (stage / "half").write_text("written")
            assert not (tmp_path / "out").exists()
            raise error
        assert list(tmp_path.iterdir()) == []
    with new_folder(tmp_path / "out") as stage:
        assert stage.stat().st_mode & 0o077 == 0  # private until it is complete
        (stage / "file").write_text("whole")
    assert [p.name for p in tmp_path.iterdir()] == ["out"]
    assert (tmp_path / "out" / "file").read_text() == "whole"


def test_replacing_exchanges_the_whole_folder_or_leaves_the_old_one(tmp_path: Path) -> None:
    with new_folder(tmp_path / "out") as stage:
        (stage / "old").write_text("old")
    with pytest.raises(RuntimeError), new_folder(tmp_path / "out", replace=True):
        raise RuntimeError
    assert [p.name for p in (tmp_path / "out").iterdir()] == ["old"]
    with new_folder(tmp_path / "out", replace=True) as stage:
        (stage / "new").write_text("new")
    assert [p.name for p in (tmp_path / "out").iterdir()] == ["new"]
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
@pytest.mark.parametrize("fails_at", [1, 2])
def test_an_exchange_that_fails_halfway_puts_the_old_folder_back(
    error: type[BaseException], fails_at: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with new_folder(tmp_path / "out") as stage:
        (stage / "old").write_text("old")
    calls, rename = 0, Path.rename

    def fail_once(self: Path, target: Path) -> Path:
        nonlocal calls
        calls += 1
        if calls == fails_at:
            raise error
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", fail_once)
    expected = FolderError if error is OSError else error
    with pytest.raises(expected), new_folder(tmp_path / "out", replace=True) as stage:
        (stage / "new").write_text("new")
    assert calls >= fails_at
    assert [p.name for p in tmp_path.iterdir()] == ["out"]
    assert (tmp_path / "out" / "old").read_text() == "old"


def test_two_writers_of_one_place_do_not_mix(counts: tt.GroupCounts, tmp_path: Path) -> None:
    release = tt.release(counts, epsilon=1)
    with pytest.raises(FolderError, match="cannot be written"), new_folder(tmp_path / "out") as stage:
        release.write_into(stage)
        stage.rename(tmp_path / "elsewhere")  # somebody was faster
        tt.release(counts, epsilon=1).save(tmp_path / "out", replicates=0)
    assert tt.load(tmp_path / "out").verify()


def test_a_result_that_fails_its_checks_is_withheld(
    counts: tt.GroupCounts, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = DirectDP.postprocess

    def broken(self: DirectDP, measurements: tt.Measurements, *, total: int) -> tt.Solution:
        solution = honest(self, measurements, total=total)
        solution.counts[0][0, 0] += 1
        return solution

    monkeypatch.setattr(DirectDP, "postprocess", broken)
    with pytest.raises(CheckError, match="check of consistency"):
        tt.release(counts, epsilon=1, mechanism="direct-dp")


def test_every_table_of_a_release_has_columns_for_all_levels(tmp_path: Path) -> None:
    """A level that is called like another column is refused before anything is spent."""
    paths = [("US", "GA"), ("US", "NY")]
    made = tt.release(
        tt.GroupCounts(tt.Hierarchy.from_paths(["a", "b"], paths), (1, 2), [[9, 9]] * 2), epsilon=1
    )
    made.save(tmp_path / "out", replicates=10, keep_replicates=False)  # those have no such columns
    tables = [pa_parquet.read_schema(path).names for path in (tmp_path / "out").glob("*.parquet")]
    tables += [made.to_arrow().column_names, made.estimate_unbiased().column_names]
    assert len(tables) == 6
    for name in {name for names in tables for name in names} - {"a", "b"}:
        hierarchy = tt.Hierarchy.from_paths(["a", name], paths)
        with pytest.raises(HierarchyError, match=f"may not be called '{name}'"):
            tt.release(tt.GroupCounts(hierarchy, (1, 2), [[9, 9]] * 2), epsilon=1)
