"""PostgreSQL, by the URL of a database: the server does the counting."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tallytree.counts.arrow import Table
from tallytree.counts.engines.session import Opened, Session
from tallytree.counts.engines.source_files import has_file_ending
from tallytree.errors import EngineError, explain_refusal, name_choices, show

if TYPE_CHECKING:
    import ibis

SCHEMES = ("postgresql://", "postgres://")

FORBIDDEN = """
    SELECT 1 FROM pg_catalog.pg_class AS tables
    JOIN pg_catalog.pg_namespace AS schemas ON schemas.oid = tables.relnamespace
    WHERE relkind IN ('r', 'p', 'v', 'm', 'f') AND (relname = %s OR (nspname = %s AND relname = %s))
    AND NOT (has_schema_privilege(schemas.oid, 'USAGE') AND has_table_privilege(tables.oid, 'SELECT')) LIMIT 1
"""
"""Whether there is a table of that name that the user may not read."""


class PostgresSession(Session):
    """A database: a text source names one of its tables, unless it ends like a file name."""

    backend_name = "postgres"
    has_md5 = True

    def read(
        self, source: Table, columns: Sequence[str], *, text: Sequence[str], also: Sequence[str] = ()
    ) -> Opened:
        """Open a table by its name or as ``schema.name``; hand any other source to the server."""
        if isinstance(source, str) and not has_file_ending(source):
            table = self._find_table(source)
            return Opened(table, table.columns)
        return super().read(source, columns, text=text, also=also)

    def make_copy(self, name: str, query: ibis.Table) -> ibis.Table:
        """Make the copy and have the server analyze it, which it does by itself only for other tables."""
        held = super().make_copy(name, query)
        self.backend.raw_sql(f"ANALYZE {name}").close()
        return held

    def _find_table(self, name: str) -> ibis.Table:
        try:
            known = self.backend.list_tables()
            if name in known:
                return self.backend.table(name)
            schema, dot, rest = name.partition(".")
            if dot and rest in self.backend.list_tables(database=schema):
                return self.backend.table(rest, database=schema)
            # Only tables that the user has a right to are listed.
            with (connection := self.backend.con).transaction():
                is_forbidden = connection.execute(FORBIDDEN, [name, schema, rest]).fetchone() is not None
        except Exception as error:
            raise self.explain(error) from None
        if is_forbidden:
            raise EngineError(
                f"The database user may not read the table {show(name)}: ask for the rights to select from "
                "it and to use its schema."
            )
        raise EngineError(f"The database has no table {show(name)}: {name_choices(name, known)}")

    def explain(self, error: Exception) -> Exception:
        """Translate an error of PostgreSQL into what users can do about it."""
        import psycopg
        from ibis.common.exceptions import TableNotFound

        if isinstance(error, (psycopg.errors.InsufficientPrivilege, TableNotFound)):
            if "permission denied for" in str(error):  # in English, unless the server speaks another language
                return EngineError("The database user may not read the table: ask for the right to select.")
            return EngineError("The database user may not read the table, or may not make temporary tables.")
        if isinstance(error, psycopg.OperationalError):
            return EngineError("The database server ended the query: is it up, and has it space?")
        if isinstance(error, psycopg.errors.UndefinedFunction):
            return EngineError(
                "A column has a type of the database's own, such as an enumeration: give a view in which it "
                "is text."
            )
        return super().explain(error)


@contextmanager
def open_postgres(url: str) -> Iterator[PostgresSession]:
    """Open a connection of our own, closed at the end."""
    try:
        import psycopg
    except ImportError:
        raise EngineError("PostgreSQL needs a driver: pip install 'tallytree[postgres]'.") from None
    import ibis

    try:
        backend = ibis.connect(url)
    except (psycopg.Error, ValueError, TypeError, OSError) as error:
        # The URL, and what the driver says of it, may hold a password.
        raise EngineError(
            f"There is no connection to the database: {explain_refusal(error)} "
            "(postgresql://user@host:5432/database)."
        ) from None
    try:
        yield PostgresSession(backend)
    finally:
        backend.disconnect()
