"""Names are only shown: none reaches the terminal as an escape sequence, a line of its own, or markup."""

from __future__ import annotations

import ast
import csv
import io
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tallytree as tt
from tallytree.cli import console
from tallytree.ledger import ledger
from tests.commands import Outcome, Run

ESCAPES = "\x1b[31mred\x1b]0;title\x07\x9b31m\x7f"
HOSTILE = "\x1b[2Jclear\x9b31m\x7f\u202egnp.exe [red]x[/] :heart:\r\nAll checks passed."
"""A name that clears the screen, colours it, turns the direction, is markup, and forges a line."""
SHOWN = r"\x1b[2Jclear\x9b31m\x7f\u202egnp.exe [red]x[/] :heart:\r\nAll checks passed."
"""The same as people may see it."""

OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufff9-\ufffb]")
"""What a terminal obeys, but for newline and tab."""


def check_safe(outcome: Outcome) -> None:
    """Nothing that was printed is obeyed, and no line is forged."""
    for text in (outcome.out, outcome.err):
        assert not OBEYED.search(text), OBEYED.findall(text)
        assert "All checks passed." not in [line.strip() for line in text.splitlines()[:-1]]


def loosen(text: str) -> str:
    """Without what tables and wrapping add."""
    return re.sub(r"[\s\u2500-\u257f]", "", text)


def list_texts(value: Any) -> list[str]:
    """All texts in a JSON document."""
    if isinstance(value, dict):
        return [text for pair in value.items() for part in pair for text in list_texts(part)]
    if isinstance(value, list):
        return [text for part in value for text in list_texts(part)]
    return [value] if isinstance(value, str) else []


@pytest.fixture
def wide(monkeypatch: pytest.MonkeyPatch, run: Run) -> Run:
    """Commands on a terminal so wide that no name is cut in two."""
    monkeypatch.setenv("COLUMNS", "2000")
    return run


@pytest.fixture
def made(tmp_path: Path, wide: Run) -> Path:
    """A release whose levels and regions all have hostile names."""
    hierarchy = tt.Hierarchy.from_paths(
        [HOSTILE, "b" + HOSTILE], [("all" + HOSTILE, "GA" + HOSTILE), ("all" + HOSTILE, "NY")]
    )
    counts = tt.GroupCounts(hierarchy, (1, 3), [[50, 30, 20], [40, 40, 40]])
    tt.release(counts, epsilon="1").save(tmp_path / "made", replicates=0)
    tt.release(counts, epsilon="1").save(tmp_path / "other", replicates=0)
    return tmp_path


def write_counts(path: Path) -> list[str]:
    """A table of counts with hostile names, and the options that name them."""
    with path.open("w", newline="", encoding="utf-8") as file:
        rows: list[list[object]] = [
            ["b" + HOSTILE, "size", "groups"],
            ["GA" + HOSTILE, 1, 50],
            ["GA" + HOSTILE, 2, 40],
            ["NY", 3, 9],
        ]
        csv.writer(file).writerows(rows)
    return ["--region", "b" + HOSTILE, "--root", "all" + HOSTILE, "--root-level", HOSTILE, "--sizes", "1:3"]


@pytest.mark.parametrize("as_json", [False, True], ids=["text", "json"])
@pytest.mark.parametrize(
    "words",
    [
        ["verify", "made"],
        ["report", "made"],
        ["intervals", "made", "--replicates", "10"],
        ["unbiased", "made", "--out", "unbiased.csv"],
        ["compare", "made", "other"],
        ["plan", "made", "--epsilon", "1", "--mechanism", "direct-dp", "--out", "plan.toml"],
        ["evaluate", "made", "--truth", "counts.csv", "--data-is-not-sensitive"],
    ],
    ids=lambda words: words[0],
)
def test_what_is_said_of_a_release_with_hostile_names(
    words: list[str], as_json: bool, made: Path, wide: Run
) -> None:
    write_counts(made / "counts.csv")
    outcome = wide(*words, *(["--json"] if as_json else []))
    assert outcome.code == 0, outcome.err
    check_safe(outcome)
    if as_json:
        assert HOSTILE in list_texts(json.loads(outcome.out)) or words[0] in ("report", "unbiased", "verify")
    elif words[0] in ("evaluate", "intervals", "plan"):
        assert loosen(SHOWN) in loosen(outcome.out)


@pytest.mark.parametrize("as_json", [False, True], ids=["text", "json"])
def test_a_release_of_hostile_names(
    as_json: bool, tmp_path: Path, wide: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger, "_check_name", str)  # as for a ledger that somebody else wrote
    options = write_counts(tmp_path / "counts.csv")
    folder, more = HOSTILE.replace("/", "|"), ["--json"] if as_json else []
    assert wide("ledger", "create", "ledger.db", "--dataset", HOSTILE, "--epsilon", "9", *more).code == 0
    release = [
        "release",
        "counts.csv",
        *options,
        "--epsilon",
        "1",
        "--replicates",
        "10",
        "--ledger",
        "ledger.db",
    ]
    outcome = wide(*release, "--dataset", HOSTILE, "--out", folder, *more)
    assert outcome.code == 0, outcome.err
    check_safe(outcome)
    assert as_json or loosen(SHOWN) in loosen(outcome.out)
    for words in (["show", "ledger.db"], ["verify", "ledger.db", "--release", folder]):
        outcome = wide("ledger", *words, *more)
        assert outcome.code == 0, outcome.err
        check_safe(outcome)
    if as_json:
        shown = json.loads(wide("ledger", "show", "ledger.db", "--json").out)
        assert shown["datasets"][0]["dataset"] == HOSTILE


@pytest.mark.parametrize("as_json", [False, True], ids=["text", "json"])
def test_counting_hostile_names(as_json: bool, tmp_path: Path, wide: Run) -> None:
    write_counts(tmp_path / "people.csv")
    words = ["count", "people.csv", "--group", "size", "--region", "b" + HOSTILE, "--sizes", "1:3"]
    outcome = wide(*words, "--out", HOSTILE.replace("/", "|") + ".parquet", *(["--json"] if as_json else []))
    assert outcome.code == 0, outcome.err
    check_safe(outcome)


@pytest.mark.parametrize(
    "words",
    [
        ["mechanisms", ESCAPES],
        [f"--{ESCAPES}"],
        [ESCAPES],
        ["audit", ESCAPES],
        ["audit", "direct-dp", "--option", f"{ESCAPES}=1"],
        ["audit", "direct-dp", "--runs", ESCAPES],
        ["release", ESCAPES, "--region", "a", "--sizes", "1:3", "--epsilon", "1", "--out", "x"],
        ["release", "counts.csv", "--region", "a", "--sizes", ESCAPES, "--epsilon", "1", "--out", "x"],
        ["release", "counts.csv", "--region", "a", "--sizes", "1:3", "--epsilon", ESCAPES, "--out", "x"],
        ["release", "counts.csv", "--region", ESCAPES, "--sizes", "1:3", "--epsilon", "1", "--out", "x"],
        ["release", "--spec", "spec.toml"],
        ["plan", ESCAPES, "--epsilon", "1"],
        ["plan", "made", "--epsilon", "1", "--goal", f"{ESCAPES}<=1"],
        ["compare", ESCAPES, "made"],
        ["compare", "made", "other", "--level", ESCAPES],
        ["ledger", "show", ESCAPES],
        ["verify", ESCAPES],
        ["reproduce", ESCAPES],
    ],
    ids=lambda words: f"{words[0]} {len(words)}".replace(ESCAPES, "name"),
)
def test_hostile_arguments_are_refused_in_safe_words(words: list[str], made: Path, wide: Run) -> None:
    write_counts(made / "counts.csv")
    (made / "spec.toml").write_text('"\\u001b[31mepsilom\\u009b" = 1\n')
    outcome = wide(*words)
    assert outcome.code == 2
    check_safe(outcome)
    assert outcome.err.count("\n") <= 2  # one message, and where the help is


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("show", [console.show_progress, console.show_jobs])
def test_progress_shows_names_as_they_are(show: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    with show(quiet=False) as tell:
        if show is console.show_progress:
            tell(HOSTILE, 3)(1)
        else:
            tell(HOSTILE, 1, 3)
    assert SHOWN in re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", terminal.getvalue())
    assert "\x1b[2J" not in terminal.getvalue()
    assert not re.search("[\x07\x7f-\x9f\u202e]", terminal.getvalue())


def test_only_the_console_prints() -> None:
    """So that no command prints past it."""
    for path in Path(console.__file__).parent.glob("*.py"):
        if path.name == "console.py":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute):
                assert node.attr not in ("echo", "secho"), f"{path.name}:{node.lineno}"
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in ("print", "Console"), f"{path.name}:{node.lineno}"
