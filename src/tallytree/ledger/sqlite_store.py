"""A ledger in a SQLite file."""

from __future__ import annotations

import os
import secrets
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

import sqlalchemy as sa

from tallytree.errors import LedgerError, describe, show
from tallytree.files import flush
from tallytree.ledger.store import WAIT_SECONDS, Store, Transaction

REASONS = {
    "SQLITE_BUSY": f"others were writing to it for {WAIT_SECONDS} seconds, so run this again",
    "SQLITE_FULL": "No space left on device",
    "SQLITE_READONLY": "it may not be written to",
    "SQLITE_PERM": "it may not be used",
    "SQLITE_CANTOPEN": "it, or the folder that it is in, may not be opened or written to",
    "SQLITE_IOERR": "Input/output error",
    "SQLITE_CONSTRAINT": "somebody wrote to it without waiting for their turn, so run this again",
    "SQLITE_CORRUPT": "the file is damaged",
    "SQLITE_NOTADB": "it is not a ledger",
    "SQLITE_ERROR": "it is not a ledger",  # no such table, no such column
    "SQLITE_AUTH": "it holds a view or a trigger, which no ledger does",  # see _refuse_programs
}

PASSING = ("SQLITE_BUSY", "SQLITE_CONSTRAINT")

LONGEST_VALUE = 1_000_000
"""Bytes of a value or a row: far more than an entry has, far less than would fill the memory."""


class SQLiteStore(Store):
    """A file, which is never created by opening it."""

    absence_is_certain = True  # a connection that is closed has committed, or never will

    def __init__(self, path: Path, name: Path | None = None) -> None:
        super().__init__(sa.create_engine("sqlite://", creator=_connector(path), poolclass=sa.NullPool))
        self.shown = f"The ledger {show(name or path, most=150)}"

    def lock(self, connection: sa.Connection) -> None:
        """Wait for the file's only write lock, before anything is read."""
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    def read_clock(self, connection: sa.Connection) -> datetime:
        """Return the time by the clock of this machine."""
        return datetime.now(UTC)

    def explain(self, error: BaseException | None) -> str:
        """Explain an error by its code, whose first words are the kind of error."""
        if isinstance(error, UnicodeError):  # of a message that quotes the file
            return "the file is damaged"
        name = str(getattr(error, "sqlite_errorname", ""))
        return next((REASONS[kind] for kind in REASONS if name.startswith(kind)), "the database failed")

    def may_pass(self, error: BaseException | None) -> bool:
        """Return whether the error is about the moment: others are writing."""
        return str(getattr(error, "sqlite_errorname", "")).startswith(PASSING)


def open_sqlite(path: Path) -> SQLiteStore:
    """Open the ledger in an existing file."""
    shown = show(path, most=150)
    try:
        if not path.exists():
            raise LedgerError(f"There is no ledger {shown}: make one with 'tallytree ledger create'.")
        if not path.is_file():
            raise LedgerError(f"The ledger {shown} cannot be used: it is not a file.")
    except LedgerError:
        raise
    except (OSError, ValueError) as error:
        raise _refuse(path, error) from None
    store = SQLiteStore(path)
    store.check()
    return store


def make_sqlite(path: Path, begin: Callable[[Transaction], None]) -> None:
    """Make a new file for its owner alone, which ``begin`` fills: it appears complete or not at all.

    It is linked to its name rather than renamed, since a rename would replace a ledger that somebody else
    made there in the meantime, and lose what was charged to that one.
    """
    stage = path.with_name(f".{path.name[:40]}.{secrets.token_hex(8)}")
    try:
        os.close(os.open(stage, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        try:
            with SQLiteStore(stage, name=path).write() as transaction:
                transaction.make_table()
                begin(transaction)
            os.link(stage, path)
            flush(path.parent)  # the name as well
        finally:
            with suppress(OSError):
                stage.unlink()
    except LedgerError:
        raise
    except (OSError, ValueError) as error:
        raise _refuse(path, error) from None


def _connector(path: Path) -> Callable[[], sqlite3.Connection]:
    # mode=rw: a missing file is an error, and a file that may not be written to is opened read-only.
    address = f"file:{quote(os.fsencode(path.absolute()))}?mode=rw"

    def connect() -> sqlite3.Connection:
        # No isolation level: transactions begin where this package says so, and not where Python guesses.
        connection = sqlite3.connect(address, uri=True, timeout=WAIT_SECONDS, isolation_level=None)
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_VALUE)
        try:
            _refuse_programs(connection)
            # Beyond FULL: the folder is flushed too, so that no power cut brings the journal back, which
            # would undo a charge that was committed.
            connection.execute("PRAGMA synchronous=EXTRA")
        except BaseException:
            connection.close()
            raise
        # Bytes that are not UTF-8 are a changed entry like any other, to be found by its hash.
        connection.text_factory = lambda data: data.decode("utf-8", "surrogateescape")
        return connection

    return connect


PROGRAMS = """
    SELECT 1 FROM sqlite_master WHERE sql IS NOT NULL AND NOT (
        sql GLOB 'CREATE TABLE *' OR sql GLOB 'CREATE INDEX *' OR sql GLOB 'CREATE UNIQUE INDEX *'
    ) LIMIT 1
"""
"""By the statement as SQLite writes it, which is what SQLite itself uses, whatever the other columns say."""


def _refuse_programs(connection: sqlite3.Connection) -> None:
    """Refuse views and triggers, which run when a file is used: they could hide a charge, or never end.

    SQLite could also call a function of ours each time (an authorizer), but a signal in there is lost.
    """
    if connection.execute(PROGRAMS).fetchone() is not None:
        error = sqlite3.DatabaseError("not a ledger")
        error.sqlite_errorname = "SQLITE_AUTH"
        raise error


def _refuse(path: Path, error: OSError | ValueError) -> LedgerError:
    why = describe(error) if isinstance(error, OSError) else "no file can have such a name"
    return LedgerError(f"The ledger {show(path, most=150)} cannot be used: {why}.")
