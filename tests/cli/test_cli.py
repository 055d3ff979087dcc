"""The command line, as people and programs use it."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tallytree.datasets.invented import generate_nation
from tallytree.releases.manifest import seal
from tallytree.solvers.joint import joint_relaxation
from tests.commands import Run

TABLE = "state,county,size,groups\nGA,a,1,20\nGA,b,2,30\nNY,c,1,40\nNY,c,3,5\nDC,,2,9\n"


@pytest.fixture(autouse=True)
def counts(run: Run, tmp_path: Path) -> None:
    """A table to release, where the commands run."""
    (tmp_path / "counts.csv").write_text(TABLE)


FLAGS = ["--region", "state", "--region", "county", "--sizes", "1:4", "--epsilon", "1"]
FLAGS += ["--root", "US", "--root-level", "nation"]


def test_a_release_from_flags_is_verified_and_evaluated(run: Run, tmp_path: Path) -> None:
    code, out, err = run("release", "counts.csv", *FLAGS, "--out", "made")
    assert (code, err) == (0, "")
    assert "epsilon-differentially private with epsilon = 1" in " ".join(out.split())
    assert sorted(p.name for p in (tmp_path / "made").iterdir()) == [
        "intervals.parquet", "manifest.json", "measurements.parquet", "release.parquet", "replicates.parquet",
        "report.html", "summaries.parquet",
    ]  # fmt: skip
    assert run("verify", "made")[0] == 0
    code, out, _ = run("evaluate", "made", "--truth", "counts.csv", "--data-is-not-sensitive", "--json")
    assert code == 0
    assert [row["level"] for row in json.loads(out)] == ["nation", "state", "county"]
    assert all(row["violations"] == 0 for row in json.loads(out))


@pytest.mark.parametrize(("epsilon", "is_large"), [("9.99", False), ("10", True), ("40", True)])
def test_a_large_epsilon_is_a_warning_everywhere(
    epsilon: str, is_large: bool, run: Run, tmp_path: Path
) -> None:
    flags = [*FLAGS, "--epsilon", epsilon, "--replicates", "0", "--out", "made"]
    code, out, err = run("release", "counts.csv", *flags)
    assert code == 0
    manifest = json.loads((tmp_path / "made" / "manifest.json").read_text())
    warning = f"WARNING: epsilon = {epsilon} is large"
    said = [
        " ".join(err.split()),
        " ".join(out.split()),
        manifest["privacy"]["statement"],
        (tmp_path / "made" / "report.html").read_text().split("<h2")[0],
    ]
    assert [warning in text for text in said] == [is_large] * 4
    assert [("WARNING" in text) for text in said] == [is_large] * 4
    assert run("verify", "made")[0] == 0
    if is_large:  # who takes it out of the manifest is found out
        privacy = manifest["privacy"]
        privacy["statement"] = privacy["statement"].split(" WARNING")[0]
        (tmp_path / "made" / "manifest.json").write_text(seal(manifest))
        code, out, _ = run("verify", "made")
        assert code == 1
        assert "'statement' is not what the plan gives" in " ".join(out.split())


def test_a_search_that_was_given_up_is_told_of(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = "The solver stopped before it converged"
    _, out, _ = run("release", "counts.csv", *FLAGS, "--replicates", "0", "--out", "done")
    assert told not in " ".join(out.split())
    monkeypatch.setattr(joint_relaxation, "MOST_STEPS", 0)
    code, out, _ = run("release", "counts.csv", *FLAGS, "--replicates", "0", "--out", "ended")
    assert code == 0
    gap = json.loads((tmp_path / "ended" / "manifest.json").read_text())["solution"]["accuracy"]["gap"]
    assert f"{told}: the objective may be up to {gap:.1%} above" in " ".join(out.split())


def test_a_spec_says_the_same_as_flags_and_flags_win(run: Run, tmp_path: Path) -> None:
    (tmp_path / "specs").mkdir()
    (tmp_path / "specs" / "release.toml").write_text(
        'source = "../counts.csv"\nregions = ["state", "county"]\nsizes = [1, 4]\nepsilon = 0.1\n'
        'root_level = "nation"\nout = "made"\nmax_records = 2\n'
        "[budget]\nnation = 1\nstate = 2\ncounty = 0.5\n"
    )
    code, out, _ = run("release", "--spec", "specs/release.toml", "--json")
    assert code == 0
    assert json.loads(out)["epsilon"] == "1/10"  # a TOML decimal is exact
    manifest = json.loads((tmp_path / "specs" / "made" / "manifest.json").read_text())
    assert [level["epsilon"] for level in manifest["privacy"]["levels"]] == ["1/35", "2/35", "1/70"]
    assert [level["sensitivity"] for level in manifest["privacy"]["levels"]] == ["2", "2", "2"]
    code, out, _ = run("release", "--spec", "specs/release.toml", "--epsilon", "2", "--out", "b", "--json")
    assert json.loads(out)["epsilon"] == "2"
    assert (tmp_path / "b").is_dir()


@pytest.mark.parametrize("replicates", ['""', "[]", "9", '"20"', "20.5"])
def test_a_number_of_replicates_that_is_none_is_refused(replicates: str, run: Run, tmp_path: Path) -> None:
    (tmp_path / "release.toml").write_text(
        'source = "counts.csv"\nregions = ["state", "county"]\nsizes = [1, 4]\nepsilon = 1\nout = "made"\n'
        f"replicates = {replicates}\n"
    )
    code, _, err = run("release", "--spec", "release.toml")
    assert code == 2
    assert "replicates" in err
    assert not (tmp_path / "made").exists()


def test_commands_to_copy_can_be_pasted_into_a_shell(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "20")  # a command that is wrapped would be two
    place = "a place; ' of my own, with a name that is longer than a line"
    code, out, _ = run("release", "counts.csv", *FLAGS, "--out", place, "--replicates", "0")
    assert code == 0
    commands = [
        shlex.split(line) for line in out.splitlines() if line.startswith("    ") and place[:9] in line
    ]
    assert commands[0] == ["tallytree", "verify", place]
    assert commands[1][1:] == [f"{place}/report.html"]


def test_json_is_all_that_is_printed_for_programs(run: Run) -> None:
    code, out, err = run("release", "counts.csv", *FLAGS, "--out", "made", "--json")
    summary = json.loads(out)
    assert (code, err) == (0, "")
    assert summary["total"] == 104
    assert summary["verification"]["passed"] is True
    found = json.loads(run("verify", "made", "--quick", "--json")[1])
    assert (found["passed"], found["complete"]) == (True, False)
    made = {check["name"]: (check["made"], check["passed"]) for check in found["checks"]}
    assert made["solution"] == (False, False)
    assert made["validity"] == (True, True)
    assert json.loads(run("mechanisms", "--json")[1])[0]["name"] == "cumulative-joint"


def test_a_check_that_was_not_made_is_shown_as_such(run: Run) -> None:
    assert run("release", "counts.csv", *FLAGS, "--out", "made")[0] == 0
    code, out, _ = run("verify", "made", "--quick")
    assert code == 0
    assert re.search(r"not made\s+solution\s+the post-processing was not repeated", out)
    assert re.search(r"ok\s+validity", out)
    assert "All checks passed" not in out
    assert out.rstrip().endswith("No check failed; 2 were not made.")
    assert not re.search(r"not made\s+solution", run("verify", "made")[1])


def test_a_failed_check_has_exit_code_1(run: Run, tmp_path: Path) -> None:
    run("release", "counts.csv", *FLAGS, "--out", "made")
    path = tmp_path / "made" / "manifest.json"
    path.write_text(path.read_text().replace('"total": 104', '"total": 105'))
    code, out, _ = run("verify", "made")
    assert code == 1
    assert "FAILED" in out
    assert json.loads(run("verify", "made", "--json")[1])["passed"] is False


def test_help_names_every_command_and_the_exit_codes(run: Run) -> None:
    code, out, _ = run("--help")
    assert code == 0
    commands = ("demo", "release", "verify", "compare", "evaluate", "mechanisms")
    for word in (*commands, "Exit codes", "completion"):
        assert word in out
    for command in commands:
        assert run(command, "--help")[0] == 0
    assert run("--version")[1].startswith("tallytree 0.")


def test_the_demo_tells_what_a_person_wants_to_know(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(
        "tallytree.datasets.invented.generate_nation",
        lambda sizes=(1, 12): generate_nation(sizes=(1, min(12, sizes[1]))),
    )
    monkeypatch.setattr("tallytree.cli.demo_command.PLANNED", (1, 3))
    monkeypatch.setattr("tallytree.planning.landscapes.SETTINGS", 5)
    code, out, err = run("demo", "--out", "demo")
    assert (code, err) == (0, "")
    for phrase in (
        "epsilon = 1",
        "Budget and noise",
        "Checks",
        "How far off",
        "Written to demo",
        "demo-plan.html",
    ):
        assert phrase in out
    assert "an invented nation" in (tmp_path / "demo-plan.html").read_text()
    assert run("demo", "--out", "demo")[0] == 0  # again: an earlier demo is replaced
    assert run("verify", "demo")[0] == 0
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "file").write_text("mine")
    assert run("demo", "--out", "precious")[0] == 2
    assert (tmp_path / "precious" / "file").read_text() == "mine"
    assert run("release", "counts.csv", *FLAGS, "--out", "real")[0] == 0
    before = (tmp_path / "real" / "release.parquet").read_bytes()
    assert run("demo", "--out", "real")[0] == 2  # a release that is not a demo is never replaced
    assert (tmp_path / "real" / "release.parquet").read_bytes() == before


SIGNALLED = """
import signal, sys
from tallytree.cli import release_command
from tallytree.cli.main import main

make = release_command._make

def make_late(*words, **options):
    signal.raise_signal(signal.{})
    return make(*words, **options)

release_command._make = make_late
main()
"""
"""A release that gets a signal when its folder has been begun, and nothing is counted yet."""


def test_a_terminated_release_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "counts.csv").write_text(TABLE)
    words = [sys.executable, "-c", SIGNALLED.format("SIGTERM"), "release", "counts.csv", *FLAGS]
    done = subprocess.run([*words, "--out", "made"], cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode == 143, done.stderr
    assert [p.name for p in tmp_path.iterdir()] == ["counts.csv"]


def test_a_command_in_the_background_ignores_interruptions(tmp_path: Path) -> None:
    """As commands do that a script starts with an ampersand, or with nohup: Ctrl-C is for others."""
    (tmp_path / "counts.csv").write_text(TABLE)
    words = [sys.executable, "-c", SIGNALLED.format("SIGINT"), "release", "counts.csv", *FLAGS, "--out"]
    for start, code in (([], 130), (["bash", "-c", "trap '' INT; exec \"$@\"", "bash"], 0)):
        done = subprocess.run(
            [*start, *words, f"out{code}"], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == code, done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["counts.csv", "out0"]


def test_interruptions_are_tested_where_the_tests_run_in_the_background() -> None:
    """Four of these tests failed there: what they interrupted ignored it."""
    tests = "tests/cli/test_bad_input_cli.py::test_an_interruption_leaves_nothing_behind"
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", tests]
    done = subprocess.run(
        ["bash", "-c", "trap '' INT; exec \"$@\"", "bash", *words],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("more", [[], ["--json"]])
def test_long_work_is_announced(
    more: list[str], run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "counts.csv").write_text("state,size,groups\nGA,1,5\nNY,2,6\n")
    release = ["release", "counts.csv", "--region", "state", "--sizes", "1:4", "--epsilon", "1"]
    code, _, said = run(*release, "--replicates", "0", "--out", "quick", *more)
    assert (code, said) == (0, "")
    monkeypatch.setattr("tallytree.cli.release_command.LONG_WORK", 11)
    code, _, said = run(*release, "--replicates", "0", "--out", "long", *more)
    assert code == 0
    assert said.startswith("3 regions x 4 sizes make 12 cells: expect minutes of work")
