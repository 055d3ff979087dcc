"""Replicates in a folder: written if asked, listed with their hash, and refused if they are damaged."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pa_parquet
import pytest

import tallytree as tt
from tallytree.errors import FolderError, IntervalsError
from tallytree.files import hash_file
from tallytree.releases.kept_replicates import COLUMNS, REPLICATES
from tallytree.releases.manifest import seal
from tests.commands import Run

STATES = [("N", "A"), ("N", "B"), ("N", "C")]


def make_release() -> tt.Release:
    hierarchy = tt.Hierarchy.from_paths(["nation", "state"], STATES)
    leaf = np.random.default_rng(2).integers(0, 200, (3, 6))
    return tt.release(tt.GroupCounts(hierarchy, (1, 6), leaf), epsilon=1)


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kept") / "r"
    make_release().save(folder, replicates=10, keep_replicates=True)
    return folder


@pytest.fixture
def folder(saved: Path, tmp_path: Path) -> Path:
    made = tt.load(saved)
    made.save(tmp_path / "r")
    return tmp_path / "r"


def read_manifest(folder: Path) -> Any:
    return json.loads((folder / "manifest.json").read_text())


def test_the_manifest_lists_them_with_their_hash(folder: Path) -> None:
    manifest = read_manifest(folder)
    assert manifest["intervals"]["kept"] is True
    assert manifest["files"][REPLICATES] == hash_file(folder / REPLICATES)
    table = pa_parquet.read_table(folder / REPLICATES)
    assert table.column_names == list(COLUMNS)
    assert set(table["replicate"].to_pylist()) <= set(range(10))
    assert tt.load(folder).verify().passed


def test_they_are_kept_by_default_unless_they_are_large(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = make_release()
    made.save(tmp_path / "few", replicates=10)
    assert (tmp_path / "few" / REPLICATES).exists()
    monkeypatch.setattr("tallytree.intervals.replicates.MOST_KEPT", 4 * 6 - 1)  # of 4 regions, 6 sizes
    made.save(tmp_path / "many", replicates=10)
    assert not (tmp_path / "many" / REPLICATES).exists()
    made.save(tmp_path / "asked", replicates=10, keep_replicates=True)
    assert (tmp_path / "asked" / REPLICATES).exists()


def test_none_are_kept_if_they_are_not_wanted(tmp_path: Path) -> None:
    made = make_release()
    made.save(tmp_path / "r", replicates=10, keep_replicates=False)
    assert not (tmp_path / "r" / REPLICATES).exists()
    assert "kept" not in read_manifest(tmp_path / "r")["intervals"]
    loaded = tt.load(tmp_path / "r")
    assert loaded.intervals is not None and loaded.intervals.kept is None
    with pytest.raises(IntervalsError, match="without their replicates"):
        loaded.save(tmp_path / "again", keep_replicates=True)
    with pytest.raises(IntervalsError, match="none to keep"):
        made.save(tmp_path / "again", replicates=0, keep_replicates=True)
    assert not (tmp_path / "again").exists()


def test_intervals_that_are_made_again_take_them_away(folder: Path, run: Run) -> None:
    assert run("intervals", str(folder), "--replicates", "10", "--no-keep-replicates").code == 0
    assert not (folder / REPLICATES).exists()
    assert tt.load(folder).verify().passed
    assert run("intervals", str(folder), "--replicates", "12", "--keep-replicates").code == 0
    found = tt.load(folder)
    assert found.verify().passed
    assert found.intervals is not None and found.intervals.kept is not None
    assert found.intervals.kept.number == 12
    assert found.estimate(regions=STATES[:2]).low > 0


def test_the_release_command_keeps_them(tmp_path: Path, run: Run) -> None:
    (tmp_path / "counts.csv").write_text("state,size,groups\nA,1,500\nA,2,300\nB,1,90\n")
    words = ["release", str(tmp_path / "counts.csv"), "--region", "state", "--sizes", "1:3", "--epsilon", "1"]
    out = tmp_path / "r"
    assert run(*words, "--replicates", "10", "--keep-replicates", "--out", str(out)).code == 0
    assert (out / REPLICATES).exists()
    spec = tmp_path / "release.toml"
    spec.write_text('keep_replicates = "yes"\n')
    code, _, err = run(*words, "--spec", str(spec), "--out", str(tmp_path / "other"))
    assert code == 2
    assert "'keep_replicates' must be true or false" in err


def rewrite(folder: Path, change: Callable[[pa.Table], pa.Table], *, reseal: bool = True) -> None:
    """Change the file and, with ``reseal``, what the manifest says of it."""
    table = change(pa_parquet.read_table(folder / REPLICATES))
    pa_parquet.write_table(table, folder / REPLICATES, store_schema=False)
    if reseal:
        manifest = read_manifest(folder)
        manifest["files"][REPLICATES] = hash_file(folder / REPLICATES)
        (folder / "manifest.json").write_text(seal(manifest))


def put(name: str, value: int) -> Callable[[pa.Table], pa.Table]:
    def change(table: pa.Table) -> pa.Table:
        values = table[name].to_numpy().copy()
        values[3] = value
        return table.set_column(table.column_names.index(name), name, pa.array(values))

    return change


def rename(table: pa.Table) -> pa.Table:
    level = pc.replace_substring(table["level"].cast(pa.string()), "state", "county")
    return table.set_column(0, "level", level)


def turn(table: pa.Table) -> pa.Table:
    return table.take(list(range(table.num_rows))[::-1])


@pytest.mark.parametrize(
    "change",
    [
        *(put("region", value) for value in (-1, 3, 2**62)),
        *(put("size", value) for value in (0, 7, -(2**63))),
        *(put("replicate", value) for value in (-1, 10)),
        *(put("made", value) for value in (2**60, -(2**63))),
        put("known", 2**60),
        rename,
        turn,
        lambda table: pa.concat_tables([table, table.slice(table.num_rows - 1)]),
    ],
)
def test_damaged_replicates_are_refused_when_they_are_needed(
    folder: Path, change: Callable[[pa.Table], pa.Table]
) -> None:
    rewrite(folder, change)
    found = tt.load(folder)
    assert found.verify().passed  # the file was not read
    with pytest.raises(FolderError):
        found.estimate(regions=STATES[:1])


def test_a_changed_file_is_found_by_its_hash(folder: Path) -> None:
    rewrite(folder, put("made", 5), reseal=False)
    found = tt.load(folder)
    assert [check.name for check in found.verify().checks if check.failed] == ["files"]
    with pytest.raises(FolderError, match="not the file that was written"):
        found.estimate(regions=STATES[:1])


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.unlink(),
        lambda path: path.write_bytes(b""),
        lambda path: pa_parquet.write_table(pa.table({"level": ["state"]}), path),
    ],
)
def test_what_is_no_file_of_replicates_is_refused_at_once(
    folder: Path, damage: Callable[[Path], object]
) -> None:
    damage(folder / REPLICATES)
    with pytest.raises(FolderError):
        tt.load(folder)


@pytest.mark.parametrize("stated", [1, "yes", None])
def test_a_manifest_that_does_not_say_whether_they_are_kept_is_refused(folder: Path, stated: object) -> None:
    manifest = read_manifest(folder)
    manifest["intervals"]["kept"] = stated
    (folder / "manifest.json").write_text(seal(manifest))
    with pytest.raises(FolderError, match="does not say what the intervals are"):
        tt.load(folder)


def test_replicates_that_nobody_lists_are_named(folder: Path) -> None:
    manifest = read_manifest(folder)
    del manifest["intervals"]["kept"], manifest["files"][REPLICATES]
    (folder / "manifest.json").write_text(seal(manifest))
    (check,) = (check for check in tt.load(folder).verify().checks if check.name == "other files")
    assert REPLICATES in check.statement


def test_a_loaded_release_can_be_saved_and_changed_elsewhere(saved: Path, tmp_path: Path) -> None:
    loaded = tt.load(saved)
    assert loaded.intervals is not None
    bare = replace(loaded.intervals, kept=None)
    assert bare.to_dict().keys() == loaded.intervals.to_dict().keys() - {"kept"}
