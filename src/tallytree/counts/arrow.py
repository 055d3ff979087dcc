"""Reading tables: anything that speaks Arrow, or a path to a CSV or Parquet file."""

from __future__ import annotations

import csv
import gzip
import os
import re
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from io import TextIOWrapper
from pathlib import Path
from typing import Any, BinaryIO, TextIO, cast

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet

from tallytree.errors import CountsError, describe, name_choices, show
from tallytree.sizes import DECIMAL, WHOLE

Table = Any
"""A pyarrow, pandas or Polars table, a DuckDB relation, an Ibis table, or a path."""

CSV_ENDINGS = (".csv", ".csv.gz", ".tsv", ".tsv.gz")
PARQUET_ENDINGS = (".parquet", ".pq")

NOT_A_FILE = "An address was given where only the path of a file can be read."
"""The whole message: an address may contain a password."""

LONGEST = 2**22
"""The most characters of a header: a file without line ends is not read in full."""

MOST_COLUMNS = 5_000
"""The most columns of a CSV file: engines take milliseconds for each, whether it is needed or not."""

NO_NUMBER = "(?i:[-+]?(?:nan|inf|infinity))"
"""What libraries write where there is no number; it is read, so that the error can say so."""

BLOCK = 2**20
"""Bytes of a file that are read at once."""

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")  # a Path keeps only one of the two slashes


@dataclass(frozen=True)
class Header:
    """The names of columns, and what ended the line."""

    names: tuple[str, ...]
    end: str


def looks_like_address(path: str | os.PathLike[str]) -> bool:
    """Return whether a path begins like ``https://`` or ``postgresql://``."""
    return bool(_SCHEME.match(os.fsdecode(path)))


def is_same_file(one: str | os.PathLike[str], other: str | os.PathLike[str]) -> bool:
    """Return whether two paths lead to the same file, also through links, or would if it existed."""
    try:
        return Path(one).samefile(other)
    except (OSError, ValueError):
        return os.path.realpath(one) == os.path.realpath(other)


def read_columns(
    source: Table, names: Sequence[str], *, text: Sequence[str], also: Sequence[str] = ()
) -> pa.Table:
    """Return the columns ``names`` of ``source``, and those of ``also`` that it has.

    Those in ``text`` are read as text from CSV files ("01" stays "01").
    """
    if isinstance(source, (str, os.PathLike)):
        return _read_file(Path(source), names, text, also)
    try:
        table = pa.table(source)
    except MemoryError:
        raise
    except Exception:
        # Of any kind: the source may be a query that runs only now. What it says may quote the data.
        raise CountsError(
            f"A {type(source).__name__} cannot be read as a table: give a pandas, Polars or Arrow table "
            "whose columns have one type each, or the path of a CSV or Parquet file."
        ) from None
    return table.select(_choose(table.column_names, names, also))


def _read_file(path: Path, names: Sequence[str], text: Sequence[str], also: Sequence[str]) -> pa.Table:
    shown = show(path, most=150)
    with explain_damage(path):
        if looks_like_address(path) and not path.exists():
            raise CountsError(NOT_A_FILE)
        if path.is_dir():
            raise CountsError(f"{shown} is a folder; give the path of a CSV or Parquet file.")
        if path.name.lower().endswith(CSV_ENDINGS):
            return _read_csv(path, names, text, also)
        if path.suffix.lower() in PARQUET_ENDINGS:
            found = pa_parquet.read_schema(path).names
            wanted = _choose(found, names, also)
            return pa_parquet.read_table(
                path, columns=wanted, read_dictionary=[n for n in text if n in wanted]
            )
    raise CountsError(f"{shown} is neither a CSV nor a Parquet file, by its ending.")


@contextmanager
def explain_damage(path: str | os.PathLike[str]) -> Iterator[None]:
    """Explain why a file cannot be read, in our own words: those of libraries may quote the data."""
    shown = show(os.fsdecode(path), most=150)
    try:
        yield
    except FileNotFoundError:
        raise CountsError(f"There is no file {shown}.") from None
    except PermissionError:
        raise CountsError(f"No permission to read the file {shown}.") from None
    except UnicodeError:
        raise CountsError(f"The file {shown} is not UTF-8 text.") from None
    except CountsError:
        raise
    except (OSError, EOFError, ValueError, zlib.error, csv.Error, pa.ArrowException) as error:
        raise CountsError(f"The file {shown} cannot be read as a table: {_find_reason(error)}") from None


def _find_reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.errno:
        return describe(error) + "."
    if isinstance(error, EOFError) or "truncated" in str(error).lower():  # the latter from Arrow
        return "it is cut off, the end of the compressed data is missing. Fetch or write it again."
    if "straddl" in str(error):  # from Arrow
        return f"it has a line longer than {BLOCK:,} bytes."
    return "is it damaged?"


def find_delimiter(path: str) -> str:
    """Return the delimiter of a CSV file, by its name."""
    return "\t" if ".tsv" in Path(path).name.lower() else ","


def read_header(path: str, delimiter: str) -> Header:
    """Read the first line of a CSV file."""
    shown = show(path, most=150)
    last = ""

    def read_lines(file: TextIO) -> Iterator[str]:
        nonlocal last
        while last := file.readline(LONGEST):  # more than one if there are line breaks in quotes
            if len(last) == LONGEST:
                raise csv.Error
            yield last

    with explain_damage(path), open_bytes(path) as raw:
        file = TextIOWrapper(raw, encoding="utf-8-sig", newline="")
        names = next(csv.reader(read_lines(file), delimiter=delimiter, strict=True), [])
    if not names:
        raise CountsError(f"The file {shown} begins with an empty line, not with the names of its columns.")
    if len(names) > MOST_COLUMNS:
        raise CountsError(
            f"The file {shown} has {len(names):,} columns, more than {MOST_COLUMNS:,}: write those that are "
            "needed to a file of their own."
        )
    return Header(tuple(names), last[len(last.rstrip("\r\n")) :])


def open_bytes(path: str) -> BinaryIO:
    """Open a file to be read, decompressed if its name says so."""
    if path.lower().endswith(".gz"):
        return cast(BinaryIO, gzip.open(path, "rb"))
    return Path(path).open("rb")


def refuse_open_quote(path: str, delimiter: str) -> None:
    """Refuse a CSV file that ends inside quotes: Arrow and Spark would read the rest as one value."""
    with explain_damage(path):
        with open_bytes(path) as file:
            quotes = sum(block.count(b'"') for block in iter(partial(file.read, BLOCK), b""))
        if quotes % 2 == 0:
            return
        # A quotation mark within a value, such as an inch sign, need not be closed.
        with open_bytes(path) as file:
            lines = TextIOWrapper(file, encoding="utf-8", newline="")
            for _ in csv.reader(lines, delimiter=delimiter, strict=True):
                pass


def _read_csv(path: Path, names: Sequence[str], text: Sequence[str], also: Sequence[str]) -> pa.Table:
    delimiter = find_delimiter(str(path))
    wanted = _choose(read_header(str(path), delimiter).names, names, also)
    refuse_open_quote(str(path), delimiter)
    table = pa_csv.read_csv(
        path,
        read_options=pa_csv.ReadOptions(block_size=BLOCK),
        parse_options=pa_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
        convert_options=pa_csv.ConvertOptions(
            include_columns=wanted,
            column_types=dict.fromkeys(wanted, pa.string()),
            strings_can_be_null=True,
            null_values=[""],  # a region may well be called "NA"
            quoted_strings_can_be_null=False,
        ),
    )
    for place, name in enumerate(wanted):
        if name not in text:
            table = table.set_column(place, name, _convert_numbers(table[name]))
    return table


def _convert_numbers(column: pa.ChunkedArray[Any]) -> pa.ChunkedArray[Any]:
    """Convert a column of text to numbers if all of them are plain: Arrow by itself would read 0x10 as 16."""
    for pattern, kind in ((WHOLE, pa.int64()), (f"{DECIMAL}|{NO_NUMBER}", pa.float64())):
        if pc.all(pc.match_substring_regex(column, f"^ *(?:{pattern}) *$")).as_py() is not False:
            with suppress(pa.ArrowInvalid):  # beyond 64 bits
                return pc.utf8_trim(column, " ").cast(kind)
    return column


def _choose(found: Sequence[str], names: Sequence[str], also: Sequence[str]) -> list[str]:
    return check_columns(found, [*names, *(name for name in also if name in found and name not in names)])


def check_columns(found: Sequence[str], wanted: Sequence[str]) -> list[str]:
    """Return ``wanted`` if a table with the columns ``found`` has each of them once; refuse it otherwise."""
    if not set(found) & set(wanted):
        # Without a header the "names" would be data: do not show them.
        raise CountsError(
            f"The table has none of the columns {', '.join(show(name) for name in wanted[:5])}: "
            "check their names, and that the table has a header."
        )
    for name in wanted:
        if name not in found:
            raise CountsError(f"The table has no column {show(name)}: {name_choices(name, found)}")
        if list(found).count(name) > 1:
            raise CountsError(f"The table has two columns {show(name)}.")
    return list(wanted)


def is_text(kind: pa.DataType) -> bool:
    """Return whether a column of this type holds text, perhaps as codes, as it is read from Parquet files."""
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
