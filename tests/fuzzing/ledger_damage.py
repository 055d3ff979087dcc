"""Damage to a ledger's file: its bytes, its rows, its schema, and files that lie beside it.

One input is the file, and after a mark each file beside it. So an input can be damaged again and again, and
one that breaks something is a single file.
"""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress

from tallytree.ledger.store import TABLE
from tests.fuzzing.damage import damage

MARK = b"\n== beside it: "
BESIDE = (b"-journal", b"-wal", b"-shm")

NAME = TABLE.name
COLUMNS: list[str] = list(TABLE.columns.keys())
KEY = COLUMNS[0]

VALUES: tuple[object, ...] = (
    None, 0, 1, 2, 3, -1, 2**63 - 1, -(2**63), 1.0, 1.5, 1e308, float("inf"), "", " ", "1", "1.0", "1/3",
    "2/6", "0", "-1", "1e9", "999999999999", "1" * 5000, "٣", "create", "charge", "census", "other", "\0",
    "\ud7ff", "0" * 64, b"", b"\xff", b"census", b"\0" * 100, "2" * 64,
)  # fmt: skip

OTHER_SCHEMAS = (
    "CREATE VIEW {name} AS SELECT {columns} FROM old",
    "CREATE VIEW {name} AS WITH RECURSIVE more(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM more) "
    "SELECT {columns} FROM old, more",
    "CREATE VIEW {name} AS SELECT * FROM {name}",
    "CREATE TABLE {name} ({lax})",
    "CREATE TABLE {name} ({text})",
    "CREATE TABLE {name} ({real})",
    "CREATE TABLE {name} ({unique} ON CONFLICT IGNORE)",
    "CREATE TABLE {name} ({unique} ON CONFLICT REPLACE)",
    "CREATE TABLE {name} ({lax}, more TEXT NOT NULL DEFAULT 'x')",
    "CREATE TABLE {name} ({lax}, more TEXT AS (hex(randomblob(1000))))",
    "CREATE TABLE {name} ({lax}, CHECK (length(zeroblob(900000000)) = 0))",
    "CREATE TABLE {name} ({key} INTEGER PRIMARY KEY, {rest}) WITHOUT ROWID",
    "CREATE VIRTUAL TABLE {name} USING fts5({columns})",
    "CREATE TABLE {name} (one)",
)
TRIGGERS = (
    "CREATE TRIGGER x BEFORE INSERT ON {name} BEGIN SELECT RAISE(IGNORE); END",
    "CREATE TRIGGER x AFTER INSERT ON {name} BEGIN DELETE FROM {name} WHERE {key} = NEW.{key}; END",
    "CREATE TRIGGER x AFTER INSERT ON {name} BEGIN DELETE FROM {name} WHERE {key} > 1; END",
    "CREATE TRIGGER x BEFORE INSERT ON {name} BEGIN SELECT RAISE(FAIL, 'SECRET'); END",
)
MORE = (
    "CREATE TABLE {name}0 AS SELECT * FROM {name}",
    "CREATE VIEW x AS SELECT * FROM {name}",
    "CREATE INDEX x ON {name} (lower({key}))",
    "CREATE UNIQUE INDEX x ON {name} (1)",
    "CREATE TABLE sqlite_other (x)",
    "ALTER TABLE {name} RENAME TO other",
    "DROP TABLE {name}",
    "PRAGMA user_version = 7",
    "PRAGMA application_id = 7",
)
PRAGMAS = (
    "PRAGMA page_size = 512",
    "PRAGMA page_size = 65536",
    "PRAGMA auto_vacuum = FULL",
    "PRAGMA encoding = 'UTF-16be'",
)

GIVES_UP = (sqlite3.Error, OverflowError, UnicodeError, MemoryError)

Change = Callable[[sqlite3.Connection, random.Random], None]


def damage_ledger(data: bytes, generator: random.Random) -> bytes:
    """Damage a ledger, or what is left of one: its bytes, or through SQLite what it means by them."""
    file, *beside = data.split(MARK)
    if generator.random() < 0.1:
        other = generator.choice(beside).partition(b"\n")[2] if beside else generator.randbytes(600)
        beside = [*beside[:3], generator.choice(BESIDE) + b"\n" + damage(other, generator)]
    elif beside and generator.random() < 0.5:
        at = generator.randrange(len(beside))
        kind, _, content = beside[at].partition(b"\n")
        beside[at] = kind + b"\n" + damage(content, generator)
    file = damage(file, generator) if generator.random() < 0.35 else _change(file, generator)
    return MARK.join((file, *beside))


def _change(file: bytes, generator: random.Random) -> bytes:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        try:
            # In this mode a copy in memory refuses to be read; the mode is put back at the end.
            connection.deserialize(file[:18] + b"\1\1" + file[20:])
            connection.execute("PRAGMA max_page_count = 100")
            connection.set_progress_handler(lambda: True, 1_000_000)  # a view may go on for ever
            for _ in range(generator.randint(1, 3)):
                with suppress(*GIVES_UP):
                    generator.choice(CHANGES)(connection, generator)
            changed = connection.serialize()
        except GIVES_UP:  # it was damaged too much already
            return damage(file, generator)
    return changed[:18] + file[18:20] + changed[20:]


def _fill(statement: str) -> str:
    return statement.format(
        name=NAME,
        key=KEY,
        columns=", ".join(COLUMNS),
        lax=", ".join(COLUMNS),
        rest=", ".join(COLUMNS[1:]),
        text=", ".join(f"{column} TEXT" for column in COLUMNS),
        real=", ".join(f"{column} REAL" for column in COLUMNS),
        unique=f"{KEY} INTEGER PRIMARY KEY, {', '.join(COLUMNS[1:])}, UNIQUE ({COLUMNS[1]})",
    )


def _pick_row(connection: sqlite3.Connection, generator: random.Random) -> object:
    rows = connection.execute(f"SELECT rowid FROM {NAME} LIMIT 100").fetchall()
    return generator.choice(rows)[0] if rows else 0


def _change_cell(connection: sqlite3.Connection, generator: random.Random) -> None:
    column, value = generator.choice(COLUMNS), generator.choice(VALUES)
    how = "CAST(? AS TEXT)" if isinstance(value, bytes) and generator.random() < 0.5 else "?"
    row = _pick_row(connection, generator)
    connection.execute(f"UPDATE {NAME} SET {column} = {how} WHERE rowid = ?", (value, row))


def _copy_cell(connection: sqlite3.Connection, generator: random.Random) -> None:
    column = generator.choice(COLUMNS)
    rows = _pick_row(connection, generator), _pick_row(connection, generator)
    connection.execute(
        f"UPDATE {NAME} SET {column} = (SELECT {column} FROM {NAME} WHERE rowid = ?) WHERE rowid = ?", rows
    )


def _delete_row(connection: sqlite3.Connection, generator: random.Random) -> None:
    connection.execute(f"DELETE FROM {NAME} WHERE rowid = ?", (_pick_row(connection, generator),))


def _repeat_row(connection: sqlite3.Connection, generator: random.Random) -> None:
    rest = ", ".join(COLUMNS[1:])
    number = generator.choice((0, -1, 2, 5, 6, 7, 2**62))
    connection.execute(
        f"INSERT INTO {NAME} SELECT ?, {rest} FROM {NAME} WHERE rowid = ?",
        (number, _pick_row(connection, generator)),
    )


def _move_rows(connection: sqlite3.Connection, generator: random.Random) -> None:
    one, two = _pick_row(connection, generator), _pick_row(connection, generator)
    for old, new in ((one, -7), (two, one), (-7, two)):
        connection.execute(f"UPDATE {NAME} SET {KEY} = ? WHERE {KEY} = ?", (new, old))


def _change_schema(connection: sqlite3.Connection, generator: random.Random) -> None:
    """The same rows in a table, or something called so, with other rules."""
    connection.execute(f"ALTER TABLE {NAME} RENAME TO old")
    connection.execute(_fill(generator.choice(OTHER_SCHEMAS)))
    with suppress(*GIVES_UP):
        connection.execute(f"INSERT INTO {NAME} ({', '.join(COLUMNS)}) SELECT {', '.join(COLUMNS)} FROM old")


def _rewrite_schema(connection: sqlite3.Connection, generator: random.Random) -> None:
    """Other rules for the table as it lies there, without moving its rows."""
    connection.execute("PRAGMA writable_schema = ON")
    old, new = generator.choice(
        [("NOT NULL", ""), ("UNIQUE", "--"), ("TEXT", "REAL"), ("INTEGER", "TEXT"), ("PRIMARY KEY", "CHECK")]
    )
    connection.execute("UPDATE sqlite_schema SET sql = replace(sql, ?, ?)", (old, new))
    if generator.random() < 0.3:
        page = generator.randint(0, 9)
        connection.execute("UPDATE sqlite_schema SET rootpage = ? WHERE name = ?", (page, NAME))


def _drop_column(connection: sqlite3.Connection, generator: random.Random) -> None:
    column = generator.choice(COLUMNS)
    how = generator.choice(("DROP COLUMN {}", "RENAME COLUMN {} TO other", "ADD COLUMN more{}"))
    connection.execute(f"ALTER TABLE {NAME} {how.format(column)}")


def _add_object(connection: sqlite3.Connection, generator: random.Random) -> None:
    connection.execute(_fill(generator.choice((*TRIGGERS, *MORE))))


def _rewrite_file(connection: sqlite3.Connection, generator: random.Random) -> None:
    connection.execute(generator.choice(PRAGMAS))
    connection.execute("VACUUM")


CHANGES: tuple[Change, ...] = (
    _change_cell,
    _change_cell,
    _change_cell,
    _copy_cell,
    _delete_row,
    _repeat_row,
    _move_rows,
    _change_schema,
    _rewrite_schema,
    _drop_column,
    _add_object,
    _rewrite_file,
)
