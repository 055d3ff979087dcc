"""The database of a ledger: one table, to which rows are only ever added, one writer at a time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime

import sqlalchemy as sa

from tallytree.errors import LedgerError, LedgerUnreachableError
from tallytree.ledger.entries import Entry

TABLE = sa.Table(
    "tallytree_ledger_1",
    sa.MetaData(),
    sa.Column(
        "number", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True, autoincrement=False
    ),
    *(
        sa.Column(name, sa.Text, nullable=False)
        for name in ("dataset", "kind", "unit", "amount", "what", "time")
    ),
    # Should the locks ever fail, the second of two entries after the same one is refused here.
    sa.Column("previous", sa.Text, nullable=False, unique=True),
    sa.Column("hash", sa.Text, nullable=False, unique=True),
)

WAIT_SECONDS = 60
"""How long a writer waits for its turn."""


class Transaction:
    """The ledger while nobody else can write to it. What is not committed did not happen."""

    def __init__(self, connection: sa.Connection, store: Store) -> None:
        self._connection, self._store = connection, store

    def read(self) -> list[Entry]:
        """Return all entries."""
        return read_entries(self._connection)

    def read_clock(self) -> str:
        """Return the time: UTC, ISO 8601."""
        return write_time(self._store.read_clock(self._connection))

    def append(self, entry: Entry) -> None:
        """Add an entry."""
        self._connection.execute(sa.insert(TABLE).values(asdict(entry)))

    def make_table(self) -> bool:
        """Make the table unless there is one; return whether it was made."""
        is_new = not sa.inspect(self._connection).has_table(TABLE.name)
        if is_new:
            TABLE.create(self._connection)
        return is_new

    def commit(self) -> None:
        """Commit the transaction: when this returns, the entry is on the disk."""
        self._connection.commit()


class Store(ABC):
    """Where the entries are. Every use has a connection of its own, so threads and forks may share it."""

    shown: str
    """Its name for messages, which shows no password."""

    absence_is_certain: bool
    """Whether an entry that is missing after its commit failed can never appear later."""

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine

    def read(self) -> list[Entry]:
        """Return all entries, as they were at one moment."""
        with self._connect() as connection:
            return read_entries(connection)

    def check(self) -> None:
        """Refuse what is not a ledger."""
        with self._connect() as connection:
            connection.execute(sa.select(TABLE).limit(1)).all()

    @contextmanager
    def write(self) -> Iterator[Transaction]:
        """Yield a transaction without other writers; leaving without a commit undoes everything."""
        with self._connect() as connection:
            self.lock(connection)
            yield Transaction(connection, self)

    def tell_time(self) -> str:
        """Return the time by the ledger's clock: UTC, ISO 8601."""
        with self._connect() as connection:
            return write_time(self.read_clock(connection))

    @abstractmethod
    def read_clock(self, connection: sa.Connection) -> datetime:
        """Return the time by the one clock that all writers of this ledger share, if there is one."""

    @abstractmethod
    def lock(self, connection: sa.Connection) -> None:
        """Begin a transaction when all other writers have ended theirs."""

    @abstractmethod
    def explain(self, error: BaseException | None) -> str:
        """Return why the database cannot be used, as the end of a sentence, from what its driver says.

        The driver's own words are never shown: they may hold a password or values.
        """

    @abstractmethod
    def may_pass(self, error: BaseException | None) -> bool:
        """Return whether the database may be usable again later, without anybody changing anything."""

    @contextmanager
    def _connect(self) -> Iterator[sa.Connection]:
        try:
            with self._engine.connect() as connection:
                yield connection
        except sa.exc.DBAPIError as error:
            kind = LedgerUnreachableError if self.may_pass(error.orig) else LedgerError
            raise kind(f"{self.shown} cannot be used: {self.explain(error.orig)}.") from None
        except UnicodeError as error:
            raise LedgerError(f"{self.shown} cannot be used: {self.explain(error)}.") from None
        except sa.exc.SQLAlchemyError:
            raise LedgerError(f"{self.shown} cannot be used: the database failed.") from None


def write_time(time: datetime) -> str:
    """Return a time as entries have it."""
    return time.astimezone(UTC).isoformat(timespec="seconds")


def read_entries(connection: sa.Connection) -> list[Entry]:
    """Return all entries by their numbers, whatever is in them, up to the first that is out of place."""
    entries: list[Entry] = []
    for row in connection.execute(sa.select(TABLE).order_by(TABLE.c.number)):
        entries.append(Entry(*row))
        if entries[-1].number != len(entries):
            break  # a damaged file may hold the same rows again and again, without end
    return entries
