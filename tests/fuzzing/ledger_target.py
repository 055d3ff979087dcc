"""A damaged ledger, used in every way: it is whole, or found out, or one clear error, and never pays more."""

from __future__ import annotations

import io
import sqlite3
import sys
import tempfile
from collections.abc import Callable
from contextlib import closing, redirect_stderr, redirect_stdout
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import TypeVar
from unittest import mock

import typer

import tallytree as tt
from tallytree.cli.main import app, main
from tallytree.errors import LedgerError
from tallytree.ledger.entries import Entry
from tallytree.ledger.ledger import Record
from tallytree.ledger.sqlite_store import SQLiteStore
from tallytree.ledger.store import TABLE
from tests.fuzzing.ledger_damage import BESIDE, MARK

Value = TypeVar("Value")

DATASET = "census"
COMMAND = typer.main.get_command(app)
"""Built once: that takes longer than what it does."""


def _make(path: Path) -> None:
    """A ledger that is the same every time, so that what breaks something can be tried again."""
    with (
        mock.patch("tallytree.ledger.ledger.secrets.token_hex", return_value="0" * 16),
        mock.patch.object(SQLiteStore, "read_clock", return_value=datetime(2025, 4, 1, 12, tzinfo=UTC)),
    ):
        ledger = tt.Ledger.create(path, dataset=DATASET, epsilon="3")
        ledger.charge("1/3", what="release 1")
        tt.Ledger.create(path, dataset="other", epsilon="1", limit="3/4", per="month")
        ledger.charge("1", what="release 2", dataset=DATASET)
        ledger.charge("1/2", what="release 3", dataset="other")


def _make_seeds() -> tuple[list[Entry], list[bytes]]:
    """The entries, and the file: as it is, in SQLite's other mode, and in the middle of being written."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ledger.db"
        _make(path)
        entries = list(tt.Ledger(path).read().entries)
        seeds = [path.read_bytes()]
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("PRAGMA cache_size = 1")  # so that the file is written to before the end
            connection.execute("BEGIN IMMEDIATE")
            connection.execute(f"DELETE FROM {TABLE.name} WHERE rowid > 1")
            connection.execute("CREATE TABLE more AS SELECT randomblob(9000)")
            seeds.append(_join(path))
            connection.execute("ROLLBACK")
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute(f"DELETE FROM {TABLE.name} WHERE rowid = 5")
            seeds.append(_join(path))
        return entries, seeds


def _join(path: Path) -> bytes:
    """A file and those beside it as one input."""
    others = ((kind, path.with_name(path.name + kind.decode())) for kind in BESIDE[:2])
    beside = [kind + b"\n" + other.read_bytes() for kind, other in others if other.exists()]
    return MARK.join((path.read_bytes(), *beside))


ENTRIES, SEEDS = _make_seeds()


def use_ledger(data: bytes) -> bool:
    """Do everything with a ledger that was damaged; whether it is whole."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ledger.db"
        file, *beside = data.split(MARK)
        path.write_bytes(file)
        for part in beside:
            kind, _, content = part.partition(b"\n")
            if kind in BESIDE:
                path.with_name(path.name + kind.decode()).write_bytes(content)
        with mock.patch("tallytree.ledger.sqlite_store.WAIT_SECONDS", 0):
            return _check(path)


def _check(path: Path) -> bool:
    ledger = _attempt(lambda: tt.Ledger(path))
    if ledger is None:
        assert (_run("show", path), _run("verify", path)) == (2, 2)
        return False
    record = _attempt(ledger.read)
    if record is not None:
        # Nothing in it can be other than what was written. Only the last entries can be missing.
        assert record.entries == ENTRIES[: len(record.entries)], "other entries pass for the ledger's"
    verification = _attempt(ledger.verify)
    assert bool(verification) == (record is not None), "reading and verifying do not agree"
    assert _run("show", path) == (0 if record is not None else 2)
    assert _run("verify", path) == (2 if verification is None else 0 if verification else 1)
    _check_charges(ledger, record)
    return record is not None


def _check_charges(ledger: tt.Ledger, record: Record | None) -> None:
    """Nothing is paid beyond what the entries allow, and what is paid stands in the ledger."""
    balance = _attempt(lambda: ledger.balance(DATASET))
    assert balance == (None if record is None else record.balances[DATASET])
    left = None if balance is None else balance.remaining
    too_much = Fraction(3) if left is None else left + Fraction(1, 1000)
    assert _attempt(lambda: ledger.charge(too_much, what="x", dataset=DATASET)) is None
    _attempt(lambda: ledger.require("1/8", dataset=DATASET))
    receipt = _attempt(lambda: ledger.charge("1/8", what="x", dataset=DATASET))
    if receipt is None:
        return
    assert record is not None and left is not None, "a ledger that cannot be read was charged"
    after = ledger.read()
    assert after.entries[:-1] == record.entries, "a charge changed other entries"
    assert after.entries[-1].hash == receipt.hash, "a charge was not written down"
    assert after.balances[DATASET].remaining == left - Fraction(1, 8) == receipt.remaining


def _attempt(call: Callable[[], Value]) -> Value | None:
    """What it gives; None if it is refused, with a message that can be shown."""
    try:
        return call()
    except LedgerError as error:
        message = str(error)
        assert message, "an error without a message"
        assert len(message) < 1000, "an error too long to read"
        assert "SECRET" not in message, "words of the file are shown"
        return None


def _run(command: str, path: Path) -> int:
    """The exit code of ``tallytree ledger``; a problem is one line on standard error."""
    out, err = io.StringIO(), io.StringIO()
    words = ["tallytree", "ledger", command, str(path), "--json"]
    with (
        mock.patch.object(sys, "argv", words),
        mock.patch("tallytree.cli.main.app", COMMAND),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        try:
            main()
        except SystemExit as stop:
            code = stop.code
    assert isinstance(code, int)
    said = err.getvalue()
    assert (said.count("\n"), said[:7]) == ((1, "Error: ") if code == 2 else (0, "")), said
    return code
