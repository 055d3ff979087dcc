"""Spark: a session that the user has, or one of our own on any master."""

from __future__ import annotations

import logging
import re
import secrets
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tallytree.counts.arrow import Header, Table, refuse_open_quote
from tallytree.counts.engines.databases import list_plain_columns
from tallytree.counts.engines.session import Engine, Opened, Session, private_folder, stack
from tallytree.counts.engines.source_files import Files, has_file_ending, is_hidden, read_headers
from tallytree.errors import EngineError, InputError, show
from tallytree.progress import Progress

if TYPE_CHECKING:
    import ibis
    from pyspark.sql import DataFrame, SparkSession

SETTINGS = {
    # Otherwise ${x} in the name of a column would be replaced, by what is in the environment for instance.
    "spark.sql.variable.substitute": "false",
    # "State" and "state" are two columns.
    "spark.sql.caseSensitive": "true",
    # The folder state=01 is of the state "01".
    "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
}
"""The settings that must hold while we count."""

CSV: dict[str, Any] = {"header": True, "quote": '"', "escape": '"', "multiLine": True, "mode": "FAILFAST"}

CANNOT_OPEN = (
    "Spark cannot open the files: are they where all its processes can reach them, and are they undamaged?"
)

REPLACED = "\N{REPLACEMENT CHARACTER}"

QUIET = """\
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = Spark: %c%n
appender.stderr.layout.alwaysWriteExceptions = false
"""
"""Log only errors, and only where they arose: their messages may quote the data."""


class SparkBackend(Session):
    """Files are opened by Spark, on paths and addresses that all its executors can reach."""

    has_try_cast = True
    holds = True
    digest = ("md5",)

    def __init__(self, backend: ibis.Backend, session: SparkSession) -> None:
        super().__init__(backend)
        self._session = session
        self._views: list[str] = []
        self._copies: list[Any] = []

    def read(
        self, source: Table, columns: Sequence[str], *, text: Sequence[str], also: Sequence[str] = ()
    ) -> Opened:
        """Open data frames of Spark, addresses such as ``hdfs://...``, and all that any session opens."""
        if is_data_frame(source):
            return self._name(source)
        if isinstance(source, str) and "://" in source:
            return self._read_address(source, [*columns, *also])
        return super().read(source, columns, text=text, also=also)

    def read_files(
        self, files: Files, columns: Sequence[str], *, text: Sequence[str], also: Sequence[str]
    ) -> Opened:
        """Read the files with Spark; every column of a CSV file is text ("01" stays "01")."""
        for path in files.paths:
            _check_name(path)
        try:
            if files.kind == "parquet":
                reader = self._session.read.options(**({"basePath": files.base} if files.base else {}))
                return self._name(reader.parquet(*map(_escape, files.paths)))
            wanted = {*columns, *also}
            for path in files.paths:
                refuse_open_quote(path, files.delimiter)
            return stack(
                [self._read_csv(*part, files, wanted) for part in read_headers(files)], columns, also
            )
        except InputError:
            raise
        except Exception:
            raise EngineError(CANNOT_OPEN) from None

    def load(self, table: pa.Table) -> ibis.Table:
        """Return a table in memory as a data frame, which takes no loop over rows."""
        if list_plain_columns(table, "bigint", "string") is None:
            return super().load(table)
        return self._name(self._session.createDataFrame(table)).table

    def fetch(self, query: ibis.Table, what: str, progress: Progress) -> pa.Table:
        """Return the result of a query; its in-memory tables are dropped when the session ends."""
        self._remember_tables(query)
        return super().fetch(query, what, progress)

    def make_copy(self, name: str, query: ibis.Table) -> ibis.Table:
        """Make the copy as a checkpoint: if it is lost, that is an error, where a cache would read again."""
        self._remember_tables(query)
        self._views.append(name)
        self.backend.create_view(name, query)
        copy = self._session.table(name).localCheckpoint(eager=True)
        self._copies.append(copy)
        return self._name(copy).table

    def explain(self, error: Exception) -> Exception:
        """Translate an error of Spark into what users can do about it; its own words may quote the data."""
        if type(error).__module__.startswith(("pyspark", "py4j")):
            return EngineError(
                "Spark could not count the records: are the files damaged, not UTF-8 text or of different "
                "columns, or is there too little memory or disk?"
            )
        return super().explain(error)

    def close(self) -> None:
        """Drop the views that were made here, and free the copies."""
        for view in set(self._views):
            self._session.catalog.dropTempView(view)
        for copy in self._copies:
            copy._jdf.queryExecution().analyzed().rdd().unpersist(False)

    def _remember_tables(self, query: ibis.Table) -> None:
        """Remember the views that Ibis makes of a query's in-memory tables."""
        from ibis.expr.operations import InMemoryTable

        self._views += [table.name for table in query.op().find(InMemoryTable)]

    def _read_address(self, address: str, columns: Sequence[str]) -> Opened:
        try:
            if not has_file_ending(address) or ".parquet" in address.lower():
                return self._name(self._session.read.parquet(address))
            # The headers were not read before: Spark checks that they are all alike.
            table = self._session.read.csv(address, enforceSchema=False, **CSV)
            return self._name(_refuse_damage(table, columns))
        except Exception:
            raise EngineError(CANNOT_OPEN) from None

    def _read_csv(self, header: Header, paths: list[str], files: Files, wanted: set[str]) -> Opened:
        names = [f"column_{place}" for place in range(len(header.names))]
        kinds = ", ".join(f"{name} string" for name in names)
        options = {**CSV, "sep": files.delimiter, **({"lineSep": header.end} if header.end else {})}
        read = self._session.read.csv([_escape(path) for path in paths], kinds, **options)
        checked = [name for name, own in zip(names, header.names, strict=True) if own in wanted]
        return Opened(self._name(_refuse_damage(read, checked)).table, header.names)

    def _name(self, frame: DataFrame) -> Opened:
        view = f"tallytree_{secrets.token_hex(8)}"
        frame.createTempView(view)
        self._views.append(view)
        table = self.backend.table(view)
        return Opened(table, table.columns)


def is_data_frame(source: object) -> bool:
    """Return whether this is a Spark data frame, without importing Spark."""
    return type(source).__module__.startswith("pyspark.sql") and type(source).__name__ == "DataFrame"


@contextmanager
def use_spark(session: SparkSession) -> Iterator[SparkBackend]:
    """Use the user's own session, which stays open."""
    import ibis

    spark = SparkBackend(ibis.pyspark.connect(session), session)
    before = {name: session.conf.get(name) for name in SETTINGS}
    for name, value in SETTINGS.items():
        session.conf.set(name, value)
    log = logging.getLogger("SQLQueryContextLogger")  # Spark's errors, which may quote the data
    level = log.level
    log.setLevel(logging.CRITICAL + 1)
    try:
        yield spark
    finally:
        _ask_aside(spark.close)
        for name, earlier in before.items():
            if earlier is not None:
                _ask_aside(session.conf.set, name, earlier)
        log.setLevel(level)


@contextmanager
def open_spark(engine: Engine) -> Iterator[SparkBackend]:
    """Open the active session, or a new one, which is stopped at the end."""
    try:
        from pyspark import SparkContext
        from pyspark.sql import SparkSession
    except ImportError:
        raise EngineError("Spark needs its package: pip install 'tallytree[spark]'.") from None

    if engine.spill_folder is not None:
        _refuse_comma(Path(engine.spill_folder))
    active = SparkSession.getActiveSession()
    if active is not None:
        with use_spark(active) as spark:
            yield spark
        return
    is_ours = SparkContext._gateway is None
    with private_folder(engine.spill_folder) as folder:
        session = _start(engine, folder)
        try:
            with use_spark(session) as spark:
                yield spark
        finally:
            _ask_aside(session.stop)
            if is_ours:
                _end_jvm()


def _ask_aside(question: Callable[..., object], *values: str) -> None:
    """Ask Spark something at the end, in a new thread: one that was interrupted would get an old answer."""
    with ThreadPoolExecutor(1) as aside, suppress(Exception):
        aside.submit(question, *values).result()


def _end_jvm() -> None:
    """End the JVM that was started here: another session in it would spill to the same folder, made anew."""
    from pyspark import SparkContext

    gateway: Any = SparkContext._gateway
    SparkContext._gateway = SparkContext._jvm = None
    with suppress(Exception):
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait()


def _refuse_comma(folder: Path) -> None:
    if "," in str(folder):
        raise EngineError(f"Spark cannot spill to {show(folder, most=150)}: a comma makes two folders of it.")


def _start(engine: Engine, folder: Path) -> Any:
    from pyspark.sql import SparkSession

    _refuse_comma(folder)
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
    interrupted = signal.getsignal(signal.SIGINT)
    try:
        return builder.getOrCreate()
    except Exception as error:
        raise EngineError(
            f"Spark does not start ({type(error).__name__}): is there a Java for it (JAVA_HOME), and is "
            "the master right?"
        ) from None
    finally:
        # Spark handles interruptions too, and would call the JVM in the middle of one of its answers.
        if threading.current_thread() is threading.main_thread() and interrupted is not None:
            signal.signal(signal.SIGINT, interrupted)


def _refuse_damage(frame: DataFrame, columns: Sequence[str]) -> DataFrame:
    """Make the query fail where Spark has a mark for bytes that are not UTF-8, or half a line end."""
    from pyspark.sql import functions

    checked = {}
    for name in set(columns) & set(frame.columns):
        value = functions.col("`{}`".format(name.replace("`", "``")))
        damaged = value.contains(REPLACED) | value.endswith("\r")
        fail = functions.raise_error(functions.lit("damaged"))
        checked[name] = functions.when(damaged, fail).otherwise(value)
    return frame.withColumns(checked)


def _check_name(path: str) -> None:
    """Refuse a file that Spark would skip, or cannot open."""
    name = Path(path).name
    if is_hidden(name) or ":" in name or (":" in path and _escape(path) != path):
        raise EngineError(
            f"Spark does not read {show(path, most=150)}: a name may not begin with a dot or an underscore, "
            "nor hold a colon."
        )


def _escape(path: str) -> str:
    """A path whose characters all stand for themselves."""
    return re.sub(r"([\\*?\[\]{}])", r"\\\1", path)
