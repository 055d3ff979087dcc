"""A connection to an engine: how it reads what users give, and runs a query."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar, get_args

import pyarrow as pa

from tallytree.counts.arrow import Table, check_columns, read_columns
from tallytree.counts.engines.source_files import (
    Files,
    Stamps,
    find_files,
    has_file_ending,
    is_file_source,
    share_files,
    stamp_files,
)
from tallytree.errors import CountsError, EngineError, describe, name_choices, show
from tallytree.progress import Progress
from tallytree.sizes import find_whole

if TYPE_CHECKING:
    import ibis

# Where engines spill what does not fit into memory: records of people, which nobody else may see.


@contextmanager
def private_folder(parent: str | os.PathLike[str] | None) -> Iterator[Path]:
    """Yield a new folder that only this user may open, removed at the end with all that is in it."""
    place = "the temporary folder" if parent is None else show(parent, most=150)
    folder = None
    try:
        try:
            # Its name is known before it exists, so that a signal at any moment finds what to remove.
            folder = Path(parent or tempfile.gettempdir(), f"tallytree-{secrets.token_hex(8)}").absolute()
            folder.mkdir(mode=0o700)
        except (OSError, ValueError) as error:
            why = describe(error) if isinstance(error, OSError) else "no folder can have such a name"
            raise EngineError(f"Cannot write temporary files to {place}: {why}.") from None
        yield folder
    finally:
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)


# The settings of the engine that counts the records.

EngineName = Literal["duckdb", "spark"]
NAMES: tuple[EngineName, ...] = get_args(EngineName)
MASTERS = ("local", "spark://", "yarn", "k8s://")

_MEMORY = re.compile(r"\s*([1-9][0-9]{0,8})\s*([KMGT])(?:i?B)?\s*", re.ASCII | re.IGNORECASE)
_MOST_MEMORY = 2**60


@dataclass(frozen=True, kw_only=True)
class Engine:
    """The engine for files and data frames; a database or a Spark data frame brings its own.

    >>> Engine(memory_limit="8GB").memory_limit
    '8GB'
    """

    name: EngineName = "duckdb"
    master: str | None = None
    """Spark's master; all processors of this machine if None."""
    memory_limit: str | None = None
    """How much memory to use before spilling to disk, such as ``"8GB"``; the engine's own choice if None."""
    spill_folder: str | os.PathLike[str] | None = None
    """The folder for temporary files, kept in a private subfolder that is removed; the system's if None."""
    threads: int | None = None

    def __post_init__(self) -> None:
        if self.name not in NAMES:
            raise EngineError(f"There is no engine {show(self.name)}: {name_choices(self.name, NAMES)}")
        if self.master is not None and not (isinstance(self.master, str) and self.master.startswith(MASTERS)):
            raise EngineError(
                "Spark's master must be like 'local[2]', 'spark://host:7077', 'yarn' or 'k8s://...'."
            )
        if self.master is not None and self.name != "spark":
            raise EngineError("A master belongs to Spark: set the engine to 'spark' as well.")
        if self.memory_limit is not None:
            self._count_bytes()
        if self.spill_folder is not None and not isinstance(self.spill_folder, (str, os.PathLike)):
            raise EngineError("The spill folder must be given by its path.")
        if self.threads is not None:
            threads = find_whole(self.threads)
            if threads is None or not 1 <= threads <= 4096:
                raise EngineError("The number of threads must be a whole number from 1 to 4096.")
            object.__setattr__(self, "threads", threads)
        if self.name == "spark" and self.threads is not None:
            raise EngineError("Spark's threads are set with its master, such as 'local[2]'.")

    def format_memory(self) -> str | None:
        """Return the memory limit in mebibytes with the letter m, as options of Java have it."""
        if self.memory_limit is None:
            return None
        return f"{max(self._count_bytes() // 1024**2, 1)}m"

    def _count_bytes(self) -> int:
        found = _MEMORY.fullmatch(self.memory_limit) if isinstance(self.memory_limit, str) else None
        if found is not None:
            number = int(found[1]) << 10 * (1 + "KMGT".index(found[2].upper()))
            if number <= _MOST_MEMORY:
                return number
        raise EngineError(f"The memory limit {show(self.memory_limit)} is not a size such as 8GB or 500MB.")


Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Opened:
    """A table of an engine, and the user's names for its columns, in their order.

    To some engines "State" and "state" are one name, and others have no names longer than 63 bytes: so the
    engine may use other names for the columns.
    """

    table: ibis.Table
    names: tuple[str, ...]
    files: tuple[str, ...] = ()
    """The files that it was opened from, if any."""

    def is_made_from(self, other: Opened) -> bool:
        """Return whether all that ``other`` is read from is in this table too, as far as can be seen.

        Tables of one connection are compared by their names, with a schema or without.
        """
        if self.files or other.files:
            return share_files(self.files, other.files)
        own, others = _find_bases(self.table), _find_bases(other.table)
        return bool(others) and all(any(_is_same(base, mine) for mine in own) for base in others)


BYTEWISE = ("datafusion", "polars", "pyspark")
"""Engines without a class of that name that compare text by its bytes."""


class Session:
    """Any Ibis backend. An engine that can do more has a class of its own, which says so."""

    backend_name: ClassVar[str] = ""
    """Its name in Ibis: tables of such a backend are counted with this class."""
    has_try_cast: ClassVar[bool] = False
    """Whether it can cast text to numbers, with null for what is not a number after all."""
    holds: ClassVar[bool] = False
    """Whether it has temporary tables that no other connection sees, and that one query may read twice."""
    digest: ClassVar[tuple[str, ...]] = ()
    """The functions that turn text into MD5 as lower-case hexadecimal digits, the outermost first."""

    def __init__(self, backend: ibis.Backend, *, names_tables: bool = False) -> None:
        self.backend = backend
        self.names_tables = names_tables
        """Text that does not end like a file name is the name of a table."""
        self._stamps: Stamps = {}
        self._held: list[str] = []

    def read(
        self, source: Table, columns: Sequence[str], *, text: Sequence[str], also: Sequence[str] = ()
    ) -> Opened:
        """Open ``source`` as a table of the engine with ``columns``, and those of ``also`` that it has.

        Columns in ``text`` are read as text from CSV files.
        """
        import ibis

        if isinstance(source, ibis.Table):
            if not _lives_in(source, self.backend):
                raise EngineError("All tables must be in the same engine: give both by the same connection.")
            return self.tell_apart(source)
        if self.names_tables and isinstance(source, str) and not has_file_ending(source):
            return self.tell_apart(self.find_table(source))
        if is_file_source(source):
            files = find_files(source)
            self._stamps |= stamp_files(files.paths)
            opened = self.read_files(files, columns, text=text, also=also)
            return replace(opened, files=files.paths)
        return self.hand_over(_make_keys_whole(read_columns(source, columns, text=text, also=also), text))

    def read_files(
        self, files: Files, columns: Sequence[str], *, text: Sequence[str], also: Sequence[str]
    ) -> Opened:
        """Read files that the engine cannot open itself, and hand them to it."""
        parts = [read_columns(path, columns, text=text, also=also) for path in files.paths]
        try:
            return self.hand_over(pa.concat_tables(parts, promote_options="permissive"))
        except pa.ArrowException:
            raise CountsError("The files do not have the same types in the same columns.") from None

    def find_table(self, name: str) -> ibis.Table:
        """Return the table of that name, or of ``schema.name``."""
        schema, dot, rest = name.partition(".")
        try:
            known = self.list_tables()
            if name in known:
                return self.backend.table(name)
            with suppress(Exception):  # of any kind: Ibis has none of its own for an unknown schema
                if dot and rest in self.list_tables(schema):
                    return self.backend.table(rest, database=schema)
            self.check_rights(name)
        except Exception as error:
            raise self.explain(error) from None
        raise EngineError(f"The database has no table {show(name)}: {name_choices(name, known)}")

    def list_tables(self, schema: str | None = None) -> Sequence[str]:
        """Return the names of the tables in a schema, or in the one that the connection begins in."""
        return self.backend.list_tables(database=schema)

    def check_rights(self, name: str) -> None:
        """Refuse a table that exists but is not listed, because the user may not read it."""

    def compare_bytes(self, column: str) -> str:
        """Return SQL for a column of text that is compared by its bytes; the column itself if it is already.

        To some engines "a", "A" and "a " are one name: two people would be taken for one, or two groups.
        """
        return column

    @property
    def compares_bytes(self) -> bool:
        """Whether it is known that text is compared by its bytes, which bounds on a person depend on."""
        return bool(self.backend_name) or self.backend.name in BYTEWISE

    def hash(self, text: ibis.Value) -> ibis.Value | None:
        """Return the MD5 of text as lower-case hexadecimal digits; None if the engine cannot compute it.

        It decides which records of a person are kept, so all engines that have it keep the same ones.
        """
        import ibis

        for name in reversed(self.digest):

            @ibis.udf.scalar.builtin(name=name, signature=(("string",), "string"))
            def apply(text: object) -> None: ...

            text = apply(text)
        return text if self.digest else None

    def load(self, table: pa.Table) -> ibis.Table:
        """Return a table in memory as one of the engine."""
        import ibis

        return self.tell_apart(ibis.memtable(table)).table

    def hand_over(self, table: pa.Table) -> Opened:
        """Return a table in memory in a form that the engine can take in."""
        try:
            table.validate(full=True)
        except pa.ArrowInvalid:
            raise CountsError("The table is damaged, or holds text that is not UTF-8.") from None
        plain = [f"column_{place}" for place in range(table.num_columns)]
        try:
            return Opened(self.load(table.rename_columns(plain)), tuple(table.column_names))
        except (KeyError, TypeError, ValueError, NotImplementedError) as error:  # a type that Ibis has not
            if isinstance(error, CountsError):
                raise
            kinds = ", ".join(
                dict.fromkeys(re.split(r"[^a-z0-9_]", str(kind))[0] for kind in table.schema.types)
            )
            raise CountsError(
                f"The columns hold {kinds}; names and keys must be text or whole numbers, and quantities "
                "whole numbers."
            ) from None

    def tell_apart(self, table: ibis.Table) -> Opened:
        """Return a table of the engine with its text compared by bytes."""
        from ibis.expr.operations import SQLStringView
        from sqlglot import to_identifier

        alias = f"tallytree_{secrets.token_hex(8)}"
        columns = {}
        for name in table.columns:
            quoted = to_identifier(name, quoted=True).sql(self.backend.name)
            is_text = table.schema()[name].is_string()
            columns[quoted] = self.compare_bytes(quoted) if is_text else quoted
        if all(name == column for name, column in columns.items()):
            return Opened(table, table.columns)
        listed = ", ".join(f"{column} AS {name}" for name, column in columns.items())
        query = f"SELECT {listed} FROM {alias}"
        view = SQLStringView(parent=table.alias(alias).op(), query=query, schema=table.schema())
        return Opened(view.to_expr(), table.columns)

    def fetch(self, query: ibis.Table, what: str, progress: Progress) -> pa.Table:
        """Return the result of a query; ``what`` is shown while it runs."""
        return self.run(lambda: self.backend.to_pyarrow(query), what, progress)

    def hold(self, query: ibis.Table, what: str, progress: Progress) -> ibis.Table:
        """Copy the result of a query into a temporary table of the engine, and return that table.

        The source is read only this once: if each part of a query read it, a view with a random sample, or a
        file that is being written, would give them different rows.
        """
        name = self.name_copy()
        return self.run(lambda: self.make_copy(name, query), what, progress)

    def name_copy(self) -> str:
        """Return a name for a temporary table, which is dropped at the end."""
        self._held.append(f"tallytree_held_{secrets.token_hex(8)}")
        return self._held[-1]

    def make_copy(self, name: str, query: ibis.Table) -> ibis.Table:
        """Make the temporary table of :meth:`hold`."""
        return self.backend.create_table(name, query, temp=True)

    def run(self, job: Callable[[], Answer], what: str, progress: Progress) -> Answer:
        """Run a job in the engine; ``what`` is shown meanwhile."""
        done = progress(what, 0)
        try:
            return job()
        except Exception as error:
            raise self.explain(error) from None
        finally:
            done(1)

    def check_files(self) -> None:
        """Refuse files that were changed or replaced since they were opened."""
        if stamp_files(list(self._stamps)) != self._stamps:
            raise EngineError("A file was changed while it was read: count again when nothing writes to it.")

    def close(self) -> None:
        """Drop what was held: it is a copy of the records, and the connection may be the user's."""
        for name in self._held:
            with suppress(Exception):  # a connection that is lost has dropped it already
                self.backend.raw_sql(f"DROP TABLE {name}")  # Ibis' own way makes no SQL with newer sqlglot

    def explain(self, error: Exception) -> Exception:
        """Translate an error of the engine into our own words: its words may quote the data."""
        from ibis.common.exceptions import OperationNotDefinedError

        if isinstance(error, (CountsError, MemoryError)):
            return error
        if isinstance(error, OperationNotDefinedError):
            return EngineError(
                f"The engine ({self.backend.name}) lacks an operation that the counting needs: quantities "
                "must be columns of numbers there."
            )
        return EngineError(
            f"The engine ({self.backend.name}) could not count the records ({type(error).__name__})."
        )


def stack(parts: Sequence[Opened], columns: Sequence[str], also: Sequence[str]) -> Opened:
    """Stack tables below each other, each with its columns in its own order."""
    if len(parts) == 1:
        return parts[0]
    common = [name for name in also if all(name in part.names for part in parts)]
    names = list(dict.fromkeys([*columns, *common]))
    tables = []
    for part in parts:
        check_columns(part.names, names)
        own = [part.table[part.table.columns[part.names.index(name)]] for name in names]
        tables.append(part.table.select(**{f"column_{place}": column for place, column in enumerate(own)}))
    return Opened(tables[0].union(*tables[1:]), tuple(names))


def _make_keys_whole(table: pa.Table, keys: Sequence[str]) -> pa.Table:
    """Turn keys that are floats only because some are missing, as in pandas, into whole numbers again."""
    for place, name in enumerate(table.column_names):
        if name in keys and pa.types.is_floating(table[name].type):
            with suppress(pa.ArrowInvalid):
                whole = table[name].cast(pa.int64())
                whole.cast(table[name].type)  # fails beyond the numbers that are exact in such floats
                table = table.set_column(place, name, whole)
    return table


def _find_bases(table: ibis.Table) -> list[Any]:
    """The tables and queries of the engine that a table is made from."""
    from ibis.expr.operations import AliasedRelation, InMemoryTable, PhysicalTable

    found: list[Any] = table.op().find(PhysicalTable)
    return [base for base in found if not isinstance(base, (AliasedRelation, InMemoryTable))]


def _is_same(one: Any, other: Any) -> bool:
    schemas = {getattr(getattr(base, "namespace", None), "database", None) for base in (one, other)}
    return one == other or (one.name == other.name and len(schemas - {None}) < 2)


def _lives_in(table: ibis.Table, backend: Any) -> bool:
    from ibis.common.exceptions import IbisError

    try:
        return table.get_backend() is backend
    except IbisError:  # a table of several, or of none
        return False
