"""Reading tables: anything that speaks Arrow, or a path to a CSV or Parquet file."""

import csv
import gzip
import os
import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO, cast

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet

from tallytree.errors import CountsError, describe, name_choices, show

Table = Any
"""A pyarrow, pandas or Polars table, a DuckDB relation, an Ibis table, or a path."""

CSV_ENDINGS = (".csv", ".csv.gz", ".tsv", ".tsv.gz")
PARQUET_ENDINGS = (".parquet", ".pq")

NOT_A_FILE = "An address was given where only the path of a file can be read."
"""All that is said of it: an address may hold a password."""

LONGEST = 2**22
"""Characters of a line: of a file without line ends not all is read."""

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")  # of the two slashes, a path keeps one


@dataclass(frozen=True)
class Header:
    """The names of columns, and what ended the line."""

    names: tuple[str, ...]
    end: str


def looks_like_address(path: str | os.PathLike[str]) -> bool:
    """Whether a path begins like ``https://`` or ``postgresql://``."""
    return bool(_SCHEME.match(os.fsdecode(path)))


def is_same_file(one: str | os.PathLike[str], other: str | os.PathLike[str]) -> bool:
    """Whether two paths lead to one file, also by links, or would if it was there."""
    try:
        return Path(one).samefile(other)
    except (OSError, ValueError):
        return os.path.realpath(one) == os.path.realpath(other)


def read_columns(
    source: Table, names: Sequence[str], *, text: Sequence[str], also: Sequence[str] = ()
) -> pa.Table:
    """The columns ``names`` of ``source``, and those of ``also`` that it has.

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
    try:
        if looks_like_address(path) and not path.exists():
            raise CountsError(NOT_A_FILE)
        if path.is_dir():
            raise CountsError(f"{shown} is a folder; give the path of a CSV or Parquet file.")
        if path.name.lower().endswith(CSV_ENDINGS):
            table = _read_csv(path, text)
            return table.select(_choose(table.column_names, names, also))
        if path.suffix.lower() in PARQUET_ENDINGS:
            found = pa_parquet.read_schema(path).names
            wanted = _choose(found, names, also)
            return pa_parquet.read_table(
                path, columns=wanted, read_dictionary=[n for n in text if n in wanted]
            )
    except FileNotFoundError:
        raise CountsError(f"There is no file {shown}.") from None
    except PermissionError:
        raise CountsError(f"The file {shown} may not be read.") from None
    except UnicodeError:
        raise CountsError(f"The file {shown} is not UTF-8 text.") from None
    except CountsError:
        raise
    except (OSError, ValueError, pa.ArrowException) as error:
        why = describe(error) + "." if isinstance(error, OSError) and error.errno else "is it damaged?"
        raise CountsError(f"The file {shown} cannot be read as a table: {why}") from None
    raise CountsError(f"{shown} is neither a CSV nor a Parquet file, by its ending.")


def read_header(path: str, delimiter: str) -> Header:
    """The first line of a CSV file."""
    shown = show(path, most=150)
    begin = gzip.open if path.lower().endswith(".gz") else open
    last = ""

    def read_lines(file: TextIO) -> Iterator[str]:
        nonlocal last
        while last := file.readline(LONGEST):  # more than one if there are line breaks in quotes
            if len(last) == LONGEST:
                raise csv.Error
            yield last

    try:
        with begin(path, "rt", encoding="utf-8-sig", newline="") as file:
            names = next(csv.reader(read_lines(cast(TextIO, file)), delimiter=delimiter, strict=True), [])
    except UnicodeError:
        raise CountsError(f"The file {shown} is not UTF-8 text.") from None
    except (OSError, EOFError, zlib.error, csv.Error):
        raise CountsError(f"The file {shown} cannot be read as a table: is it damaged?") from None
    if not names:
        raise CountsError(f"The file {shown} begins with an empty line, not with the names of its columns.")
    return Header(tuple(names), last[len(last.rstrip("\r\n")) :])


def _read_csv(path: Path, text: Sequence[str]) -> pa.Table:
    return pa_csv.read_csv(
        path,
        parse_options=pa_csv.ParseOptions(
            delimiter="\t" if ".tsv" in path.name.lower() else ",", newlines_in_values=True
        ),
        convert_options=pa_csv.ConvertOptions(
            column_types=dict.fromkeys(text, pa.string()),
            strings_can_be_null=True,
            null_values=[""],  # a region may well be called "NA"
            quoted_strings_can_be_null=False,
        ),
    )


def _choose(found: Sequence[str], names: Sequence[str], also: Sequence[str]) -> list[str]:
    return check_columns(found, [*names, *(name for name in also if name in found and name not in names)])


def check_columns(found: Sequence[str], wanted: Sequence[str]) -> list[str]:
    """``wanted``, if a table with the columns ``found`` has each of them once."""
    if not set(found) & set(wanted):
        # Without a header the "names" would be data: do not show them.
        raise CountsError(
            f"The table has none of the columns {', '.join(show(name) for name in wanted[:5])}: "
            "are they called so, and has the table a header?"
        )
    for name in wanted:
        if name not in found:
            raise CountsError(f"The table has no column {show(name)}: {name_choices(name, found)}")
        if list(found).count(name) > 1:
            raise CountsError(f"The table has two columns {show(name)}.")
    return list(wanted)


def is_text(kind: pa.DataType) -> bool:
    """Whether a column of this type holds text, perhaps as codes: so it is read from Parquet files."""
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
