"""What every earlier version wrote is read, verified, charged and run by this one (docs/compatibility.md)."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

import tallytree as tt
from tests.commands import Run
from tests.earlier import __main__ as writer

KEPT = sorted(path for path in Path(writer.__file__).parent.iterdir() if (path / "release.toml").exists())


@pytest.fixture(params=KEPT, ids=lambda path: path.name)
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A copy of what a version wrote, in the folder in which commands run."""
    return shutil.copytree(request.param, tmp_path, dirs_exist_ok=True)


def test_the_first_version_is_among_them() -> None:
    assert KEPT[0].name == "0.1.0"


def test_what_this_version_writes_is_read_as_well(tmp_path: Path, run: Run) -> None:
    """The files of a version are made when it is final: until then, that they can be made is tested."""
    writer.write_all(tmp_path / "now")
    check_release(tmp_path / "now")


def test_releases_are_read_verified_and_paid_for(kept: Path) -> None:
    check_release(kept)


def check_release(folder: Path) -> None:
    release = tt.load(folder / "release")
    verification = release.verify(recompute=True)
    assert not [check for check in verification.checks if check.failed]
    assert release.intervals is not None
    assert release.region("all").total == release.total == 60
    assert "enforced" in release.manifest["privacy"]["bounds"]
    ledger = tt.Ledger(folder / "ledger.db")
    assert ledger.verify([release])
    if (folder / "ledger.json").exists():  # 0.1.0 signed nothing
        key = folder / "key.public.pem"
        assert tt.verify(folder / "release", key=key)
        assert ledger.verify(key=key, statement=folder / "ledger.json")


def test_ledgers_are_charged_and_keep_their_entries(kept: Path) -> None:
    ledger = tt.Ledger(kept / "ledger.db")
    before = ledger.read()
    assert {name: str(balance.spent) for name, balance in before.balances.items()} == {
        "people": "1/2",
        "others": "0",
    }
    ledger.charge("1/3", what="more", dataset="people", label="2026-02")
    tt.Ledger.create(kept / "ledger.db", dataset="new", epsilon=1)
    after = ledger.read()
    assert list(after.entries[: len(before.entries)]) == list(before.entries)
    assert str(after.balances["people"].remaining) == "13/6"
    assert ledger.verify([tt.load(kept / "release")])


def test_specs_are_run(kept: Path, run: Run) -> None:
    shutil.rmtree(kept / "release")
    done = run("release", "--spec", "release.toml")
    assert done.code == 0, done.err
    assert tt.load(kept / "release").verify()
    assert tt.Ledger(kept / "ledger.db").balance("people").spent == 1


def test_specs_of_the_planner_are_run(kept: Path, run: Run) -> None:
    (kept / "counts.csv").write_text("state,county,size,groups\nGA,Cobb,1,50\nNY,Kings,2,70\n")
    done = run("release", "--spec", "plan.toml", "--out", "planned", "--replicates", "0")
    assert done.code == 0, done.err
    parts = {level.loss for level in tt.load(kept / "planned").measurements.plan.levels}
    assert len(parts) > 1
    assert tt.load(kept / "planned").epsilon == 1


def test_files_of_counts_are_what_was_counted(kept: Path, run: Run) -> None:
    regions = ["state", "county"]
    read = tt.GroupCounts.from_table(kept / "counts.parquet", regions=regions)
    again = tt.count_groups(
        kept / "people.csv",
        group="household",
        regions=regions,
        sizes=(1, 4),
        frame=kept / "frame.csv",
        person="person",
    )
    np.testing.assert_array_equal(read.leaf, again.leaf)
    assert (read.is_enforced, read.has_frame, read.bounds) == (True, True, again.bounds)
    words = ["--region", "state", "--region", "county", "--sizes", "1:4", "--epsilon", "1"]
    done = run("release", "counts.parquet", *words, "--replicates", "0", "--out", "counted")
    assert done.code == 0, done.err
    assert tt.load(kept / "counted").manifest["privacy"]["bounds"] == "enforced on the records of people"
