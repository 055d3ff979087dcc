"""Spark: a session that the user has, or one of our own on any master."""

from __future__ import annotations

import logging
import re
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tallytree.engines.files import Files, has_file_ending
from tallytree.engines.session import Session
from tallytree.engines.settings import Engine
from tallytree.engines.spilling import private_folder
from tallytree.errors import EngineError
from tallytree.tables import Table

if TYPE_CHECKING:
    import ibis
    from pyspark.sql import DataFrame, SparkSession

SUBSTITUTE = "spark.sql.variable.substitute"

QUIET = """\
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = Spark: %c%n
"""
"""Log errors only, and only where they arose: what they say may quote the data."""


class SparkBackend(Session):
    """Files are opened by Spark, on paths and addresses that all its executors can reach."""

    def __init__(self, backend: ibis.Backend, session: SparkSession) -> None:
        super().__init__(backend)
        self._session = session
        self._views: list[str] = []

    def read(self, source: Table, columns: Sequence[str], *, text: Sequence[str]) -> ibis.Table:
        """Data frames of Spark, addresses such as ``hdfs://...``, and all that any session reads."""
        if is_data_frame(source):
            return self._name(source)
        if isinstance(source, str) and "://" in source:
            kind = "csv" if has_file_ending(source) and ".parquet" not in source.lower() else "parquet"
            return self._open(kind, [source], ",")
        return super().read(source, columns, text=text)

    def read_files(self, files: Files, columns: Sequence[str], *, text: Sequence[str]) -> ibis.Table:
        """The files as Spark reads them; every column of a CSV file is text ("01" stays "01")."""
        return self._open(files.kind, [_escape(path) for path in files.paths], files.delimiter)

    def close(self) -> None:
        """Forget the tables that were named here."""
        for view in self._views:
            self._session.catalog.dropTempView(view)

    def _open(self, kind: str, paths: list[str], delimiter: str) -> ibis.Table:
        reader = self._session.read
        try:
            if kind == "parquet":
                return self._name(reader.parquet(*paths))
            return self._name(
                reader.csv(
                    paths, header=True, sep=delimiter, quote='"', escape='"', multiLine=True, mode="FAILFAST"
                )
            )
        except Exception as error:
            raise self.explain(error) from None

    def _name(self, frame: DataFrame) -> ibis.Table:
        view = f"tallytree_{secrets.token_hex(8)}"
        frame.createTempView(view)
        self._views.append(view)
        return self.backend.table(view)


def is_data_frame(source: object) -> bool:
    """Whether this is a Spark data frame, without importing Spark."""
    return type(source).__module__.startswith("pyspark.sql") and type(source).__name__ == "DataFrame"


@contextmanager
def use_spark(session: SparkSession) -> Iterator[SparkBackend]:
    """The user's own session, which stays open."""
    import ibis

    spark = SparkBackend(ibis.pyspark.connect(session), session)
    # Otherwise ${x} in the name of a column would be replaced, by what is in the environment for instance.
    before = session.conf.get(SUBSTITUTE)
    session.conf.set(SUBSTITUTE, "false")
    log = logging.getLogger("SQLQueryContextLogger")  # Spark's errors, which may quote the data
    level = log.level
    log.setLevel(logging.CRITICAL + 1)
    try:
        yield spark
    finally:
        spark.close()
        log.setLevel(level)
        if before is not None:
            session.conf.set(SUBSTITUTE, before)


@contextmanager
def open_spark(engine: Engine) -> Iterator[SparkBackend]:
    """The session that is active, or a new one, which is stopped at the end."""
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise EngineError("Spark needs its package: pip install 'tallytree[spark]'.") from None

    active = SparkSession.getActiveSession()
    if active is not None:
        with use_spark(active) as spark:
            yield spark
        return
    with private_folder(engine.spill_folder) as folder:
        session = _start(engine, folder)
        try:
            with use_spark(session) as spark:
                yield spark
        finally:
            session.stop()


def _start(engine: Engine, folder: Path) -> Any:
    from pyspark.sql import SparkSession

    log = folder / "log4j2.properties"
    log.write_text(QUIET, encoding="utf-8")
    master = engine.master or "local[*]"
    settings = {
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={log.as_uri()}",
        "spark.io.encryption.enabled": "true",  # what is spilled are records of people
        "spark.local.dir": str(folder),
        "spark.sql.session.timeZone": "UTC",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    if master.startswith("local"):
        settings |= {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}
    if memory := engine.format_memory():
        settings |= {"spark.driver.memory": memory, "spark.executor.memory": memory}
    builder = SparkSession.builder.master(master).appName("tallytree")
    for name, value in settings.items():
        builder = builder.config(name, value)
    try:
        return builder.getOrCreate()
    except Exception as error:
        raise EngineError(
            f"Spark does not start ({type(error).__name__}): is there a Java for it (JAVA_HOME), and is "
            "the master right?"
        ) from None


def _escape(path: str) -> str:
    """A path whose characters all stand for themselves."""
    return re.sub(r"([\\*?\[\]{}])", r"\\\1", path)
