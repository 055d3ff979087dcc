"""The ledger: entries and their chain, exact balances, what is refused, and what tampering cannot hide."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import stat
import tempfile
from dataclasses import asdict, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tallytree as tt
from tallytree.errors import FolderError, InputError, LedgerError, MechanismError
from tallytree.ledger.entries import CHARGE, CREATE, START, Balance, Entry, find_break, follow, show_amount
from tallytree.ledger.ledger_check import audit
from tallytree.ledger.receipts import Receipt, find_outcome, read_receipt
from tallytree.ledger.store import TABLE
from tallytree.mechanisms.direct_dp import DirectDP
from tallytree.privacy.noise import ExactNoise
from tallytree.releases.manifest import NO_LEDGER
from tests.bad_input_support import check_message, refused
from tests.ledger.ledger_support import (
    change,
    make_ledger,
    read_rows,
    release,
    sum_charges,
    tamper,
)
from tests.ledger.ledger_workers import count

TIME = "2020-04-01T12:00:00+00:00"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "ledger.db"


def make_entries(*epsilons: str) -> list[Entry]:
    """A chain: a budget of 10, and charges."""
    entries: list[Entry] = []
    for kind, epsilon in [(CREATE, "10"), *((CHARGE, epsilon) for epsilon in epsilons)]:
        what = f"release {len(entries)}"
        entries.append(
            follow(
                entries,
                dataset="d",
                kind=kind,
                unit="epsilon",
                amount=Fraction(epsilon),
                what=what,
                time=TIME,
            )
        )
    return entries


# The chain.


def test_the_hash_of_an_entry_can_be_computed_by_anyone() -> None:
    entry = Entry(1, "Größe", "create", "epsilon", "1/3", 'a "b"', TIME, START)
    # printf %s '["tallytree-ledger-1",...]' | sha256sum
    canonical = (
        '["tallytree-ledger-1",1,"Gr\\u00f6\\u00dfe","create","epsilon","1/3","a \\"b\\"",'
        f'"{TIME}","{"0" * 64}"]'
    )
    assert entry.compute_hash() == hashlib.sha256(canonical.encode()).hexdigest()


def test_a_chain_that_nobody_touched_is_whole() -> None:
    entries = make_entries("1", "1/3", "2")
    assert find_break(entries) is None
    assert [entry.number for entry in entries] == [1, 2, 3, 4]
    assert [entry.previous for entry in entries] == [START, *(entry.hash for entry in entries[:-1])]


CHANGES: dict[str, Any] = {
    "number": 7,
    "dataset": "other",
    "kind": "create",
    "unit": "rho",
    "amount": "1/4",
    "what": "",
    "time": "2020-04-01T12:00:01+00:00",
    "previous": "f" * 64,
    "hash": "f" * 64,
}


@pytest.mark.parametrize("place", range(4))
@pytest.mark.parametrize("field", CHANGES)
def test_any_changed_field_of_any_entry_breaks_the_chain_there(field: str, place: int) -> None:
    entries = make_entries("1/2", "1/3", "2")
    value: Any = "charge" if field == "kind" and place == 0 else CHANGES[field]
    entries[place] = replace(entries[place], **{field: value})
    fault = find_break(entries)
    assert fault is not None
    assert fault.number == place + 1


@pytest.mark.parametrize("field", ["dataset", "unit", "amount", "what", "time"])
def test_another_type_is_another_value(field: str) -> None:
    others: list[Any] = [None, b"1/2", 1, 0.5, "\udcff"]
    for value in others:
        entries = make_entries("1/2", "2")
        entries[1] = replace(entries[1], **{field: value})
        assert str(find_break(entries)).startswith("entry 2 was changed")
        assert entries[1].exact_amount is None or field != "amount"


def test_entries_taken_out_moved_or_put_in_break_the_chain() -> None:
    whole = make_entries("1", "1/3", "2")
    assert str(find_break(whole[1:])) == "entry 1 is missing"
    assert str(find_break(whole[:1] + whole[2:])) == "entry 2 is missing"
    assert str(find_break([])) == "entry 1 is missing"
    swapped = [whole[0], replace(whole[2], number=2), replace(whole[1], number=3), whole[3]]
    assert str(find_break(swapped)).startswith("entry 2 was changed")
    assert str(find_break([*whole, whole[-1]])) == "entry 5 is missing"  # there are two of entry 4


def test_an_entry_with_a_new_hash_of_its_own_no_longer_fits_the_next() -> None:
    entries = make_entries("1", "1/3", "2")
    forged = replace(entries[1], amount="1/100")
    entries[1] = replace(forged, hash=forged.compute_hash())
    assert str(find_break(entries)).startswith("entry 3 does not follow entry 2")


def test_what_a_chain_alone_cannot_tell() -> None:
    whole = make_entries("1", "1/3", "2")
    assert find_break(whole[:-1]) is None  # cut off at the end
    forged = replace(whole[-1], amount="1/100")
    assert find_break([*whole[:-1], replace(forged, hash=forged.compute_hash())]) is None


# Sums.


def test_one_third_fits_three_times_and_not_once_more(file: Path) -> None:
    ledger = make_ledger(file, "1", ["1/3"] * 3)
    assert ledger.balance() == Balance("census", "epsilon", Fraction(1), "person", Fraction(1), 3)
    with pytest.raises(LedgerError, match="requested 1/10000000000, remaining 0, difference 1/10000000000"):
        ledger.charge("1e-10", what="release")


def test_ten_tenths_are_one(file: Path) -> None:
    ledger = make_ledger(file, "1", ["0.1"] * 10)  # as floats they would be below one
    assert ledger.balance().remaining == 0


def test_a_difference_that_no_float_can_tell_is_told(file: Path) -> None:
    ledger = make_ledger(file, "1e-20")
    with pytest.raises(LedgerError, match="does not allow this"):
        ledger.charge(Fraction(10**19 + 1, 10**39), what="release")
    ledger.charge("1e-20", what="release")


def test_overspending_is_refused_with_all_three_numbers(file: Path) -> None:
    ledger = make_ledger(file, "1.5", ["1"])
    with refused(LedgerError, "requested 3/4, remaining 1/2, difference 1/4") as caught:
        ledger.charge("0.75", what="release")
    assert find_outcome(caught.value) == "Nothing was spent."
    assert len(read_rows(file)) == 2
    ledger.charge("1/2", what="release")  # what fits, still does
    with pytest.raises(LedgerError, match="remaining 0"):
        ledger.require("0.1")


def test_sums_that_grow_without_bounds_are_refused_before_they_are_charged(file: Path) -> None:
    ledger = make_ledger(file, "1000")
    denominators = (10**39 + number for number in range(1, 200, 2))
    with refused(LedgerError, r"more than 1000 digits.*simpler denominator"):
        for denominator in denominators:
            ledger.charge(Fraction(1, denominator), what="release")
    assert ledger.balance().charges == len(read_rows(file)) - 1
    with refused(LedgerError, "remaining about 1000, difference about 1000"):  # and no page full of digits
        ledger.charge(2000, what="release")


def test_wrong_amounts_are_refused(file: Path) -> None:
    ledger = make_ledger(file)
    for wrong in ("0", "-1", "x", 0.1, "", None):
        with pytest.raises(ValueError, match="epsilon"):
            ledger.charge(wrong, what="release")  # type: ignore[arg-type]
    for wrong in ("two\nlines", "x" * 501, 3):
        with pytest.raises(LedgerError, match="printable"):
            ledger.charge(1, what=wrong)  # type: ignore[arg-type]
    assert len(read_rows(file)) == 1


def test_rows_that_a_ledger_may_not_have_are_found_even_if_their_hashes_fit() -> None:
    def judge(*rows: tuple[str, str, str]) -> str:
        entries: list[Entry] = []
        for dataset, kind, epsilon in rows:
            last = entries[-1].hash if entries else START
            entry = Entry(len(entries) + 1, dataset, kind, "epsilon", epsilon, "", TIME, last)
            entries.append(replace(entry, hash=entry.compute_hash()))
        assert find_break(entries) is None
        verification = audit(entries)
        return next((check.example for check in verification.checks if check.failed), "")

    budget = ("d", CREATE, "1")
    assert judge(budget, ("d", CHARGE, "1/2"), ("d", CHARGE, "1/2")) == ""
    assert "entry 3 is not allowed: the budget" in judge(budget, ("d", CHARGE, "1"), ("d", CHARGE, "1/9"))
    assert "has its budget already" in judge(budget, budget)
    assert "no dataset 'e'" in judge(budget, ("e", CHARGE, "1"))
    assert "neither a budget nor a charge" in judge(budget, ("d", "refund", "1"))
    for wrong in ("-1", "0", "2/4", "0.5", "1/0", "1e3", " 1", "٣", "1" * 201):
        assert "not a number above zero" in judge(budget, ("d", CHARGE, wrong)), wrong


amounts = st.builds(Fraction, st.integers(1, 30), st.integers(1, 12))
names = st.sampled_from(["a", "b", "Ærø 東京"])
steps = st.lists(st.tuples(st.sampled_from([CREATE, CHARGE]), names, amounts), max_size=12)


@settings(max_examples=40)
@given(steps)
def test_balances_are_those_of_a_naive_model(script: list[tuple[str, str, Fraction]]) -> None:
    totals: dict[str, Fraction] = {}
    spent: dict[str, Fraction] = {}
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "ledger.db"
        tt.Ledger.create(place, dataset="first", epsilon=1)
        written = 1
        for kind, name, amount in script:
            if kind == CREATE:
                fits = name not in totals
            else:
                fits = name in totals and spent[name] + amount <= totals[name]
            try:
                if kind == CREATE:
                    tt.Ledger.create(place, dataset=name, epsilon=amount)
                    totals[name], spent[name] = amount, Fraction(0)
                else:
                    receipt = tt.Ledger(place).charge(amount, what="release", dataset=name)
                    spent[name] += amount
                    assert (receipt.spent, receipt.remaining) == (spent[name], totals[name] - spent[name])
                    assert receipt.entry == written + 1
                assert fits
                written += 1
            except LedgerError:
                assert not fits
        record = tt.Ledger(place).read()
        assert len(record.entries) == written
        found = {name: (b.total, b.spent) for name, b in record.balances.items() if name != "first"}
        assert found == {name: (totals[name], spent[name]) for name in totals}
        assert tt.Ledger(place).verify().passed


# Files and datasets.


def test_a_new_ledger_is_for_its_owner_alone(file: Path) -> None:
    make_ledger(file, charges=["1"])
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [path.name for path in file.parent.iterdir()] == ["ledger.db"]


def test_opening_never_makes_a_ledger(file: Path) -> None:
    for use in (tt.Ledger, release):
        with pytest.raises(LedgerError, match=r"no ledger.*tallytree ledger create"):
            use(file)
    assert list(file.parent.iterdir()) == []


def test_a_budget_cannot_be_given_twice(file: Path) -> None:
    make_ledger(file, "1")
    before = file.read_bytes()
    with pytest.raises(LedgerError, match="'census' has its budget already, which cannot be changed: 1"):
        make_ledger(file, "5")
    assert file.read_bytes() == before


def test_a_ledger_that_appears_in_the_meantime_is_not_replaced(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_ledger(file, "1", ["1"])
    before = file.read_bytes()
    monkeypatch.setattr("os.path.lexists", lambda path: False)  # it was not there a moment ago
    with pytest.raises(LedgerError, match="File exists"):
        make_ledger(file, "1")
    assert file.read_bytes() == before
    assert [path.name for path in file.parent.iterdir()] == ["ledger.db"]


def test_several_datasets_have_budgets_of_their_own(file: Path) -> None:
    ledger = make_ledger(file, "1")
    assert release(file).manifest["privacy"]["ledger"]["dataset"] == "census"
    tt.Ledger.create(file, dataset="taxis", epsilon=2)
    with refused(LedgerError, "holds several: there is 'census', 'taxis'"):
        release(file)
    with pytest.raises(LedgerError, match="no dataset 'taxi': did you mean 'taxis'"):
        release(file, dataset="taxi")
    release(file, dataset="taxis")
    assert {name: b.remaining for name, b in ledger.read().balances.items()} == {"census": 0, "taxis": 1}


@pytest.mark.parametrize("name", ["", " ", " x", "x\n", "x" * 101, "\udcff", "\x00", "a\u202eb", None, 3])
def test_odd_names_of_datasets_are_refused(name: Any, file: Path) -> None:
    with refused(LedgerError, "name"):
        tt.Ledger.create(file, dataset=name, epsilon=1)
    assert not file.exists()


def test_charges_survive_every_disk_cache(file: Path) -> None:
    ledger = make_ledger(file)
    with ledger._store._connect() as connection:
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar_one() == 3  # EXTRA, above FULL
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar_one() == "delete"


# Releases.


def test_a_release_carries_the_receipt_of_its_charge(file: Path, tmp_path: Path) -> None:
    make_ledger(file, "2")
    made = release(file, "1/3", mechanism="direct-dp")
    made.save(tmp_path / "out", replicates=0)
    entry = read_rows(file)[-1]
    assert made.manifest["privacy"]["ledger"] == {
        "dataset": "census",
        "entry": 2,
        "hash": entry.hash,
        "unit": "epsilon",
        "charged": "1/3",
        "spent": "1/3",
        "remaining": "5/3",
        "release": entry.words.release,
    }
    assert entry.amount == "1/3"
    assert len(entry.words.release) == 16
    assert entry.words.purpose == "direct-dp, levels 'root', 'state', sizes 1 to 3"
    again = tt.load(tmp_path / "out")
    assert again.verify().passed
    assert read_receipt(again.manifest) == read_receipt(made.manifest)
    assert tt.Ledger(file).verify([again]).passed


def test_what_was_paid_for_can_be_read_again_whatever_its_digits(file: Path, tmp_path: Path) -> None:
    ledger = make_ledger(file)
    weights = {"root": "0.12345678901234567890123456789", "state": "0.98765432109876543210987654321"}
    made = release(ledger, "0.1234567890123456789012345678901234567", budget=weights)
    made.save(tmp_path / "out", replicates=0)
    again = tt.load(tmp_path / "out")
    assert again.measurements.plan == made.measurements.plan
    assert ledger.verify([again]).passed


def test_a_release_without_a_ledger_says_so(tmp_path: Path) -> None:
    made = tt.release(count(), epsilon=1)
    assert made.manifest["privacy"]["ledger"] == NO_LEDGER
    assert read_receipt(made.manifest) is None
    with pytest.raises(LedgerError, match="give the ledger as well"):
        tt.release(count(), epsilon=1, dataset="census")


def test_the_charge_is_on_the_disk_before_noise_is_drawn(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_ledger(file)
    draw, seen = ExactNoise.draw, []

    def look(self: ExactNoise, *words: Any) -> Any:
        seen.append(sum_charges(file))
        return draw(self, *words)

    monkeypatch.setattr(ExactNoise, "draw", look)
    release(file)
    assert seen == [1, 1]  # once for each level


def test_what_is_wrong_with_the_input_costs_nothing(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = make_ledger(file, "1/2")

    def fail(*words: object) -> None:
        raise AssertionError("noise was drawn")

    monkeypatch.setattr(ExactNoise, "draw", fail)
    wrong: list[dict[str, Any]] = [
        {"epsilon": "x"},
        {"epsilon": "1e-30"},
        {"epsilon": "1/4", "mechanism": "direct-qp"},
        {"epsilon": "1/4", "budget": {"root": 1}},
        {"epsilon": "1/4", "noise": "none"},
        {"epsilon": "1/4", "dataset": "other"},
        {"epsilon": "1"},
    ]
    for options in wrong:
        with pytest.raises(InputError):
            release(ledger, **options)
    monkeypatch.setattr(DirectDP, "require", lambda self: (_ for _ in ()).throw(MechanismError("missing")))
    with pytest.raises(MechanismError):
        release(ledger, "1/4", mechanism="direct-dp")
    assert len(read_rows(file)) == 1


def test_what_goes_wrong_after_the_charge_says_what_it_cost(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = make_ledger(file)

    def give_up(*words: object, **options: object) -> None:
        raise MechanismError("The solver gave up.")

    monkeypatch.setattr(DirectDP, "postprocess", give_up)
    with pytest.raises(MechanismError) as failed:
        release(ledger, "1/3", mechanism="direct-dp")
    assert failed.value.__notes__ == ["Epsilon 1/3 was spent for nothing: it is entry 2 of the ledger."]
    assert ledger.balance().spent == Fraction(1, 3)


def test_a_note_of_a_library_is_never_shown() -> None:
    error = ValueError("x")
    error.add_note("the value 7391 of the data")
    assert find_outcome(error) == ""
    error.__context__ = error  # even if errors run in a circle
    assert find_outcome(error) == ""


DAMAGE: list[Any] = [
    {},
    {"dataset": "d"},
    {"entry": "2"},
    {"entry": True},
    {"hash": None},
    {"charged": "x"},
    {"charged": "1e999999999"},
    {"spent": "1/0"},
    {"remaining": "-1"},
    {"remaining": "9" * 400},
    {"more": "1"},
]


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_receipt_is_one_clear_error(damage: dict[str, Any], file: Path, tmp_path: Path) -> None:
    make_ledger(file)
    release(file).save(tmp_path / "out", replicates=0)
    path = tmp_path / "out" / "manifest.json"
    manifest = json.loads(path.read_text())
    receipt = manifest["privacy"]["ledger"]
    manifest["privacy"]["ledger"] = {**receipt, **damage} if damage else {}
    if damage == {"dataset": "d"}:
        del manifest["privacy"]["ledger"]["hash"]
    path.write_text(json.dumps(manifest))
    with pytest.raises(FolderError, match="manifest is damaged: what it says of a ledger"):
        tt.load(tmp_path / "out")


def test_a_receipt_survives_being_written_down() -> None:
    numbers = (Fraction(1, 3), Fraction(10**400 + 1, 10**399), Fraction(0))
    receipt = Receipt("Ærø", 7, "0" * 64, "epsilon", *numbers)
    assert Receipt.parse(json.loads(json.dumps(receipt.to_dict()))) == receipt
    assert "about 10 spent in all, 0 remaining" in receipt.describe()
    assert show_amount(Fraction(1, 3)) == "1/3"


# Tampering with the database, on both kinds.


def find_failures(place: str, *releases: tt.Release) -> list[str]:
    return [check.example for check in tt.Ledger(place).verify(releases).checks if check.failed]


@pytest.mark.parametrize("field", CHANGES)
def test_a_changed_row_is_named_and_stops_everything(
    field: str, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = make_ledger(place, charges=["1/2", "1/3", "1"])
    assert find_failures(place) == []
    change(place, 3, {field: CHANGES[field]})
    (first, *_) = find_failures(place)
    assert first.startswith("entry 3 ")
    monkeypatch.setattr(ExactNoise, "draw", lambda *words: pytest.fail("noise was drawn"))
    for use in (ledger.read, ledger.balance, lambda: release(ledger), lambda: make_ledger(place)):
        with refused(LedgerError, "tampered with or is damaged: entry 3"):
            use()
    assert len(read_rows(place)) == 4


def test_taken_and_exchanged_rows_are_named(place: str) -> None:
    make_ledger(place, charges=["1/2", "1/3", "1"])
    rows = read_rows(place)
    tamper(place, f"DELETE FROM {TABLE.name} WHERE number = 2")
    assert find_failures(place)[0] == "entry 2 is missing"
    tamper(place, f"DELETE FROM {TABLE.name}")
    assert find_failures(place)[0] == "entry 1 is missing"
    with pytest.raises(LedgerError, match="entry 1 is missing"):
        make_ledger(place)  # an emptied ledger is not a new one
    for row in (rows[0], replace(rows[2], number=2), replace(rows[1], number=3), rows[3]):
        values = asdict(row)
        marks = ", ".join("?" * len(values))
        tamper(place, f"INSERT INTO {TABLE.name} VALUES ({marks})", list(values.values()))
    assert find_failures(place)[0].startswith("entry 2 was changed")


def rewrite(place: str, number: int, epsilon: str) -> None:
    """Change an entry and all hashes from there on, as somebody who knows this software could."""
    rows = read_rows(place)
    previous = rows[number - 2].hash
    for row in rows[number - 1 :]:
        forged = replace(row, previous=previous, amount=epsilon if row.number == number else row.amount)
        previous = forged.compute_hash()
        change(place, row.number, {"amount": forged.amount, "previous": forged.previous, "hash": previous})


def test_what_the_chain_cannot_tell_a_release_can(place: str) -> None:
    ledger = make_ledger(place)
    first, last = release(ledger), release(ledger)
    assert find_failures(place, first, last) == []
    rewrite(place, 2, "1/100")
    assert find_failures(place) == []  # the chain is whole again, and wrong
    for made in (first, last):
        assert "is not the one that paid for a release" in find_failures(place, made)[0]
    rewrite(place, 2, "1")
    assert find_failures(place, first, last) == []
    tamper(place, f"DELETE FROM {TABLE.name} WHERE number = 3")
    assert find_failures(place) == []
    assert find_failures(place, first) == []
    assert find_failures(place, first, last) == ["entry 3, which paid for a release, is missing"]


def test_a_release_that_was_not_paid_for_is_found(place: str) -> None:
    ledger = make_ledger(place)
    paid, unpaid = release(ledger), tt.release(count(), epsilon=1)
    assert "names no entry" in find_failures(place, unpaid)[0]
    receipt = paid.manifest["privacy"]["ledger"]
    unpaid.manifest["privacy"]["ledger"] = receipt  # the receipt of another release
    paid.manifest["files"], unpaid.manifest["files"] = {"a": "1"}, {"a": "2"}
    assert find_failures(place, paid, unpaid) == ["entry 2 paid for one release, but two name it"]
    assert find_failures(place, paid, paid) == []  # a copy is the same release
    dearer = tt.release(count(), epsilon=2)
    dearer.manifest["privacy"]["ledger"] = receipt
    assert find_failures(place, dearer) == ["entry 2 paid less than what its release costs"]
    paid.manifest["privacy"] |= {"ledger": {**receipt, "remaining": "100"}}
    assert "manifest and the ledger disagree about entry 2" in find_failures(place, paid)[0]


def test_a_budget_pays_for_no_release(place: str) -> None:
    ledger = make_ledger(place)
    unpaid = tt.release(count(), epsilon=1)
    opening = Receipt.of(ledger.read().entries[0], ledger.balance())
    unpaid.manifest["privacy"]["ledger"] = opening.to_dict()
    assert find_failures(place, unpaid) == ["entry 1 created a budget; it did not pay for a release"]


def test_bytes_that_are_no_text_are_a_changed_entry(file: Path) -> None:
    make_ledger(file, charges=["1"])
    tamper(file, f"UPDATE {TABLE.name} SET what = CAST(x'ff' AS TEXT) WHERE number = 2")
    assert find_failures(str(file))[0].startswith("entry 2 was changed")
    tamper(file, f"UPDATE {TABLE.name} SET what = x'ff', amount = x'31' WHERE number = 2")
    assert find_failures(str(file))[0].startswith("entry 2 was changed")


# What is not a ledger.


def write_other_database(path: Path) -> None:
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE people (name TEXT)")
    other.close()


def write_other_table(path: Path) -> None:
    other = sqlite3.connect(path)
    other.execute(f"CREATE TABLE {TABLE.name} (number INTEGER)")
    other.close()


def cut_in_half(path: Path) -> None:
    make_ledger(path, charges=["1"] * 9)
    path.write_bytes(path.read_bytes()[:5000])


NOT_LEDGERS: dict[str, Any] = {
    "text": lambda path: path.write_text("secret " * 500),
    "empty": lambda path: path.touch(),
    "other-database": write_other_database,
    "other-table": write_other_table,
    "cut": cut_in_half,
    "folder": lambda path: path.mkdir(),
    "link": lambda path: path.symlink_to("nowhere"),
    "fifo": lambda path: os.mkfifo(path),
}


@pytest.mark.parametrize("kind", NOT_LEDGERS)
def test_what_is_not_a_ledger_is_one_clear_error_and_stays_as_it_is(kind: str, file: Path) -> None:
    NOT_LEDGERS[kind](file)
    before = file.read_bytes() if file.is_file() else None
    for use in (
        lambda: tt.Ledger(file).read(),
        lambda: tt.Ledger.create(file, dataset="d", epsilon=1),
        lambda: release(file),
    ):
        with pytest.raises(LedgerError) as refused:
            use()
        check_message(str(refused.value), file.parent)
        assert "secret" not in str(refused.value)
    assert (file.read_bytes() if file.is_file() else None) == before


@pytest.mark.parametrize(
    "place",
    [
        "", "x" * 300, "a\0b", "/", "/dev/null", "/proc/self/mem", "no/such/folder/ledger.db",
        "mysql://user:secret@host/db", "sqlite:///x", "postgresql://user:secret@host:port/db",
        "postgresql://user:secret@127.0.0.1:1/db", "postgres://user:secret@127.0.0.1:1/db?no=secret",
        3, None, b"bytes",
    ],
)  # fmt: skip
def test_a_place_that_cannot_be_is_one_clear_error(
    place: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for use in (tt.Ledger, lambda place: tt.Ledger.create(place, dataset="d", epsilon=1)):
        with pytest.raises(LedgerError) as refused:
            use(place)
        check_message(str(refused.value))
        assert "secret" not in str(refused.value)
    assert list(tmp_path.iterdir()) == []


def test_the_representation_names_the_place_and_no_password(file: Path) -> None:
    assert repr(make_ledger(file)).endswith("ledger.db')")


def test_a_copy_that_was_given_intervals_is_the_same_release(file: Path, tmp_path: Path) -> None:
    """In memory, in a folder, and in a folder with intervals: what was paid for is the same."""
    made = release(make_ledger(file))
    made.save(tmp_path / "plain", replicates=0)
    tt.add_intervals(made, replicates=10).save(tmp_path / "with-intervals")
    copies = [made, *(tt.load(tmp_path / name) for name in ("plain", "with-intervals"))]
    assert find_failures(str(file), *copies) == []
    assert find_failures(str(file), *copies[::-1]) == []


def test_other_answers_under_the_digests_of_a_paid_release_are_found(file: Path) -> None:
    ledger = make_ledger(file)
    paid, unpaid = release(ledger), tt.release(count(), epsilon=1)
    for made in (paid, unpaid):
        made.manifest["files"] = {"release.parquet": "0", "measurements.parquet": "0"}
    unpaid.manifest["privacy"]["ledger"] = paid.manifest["privacy"]["ledger"]
    assert find_failures(str(file), paid, unpaid) == ["entry 2 paid for one release, but two name it"]
