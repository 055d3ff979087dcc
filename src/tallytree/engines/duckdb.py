"""DuckDB inside this process: files, data frames, and memory that spills to disk."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import pyarrow as pa

from tallytree.engines.files import Files
from tallytree.engines.session import Session
from tallytree.engines.settings import Engine
from tallytree.engines.spilling import private_folder
from tallytree.errors import CountsError, EngineError
from tallytree.processors import count_processors
from tallytree.progress import Progress

if TYPE_CHECKING:
    import ibis

POLL = 0.1
"""Seconds between two looks at how far a query is."""


class DuckDBSession(Session):
    """Runs queries in another thread, so that this one can show progress and hear of interruptions."""

    def read_files(self, files: Files, columns: Sequence[str], *, text: Sequence[str]) -> ibis.Table:
        """The files as DuckDB reads them; every column of a CSV file is text ("01" stays "01")."""
        paths = [_escape(path) for path in files.paths]
        try:
            if files.kind == "parquet":
                return self.backend.read_parquet(
                    paths,
                    union_by_name=len(paths) > 1,
                    hive_partitioning=len(paths) > 1,
                    hive_types_autocast=False,
                )
            return self.backend.read_csv(
                paths,
                header=True,
                all_varchar=True,
                delim=files.delimiter,
                quote='"',
                escape='"',
                nullstr="",
                union_by_name=len(paths) > 1,
            )
        except Exception as error:
            raise self.explain(error) from None

    def fetch(self, query: ibis.Table, what: str, progress: Progress) -> pa.Table:
        """The result of a query, with its progress in percent."""
        advance = progress(what, 100)
        shown = 0
        with ThreadPoolExecutor(1) as pool:
            job = pool.submit(self.backend.to_pyarrow, query)
            try:
                while wait([job], POLL).not_done:
                    reached = self._find_progress()
                    if reached > shown:
                        advance(reached - shown)
                        shown = reached
            except BaseException:
                self._interrupt(job)
                raise
        advance(100 - shown)
        try:
            return job.result()
        except Exception as error:
            raise self.explain(error) from None

    def explain(self, error: Exception) -> Exception:
        """What users can do about it."""
        import duckdb

        if isinstance(error, duckdb.OutOfMemoryException):
            return EngineError(
                "DuckDB ran out of memory, or of space to spill to: raise the memory limit, or give a spill "
                "folder on a larger disk."
            )
        if isinstance(error, (duckdb.InvalidInputException, duckdb.ConversionException)):
            return CountsError("The files cannot be read as a table: are they damaged, or not UTF-8 text?")
        if isinstance(error, duckdb.IOException):
            return EngineError("DuckDB cannot read the files, or has no space left to spill to.")
        return super().explain(error)

    def _find_progress(self) -> int:
        # A percentage, below 0 while it is not known.
        return min(max(int(self.backend.con.query_progress()), 0), 99)

    def _interrupt(self, job: Future[pa.Table]) -> None:
        self.backend.con.interrupt()
        with suppress(Exception):
            job.result()


@contextmanager
def open_duckdb(engine: Engine) -> Iterator[DuckDBSession]:
    """A database in memory of our own, closed at the end; what it spilled is removed."""
    import ibis

    with private_folder(engine.spill_folder) as folder:
        backend = ibis.duckdb.connect(
            threads=engine.threads or count_processors(),
            temp_directory=str(folder),
            preserve_insertion_order=False,
            # Nothing is ever fetched from elsewhere.
            autoinstall_known_extensions=False,
            autoload_known_extensions=False,
            **({"memory_limit": engine.memory_limit} if engine.memory_limit else {}),
        )
        try:
            yield DuckDBSession(backend)
        finally:
            backend.disconnect()


def _escape(path: str) -> str:
    """A path whose characters all stand for themselves."""
    return re.sub(r"[*?\[]", lambda found: f"[{found[0]}]", path)
