"""A connection to an engine: how it reads what users give, and runs a query."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tallytree.engines.files import Files, find_files, is_file_source
from tallytree.errors import CountsError, EngineError
from tallytree.progress import Progress
from tallytree.tables import Table, read_columns

if TYPE_CHECKING:
    import ibis


@dataclass(frozen=True)
class Opened:
    """A table of an engine, and what the user calls its columns, in their order.

    To some engines "State" and "state" are one name, and others have no names longer than 63 bytes: so the
    engine may know the columns by other names.
    """

    table: ibis.Table
    names: tuple[str, ...]


class Session:
    """Any Ibis backend. Engines that can do more have a class of their own."""

    def __init__(self, backend: ibis.Backend) -> None:
        self.backend = backend

    def read(
        self, source: Table, columns: Sequence[str], *, text: Sequence[str], also: Sequence[str] = ()
    ) -> Opened:
        """``source`` as a table of the engine with ``columns``, and those of ``also`` that it has.

        Those in ``text`` are text in CSV files.
        """
        import ibis

        if isinstance(source, ibis.Table):
            if not _lives_in(source, self.backend):
                raise EngineError("All tables must be in the same engine: give both by the same connection.")
            return Opened(source, source.columns)
        if is_file_source(source):
            return self.read_files(find_files(source), columns, text=text, also=also)
        return hand_over(_make_keys_whole(read_columns(source, columns, text=text, also=also), text))

    def read_files(
        self, files: Files, columns: Sequence[str], *, text: Sequence[str], also: Sequence[str]
    ) -> Opened:
        """Files that the engine cannot open itself are read here and handed to it."""
        parts = [read_columns(path, columns, text=text, also=also) for path in files.paths]
        try:
            return hand_over(pa.concat_tables(parts, promote_options="permissive"))
        except pa.ArrowException:
            raise CountsError("The files do not have the same types in the same columns.") from None

    def fetch(self, query: ibis.Table, what: str, progress: Progress) -> pa.Table:
        """The result of a query; ``what`` is shown while it runs."""
        done = progress(what, 0)
        try:
            return self.backend.to_pyarrow(query)
        except Exception as error:
            raise self.explain(error) from None
        finally:
            done(1)

    def explain(self, error: Exception) -> Exception:
        """An error of the engine in our words: its own may quote the data."""
        if isinstance(error, (CountsError, MemoryError)):
            return error
        return EngineError(
            f"The engine ({self.backend.name}) could not count the records ({type(error).__name__})."
        )


def hand_over(table: pa.Table) -> Opened:
    """A table in memory, for an engine to take in."""
    import ibis

    try:
        table.validate(full=True)
    except pa.ArrowInvalid:
        raise CountsError("The table is damaged, or holds text that is not UTF-8.") from None
    plain = [f"column_{place}" for place in range(table.num_columns)]
    try:
        return Opened(ibis.memtable(table.rename_columns(plain)), tuple(table.column_names))
    except (KeyError, TypeError, ValueError, NotImplementedError):  # a type of Arrow's that Ibis has not
        kinds = ", ".join(dict.fromkeys(re.split(r"[^a-z0-9_]", str(kind))[0] for kind in table.schema.types))
        raise CountsError(
            f"The columns hold {kinds}; names and keys must be text or whole numbers, and quantities whole "
            "numbers."
        ) from None


def _make_keys_whole(table: pa.Table, keys: Sequence[str]) -> pa.Table:
    """Whole numbers that are floats only because some are missing, as in pandas, are whole numbers again."""
    for place, name in enumerate(table.column_names):
        if name in keys and pa.types.is_floating(table[name].type):
            with suppress(pa.ArrowInvalid):
                whole = table[name].cast(pa.int64())
                whole.cast(table[name].type)  # fails beyond the numbers that such floats tell apart
                table = table.set_column(place, name, whole)
    return table


def _lives_in(table: ibis.Table, backend: Any) -> bool:
    from ibis.common.exceptions import IbisError

    try:
        return table.get_backend() is backend
    except IbisError:  # a table of several, or of none
        return False
