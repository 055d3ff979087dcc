"""Jobs that run again and again: kinds of failures, labels charged once, ledgers of earlier versions."""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tallytree as tt
from tallytree.errors import BudgetError, DoneAlreadyError, LedgerError, LedgerUnreachableError
from tallytree.ledger.entries import Words
from tallytree.ledger.receipts import read_receipt
from tests.commands import Run
from tests.ledger.ledger_support import make_ledger, read_rows, release, tamper

EARLIER = Path(__file__).parent / "earlier"
"""A ledger and one of its releases, written before there were labels."""


def test_a_label_is_charged_once_for_each_dataset(place: str) -> None:
    ledger = make_ledger(place)
    tt.Ledger.create(place, dataset="other", epsilon=1)
    made = release(ledger, dataset="census", label="2026-02", owner="team")
    receipt = read_receipt(made.manifest)
    assert receipt is not None
    assert (receipt.label, receipt.owner) == ("2026-02", "team")
    assert read_rows(place)[2].words.release == receipt.release
    with pytest.raises(DoneAlreadyError, match="label '2026-02' already") as refused:
        release(ledger, dataset="census", label="2026-02")
    assert refused.value.__notes__ == ["Nothing was spent."]
    release(ledger, dataset="census", label="2026-03")
    release(ledger, dataset="other", label="2026-02")
    release(ledger, dataset="census")  # without a label as often as one likes
    assert ledger.verify([made]).passed


def test_of_many_jobs_with_one_label_one_pays(place: str) -> None:
    ledger = make_ledger(place)

    def run(number: int) -> str:
        try:
            ledger.charge("1/10", what="a job", label="2026-02")
        except DoneAlreadyError:
            return "refused"
        return "paid"

    with ThreadPoolExecutor(8) as pool:
        assert Counter(pool.map(run, range(8))) == {"paid": 1, "refused": 7}


def test_a_second_charge_by_hand_with_the_same_label_is_found(tmp_path: Path) -> None:
    ledger = make_ledger(tmp_path / "ledger.db")
    ledger.charge(1, what="a job", label="a")
    ledger.charge(1, what="a job", label="b")
    last = read_rows(tmp_path / "ledger.db")[-1]
    what = last.what.replace('"b"', '"a"')
    forged = replace(last, what=what)
    tamper(
        tmp_path / "ledger.db",
        "UPDATE tallytree_ledger_1 SET what = ?, hash = ? WHERE number = 3",
        [what, forged.compute_hash()],
    )
    (failed,) = [check for check in ledger.verify().checks if check.failed]
    assert "label" in failed.example


WORD = st.text(st.characters(exclude_categories=["C", "Z"]), max_size=60)


@given(WORD, WORD, WORD, WORD)
def test_words_survive_being_written_down(label: str, owner: str, name: str, purpose: str) -> None:
    words = Words(label=label, owner=owner, release=name, purpose=purpose or "x")
    assert Words.read(words.write()) == words


@given(st.text())
def test_any_other_text_is_a_purpose(text: str) -> None:
    assert Words.read(text) == Words(purpose=text)


@pytest.mark.parametrize(
    "text", ['{"label": "a"}', '{"format":2,"label":"a","purpose":"x"}', "{", "[1]", "2"]
)
def test_text_that_only_looks_like_ours_is_a_purpose(text: str) -> None:
    assert Words.read(text) == Words(purpose=text)


@pytest.mark.parametrize("name", ["label", "owner"])
@pytest.mark.parametrize("word", ["", " a", "a\nb", "x" * 61, 7])
def test_a_label_that_cannot_be_costs_nothing(name: str, word: object, tmp_path: Path) -> None:
    ledger = make_ledger(tmp_path / "ledger.db")
    given: dict[str, Any] = {name: word}
    with pytest.raises(LedgerError, match=name):
        release(ledger, **given)
    assert len(read_rows(tmp_path / "ledger.db")) == 1


def test_the_longest_label_fits_beside_the_longest_purpose(tmp_path: Path) -> None:
    levels = [f"{number:\u3042>100}" for number in range(9)]
    regions = tt.Hierarchy.from_paths(levels, [tuple(map(str, range(9)))])
    counts = tt.GroupCounts(regions, tt.SizeClasses(range(1, 60)), [[1] * 59])
    ledger = make_ledger(tmp_path / "ledger.db")
    tt.release(counts, epsilon=1, ledger=ledger, label='"' * 60, owner="\\" * 60)
    assert ledger.balance().labels == {'"' * 60}


def test_a_ledger_of_an_earlier_version_is_read_charged_and_verified(tmp_path: Path) -> None:
    place = shutil.copy(EARLIER / "ledger.db", tmp_path)
    earlier = tt.load(EARLIER / "release")
    ledger = tt.Ledger(place)
    assert earlier.verify().passed
    assert ledger.verify([earlier]).passed
    before = ledger.read().entries
    made = release(ledger, dataset="census", label="2026-02")
    assert list(ledger.read().entries[:-1]) == list(before)
    assert ledger.verify([earlier, made]).passed
    with pytest.raises(DoneAlreadyError):
        release(ledger, dataset="census", label="2026-02")


# The command line.


@pytest.fixture
def job(run: Run, tmp_path: Path) -> list[str]:
    (tmp_path / "counts.csv").write_text("state,size,groups\nGA,1,5\nNY,2,6\n")
    run("ledger", "create", "ledger.db", "--dataset", "census", "--epsilon", "2")
    words = ["release", "counts.csv", "--region", "state", "--sizes", "1:3", "--epsilon", "1", "--json"]
    return [*words, "--ledger", "ledger.db", "--replicates", "0"]


def fail(run: Run, *words: str) -> tuple[int, dict[str, Any]]:
    code, out, err = run(*words)
    facts: dict[str, Any] = json.loads(out)["error"]
    assert err.startswith(f"Error: {facts['message']}\n")
    assert facts["exit_code"] == code
    return code, facts


def test_a_job_knows_what_went_wrong(run: Run, job: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(*job, "--label", "a", "--out", "first")[0] == 0
    code, facts = fail(run, *job, "--label", "a", "--out", "second")
    assert (code, facts["kind"], facts["charged"], facts["retry"]) == (5, "done-already", False, False)
    code, facts = fail(run, *job, "--epsilon", "1.5", "--out", "second")
    assert (code, facts["kind"], facts["charged"], facts["retry"]) == (3, "budget", False, False)
    code, facts = fail(run, *job, "--size", "people", "--out", "second")
    assert (code, facts["kind"], facts["retry"]) == (2, "data", False)
    assert fail(run, *job, "--ledger", "no.db", "--out", "second")[1]["kind"] == "ledger"
    assert fail(run, *job, "--nothing")[1]["kind"] == "usage"

    def lose(*words: object, **options: object) -> None:
        raise LedgerUnreachableError("The ledger cannot be used: no server answers.")

    monkeypatch.setattr("tallytree.ledger.ledger.Ledger.require", lose)
    code, facts = fail(run, *job, "--out", "second")
    assert (code, facts["kind"], facts["charged"], facts["retry"]) == (4, "ledger-unreachable", False, True)


def test_a_crash_after_the_charge_is_told(run: Run, job: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*words: object, **options: object) -> None:
        os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr("tallytree.publishing.pipeline.measure", stop)
    code, facts = fail(run, *job, "--label", "a", "--out", "first")
    assert (code, facts["kind"], facts["charged"], facts["retry"]) == (143, "interrupted", True, False)
    assert (facts["entry"], facts["released"]) == (2, False)
    assert fail(run, *job, "--label", "a", "--out", "first")[0] == 5


def test_an_interruption_that_tells_nothing_is_not_repeated(
    run: Run, job: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*words: object, **options: object) -> None:
        raise KeyboardInterrupt  # of which Typer makes an exit code, and loses the note on it

    monkeypatch.setattr("tallytree.publishing.pipeline.measure", stop)
    code, facts = fail(run, *job, "--out", "first")
    assert (code, facts["kind"], facts["charged"], facts["retry"]) == (130, "interrupted", None, False)


def test_kinds_are_exceptions_in_python(tmp_path: Path) -> None:
    ledger = make_ledger(tmp_path / "ledger.db", "1")
    with pytest.raises(BudgetError):
        release(ledger, "2")


def test_a_refusal_shows_the_command_with_what_is_missing(run: Run, tmp_path: Path) -> None:
    (tmp_path / "my flights.csv").write_text("plane,airline\na,X\na,Y\n,X\n")
    words = ["--group", "plane", "--region", "airline", "--sizes", "1:3", "--epsilon", "1", "--out", "out"]
    code, out, err = run("release", "my flights.csv", *words)
    assert (code, out) == (2, "")
    told = err.splitlines()[-1]
    assert told.startswith("Try: ")
    assert "release 'my flights.csv' --group plane" in told
    assert told.endswith("--out out --missing drop --group airline")
    assert run("release", "my flights.csv", *words, "--missing", "drop", "--group", "airline")[0] == 0


def test_no_command_shows_a_password() -> None:
    from tallytree.cli.console import write_command

    shown = write_command(["postgresql://me:secret@host/db", "postgresql://host/db?password=secret&user=me"])
    assert "secret" not in shown
    assert "postgresql://me:...@host/db" in shown
    assert "password=...&user=me" in shown
