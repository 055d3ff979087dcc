"""Ledgers that somebody prepared: what runs when they are used, what never ends, what is not kept."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

import tallytree as tt
from tallytree.errors import LedgerError
from tallytree.ledger.receipts import find_outcome
from tallytree.ledger.store import TABLE
from tests.bad_input_support import check_message, refused
from tests.ledger.ledger_support import make_ledger, read_rows, tamper

NAME, COLUMNS = TABLE.name, ", ".join(TABLE.columns.keys())
NEW = f"{NAME} ({COLUMNS.replace('number', 'number INTEGER PRIMARY KEY', 1)}"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    make_ledger(tmp_path / "ledger.db", "2", charges=["1"])
    return tmp_path / "ledger.db"


@pytest.mark.parametrize(
    ("when", "what"),
    [
        ("BEFORE", "SELECT RAISE(IGNORE)"),
        ("AFTER", f"DELETE FROM {NAME} WHERE number = NEW.number"),
        ("AFTER", f"DELETE FROM {NAME} WHERE number > 1"),
    ],
)
def test_a_trigger_cannot_make_a_charge_disappear(when: str, what: str, file: Path) -> None:
    ledger = tt.Ledger(file)
    tamper(file, f"CREATE TRIGGER x {when} INSERT ON {NAME} BEGIN {what}; END")
    with refused(LedgerError, "holds a view or a trigger", file.parent) as caught:
        ledger.charge("1", what="x")
    assert find_outcome(caught.value) == "Nothing was spent."
    assert len(read_rows(file)) == 2


def test_a_trigger_that_says_it_is_a_table_is_one_all_the_same(file: Path) -> None:
    tamper(file, f"CREATE TRIGGER x BEFORE INSERT ON {NAME} BEGIN SELECT RAISE(IGNORE); END")
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("UPDATE sqlite_master SET type = 'table', tbl_name = 'x' WHERE name = 'x'")
    with pytest.raises(LedgerError, match=r"holds a view or a trigger|the file is damaged"):
        tt.Ledger(file)


@pytest.mark.parametrize(
    "schema",
    [
        f"{NEW}, UNIQUE (kind) ON CONFLICT REPLACE)",
        f"{NEW}, UNIQUE (kind) ON CONFLICT IGNORE)",
        f"{NEW})".replace(" what", " what INTEGER"),
    ],
)
def test_a_table_that_does_not_keep_a_charge_is_found_out_before_anything_is_spent(
    schema: str, file: Path
) -> None:
    """Its rules are other than they were; its rows are as they were written, and so are their hashes."""
    tamper(file, f"ALTER TABLE {NAME} RENAME TO old")
    tamper(file, f"CREATE TABLE {schema}")
    tamper(file, f"INSERT INTO {NAME} SELECT * FROM old")
    ledger, before = tt.Ledger(file), file.read_bytes()
    assert ledger.verify().passed
    with pytest.raises(LedgerError, match="was not stored as written") as refused:
        ledger.charge("1", what="12")
    assert find_outcome(refused.value) == "Nothing was spent."
    assert file.read_bytes() == before


def add_endless_view(connection: sqlite3.Connection) -> None:
    connection.execute(f"ALTER TABLE {NAME} RENAME TO old")
    connection.execute(
        f"CREATE VIEW {NAME} AS WITH RECURSIVE more(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM more) "
        f"SELECT {COLUMNS} FROM old, more"
    )


def add_endless_rows(connection: sqlite3.Connection) -> None:
    """The same row again and again: enough of them stand for rows without end."""
    connection.execute(f"ALTER TABLE {NAME} RENAME TO old")
    connection.execute(f"CREATE TABLE {NAME} ({COLUMNS})")
    connection.execute(
        f"WITH RECURSIVE more(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM more LIMIT 1000) "
        f"INSERT INTO {NAME} SELECT {COLUMNS.replace('number', '1', 1)} FROM old, more"
    )


def add_huge_value(connection: sqlite3.Connection) -> None:
    connection.execute(f"UPDATE {NAME} SET what = zeroblob(50000000) WHERE number = 2")


@pytest.mark.parametrize("change", [add_endless_view, add_endless_rows, add_huge_value])
def test_what_would_fill_the_memory_is_refused(
    change: Callable[[sqlite3.Connection], None], file: Path
) -> None:
    with closing(sqlite3.connect(file)) as connection:
        change(connection)
        connection.commit()
    with pytest.raises(LedgerError) as refused:
        tt.Ledger(file).read()
    check_message(str(refused.value), file.parent)
    if change is add_endless_rows:
        assert tt.Ledger(file).verify().checks[0].example == "entry 2 is missing"


def test_a_schema_that_is_not_text_is_one_clear_error(file: Path) -> None:
    """SQLite quotes it in its message, which Python then cannot read."""
    content = file.read_bytes()
    at = content.index(b"CREATE TABLE") + len("CREATE TABLE")
    file.write_bytes(content[:at] + b"\xfb\xd5(" + content[at + 3 :])
    with pytest.raises(LedgerError, match="the file is damaged"):
        tt.Ledger(file)
