"""A ledger in a PostgreSQL database, by its URL."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime

import sqlalchemy as sa

from tallytree.errors import LedgerError, explain_refusal, is_permanent
from tallytree.ledger.store import TABLE, WAIT_SECONDS, Store

CONNECT_SECONDS = 20

LOCK = 0x7A11_7EE1
"""The number of the advisory lock with which writers take turns. It needs no right on the table beyond those
to read and to add rows, so users who release need not be able to change existing rows. Policies of the
database, which are in the documentation, say what they may add: charges, and no budgets."""

REASONS = {
    "InsufficientPrivilege": "the database user has no right to this: whoever owns the ledger can give the "
    "rights to read and to charge it, and keeps the one to create budgets",
    "LockNotAvailable": f"others were writing to it for {WAIT_SECONDS} seconds, so run this again",
    "UndefinedTable": "the database has none, so make one with 'tallytree ledger create'",
    "InvalidSchemaName": "the database user has no schema in which to look for it or to make it",
    "UndefinedColumn": "it is not a ledger",
    "WrongObjectType": "it is not a ledger",
    "UniqueViolation": "somebody wrote to it without waiting for their turn, so run this again",
    "DiskFull": "No space left on device",
    "ReadOnlySqlTransaction": "it may not be written to",
}

PASSING = {"LockNotAvailable", "UniqueViolation"}

HIDDEN = (
    "the database has one in a schema that its user has no right to use, so ask for that right, or make "
    "another with 'tallytree ledger create'"
)


class PostgresStore(Store):
    """A database on a server, which may go away at any moment, even in the middle of a commit."""

    shown = "The ledger in the database"
    absence_is_certain = False

    def lock(self, connection: sa.Connection) -> None:
        """Wait for all other writers; make the commit wait for the disk, whatever the server's defaults."""
        connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{WAIT_SECONDS}s'")
        durability = connection.exec_driver_sql("SHOW synchronous_commit").scalar_one()
        if durability != "remote_apply":  # which is more than "on"
            connection.exec_driver_sql("SET LOCAL synchronous_commit = on")
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(LOCK)))

    def read_clock(self, connection: sa.Connection) -> datetime:
        """Return the time by the clock of the server."""
        time: datetime = connection.exec_driver_sql("SELECT clock_timestamp()").scalar_one()
        return time

    def explain(self, error: BaseException | None) -> str:
        """Explain an error by its class in the driver, or by the classes above it."""
        names = [kind.__name__ for kind in type(error).__mro__]
        if "UndefinedTable" in names and self._is_hidden():
            return HIDDEN
        reason = next((REASONS[name] for name in names if name in REASONS), "")
        if error is not None and not reason and "OperationalError" in names:
            reason = f"there is no connection: {explain_refusal(error)}"
        return reason or "the database failed"

    def may_pass(self, error: BaseException | None) -> bool:
        """Return whether the error is about the moment: a lock, or a connection that nobody forbids."""
        names = {kind.__name__ for kind in type(error).__mro__}
        if names & PASSING:
            return True
        is_named = any(name in REASONS for name in names)
        return error is not None and not is_named and "OperationalError" in names and not is_permanent(error)

    def _is_hidden(self) -> bool:
        """Whether there is a ledger where the user may not look. Its existence is not secret."""
        hidden = sa.text(
            "SELECT count(*) FROM pg_catalog.pg_class WHERE relname = :name "
            "AND NOT has_schema_privilege(relnamespace, 'USAGE')"
        )
        with suppress(sa.exc.SQLAlchemyError), self._engine.connect() as connection:
            return bool(connection.execute(hidden, {"name": TABLE.name}).scalar_one())
        return False


def connect_postgres(address: str) -> PostgresStore:
    """Return the store for the database at a URL, without connecting to it yet."""
    try:
        import psycopg  # noqa: F401
    except ImportError:
        raise LedgerError("PostgreSQL needs a driver: pip install 'tallytree[postgres]'.") from None
    try:
        url = sa.make_url(address).set(drivername="postgresql+psycopg")
        if "connect_timeout" not in url.query:
            url = url.update_query_dict({"connect_timeout": str(CONNECT_SECONDS)})
        # Read committed: what is read after taking the lock is what the writers before have committed.
        engine = sa.create_engine(url, poolclass=sa.NullPool, isolation_level="READ COMMITTED")
    except (sa.exc.SQLAlchemyError, ValueError):
        # Not what the library says of it: the URL may hold a password.
        raise LedgerError("The URL of the ledger is not like postgresql://user@host/database.") from None
    return PostgresStore(engine)


def open_postgres(address: str) -> PostgresStore:
    """Open the ledger of a database that has one."""
    store = connect_postgres(address)
    store.check()
    return store
