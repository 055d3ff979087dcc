"""The choice of the engine for a user's source."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from tallytree.counts.arrow import Table
from tallytree.counts.engines import databases, duckdb, object_stores, postgres, spark
from tallytree.counts.engines.session import Engine, Session
from tallytree.errors import EngineError, show
from tallytree.progress import Progress


class SparkTables(Session):
    """Tables of Ibis' own connection to Spark."""

    backend_name = "pyspark"
    has_try_cast = True
    digest = ("md5",)


ENGINES: list[type[Session]] = [
    duckdb.DuckDBSession,
    postgres.PostgresSession,
    SparkTables,
    databases.BigQueryTables,
    databases.ClickHouseTables,
    databases.DatabricksTables,
    databases.MSSQLTables,
    databases.MySQLTables,
    databases.SnowflakeTables,
    databases.SQLiteTables,
    databases.TrinoTables,
]
"""The engines of Ibis tables and of databases by their URL: a new one needs a class, and a line here. In any
other engine, records are counted all the same, with what every engine can do."""

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


@contextmanager
def open_sources(
    source: Table, frame: Table | None, engine: Engine | None, progress: Progress
) -> Iterator[tuple[Session, Table, Table | None]]:
    """Open the engine that ``source`` is in; yield it, the source and the frame, with objects copied here."""
    chosen = engine or Engine()
    by_spark = spark.is_data_frame(source) or chosen.name == "spark"  # which reads objects where they are
    sources = [] if by_spark else [source, frame]
    with object_stores.copy_objects(sources, chosen.spill_folder, progress) as copied:
        source, frame = copied or (source, frame)
        with open_session(source, engine) as session:
            yield session, source, frame


@contextmanager
def open_session(source: Table, engine: Engine | None) -> Iterator[Session]:
    """Open the engine that ``source`` is in; for files and data frames, the one that ``engine`` names."""
    import ibis

    chosen = engine or Engine()
    if isinstance(source, ibis.Table):
        _refuse_settings(engine)
        session = _use(source)
        try:
            yield session
        finally:
            session.close()
    elif spark.is_data_frame(source):
        _refuse_settings(engine)
        with spark.use_spark(source.sparkSession) as session:
            yield session
    elif is_database(source):
        if databases.find_backend(source) != "duckdb":
            _refuse_settings(engine)
        with databases.open_database(source, ENGINES, engine) as session:
            yield session
    elif chosen.name == "spark":
        with spark.open_spark(chosen) as session:
            yield session
    elif is_address(source):
        raise _unknown_address(str(source))
    else:
        with duckdb.open_duckdb(chosen) as session:
            yield session


def is_address(source: Table) -> bool:
    """Return whether a source begins like ``https://`` or ``postgresql://``."""
    return isinstance(source, str) and _ADDRESS.match(source) is not None


def check_table(source: Table, table: str | None) -> None:
    """Refuse the URL of a database without the name of a table, and such a name with anything else."""
    if (table is not None) == is_database(source):
        return
    if is_address(source) and not is_database(source) and not object_stores.names_objects(source):
        raise _unknown_address(str(source))
    raise EngineError("Give the name of a table with a database URL, and only with one.")


def _unknown_address(source: str) -> EngineError:
    """Return the error for an address that no engine but Spark may know; it may hold a password."""
    start = f"{source.partition(':')[0]}://"
    return EngineError(
        f"Nothing here reads addresses that begin with {show(start)}. Give a file, an address such as "
        "s3://bucket/people.csv, the URL of a database such as postgresql://host/database or, with the "
        "engine spark, an address that Spark can read."
    )


def is_database(source: Table) -> bool:
    """Return whether a source is the URL of a database."""
    return databases.find_backend(source) is not None


def _use(table: Table) -> Session:
    """The engine of an Ibis table, which stays open."""
    from ibis.common.exceptions import IbisError

    try:
        backend = table.get_backend()
    except IbisError:
        raise EngineError("The Ibis table is not bound to one engine: use a table of a connection.") from None
    kinds = {kind.backend_name: kind for kind in ENGINES}
    return kinds.get(backend.name, Session)(backend)


def _refuse_settings(engine: Engine | None) -> None:
    if engine is not None and engine != Engine():
        raise EngineError("The source brings its own engine: its memory and the like are set there.")
