"""Databases by their URL, such as ``mysql://user@host/database``: any that Ibis opens does the counting."""

from __future__ import annotations

import os
import re
import sqlite3
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import pyarrow as pa

from tallytree.counts.arrow import Table
from tallytree.counts.engines.duckdb import open_duckdb
from tallytree.counts.engines.session import Engine, Session
from tallytree.errors import EngineError, describe, explain_refusal, show

if TYPE_CHECKING:
    import ibis

ALIASES = {"postgresql": "postgres"}
"""Schemes by which Ibis opens a backend of another name."""

NOT_DATABASES = ("datafusion", "flink", "polars", "pyspark")
"""Backends of Ibis without tables of their own that a URL could lead to."""

EXTRAS = {"mysql": "tallytree[mysql]", "postgres": "tallytree[postgres]", "sqlite": "tallytree[sqlite]"}
"""Where the driver of a backend is an extra of ours rather than one of Ibis."""

EXAMPLES = {
    "bigquery": "bigquery://project/dataset",
    "postgres": "postgresql://user@host:5432/database",
    "snowflake": "snowflake://user@account/database/schema",
}

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")


class SQLiteTables(Session):
    """Tables of SQLite."""

    backend_name = "sqlite"
    holds = True

    def compare_bytes(self, column: str) -> str:
        """Return the column without its collation, which may be NOCASE."""
        return f"{column} || ''"

    def hash(self, text: ibis.Value) -> ibis.Value:
        """Return the MD5 of text, by a function that this process computes for SQLite."""
        import hashlib

        import ibis

        @ibis.udf.scalar.python
        def md5(text: str) -> str:
            return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()

        return md5(text)


class MySQLTables(Session):
    """Tables of MySQL and MariaDB."""

    backend_name = "mysql"
    digest = ("md5",)

    def compare_bytes(self, column: str) -> str:
        """Return the column as UTF-8 in a collation of bytes, spaces at the end included."""
        return f"CONVERT({column} USING utf8mb4) COLLATE {self._collation}"

    def load(self, table: pa.Table) -> ibis.Table:
        """Make a temporary table of UTF-8, whatever the database's own character set is."""
        columns = list_plain_columns(table, "BIGINT", f"LONGTEXT COLLATE {self._collation}")
        if columns is None:
            return super().load(table)
        name = self.name_copy()
        marks = ", ".join(["%s"] * len(columns))
        rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
        try:
            with self.backend.con.cursor() as cursor:
                # Without a key, each record would be compared with all regions.
                keys = [f"{column}(48)" if "TEXT" in kind else column for column, kind in columns.items()]
                kinds = ", ".join(map(" ".join, columns.items()))
                cursor.execute(
                    f"CREATE TEMPORARY TABLE {name} ({kinds}, KEY ({', '.join(keys[:16])})) CHARSET utf8mb4"
                )
                cursor.executemany(f"INSERT INTO {name} VALUES ({marks})", rows)
        except Exception as error:
            raise self.explain(error) from None
        return self.backend.table(name)

    @property
    def _collation(self) -> str:
        is_maria = "MariaDB" in self.backend.con.get_server_info()
        return "utf8mb4_nopad_bin" if is_maria else "utf8mb4_0900_bin"


class MSSQLTables(Session):
    """Tables of Microsoft SQL Server, from version 2022 on."""

    backend_name = "mssql"

    def compare_bytes(self, column: str) -> str:
        """Return the column as UTF-8 in a collation of bytes.

        Spaces at the end count for nothing in any collation: a mark behind them, and behind such a mark,
        makes them count.
        """
        text = f"CAST({column} AS VARCHAR(MAX)) COLLATE Latin1_General_100_BIN2_UTF8"
        is_odd = f"{text} <> '' AND ({text} LIKE '% ' OR {text} LIKE '%' + CHAR(127))"
        return f"{text} + CASE WHEN {is_odd} THEN CHAR(127) ELSE '' END"

    def hash(self, text: ibis.Value) -> ibis.Value:
        """Return the MD5 of text in hexadecimal digits, which need a conversion of their own here."""
        return text.hexdigest("md5")


class SnowflakeTables(Session):
    """Tables of Snowflake."""

    backend_name = "snowflake"
    has_try_cast = True
    digest = ("md5",)

    def compare_bytes(self, column: str) -> str:
        """Return the column without its collation."""
        return f"COLLATE({column}, '')"


class BigQueryTables(Session):
    """Tables of BigQuery."""

    backend_name = "bigquery"
    has_try_cast = True
    digest = ("to_hex", "md5")

    def compare_bytes(self, column: str) -> str:
        """Return the column without its collation."""
        return f"COLLATE({column}, '')"


class TrinoTables(Session):
    """Tables of Trino."""

    backend_name = "trino"
    has_try_cast = True
    digest = ("lower", "to_hex", "md5", "to_utf8")


class ClickHouseTables(Session):
    """Tables of ClickHouse."""

    backend_name = "clickhouse"
    digest = ("lower", "hex", "md5")


class DatabricksTables(Session):
    """Tables of Databricks."""

    backend_name = "databricks"
    has_try_cast = True
    digest = ("md5",)


def list_plain_columns(table: pa.Table, number: str, text: str) -> dict[str, str] | None:
    """Return the columns of a table and their types in SQL; None if one is neither text nor whole numbers."""
    kinds = [number if pa.types.is_integer(kind) else text for kind in table.schema.types]
    for kind in table.schema.types:
        if not (pa.types.is_integer(kind) or pa.types.is_string(kind) or pa.types.is_large_string(kind)):
            return None
    return dict(zip(table.column_names, kinds, strict=True))


def find_backend(source: Table) -> str | None:
    """Return the backend of Ibis that the URL of a database is for; None for all other sources."""
    found = _SCHEME.match(source) if isinstance(source, str) else None
    if found is None:
        return None
    scheme = found[1].lower()
    name = ALIASES.get(scheme, scheme)
    known = {point.name for point in entry_points(group="ibis.backends")}
    return name if name in known.difference(NOT_DATABASES) else None


@contextmanager
def open_database(
    url: str, kinds: Sequence[type[Session]], engine: Engine | None = None
) -> Iterator[Session]:
    """Open a connection of our own, closed at the end; a file of SQLite or DuckDB is opened for reading."""
    name = find_backend(url)
    assert name is not None
    if name == "duckdb":
        with open_duckdb(engine or Engine(), _find_file(url)) as opened:
            yield opened
        return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # such as of time zones, which are no concern of ours
            backend = _connect(url, name)
    except EngineError:
        raise
    except ImportError:
        package = EXTRAS.get(name, f"ibis-framework[{name}]")
        raise EngineError(f"{name}:// needs a driver: pip install '{package}'.") from None
    except Exception as error:
        # Of any kind: each driver has its own. The URL, and what the driver says, may hold a password.
        example = EXAMPLES.get(name, f"{name}://user@host/database")
        raise EngineError(
            f"There is no connection to the database: {explain_refusal(error)} ({example})."
        ) from None
    kind = next((kind for kind in kinds if kind.backend_name == name), Session)
    session = kind(backend, names_tables=True)
    try:
        yield session
    finally:
        session.close()
        with suppress(Exception):  # a connection that is lost is closed
            backend.disconnect()


def _connect(url: str, name: str) -> ibis.Backend:
    import ibis

    if name in ("mysql", "sqlite"):
        import pandas  # noqa: F401  # Ibis makes Arrow tables of their answers with it
    if name == "sqlite":
        path = _find_file(url)
        try:
            return ibis.sqlite.from_connection(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True))
        except sqlite3.Error:
            raise EngineError(f"{show(path, most=150)} is not a database of SQLite.") from None
    options: dict[str, Any] = {}
    if name == "mysql":
        _use_pure_driver()
        options = {"charset": "utf8mb4"}
        if urlsplit(url).password is None and "MYSQL_PWD" in os.environ:
            options["password"] = os.environ["MYSQL_PWD"]
    return ibis.connect(url, **options)


def _use_pure_driver() -> None:
    """Let Ibis use PyMySQL where there is no MySQLdb, which few can compile."""
    if find_spec("MySQLdb") is None:
        import pymysql

        pymysql.install_as_MySQLdb()


def _find_file(url: str) -> Path:
    """The file of ``sqlite:///path`` or ``duckdb:///path``; one that does not exist is not made."""
    path = Path()
    try:
        parts = urlsplit(url)
        path = Path(re.sub("^/+", "/", unquote(parts.netloc + parts.path)))
        with path.open("rb"):
            return path.absolute()
    except (OSError, ValueError) as error:
        why = describe(error) if isinstance(error, OSError) else "no file can have such a name"
        raise EngineError(f"The database {show(path, most=150)} cannot be opened: {why}.") from None
