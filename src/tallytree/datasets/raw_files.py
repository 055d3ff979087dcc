"""Reading the small text files that public data come with, with one clear error for what is wrong."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

from tallytree.errors import CountsError, describe, show

FilePath = str | os.PathLike[str]


def read_text(path: FilePath, *, any_encoding: bool = False) -> str:
    """Read a file's text, without a byte order mark.

    With ``any_encoding``, what is not UTF-8 becomes a placeholder: for files in which only names, which
    nobody reads, are in an older encoding.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise CountsError(f"The path of a file is expected, not a {type(path).__name__}.")
    shown = show(path, most=150)
    try:
        return Path(path).read_bytes().decode("utf-8-sig", errors="replace" if any_encoding else "strict")
    except FileNotFoundError:
        raise CountsError(f"There is no file {shown}.") from None
    except UnicodeDecodeError:
        raise CountsError(f"The file {shown} is not UTF-8 text.") from None
    except OSError as error:
        raise CountsError(f"The file {shown} cannot be read: {describe(error)}.") from None
    except ValueError:
        raise CountsError(f"{shown} cannot be the path of a file.") from None


def parse_csv(text: str) -> list[list[str]]:
    """Return the lines that are not blank, the header first."""
    try:
        return [row for row in csv.reader(io.StringIO(text, newline=""), strict=True) if "".join(row).strip()]
    except csv.Error:
        raise CountsError("The file is not a CSV table: is it damaged or cut off?") from None


def parse_json(text: str) -> Any:
    """Parse JSON; refuse NaN and infinities, which are not JSON."""
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise CountsError("The file is not JSON: is it damaged or cut off?") from None


def find_column(header: list[str], name: str) -> int:
    """Return the index of a column."""
    if header.count(name) != 1:
        raise CountsError(f"The table has {'two columns' if name in header else 'no column'} {show(name)}.")
    return header.index(name)


def fit_rows(header: list[str], rows: list[list[Any]]) -> Iterator[list[Any]]:
    """Yield the rows with a cell for each column; further cells must be empty, as after a trailing comma."""
    for number, row in enumerate(rows, start=1):
        if len(row) < len(header) or any(row[len(header) :]):
            raise CountsError(f"Row {number} below the header has fewer or more cells than the header.")
        yield row[: len(header)]


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(name)
