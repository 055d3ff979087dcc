"""The ledger on the command line, as people and programs use it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tallytree as tt
from tallytree.errors import InputError
from tallytree.ledger.store import TABLE
from tests.bad_input_support import SECRET, Bench, Case, Commands, check_refused, list_cases
from tests.commands import Run
from tests.ledger.ledger_support import change, make_schema, read_rows, tamper
from tests.ledger.ledger_workers import TABLE as COUNTS

FLAGS = ["--region", "state", "--sizes", "1:3"]


@pytest.fixture(autouse=True)
def counts(run: Run, tmp_path: Path) -> None:
    """A table to release, where the commands run."""
    (tmp_path / "counts.csv").write_text(COUNTS)


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.xdist_group("postgres"))])
def place(request: pytest.FixtureRequest) -> str:
    if request.param == "sqlite":
        return "ledger.db"
    url: str = request.getfixturevalue("postgres")
    return make_schema(url)


def release(out: str, place: str, epsilon: str = "1", *more: str) -> list[str]:
    words = ["release", "counts.csv", *FLAGS, "--epsilon", epsilon, "--out", out]
    return [*words, "--ledger", place, *more]


def test_from_a_budget_to_its_end(run: Run, place: str, tmp_path: Path) -> None:
    code, out, err = run("ledger", "create", place, "--dataset", "census", "--epsilon", "1.5")
    assert (code, out, err) == (0, "Dataset census has the budget epsilon = 1.5.\n", "")
    code, out, err = run(*release("first", place))
    assert (code, err) == (0, "")
    assert "Epsilon 1 was charged to dataset 'census', as entry 2 of the ledger: 1 spent in all" in out
    assert "1/2 remaining." in out
    refused = run(*release("second", place))
    check_refused(refused, tmp_path, "requested 1, remaining 1/2, difference 1/2.", code=3)
    code, out, err = run(*release("second", place, "1/2", "--json"))
    assert (code, err) == (0, "")
    assert json.loads(out)["ledger"]["remaining"] == "0"
    code, out, err = run("ledger", "show", place)
    assert (code, err) == (0, "")
    for words in (["census", "3/2", "3/2", "0", "2"], ["census", "charge", "1/2"]):
        assert any(not set(words) - set(line.split()) for line in out.splitlines()), words
    code, out, err = run("ledger", "verify", place, "--release", "first", "--release", "second")
    assert (code, err) == (0, "")
    assert "All checks passed." in out


def test_programs_read_the_same(run: Run, place: str) -> None:
    code, out, _ = run("ledger", "create", place, "--dataset", "a", "--epsilon", "1/3", "--json")
    assert (code, json.loads(out)) == (
        0,
        {"dataset": "a", "unit": "epsilon", "total": "1/3", "total_decimal": 1 / 3},
    )
    run("ledger", "create", place, "--dataset", "b", "--epsilon", "2")
    assert run(*release("out", place, "1/4", "--dataset", "b", "--json"))[0] == 0
    shown = json.loads(run("ledger", "show", place, "--json")[1])
    exact = [{k: v for k, v in one.items() if not k.endswith("_decimal")} for one in shown["datasets"]]
    assert [one["remaining_decimal"] for one in shown["datasets"]] == [1 / 3, 1.75]
    assert exact == [
        {"dataset": "a", "unit": "epsilon", "total": "1/3", "spent": "0", "remaining": "1/3", "charges": 0},
        {"dataset": "b", "unit": "epsilon", "total": "2", "spent": "1/4", "remaining": "7/4", "charges": 1},
    ]
    assert [entry["hash"] for entry in shown["entries"]] == [row.hash for row in read_rows(place)]
    assert json.loads(run("ledger", "verify", place, "--json")[1])["passed"] is True


def test_a_broken_chain_has_exit_code_1(run: Run, place: str, tmp_path: Path) -> None:
    run("ledger", "create", place, "--dataset", "census", "--epsilon", "5")
    for name in ("first", "second"):
        assert run(*release(name, place))[0] == 0
    change(place, 2, {"amount": "1/100"})
    code, out, err = run("ledger", "verify", place)
    assert (code, err) == (1, "")
    assert "entry 2 was changed" in out
    assert "The ledger failed its checks: it was changed, or a release was not paid for." in out
    assert json.loads(run("ledger", "verify", place, "--json")[1])["passed"] is False
    for words in (["ledger", "show", place], release("third", place)):
        check_refused(run(*words), tmp_path, "entry 2 was changed")
    change(place, 2, {"amount": "1"})
    assert run("ledger", "verify", place)[0] == 0
    tamper(place, f"DELETE FROM {TABLE.name} WHERE number = 3")
    assert run("ledger", "verify", place)[0] == 0  # the end was cut off
    code, out, _ = run("ledger", "verify", place, "--release", "second")
    assert code == 1
    assert "entry 3, which paid for a release, is missing" in out


def test_a_release_without_a_ledger_says_so(run: Run) -> None:
    words = ["release", "counts.csv", *FLAGS, "--epsilon", "1"]
    assert "No ledger was charged: what else was released" in run(*words, "--out", "out")[1]
    assert json.loads(run(*words, "--out", "more", "--json")[1])["ledger"].startswith("No ledger was charged")
    run("ledger", "create", "ledger.db", "--dataset", "census", "--epsilon", "5")
    code, out, _ = run("ledger", "verify", "ledger.db", "--release", "out")
    assert code == 1
    assert "names no entry of a ledger" in out


def test_a_spec_names_a_ledger_beside_it(run: Run, tmp_path: Path) -> None:
    (tmp_path / "specs").mkdir()
    run("ledger", "create", "specs/ledger.db", "--dataset", "census", "--epsilon", "1")
    (tmp_path / "specs" / "release.toml").write_text(
        'source = "../counts.csv"\nregions = ["state"]\nsizes = [1, 3]\nepsilon = 0.1\nout = "made"\n'
        'ledger = "ledger.db"\ndataset = "census"\n'
    )
    code, out, _ = run("release", "--spec", "specs/release.toml", "--json")
    assert code == 0
    assert json.loads(out)["ledger"]["spent"] == "1/10"
    assert tt.Ledger(tmp_path / "specs" / "ledger.db").verify([tt.load("specs/made")]).passed


def test_a_budget_that_is_used_up_is_found_before_the_counting(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    run("ledger", "create", "ledger.db", "--dataset", "census", "--epsilon", "1/2")
    monkeypatch.setattr("tallytree.cli.specs.ReleaseSpec.count", lambda *words: pytest.fail("counted"))
    assert "remaining 1/2" in run(*release("out", "ledger.db"))[2]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["counts.csv", "ledger.db"]


WRONG: Commands = {
    "no-ledger": (release("out", "no.db"), "no ledger 'no.db': make one with"),
    "dataset": (release("out", "ledger.db", "1", "--dataset", "cencus"), "did you mean 'census'"),
    "dataset-alone": ([*release("out", "")[:-2], "--dataset", "census"], "give the ledger as well"),
    "not-a-ledger": (release("out", "counts.csv"), "it is not a ledger"),
    "empty": (release("out", ""), "not a file"),
    "scheme": (release("out", f"mysql://user:{SECRET}@host/x"), "postgresql://"),
    "create-again": (["ledger", "create", "ledger.db", "--dataset", "census", "--epsilon", "9"], "already"),
    "create-over": (["ledger", "create", "counts.csv", "--dataset", "x", "--epsilon", "9"], "not a ledger"),
    "create-nowhere": (["ledger", "create", "a/b.db", "--dataset", "x", "--epsilon", "1"], "No such file"),
    "create-zero": (["ledger", "create", "new.db", "--dataset", "x", "--epsilon", "0"], "above zero"),
    "create-nameless": (["ledger", "create", "new.db", "--dataset", " ", "--epsilon", "1"], "name"),
    "create-half": (["ledger", "create", "new.db", "--dataset", "x"], "Give the budget: an epsilon or"),
    "create-limit": (
        ["ledger", "create", "new.db", "--dataset", "x", "--epsilon", "1", "--limit", "1"],
        "both",
    ),
    "create-per": (
        ["ledger", "create", "new.db", "--dataset", "x", "--epsilon", "1", "--limit", "1", "--per", "day"],
        "there is 'month', 'quarter', 'year'",
    ),
    "show": (["ledger", "show", "no.db"], "no ledger"),
    "show-page-other": (
        ["ledger", "show", "ledger.db", "--page", "ledger.db"],
        "'--page'.*the name of a page ends in .html, and 'ledger.db' does not",
    ),
    "show-page": (["ledger", "show", "ledger.db", "--page", "no/page.html"], "cannot be written"),
    "sign-nothing": (["ledger", "sign", "no.db", "--key", "k.pem", "--out", "s.json"], "no ledger 'no.db'"),
    "sign-no-key": (["ledger", "sign", "ledger.db", "--key", "k.pem", "--out", "s.json"], "no key file"),
    "verify": (["ledger", "verify", "counts.csv"], "not a ledger"),
    "verify-release": (["ledger", "verify", "ledger.db", "--release", "no"], "no release folder 'no'"),
    "command": (["ledger", "refund"], "No such command 'refund'"),
}


@pytest.mark.parametrize("case", list_cases((InputError, WRONG)))
def test_wrong_input_is_refused(case: Case, bench: Bench) -> None:
    bench.run("ledger", "create", "ledger.db", "--dataset", "census", "--epsilon", "2")
    case.check(bench)
