"""The files of a release: written and read a few regions at a time, whatever their size."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, Any, cast

import pyarrow as pa
import pyarrow.parquet as pa_parquet

from tallytree.errors import FolderError
from tallytree.release_tables import make_schema

BATCH_ROWS = 2**20


def write_file(parts: Iterable[pa.Table], schema: pa.Schema, path: Path) -> str:
    """Write a table whose parts become row groups; the file's SHA-256, taken of what was written."""
    numbers = [field.name for field in schema if pa.types.is_integer(field.type)]
    names = [field.name for field in schema if not pa.types.is_primitive(field.type)]
    with path.open("wb") as file:
        hashing = _HashingFile(file)
        with pa_parquet.ParquetWriter(
            pa.PythonFile(cast(Any, hashing), "w"),
            schema,
            compression="zstd",
            # The names of a row group are one dictionary, and readers get plain text.
            use_dictionary=cast(Any, names),
            dictionary_pagesize_limit=2**28,
            column_encoding=dict.fromkeys(numbers, "DELTA_BINARY_PACKED"),
            write_statistics=["level", *numbers],
            store_schema=False,
        ) as writer:
            for part in _make_ahead(parts):
                if part.num_rows:
                    writer.write_table(part, row_group_size=part.num_rows)
    return hashing.digest.hexdigest()


def _make_ahead(parts: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """The parts, each made while the one before is written."""
    source = iter(parts)
    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(next, source, None)
        while (part := coming.result()) is not None:
            coming = pool.submit(next, source, None)
            yield part


class _HashingFile:
    """A file that knows the hash of what was written to it."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.digest = hashlib.sha256()

    closed = False

    def write(self, data: bytes) -> int:
        self.digest.update(data)
        return self._file.write(data)

    def flush(self) -> None:
        self._file.flush()

    def tell(self) -> int:
        return self._file.tell()

    def close(self) -> None:
        self.closed = True


def count_rows(path: Path) -> int:
    """How many rows a file says it has."""
    try:
        with path.open("rb") as file:
            return int(pa_parquet.ParquetFile(file).metadata.num_rows)
    except pa.ArrowException:
        return 0  # reading it will say what is wrong


def read_file(path: Path, levels: Sequence[str], *values: str, multiple: int = 1) -> Iterator[pa.Table]:
    """The rows of a file, many at a time: the names as dictionaries, the others whole and complete.

    They come in a ``multiple`` of rows where the file's own parts are such.
    """
    schema = make_schema(levels, *values)
    names = [*levels, "level"]
    try:
        with path.open("rb") as file:
            whole = pa_parquet.ParquetFile(file, read_dictionary=names)
            for batch in whole.iter_batches(batch_size=max(1, BATCH_ROWS // multiple) * multiple):
                table = pa.table(batch).select(schema.names)
                table = _cast(table, schema)
                table.validate(full=True)
                if any(table[name].null_count for name in ("level", "size", *values)):
                    raise FolderError(f"{path.name} is damaged: values are missing in it.")
                yield table
            if not set(schema.names) <= set(whole.schema_arrow.names):
                raise KeyError
    except FolderError:
        raise
    except (KeyError, ValueError, OSError, pa.ArrowException) as error:
        if isinstance(error, OSError) and error.errno:
            raise
        raise FolderError(f"{path.name} is damaged: it does not have the columns of a release.") from None


def _cast(table: pa.Table, schema: pa.Schema) -> pa.Table:
    columns: list[Any] = []
    for field in schema:
        column = table[field.name]
        if pa.types.is_dictionary(field.type) and not pa.types.is_dictionary(column.type):
            column = column.cast(pa.string()).dictionary_encode()
        columns.append(column.cast(field.type))
    return pa.table(columns, schema=schema)
