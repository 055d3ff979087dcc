"""Disks that are really full, to be read only, or somebody else's: one clear message, and the truth."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from typing import Any

import pytest

from tests.bad_input_support import check_message
from tests.commands import run_workers

UNSHARE = ["unshare", "--user", "--map-root-user", "--mount"]
LOST = "Epsilon 1/10 was spent for nothing: it is entry 11 of the ledger."


def find_obstacle() -> str:
    """Why no file system can be mounted here; none if one can."""
    if sys.platform != "linux" or not shutil.which("unshare"):
        return "needs Linux and unshare, to mount a small file system"
    words = [*UNSHARE, "mount", "-t", "tmpfs", "none", "/mnt"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return f"no file system can be mounted here: {done.stderr.strip()}" if done.returncode else ""


OBSTACLE = find_obstacle()
mounts = pytest.mark.skipif(bool(OBSTACLE), reason=OBSTACLE)


NO_REPORT = r"(The report was not written \(FolderError\); the release is complete without it. [^\n]+\n)"
NO_INTERVALS = (
    r"(No intervals were made \(FolderError\). The release is complete without intervals; [^\n]+\n)"
)
JUST_FITS = f"{NO_REPORT}?{NO_INTERVALS}?{NO_REPORT}?"
"""A release that just fits on a disk is kept; its report and its intervals can be made elsewhere."""


def attempt(how: str, *attempts: tuple[object, ...]) -> list[dict[str, Any]]:
    """Let the workers run commands; what became of each."""
    inside = [] if how == "forbidden" else UNSHARE
    answers: list[dict[str, Any]] = run_workers(
        "tests.releases.disk_workers", how, json.dumps(attempts), inside=inside
    )
    for answer in answers:
        check_answer(answer)
    return answers


def check_answer(answer: dict[str, Any]) -> None:
    """Done, or refused without a trace but what the message says was spent; and done when it is possible."""
    assert answer["code"] in (0, 2), answer
    assert (answer["again"], answer["passed"]) == (0, True), answer
    if answer["code"] == 0:
        assert re.fullmatch(JUST_FITS, answer["said"]), answer
        return
    assert re.fullmatch(r"Error: [^\n]+\n", answer["said"]), answer
    check_message(answer["said"].removeprefix("Error: ").removesuffix("\n"))
    assert answer["left"] == [], answer
    assert (LOST in answer["said"]) == answer["spent"], answer
    assert "may have been spent" not in answer["said"], answer


@mounts
@pytest.mark.slow
def test_a_release_onto_a_full_disk() -> None:
    """With no room at all, with room for the charge, for one more file, and so on until there is enough."""
    pages = attempt("full", *(("release", "disk", "pages", free) for free in (*range(0, 18, 2), 40, 90, 200)))
    assert pages[-1]["said"] == ""  # there was room for the report as well
    assert pages[0]["spent"] == 0 and "No space left on device. Nothing was spent." in pages[0]["said"]
    assert {(answer["code"], answer["spent"]) for answer in pages} == {(2, 0), (2, 1), (0, 1)}


@mounts
@pytest.mark.slow
def test_a_release_onto_a_full_disk_with_a_ledger_elsewhere() -> None:
    """The place is tried before the charge, but how much room there will be nobody can know."""
    answers = attempt("full", *(("release", "elsewhere", "pages", free) for free in (0, 3, 6, 9, 40)))
    assert {(answer["code"], answer["spent"]) for answer in answers} == {(2, 1), (0, 1)}


@mounts
@pytest.mark.slow
def test_a_release_onto_a_disk_that_has_no_room_for_more_files() -> None:
    answers = attempt("full", *(("release", "disk", "files", free) for free in range(6)))
    assert {(answer["code"], answer["spent"]) for answer in answers} == {(2, 0), (2, 1), (0, 1)}


@mounts
@pytest.mark.slow
def test_counts_and_ledgers_on_a_full_disk() -> None:
    answers = attempt(
        "full",
        *((what, "none", "pages", free) for what in ("count", "count-csv") for free in (0, 8)),
        *((what, "none", "files", free) for what in ("count", "create") for free in (0, 1, 8)),
        *(("create", "none", "pages", free) for free in (0, 1, 2, 3, 4, 16)),
        *(("create-second", "disk", "pages", free) for free in (0, 1, 2, 3, 4, 16)),
    )
    for what in (answers[:2], answers[2:4], answers[4:7], answers[7:10], answers[10:16], answers[16:]):
        assert (what[0]["code"], what[-1]["code"]) == (2, 0)


@mounts
@pytest.mark.slow
def test_a_disk_to_read_only() -> None:
    answers = attempt(
        "read-only",
        ("release", "disk"),
        ("release", "elsewhere"),
        ("count", "none"),
        ("count-csv", "none"),
        ("create", "none"),
        ("create-second", "disk"),
    )
    assert {(answer["code"], answer["spent"]) for answer in answers} == {(2, 0)}
    assert all(re.search("Read-only file system|may not be written to", a["said"]) for a in answers)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="needs to become another user")
def test_files_and_folders_of_somebody_else() -> None:
    answers = attempt(
        "forbidden",
        ("release", "disk", "disk"),
        ("release", "elsewhere", "disk"),
        ("release", "elsewhere", "elsewhere"),
        ("release", "disk", "disk/ledger.db"),
        ("release", "disk", "elsewhere/counts.csv"),
        ("count", "none", "disk"),
        ("count", "none", "elsewhere/people.csv"),
        ("create", "none", "disk"),
        ("create-second", "disk", "disk"),
        ("create-second", "disk", "disk/ledger.db"),
    )
    assert {(answer["code"], answer["spent"]) for answer in answers} == {(2, 0)}
    assert all(re.search("Permission denied|No permission|may not be", answer["said"]) for answer in answers)


@pytest.mark.parametrize(
    "change",
    [
        {"code": 70},
        {"said": "Traceback\n"},
        {"left": ["deep"]},
        {"spent": 0},
        {"again": 2},
        {"passed": False},
    ],
)
def test_the_check_itself_finds_what_it_forbids(change: dict[str, Any]) -> None:
    said = f"Error: 'DISK/deep/out' cannot be written: No space left on device. {LOST}\n"
    answer = {"code": 2, "said": said, "spent": 1, "left": [], "again": 0, "passed": True}
    check_answer(answer)
    with pytest.raises(AssertionError):
        check_answer({**answer, **change})
