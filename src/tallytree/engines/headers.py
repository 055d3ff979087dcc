"""The first lines of CSV files, which name their columns; files may name them in different orders."""

from __future__ import annotations

import csv
import gzip
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TextIO, cast

from tallytree.engines.files import Files
from tallytree.engines.session import Opened
from tallytree.errors import CountsError, show
from tallytree.tables import check_columns

LONGEST = 2**22
"""Characters of a line: of a file without line ends not all is read."""


@dataclass(frozen=True)
class Header:
    """The names of columns, and what ended the line."""

    names: tuple[str, ...]
    end: str


def read_headers(files: Files) -> list[tuple[Header, list[str]]]:
    """The different headers, each with the files that begin with it."""
    found: dict[Header, list[str]] = {}
    for path in files.paths:
        found.setdefault(_read_header(path, files.delimiter), []).append(path)
    return list(found.items())


def _read_header(path: str, delimiter: str) -> Header:
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


def stack(parts: Sequence[Opened], columns: Sequence[str], also: Sequence[str]) -> Opened:
    """Tables one below the other, each with its columns in its own order."""
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
