"""What was spent, period by period: every charge is in one of them, and the bars say so on any terminal."""

from __future__ import annotations

import io
import sys
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallytree.cli.console import BAR, print_bars
from tallytree.ledger.entries import CHARGE, CREATE, LIMIT, Entry, Words, add_up, follow
from tallytree.ledger.ledger import Record
from tallytree.ledger.spending import (
    MOST_PERIODS,
    add_amounts,
    list_charges,
    list_spending,
    sort_by_owner,
)
from tests.commands import Run
from tests.ledger.ledger_support import make_ledger, tamper

START = datetime(2026, 1, 31, 23, 59, tzinfo=UTC)


def write(days: list[int], *, limit: str | None = None, owner: str = "", amount: str = "1/10") -> Record:
    """A dataset that was charged on these days, and another one."""
    rows = [("d", CREATE, "1000", "x", 0), ("other", CREATE, "9", "x", 0), ("other", CHARGE, "1", "x", 0)]
    if limit is not None:
        rows.insert(1, ("d", LIMIT, limit, "per month", 0))
    for number, day in enumerate(days):
        words = Words(owner=owner and f"{owner}{number % 12}", label=f"l{number}", purpose="<i>x</i>")
        rows.append(("d", CHARGE, amount, words.write(), day))
    entries: list[Entry] = []
    for dataset, kind, value, what, day in rows:
        time = (START + timedelta(days=day)).isoformat(timespec="seconds")
        entries.append(
            follow(
                entries,
                dataset=dataset,
                kind=kind,
                unit="epsilon",
                amount=Fraction(value),
                what=what,
                time=time,
            )
        )
    balances, fault = add_up(entries)
    assert fault is None
    return Record(entries, balances)


@given(st.lists(st.integers(0, 20_000), min_size=1, max_size=20))
def test_every_charge_is_in_one_period_without_gaps(days: list[int]) -> None:
    record = write(sorted(days))
    spending = list_spending(record.entries, record.balances["d"])
    assert len(spending) <= MOST_PERIODS
    assert [each.period.number for each in spending] == list(
        range(spending[0].period.number, spending[0].period.number + len(spending))
    )
    if len(spending) < MOST_PERIODS:  # else older ones are left out
        assert sum(each.amount for each in spending) == record.balances["d"].spent
    assert spending[-1].charges
    if max(days) - min(days) < 365:
        assert spending[0].period.per == "month"


def test_a_limit_decides_on_the_periods() -> None:
    record = write([0, 1, 3000], limit="1")
    spending = list_spending(record.entries, record.balances["d"])
    assert len(spending) == MOST_PERIODS
    assert (str(spending[-1].period), spending[-1].amount) == ("2034-04", Fraction(1, 10))
    record = write([0, 1, 40], limit="1")
    assert [
        (str(each.period), str(each.amount)) for each in list_spending(record.entries, record.balances["d"])
    ] == [
        ("2026-01", "1/10"),
        ("2026-02", "1/10"),
        ("2026-03", "1/10"),
    ]


def test_a_dataset_without_charges_has_no_periods() -> None:
    record = write([])
    assert list_spending(record.entries, record.balances["d"]) == []


def test_a_time_that_was_written_by_hand_is_left_out_of_the_picture() -> None:
    record = write([0])
    odd = follow(
        record.entries, dataset="d", kind=CHARGE, unit="epsilon", amount=Fraction(1), what="x", time="now"
    )
    entries = [*record.entries, odd]
    balances, fault = add_up(entries)
    assert fault is None
    assert sum(each.amount for each in list_spending(entries, balances["d"])) == Fraction(1, 10)


def test_owners_are_sorted_by_what_they_spent() -> None:
    charges = list_charges(write(list(range(25)), owner="o").entries, "d")
    found = sort_by_owner(charges)
    assert next(iter(found)) == "o0"
    assert [str(add_amounts(own)) for own in found.values()] == ["3/10", *["1/5"] * 11]
    assert sum(len(own) for own in found.values()) == 25


def test_bars_are_as_long_as_their_shares(capsys: pytest.CaptureFixture[str]) -> None:
    print_bars("title", [("a", 0, "0"), ("bb", 0.001, "x"), ("c", 0.5, "y"), ("d", 1, "z"), ("e", 7, "over")])
    lines = capsys.readouterr().out.splitlines()
    assert [line.count("█") for line in lines[1:6]] == [0, 1, BAR // 2, BAR, BAR]
    assert all(line.count("█") + line.count("░") == BAR for line in lines[1:6])


def test_bars_need_no_more_than_ascii(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", stream)
    print_bars("title", [("a", 0.5, "y")])
    stream.flush()
    stream.seek(0)
    assert f"a  {'#' * 15}{'.' * 15}  y" in stream.read()


def test_the_command_shows_bars_and_writes_a_page(run: Run, tmp_path: Path) -> None:
    make_ledger("ledger.db", "2", charges=["1", "1/2"])
    code, out, _ = run("ledger", "show", "ledger.db", "--page", "page.html")
    assert code == 0
    assert "Spent on census by month, of 2 in all" in out
    assert "█" * 22 + "░" * 8 + "  1.5" in out
    page = Path("page.html").read_text(encoding="utf-8")
    assert "release 1" in page
    run("ledger", "show", "ledger.db", "--page", "page.html", "--json")
    assert Path("page.html").read_text(encoding="utf-8") == page
    tamper("ledger.db", "UPDATE tallytree_ledger_1 SET amount = '1/3' WHERE number = 2")
    code, _, err = run("ledger", "show", "ledger.db", "--page", "other.html")
    assert code == 2
    assert "entry 2 was changed" in err
    assert not Path("other.html").exists()
    assert run("ledger", "show", "ledger.db", "--page", "no/folder.html").code == 2
