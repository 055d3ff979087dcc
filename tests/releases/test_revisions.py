"""A release is solved again by the revision of the algorithm that made it, or not at all."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tallytree as tt
from tallytree import __version__
from tallytree.errors import IntervalsError
from tallytree.files import hash_file
from tallytree.mechanisms.cumulative_joint import CumulativeJoint
from tallytree.releases.manifest import seal
from tallytree.solvers.checks import Check
from tests.commands import Run

H = tt.Hierarchy.from_paths(["nation", "state"], [("US", "GA"), ("US", "NY"), ("US", "WA")])
COUNTS = tt.GroupCounts(H, (1, 60), np.random.default_rng(1).integers(0, 9, (3, 60)))
"""So many sizes that no two algorithms give the same counts."""
EARLIER = Path(__file__).parent / "folder-0.1.0"


def make(folder: Path, *, mechanism: str = "cumulative-joint", **options: object) -> Path:
    method = tt.mechanism(mechanism, **options)
    tt.release(COUNTS, epsilon="1/5", mechanism=method).save(folder, replicates=0)
    return folder


def restate(folder: Path, change: Callable[[Any], object]) -> None:
    """Change what a manifest says of its mechanism, and its digests with it."""
    manifest = json.loads((folder / "manifest.json").read_bytes())
    change(manifest["mechanism"])
    manifest["files"] = {name: hash_file(folder / name) for name in manifest["files"]}
    (folder / "manifest.json").write_bytes(seal(manifest).encode())


def verify(folder: Path) -> dict[str, Check]:
    return {check.name: check for check in tt.load(folder).verify(recompute=True).checks}


def test_the_manifest_states_the_revision(tmp_path: Path) -> None:
    manifest = tt.load(make(tmp_path / "out")).manifest
    assert manifest["mechanism"]["revision"] == CumulativeJoint.revision
    assert verify(tmp_path / "out")["solution"].passed


def test_a_manifest_without_a_revision_is_of_the_first(tmp_path: Path) -> None:
    folder = make(tmp_path / "out", mechanism="direct-dp")
    restate(folder, lambda part: part.pop("revision"))
    assert verify(folder)["solution"].passed


def test_the_folder_of_the_first_version_is_said_not_to_be_solved_again() -> None:
    checks = verify(EARLIER)
    assert not any(check.failed for check in checks.values())
    assert checks["mechanism"].passed
    assert not checks["solution"].made
    assert "solved by revision 1 of cumulative-joint" in checks["solution"].statement


def test_what_the_first_revision_did_without_smoothing_is_solved_again(tmp_path: Path) -> None:
    folder = make(tmp_path / "out", smooth=False)
    restate(folder, lambda part: part.update(revision=1))
    assert verify(folder)["solution"].passed


def test_after_a_change_of_the_algorithm_all_but_the_solution_is_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make(tmp_path / "out")
    made_by = CumulativeJoint.revision
    monkeypatch.setattr(CumulativeJoint, "revision", made_by + 1)
    monkeypatch.setattr(CumulativeJoint, "earlier", {})
    checks = verify(folder)
    assert not any(check.failed for check in checks.values())
    assert not checks["solution"].made
    assert checks["solution"].statement == (
        f"not recomputed, because the release was solved by revision {made_by} of cumulative-joint, and "
        f"version {__version__} has revision {made_by + 1}"
    )
    assert checks["mechanism"].passed
    assert checks["mechanism"].statement == "objective and certificate are those of these counts"


def test_a_false_objective_is_found_whatever_the_revision(tmp_path: Path) -> None:
    folder = make(tmp_path / "out")
    restate(folder, lambda part: part.update(revision=9, options={"magic": 3}))
    assert verify(folder)["mechanism"].passed
    manifest = json.loads((folder / "manifest.json").read_bytes())
    manifest["solution"]["objective"] = "1"
    (folder / "manifest.json").write_bytes(seal(manifest).encode())
    assert verify(folder)["mechanism"].example == "'objective' is not as stated"


def test_an_earlier_revision_is_repeated_where_options_still_give_its_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Smoothing becomes the default: releases without it, and from before the option, are as they were."""
    plain = make(tmp_path / "plain", smooth=False)
    restate(plain, lambda part: part.update(revision=1))
    bare = make(tmp_path / "bare", smooth=False)
    restate(bare, lambda part: (part.update(revision=1), part["options"].clear()))
    smooth = make(tmp_path / "smooth")
    restate(smooth, lambda part: part.update(revision=1))
    # What a change of the algorithm takes: one line, and one more if it can still do the earlier one.
    monkeypatch.setattr(CumulativeJoint, "revision", 2)
    monkeypatch.setattr(CumulativeJoint, "earlier", {1: {"smooth": False}})
    assert verify(plain)["solution"].passed
    assert verify(bare)["solution"].passed
    assert not verify(smooth)["solution"].made
    # What the other algorithm would give is not what is in the folder: that it was the right one is seen.
    monkeypatch.setattr(CumulativeJoint, "earlier", {1: {"smooth": True}})
    assert verify(bare)["solution"].failed


@pytest.mark.parametrize("revision", [0, -1, True, "1", 1.0, None, [1]], ids=repr)
def test_what_is_no_revision_fails(revision: object, tmp_path: Path) -> None:
    folder = make(tmp_path / "out", mechanism="direct-dp")
    restate(folder, lambda part: part.update(revision=revision))
    checks = verify(folder)
    failed = [name for name, check in checks.items() if check.failed]
    assert failed == [
        "mechanism",
        "solution",
        *([] if revision == 1.0 and revision is not True else ["schema"]),
    ]
    assert "whole number, 1 or above" in checks["solution"].example


def test_intervals_need_the_revision_that_made_the_counts(tmp_path: Path, run: Run) -> None:
    """Replicates of another algorithm would not say how far off these counts are."""
    folder = make(tmp_path / "out")
    restate(folder, lambda part: part.update(revision=9))
    found = tt.load(folder)
    with pytest.raises(IntervalsError, match="solved by revision 9 of cumulative-joint"):
        tt.add_intervals(found, replicates=10)
    found.save(tmp_path / "again")
    again = tt.load(tmp_path / "again")
    assert again.intervals is None
    assert again.verify()
    code, out, err = run("intervals", str(folder))
    assert (code, out) == (2, "")
    assert "Intervals are not made: the release was solved by revision 9" in err
    assert run("verify", str(folder)).code == 0
