"""Budgets that renew: what a month, a quarter or a year allows, and that no period can be used twice."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest.mock import patch

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tallytree as tt
from tallytree.errors import BudgetError, InputError, LedgerError
from tallytree.ledger.entries import CHARGE, CREATE, LIMIT, Balance, Entry, add_up, follow
from tallytree.ledger.ledger_check import audit
from tallytree.ledger.periods import COUNTS, Limit, Per, Period
from tallytree.ledger.postgres_store import PostgresStore
from tallytree.ledger.sqlite_store import SQLiteStore
from tests.commands import Run
from tests.ledger.ledger_support import make_schema, read_rows, release, tamper

PERIODS: list[Per] = ["month", "quarter", "year"]
TIMES = st.datetimes(datetime(1000, 1, 1), datetime(9998, 12, 31), timezones=st.just(UTC))


class Clock:
    """The clock of all ledgers of a test."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 31, 23, 59, tzinfo=UTC)

    def set(self, year: int, month: int, day: int = 1) -> None:
        self.now = datetime(year, month, day, tzinfo=UTC)


@pytest.fixture
def clock() -> Iterator[Clock]:
    clock = Clock()
    with (
        patch.object(SQLiteStore, "read_clock", lambda *_: clock.now),
        patch.object(PostgresStore, "read_clock", lambda *_: clock.now),
    ):
        yield clock


def make(place: str | Path, *, per: Per = "month", limit: str = "1", epsilon: str = "12") -> tt.Ledger:
    return tt.Ledger.create(place, dataset="firms", epsilon=epsilon, limit=limit, per=per)


# Periods.


@given(TIMES, st.sampled_from(PERIODS))
def test_a_time_is_in_its_period_and_in_no_other(time: datetime, per: Per) -> None:
    period = Period.of(time.isoformat(), per)
    assert period.begin <= time.date() < period.next.begin
    assert Period.of(f"{period.begin}T00:00:00+00:00", per) == period
    last = period.next.begin - timedelta(days=1)
    assert Period.of(f"{last}T23:59:59+00:00", per) == period
    assert str(period) < str(period.next)
    assert period < period.next
    assert (
        period.next.begin.year - period.begin.year
    ) * 12 + period.next.begin.month - period.begin.month == (12 // COUNTS[per])


def test_periods_are_named_as_people_name_them() -> None:
    time = "2026-11-18T20:23:57+00:00"
    assert [str(Period.of(time, per)) for per in PERIODS] == ["2026-11", "2026-Q4", "2026"]


@pytest.mark.parametrize(
    "time",
    ["", "now", "2026-11", "2026-11-18T20:23:57", "2026-11-18T20:23:57+01:00", "9999-12-31T00:00:00+00:00"],
)
def test_a_time_that_is_not_in_utc_is_in_no_period(time: str) -> None:
    with pytest.raises(LedgerError, match="not one in UTC"):
        Period.of(time, "month")


# Charges.


def test_a_month_allows_its_amount_and_the_next_one_allows_it_again(place: str, clock: Clock) -> None:
    ledger = make(place)
    assert ledger.charge("3/4", what="january").remaining == Fraction(45, 4)
    with pytest.raises(BudgetError) as refused:
        ledger.charge("1/2", what="january")
    assert str(refused.value) == (
        "The budget of dataset 'firms' does not allow this in 2026-01: requested 1/2, remaining 1/4 of 1 per "
        "month, difference 1/4. The next month begins on 2026-02-01 (UTC)."
    )
    assert refused.value.renews == date(2026, 2, 1)
    with pytest.raises(BudgetError, match="in 2026-01"):
        ledger.require("1/2")
    ledger.charge("1/4", what="january")
    clock.now += timedelta(minutes=1)
    ledger.require("1")
    ledger.charge("1", what="february")
    assert ledger.balance().find_left(clock.now.isoformat()) == 0
    with pytest.raises(BudgetError, match="remaining 0 of 1 per month"):
        ledger.charge("1/1000", what="february")
    clock.set(2027, 2)  # nothing of the months between is carried over
    with pytest.raises(BudgetError, match="in any month: requested 3/2, limit 1") as never:
        ledger.charge("3/2", what="a year later")
    assert never.value.renews is None
    assert ledger.charge("1", what="a year later").spent == 3
    assert [row.kind for row in read_rows(place)] == ["create", "limit", *["charge"] * 4]
    assert ledger.verify()


def test_the_total_holds_beside_the_limit(place: str, clock: Clock) -> None:
    ledger = make(place, epsilon="5/2", per="year")
    for year in (2026, 2027):
        clock.set(year, 6)
        ledger.charge(1, what="yearly")
    clock.set(2028, 1)
    with pytest.raises(
        BudgetError, match="allow this: requested 1, remaining 1/2, difference 1/2"
    ) as refused:
        ledger.charge(1, what="yearly")
    assert refused.value.renews is None
    assert ledger.balance().find_left(clock.now.isoformat()) == Fraction(1, 2)
    ledger.charge("1/2", what="the rest")
    assert ledger.balance().remaining == 0


def test_other_datasets_have_budgets_of_their_own(place: str, clock: Clock) -> None:
    ledger = make(place)
    tt.Ledger.create(place, dataset="people", epsilon=3)
    tt.Ledger.create(place, dataset="taxis", epsilon=4, limit=2, per="quarter")
    ledger.charge(1, what="x", dataset="firms")
    ledger.charge(3, what="x", dataset="people")
    ledger.charge(2, what="x", dataset="taxis")
    clock.set(2026, 2)
    ledger.charge(1, what="x", dataset="firms")
    with pytest.raises(BudgetError, match=r"in 2026-Q1.*per quarter.*begins on 2026-04-01"):
        ledger.charge(1, what="x", dataset="taxis")
    balances = ledger.read().balances
    assert [balances[name].limit for name in ("firms", "people", "taxis")] == [
        Limit(Fraction(1), "month"),
        None,
        Limit(Fraction(2), "quarter"),
    ]


def test_a_clock_that_goes_back_opens_no_period_again(place: str, clock: Clock) -> None:
    ledger = make(place)
    clock.set(2026, 3)
    ledger.charge("1/2", what="march")
    clock.set(2026, 2, 28)
    with pytest.raises(
        LedgerError, match="charged in 2026-03 already, and this charge is of 2026-02: a clock"
    ):
        ledger.charge("1/2", what="february")
    clock.set(2026, 3, 1)
    ledger.charge("1/2", what="march")


def test_releases_are_charged_to_the_month(place: str, clock: Clock) -> None:
    ledger = make(place)
    first = release(ledger, "1/2", label="2026-01")
    second = release(ledger, "1/2", label="2026-01 again")
    with pytest.raises(BudgetError, match="2026-01") as refused:
        release(ledger, "1/2")
    assert refused.value.__notes__ == ["Nothing was spent."]
    clock.set(2026, 2)
    third = release(ledger, "1/2", label="2026-02")
    assert ledger.verify([first, second, third])


def test_a_limit_of_gaussian_noise_is_a_rho(clock: Clock, tmp_path: Path) -> None:
    for name, total, limit in (("epsilon", "12", "1"), ("rho", "1/2", "1/10")):
        given: dict[str, Any] = {name: total, "delta": "1e-9"}
        made = tt.Ledger.create(tmp_path / name, dataset="firms", limit=limit, per="month", **given).balance()
        alone: dict[str, Any] = {name: limit, "delta": "1e-9"}
        assert made.unit == "rho"
        assert made.limit is not None
        assert (
            made.limit.amount == tt.Ledger.create(tmp_path / f"{name}2", dataset="d", **alone).balance().total
        )


@pytest.mark.slow
def test_threads_that_race_get_what_the_month_allows(place: str, clock: Clock) -> None:
    ledger = make(place)

    def run(number: int) -> str:
        try:
            ledger.charge("1/10", what=f"{number}")
        except BudgetError as error:
            assert error.__notes__ == ["Nothing was spent."]
            return str(error)[:60]
        return ""

    for month in (1, 2):
        clock.set(2026, month)
        with ThreadPoolExecutor(16) as pool:
            told = Counter(pool.map(run, range(16)))
        assert told == {"": 10, f"The budget of dataset 'firms' does not allow this in 2026-0{month}"[:60]: 6}
    assert ledger.balance().spent == 2
    assert ledger.verify()


AMOUNTS = st.fractions(Fraction(1, 8), 2, max_denominator=8)


@given(st.lists(st.tuples(st.integers(0, 400), AMOUNTS), max_size=25), AMOUNTS, st.sampled_from(PERIODS))
def test_sums_by_period_never_exceed_the_limit(
    steps: list[tuple[int, Fraction]], limit: Fraction, per: Per
) -> None:
    """Whatever is asked for when; and the smallest refusal is of what would have exceeded it."""
    balance = Balance("d", "epsilon", Fraction(20), limit=Limit(limit, per))
    spent: defaultdict[str, Fraction] = defaultdict(Fraction)
    latest = 0
    for day, amount in steps:
        time = (datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=day)).isoformat()
        period = Period.of(time, per)
        fits = amount <= 20 - sum(spent.values()) and amount <= limit - spent[str(period)]
        try:
            balance = balance.charge(amount, time)
        except LedgerError:
            assert not fits or period.number < latest
            continue
        assert fits
        assert period.number >= latest
        latest = period.number
        spent[str(period)] += amount
    assert all(total <= limit for total in spent.values())
    assert balance.spent == sum(spent.values())


# Entries that a ledger may not have.

TIME = "2026-01-05T00:00:00+00:00"


def write(*rows: tuple[str, str, str, str]) -> list[Entry]:
    """Entries of a dataset with hashes that fit, whatever they say."""
    entries: list[Entry] = []
    for kind, amount, what, time in rows:
        entry = follow(
            entries, dataset="d", kind=kind, unit="epsilon", amount=Fraction(amount), what=what, time=time
        )
        entries.append(entry)
    return entries


BUDGET, MONTHLY = (CREATE, "3", "total", TIME), (LIMIT, "1", "per month", TIME)


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        ([BUDGET, MONTHLY, (CHARGE, "1", "x", TIME)], ""),
        ([BUDGET, MONTHLY, (CHARGE, "1", "x", TIME), (CHARGE, "1", "x", TIME)], "entry 4 .*in 2026-01"),
        ([BUDGET, MONTHLY, (CHARGE, "1", "x", "soon")], "entry 3 .*not one in UTC"),
        (
            [BUDGET, MONTHLY, (CHARGE, "1", "x", TIME), (CHARGE, "1", "x", "2025-12-31T00:00:00+00:00")],
            "entry 4 .*charged in 2026-01 already",
        ),
        ([MONTHLY], "entry 1 .*no dataset 'd'"),
        ([BUDGET, (CHARGE, "1", "x", TIME), MONTHLY], "entry 3 .*cannot be changed"),
        ([BUDGET, MONTHLY, (LIMIT, "2", "per month", TIME)], "entry 3 .*cannot be changed"),
        ([BUDGET, (LIMIT, "1", "per week", TIME)], "entry 2 .*for which periods"),
        (
            [BUDGET, (LIMIT, "4", "per month", TIME)],
            "entry 2 .*above its total budget: 4 per month, 3 in all",
        ),
    ],
)
def test_rows_that_do_not_keep_a_limit_are_found(rows: list[tuple[str, str, str, str]], problem: str) -> None:
    entries = write(*rows)
    found = [check.example for check in audit(entries).checks if check.failed]
    if not problem:
        assert found == []
        return
    assert len(found) == 1
    assert re.search(problem, found[0])


def test_a_limit_in_another_unit_is_found() -> None:
    entries = write(BUDGET, MONTHLY)
    other = replace(entries[1], unit="rho")
    _, fault = add_up([entries[0], other])
    assert "unit is not that of the budget" in str(fault)


def test_a_limit_that_was_raised_by_hand_is_found(place: str, clock: Clock) -> None:
    ledger = make(place)
    ledger.charge(1, what="x")
    tamper(place, "UPDATE tallytree_ledger_1 SET amount = '5' WHERE number = 2")
    with pytest.raises(LedgerError, match="entry 2 was changed"):
        ledger.charge(1, what="x")


@pytest.mark.xdist_group("postgres")
def test_the_clock_of_a_server_is_the_servers(postgres: str) -> None:
    """All who charge it share it, whatever their own clocks show."""
    ledger = make(make_schema(postgres))
    with psycopg.connect(postgres) as connection:
        (before,) = connection.execute("SELECT clock_timestamp()").fetchone() or (None,)
        receipt = ledger.charge("1/2", what="x")
        (after,) = connection.execute("SELECT clock_timestamp()").fetchone() or (None,)
    assert before is not None
    assert after is not None
    time = datetime.fromisoformat(ledger.read().entries[receipt.entry - 1].time)
    assert before - timedelta(seconds=1) <= time <= after


# Wrong settings, and the command line.

WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "limit-alone": ({"limit": 1}, "give both 'limit' and 'per'"),
    "per-alone": ({"per": "month"}, "give both 'limit' and 'per'"),
    "per": ({"limit": 1, "per": "week"}, "not per 'week': there is 'month', 'quarter', 'year'"),
    "per-number": ({"limit": 1, "per": 7}, "not per '7'"),
    "zero": ({"limit": 0, "per": "month"}, "above zero"),
    "negative": ({"limit": "-1", "per": "month"}, "epsilon"),
    "above": ({"limit": 4, "per": "month"}, "above its total budget: 4 per month, 3 in all"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_limit_that_cannot_be_leaves_nothing_behind(case: str, tmp_path: Path) -> None:
    given, problem = WRONG[case]
    with pytest.raises(InputError, match=problem):
        tt.Ledger.create(tmp_path / "ledger.db", dataset="firms", epsilon=3, **given)
    assert list(tmp_path.iterdir()) == []


def test_a_monthly_job(run: Run, clock: Clock, tmp_path: Path) -> None:
    (tmp_path / "counts.csv").write_text("state,size,groups\nGA,1,5\nNY,2,6\n")
    flags = ["--dataset", "firms", "--epsilon", "12", "--limit", "1/2", "--per", "month"]
    code, out, _ = run("ledger", "create", "ledger.db", *flags)
    assert (code, out) == (0, "Dataset firms has the budget epsilon = 12, of which at most 0.5 per month.\n")
    job = ["release", "counts.csv", "--region", "state", "--sizes", "1:3", "--epsilon", "1/2", "--json"]
    job += ["--ledger", "ledger.db", "--replicates", "0"]
    assert run(*job, "--label", "2026-01", "--out", "a").code == 0
    code, out, _ = run(*job, "--label", "extra", "--out", "b")
    facts = json.loads(out)["error"]
    assert (code, facts["kind"], facts["retry"], facts["renews"]) == (3, "budget", False, "2026-02-01")
    clock.set(2026, 2)
    assert run(*job, "--label", "2026-02", "--out", "b").code == 0
    (shown,) = json.loads(run("ledger", "show", "ledger.db", "--json").out)["datasets"]
    assert (shown["limit"], shown["limit_decimal"], shown["per"], shown["spent"]) == (
        "1/2",
        0.5,
        "month",
        "1",
    )
    assert run("ledger", "verify", "ledger.db", "--release", "a", "--release", "b").code == 0
