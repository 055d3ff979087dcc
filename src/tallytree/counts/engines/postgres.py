"""PostgreSQL: the rights of its users, its errors, and its fast ways in and out."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.csv as pa_csv

from tallytree.counts.engines.databases import list_plain_columns
from tallytree.counts.engines.session import Session
from tallytree.errors import EngineError, show
from tallytree.progress import Progress

if TYPE_CHECKING:
    import ibis

FORBIDDEN = """
    SELECT 1 FROM pg_catalog.pg_class AS tables
    JOIN pg_catalog.pg_namespace AS schemas ON schemas.oid = tables.relnamespace
    WHERE relkind IN ('r', 'p', 'v', 'm', 'f') AND (relname = %s OR (nspname = %s AND relname = %s))
    AND NOT (has_schema_privilege(schemas.oid, 'USAGE') AND has_table_privilege(tables.oid, 'SELECT')) LIMIT 1
"""
"""Whether there is a table of that name that the user may not read."""


LONGEST = 2**24
"""The most bytes of a row that is read back: names of regions, and numbers."""


class PostgresSession(Session):
    """A database of PostgreSQL."""

    backend_name = "postgres"
    holds = True
    digest = ("md5",)

    def compare_bytes(self, column: str) -> str:
        """Return the column in the collation of bytes: its own may take different texts for one."""
        return f'{column} COLLATE "C"'

    def make_copy(self, name: str, query: ibis.Table) -> ibis.Table:
        """Make the copy and have the server analyze it, which it does by itself only for other tables."""
        held = super().make_copy(name, query)
        self.backend.raw_sql(f"ANALYZE {name}").close()
        return held

    def fetch(self, query: ibis.Table, what: str, progress: Progress) -> pa.Table:
        """Return the result of a query, as a copy of text that takes no loop over rows."""
        return self.run(lambda: self._copy_out(query), what, progress)

    def load(self, table: pa.Table) -> ibis.Table:
        """Make a temporary table by a copy of text, which takes no loop over rows."""
        columns = list_plain_columns(table, "bigint", "text")
        if columns is None:
            return super().load(table)
        name = self.name_copy()
        file = BytesIO()
        pa_csv.write_csv(table, file, pa_csv.WriteOptions(include_header=False))
        kinds = ", ".join(map(" ".join, columns.items()))
        try:
            with (connection := self.backend.con).transaction(), connection.cursor() as cursor:
                cursor.execute(f"CREATE TEMPORARY TABLE {name} ({kinds})")
                with cursor.copy(f"COPY {name} FROM STDIN (FORMAT csv, ENCODING 'UTF8')") as copy:
                    copy.write(file.getbuffer())
                cursor.execute(f"ANALYZE {name}")
        except Exception as error:
            raise self.explain(error) from None
        return self.backend.table(name)

    def _copy_out(self, query: ibis.Table) -> pa.Table:
        schema = query.schema().to_pyarrow()
        # A user's table may have in-memory tables in it.
        self.backend._run_pre_execute_hooks(query)
        file = BytesIO()
        with (connection := self.backend.con).transaction(), connection.cursor() as cursor:
            text = f"COPY ({self.backend.compile(query)}) TO STDOUT (FORMAT csv, ENCODING 'UTF8')"
            with cursor.copy(text) as copy:
                file.writelines(copy)
        if not file.tell():
            return schema.empty_table()
        file.seek(0)
        return pa_csv.read_csv(
            file,
            read_options=pa_csv.ReadOptions(column_names=schema.names, block_size=LONGEST),
            parse_options=pa_csv.ParseOptions(newlines_in_values=True),
            convert_options=pa_csv.ConvertOptions(
                column_types=schema,
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )

    def check_rights(self, name: str) -> None:
        """Refuse a table that the user may not read: only others are listed."""
        schema, _, rest = name.partition(".")
        with (connection := self.backend.con).transaction():
            is_forbidden = connection.execute(FORBIDDEN, [name, schema, rest]).fetchone() is not None
        if is_forbidden:
            raise EngineError(
                f"The database user may not read the table {show(name)}: ask for the rights to select from "
                "it and to use its schema."
            )

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
        if isinstance(error, (psycopg.errors.UndefinedFunction, psycopg.errors.DatatypeMismatch)):
            return EngineError(
                "A column has a type of the database's own, such as an enumeration: give a view in which it "
                "is text."
            )
        return super().explain(error)
