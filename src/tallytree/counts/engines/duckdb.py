"""DuckDB inside this process: files, data frames, and memory that spills to disk."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from pathlib import Path

import pyarrow.parquet as pa_parquet

from tallytree.counts.arrow import Header, check_columns
from tallytree.counts.engines.session import Answer, Engine, Opened, Session, private_folder, stack
from tallytree.counts.engines.source_files import LONGEST_ROW, Files, check_ends, read_headers
from tallytree.errors import CountsError, EngineError, InputError, show
from tallytree.progress import Progress, count_processors

MOST_IN_ORDER = 2048
"""The most columns of a table that DuckDB lists in order; more are listed in any order."""

POLL = 0.1
"""Seconds between two looks at the progress of a query."""


class DuckDBSession(Session):
    """Runs queries in another thread, so that this one can show progress and receive interruptions."""

    backend_name = "duckdb"
    has_try_cast = True
    holds = True
    digest = ("md5",)

    def list_tables(self, schema: str | None = None) -> Sequence[str]:
        """Return the names of the tables in a schema: Ibis' own way calls what DuckDB 2 does not have."""
        query = "SELECT table_name FROM information_schema.tables WHERE table_schema = ?"
        return [name for (name,) in self.backend.con.execute(query, [schema or "main"]).fetchall()]

    def read_files(
        self, files: Files, columns: Sequence[str], *, text: Sequence[str], also: Sequence[str]
    ) -> Opened:
        """Read the files with DuckDB; every column of a CSV file is text ("01" stays "01")."""
        try:
            if files.kind == "parquet":
                return self._read_parquet(files, [*columns, *also])
            parts = read_headers(files)
            for header, _ in parts:
                check_columns(header.names, columns)
            check_ends(files)
            wanted = {*columns, *also}
            return stack([self._read_csv(*part, files, wanted) for part in parts], columns, also)
        except InputError:
            raise
        except Exception as error:
            raise self.explain(error) from None

    def _read_parquet(self, files: Files, columns: Sequence[str]) -> Opened:
        _check_folders(files, columns)
        several = len(files.paths) > 1
        table = self.backend.read_parquet(
            [_escape(path) for path in files.paths],
            union_by_name=several,
            hive_partitioning=files.base is not None,
            hive_types_autocast=False,
        )
        if not _may_be_renamed(table.columns):
            return Opened(table, table.columns)
        if len(table.columns) > MOST_IN_ORDER:
            raise CountsError(
                f"The files have more than {MOST_IN_ORDER:,} columns, of which some have almost the same "
                "name: write those that are needed to files of their own."
            )
        own = [pa_parquet.read_schema(path).names for path in files.paths]
        if not several:
            return Opened(table, (*own[0], *table.columns[len(own[0]) :]))
        if any(len({name.lower() for name in names}) < len(names) for names in own):
            raise CountsError("The files have columns whose names differ only in case: give one file.")
        return Opened(table, table.columns)

    def _read_csv(self, header: Header, paths: list[str], files: Files, wanted: set[str]) -> Opened:
        # Nothing is detected: detection may skip the first lines, or all that begin with "#".
        table = self.backend.read_csv(
            [_escape(path) for path in paths],
            auto_detect=False,
            columns={f"column_{place}": "VARCHAR" for place in range(len(header.names))},
            header=True,
            delim=files.delimiter,
            quote='"',
            escape='"',
            nullstr="",
            max_line_size=LONGEST_ROW,
            **({"new_line": header.end.replace("\r", "\\r").replace("\n", "\\n")} if header.end else {}),
        )
        # By name, not by index: DuckDB lists the columns of a wide table in any order.
        kept = [place for place, name in enumerate(header.names) if name in wanted]
        columns = table.select(*[f"column_{place}" for place in kept])
        return Opened(columns, tuple(header.names[place] for place in kept))

    def run(self, job: Callable[[], Answer], what: str, progress: Progress) -> Answer:
        """Run a job in DuckDB, with its progress in percent."""
        advance = progress(what, 100)
        shown = 0
        with ThreadPoolExecutor(1) as pool:
            running = pool.submit(job)
            try:
                while wait([running], POLL).not_done:
                    reached = self._find_progress()
                    if reached > shown:
                        advance(reached - shown)
                        shown = reached
            except BaseException:
                self._interrupt(running)
                raise
        advance(100 - shown)
        try:
            return running.result()
        except Exception as error:
            raise self.explain(error) from None

    def explain(self, error: Exception) -> Exception:
        """Translate an error of DuckDB into what users can do about it."""
        import duckdb

        if isinstance(error, duckdb.OutOfMemoryException):
            return EngineError(
                "DuckDB ran out of memory, or of space to spill to: raise the memory limit, or give a spill "
                "folder on a larger disk."
            )
        damaged = duckdb.InvalidInputException, duckdb.ConversionException, duckdb.NotImplementedException
        if isinstance(error, damaged) or type(error) is duckdb.Error:  # the latter for Parquet files
            return CountsError(
                "The files cannot be read as a table: are they damaged, not UTF-8, with mixed line ends, or "
                f"with rows longer than {LONGEST_ROW:,} bytes?"
            )
        if isinstance(error, duckdb.IOException):
            return EngineError("DuckDB cannot read the files, or has no space left to spill to.")
        return super().explain(error)

    def _find_progress(self) -> int:
        # A percentage, below 0 while it is not known.
        return min(max(int(self.backend.con.query_progress()), 0), 99)

    def _interrupt(self, running: Future[Answer]) -> None:
        # Again and again: a query that is not running yet is not interrupted.
        while wait([running], POLL).not_done:
            self.backend.con.interrupt()


@contextmanager
def open_duckdb(engine: Engine, database: Path | None = None) -> Iterator[DuckDBSession]:
    """Open a database file for reading, or one in memory; what is spilled is removed at the end."""
    import duckdb
    import ibis

    with private_folder(engine.spill_folder) as folder:
        try:
            backend = ibis.duckdb.connect(
                database or ":memory:",
                read_only=database is not None,
                threads=engine.threads or count_processors(),
                temp_directory=str(folder),
                preserve_insertion_order=False,
                # Nothing is ever fetched from elsewhere.
                autoinstall_known_extensions=False,
                autoload_known_extensions=False,
                **({"memory_limit": engine.memory_limit} if engine.memory_limit else {}),
            )
        except duckdb.Error:
            if database is None:
                raise
            raise EngineError(
                f"{show(database, most=150)} cannot be opened: is it a database of DuckDB, and does no other "
                "program write to it?"
            ) from None
        try:
            yield DuckDBSession(backend, names_tables=database is not None)
        finally:
            backend.disconnect()


def _check_folders(files: Files, columns: Sequence[str]) -> None:
    """Refuse a folder such as ``state=GA`` above those that the user means: for DuckDB it is a column too."""
    if files.base is None:
        return
    wanted = {name.lower() for name in columns}
    for part in Path(files.base).parts:
        name, equals, _ = part.partition("=")
        if equals and name.lower() in wanted:
            raise EngineError(
                f"The folder {show(part)}, which the files are in, has the name of a column: move the files."
            )


def _may_be_renamed(names: Sequence[str]) -> bool:
    """Whether DuckDB may have changed the name of a column that differs from another only in case."""
    known = {name.lower() for name in names}
    endings = (re.fullmatch(r"(.*)_[0-9]+", name.lower(), re.DOTALL) for name in names)
    return any(found is not None and found[1] in known for found in endings)


def _escape(path: str) -> str:
    """A path whose characters all stand for themselves."""
    return re.sub(r"[*?\[]", lambda found: f"[{found[0]}]", path)
