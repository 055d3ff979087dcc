"""The first rows of CSV files, which name their columns, and the last, which an engine may lose silently."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from tallytree.counts.arrow import Header, check_columns, explain_damage, open_bytes, read_header
from tallytree.counts.engines.session import Opened
from tallytree.counts.engines.source_files import Files
from tallytree.errors import CountsError, show
from tallytree.progress import count_processors

LONGEST_ROW = 2_000_000
"""The most bytes of a row in DuckDB: a longer one is an error, except for the last."""


def read_headers(files: Files) -> list[tuple[Header, list[str]]]:
    """Return the different headers, each with the files that begin with it."""
    found: dict[Header, list[str]] = {}
    for path in files.paths:
        found.setdefault(read_header(path, files.delimiter), []).append(path)
    return list(found.items())


def check_ends(files: Files) -> None:
    """Refuse files whose last row is too long for DuckDB, and compressed files that are cut off or damaged.

    DuckDB leaves out a last row that is longer than its buffer, and does not look at checksums.
    """
    with ThreadPoolExecutor(count_processors()) as pool:
        list(pool.map(_check_end, files.paths))


def _check_end(path: str) -> None:
    with explain_damage(path):
        end = _read_end(path)
    if len(end) > LONGEST_ROW and not _holds_row_end(end):
        raise CountsError(f"The last row of {show(path, most=150)} is longer than {LONGEST_ROW:,} bytes.")


def _read_end(path: str) -> bytes:
    """The end of a file, if it is longer than a row may be; compressed data are read in full, and checked."""
    with open_bytes(path) as file:
        if not path.lower().endswith(".gz"):
            length = file.seek(0, os.SEEK_END)
            file.seek(max(0, length - 2 * LONGEST_ROW))
            return file.read() if length > LONGEST_ROW else b""
        last = deque([b""], maxlen=2)
        while block := file.read(LONGEST_ROW + 1):
            last.append(block)
        return b"".join(last)


def _holds_row_end(end: bytes) -> bool:
    """Whether a row begins in the last LONGEST_ROW bytes: at a line end with all quotes after it closed."""
    data = np.frombuffer(end.rstrip(b"\r\n"), dtype=np.uint8)
    quotes_after = np.cumsum(data[::-1] == ord('"'))[::-1]
    is_line_end = (data == ord("\n")) | (data == ord("\r"))
    return bool((is_line_end & (quotes_after % 2 == 0))[-LONGEST_ROW:].any())


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
