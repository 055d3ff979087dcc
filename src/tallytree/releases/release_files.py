"""The files of a release: written and read a few regions at a time, whatever their size."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, Any, cast

import pyarrow as pa
import pyarrow.parquet as pa_parquet

from tallytree.errors import FolderError, show
from tallytree.releases.release_columns import make_schema

BATCH_ROWS = 2**20

MOST_BYTES = 2**28
"""The largest uncompressed size of a row group, plus 64 bytes per row: two million names of 100 bytes."""

ALWAYS_ROWS = 2**24
ROWS_PER_BYTE = 128
"""A file has at most ALWAYS_ROWS rows, or this many per byte, so that a small file cannot take much memory.
Noise does not compress: at a scale of 1, a measurement takes at least two bits, so that a byte holds four."""


def write_file(parts: Iterable[pa.Table], schema: pa.Schema, path: Path) -> str:
    """Write a table whose parts become row groups; return the SHA-256 of what was written."""
    numbers = [field.name for field in schema if pa.types.is_integer(field.type)]
    names = [field.name for field in schema if not pa.types.is_primitive(field.type)]
    with path.open("wb") as file:
        hashing = _HashingFile(file)
        with pa_parquet.ParquetWriter(
            pa.PythonFile(cast(Any, hashing), "w"),
            schema,
            compression="zstd",
            # The names of a row group share one dictionary; readers get plain text.
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
    """Yield the parts, each made while the one before is written."""
    source = iter(parts)
    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(next, source, None)
        while (part := coming.result()) is not None:
            coming = pool.submit(next, source, None)
            yield part


class _HashingFile:
    """A file that computes the hash of what is written to it."""

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


def check_footer(path: Path, columns: Sequence[str], *, fewest: int, most: int) -> int:
    """Refuse a file by its footer, before anything that takes memory is read; return its number of rows.

    It must have exactly these ``columns``, no metadata but Arrow's own schema, from ``fewest`` to ``most``
    rows, and no more rows or bytes than a file of its size can hold.
    """
    problem = None
    try:
        with path.open("rb") as file:
            whole = pa_parquet.ParquetFile(file)
            schema, footer = whole.schema_arrow, whole.metadata
            rows = int(footer.num_rows)
            groups = [footer.row_group(number) for number in range(footer.num_row_groups)]
            too_large = any(group.total_byte_size > MOST_BYTES + 64 * group.num_rows for group in groups)
    except (ValueError, OSError, pa.ArrowException) as error:
        if isinstance(error, OSError) and error.errno:
            raise
        problem = "it is not a Parquet file"
    else:
        unknown = [name for name in schema.names if name not in columns]
        notes = _list_notes(schema, footer)
        if unknown:
            problem = f"it has the unknown column {show(unknown[0])}"
        elif sorted(schema.names) != sorted(columns):
            problem = "it does not have the columns of a release"
        elif notes:
            problem = f"it holds unknown metadata, {show(notes[0])}"
        elif not fewest <= rows <= most:
            expected = f"{most:,}" if fewest == most else f"at most {most:,}"
            problem = f"it has {rows:,} rows, not {expected}"
        elif too_large or rows > max(ALWAYS_ROWS, ROWS_PER_BYTE * path.stat().st_size):
            problem = "it would take far more room than its size allows"
    if problem:
        raise FolderError(f"{path.name} is damaged: {problem}.")
    return rows


def _list_notes(schema: pa.Schema, footer: pa_parquet.FileMetaData) -> list[str]:
    """List metadata that this software does not write: of the file, its schema, its columns."""
    found = {*(footer.metadata or {}), *(schema.metadata or {})} - {b"ARROW:schema"}
    for field in schema:
        found |= {*(field.metadata or {})} - {b"PARQUET:field_id"}
    return sorted(key.decode(errors="replace") for key in found)


def read_file(path: Path, levels: Sequence[str], *values: str, multiple: int = 1) -> Iterator[pa.Table]:
    """Yield the rows of a file, many at a time: names as dictionaries, the others as integers without nulls.

    Each part has a ``multiple`` of rows if the parts of the file do.
    """
    required = "level", "size", *values
    yield from read_tables(path, make_schema(levels, *values), required=required, multiple=multiple)


def read_tables(
    path: Path, schema: pa.Schema, *, required: Sequence[str], multiple: int = 1
) -> Iterator[pa.Table]:
    """Yield the rows of a file with these columns, many at a time; no value of those ``required`` is null."""
    names = [field.name for field in schema if pa.types.is_dictionary(field.type)]
    try:
        with path.open("rb") as file:
            whole = pa_parquet.ParquetFile(file, read_dictionary=names)
            for batch in whole.iter_batches(batch_size=max(1, BATCH_ROWS // multiple) * multiple):
                table = pa.table(batch).select(schema.names)
                table = _cast(table, schema)
                table.validate(full=True)
                if any(table[name].null_count for name in required):
                    raise FolderError(f"{path.name} is damaged: values are missing in it.")
                yield table
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
