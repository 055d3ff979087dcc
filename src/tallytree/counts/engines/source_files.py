"""The files that a user means: a path, a glob, a folder, or a list of these."""

from __future__ import annotations

import glob
import os
from collections import deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NoReturn

import numpy as np

from tallytree.counts.arrow import (
    CSV_ENDINGS,
    NOT_A_FILE,
    PARQUET_ENDINGS,
    Header,
    explain_damage,
    find_delimiter,
    looks_like_address,
    open_bytes,
    read_header,
)
from tallytree.errors import CountsError, EngineError, describe, show
from tallytree.progress import count_processors

MOST_FILES = 100_000

LONGEST_ROW = 2_000_000
"""The most bytes of a row in DuckDB: a longer one is an error, except for the last."""

Stamps = dict[str, tuple[int, ...] | None]
"""For each file, what changes when it is written to or replaced; None if it is gone."""


@dataclass(frozen=True)
class Files:
    """Files of one kind that together are a table."""

    kind: Literal["csv", "parquet"]
    paths: tuple[str, ...]
    """Absolute, and taken literally, whatever characters they contain."""
    delimiter: str = ","
    base: str | None = None
    """The folder below which the names of folders, such as ``state=GA``, are columns; None if none are."""


@dataclass(frozen=True)
class _Found:
    """A file, and the folder that the user named to find it."""

    path: str
    base: Path

    def is_partition(self) -> bool:
        return any("=" in part for part in Path(self.path).relative_to(self.base).parent.parts)


def is_file_source(source: object) -> bool:
    """Return whether a source names files: text, a path, or a list of them."""
    if isinstance(source, (list, tuple)):
        return bool(source) and all(isinstance(part, (str, os.PathLike)) for part in source)
    return isinstance(source, (str, os.PathLike))


def stamp_files(paths: Sequence[str]) -> Stamps:
    """Return device, inode, size and times of files: if these are unchanged, nobody wrote to the files."""

    def stamp(path: str) -> tuple[int, ...] | None:
        try:
            found = Path(path).stat()
        except OSError:
            return None
        return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns

    return {path: stamp(path) for path in paths}


def share_files(one: Sequence[str], other: Sequence[str]) -> bool:
    """Return whether two lists of paths have a file in common, by whatever name or link."""

    def identify(paths: Sequence[str]) -> set[tuple[int, ...]]:
        return {stamp[:2] for stamp in stamp_files(paths).values() if stamp is not None}

    return not identify(one).isdisjoint(identify(other))


def has_file_ending(name: str) -> bool:
    """Return whether a name looks like that of a file, rather than of a table in a database."""
    return name.lower().endswith((*CSV_ENDINGS, *PARQUET_ENDINGS))


def find_files(source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> Files:
    """Return the files that ``source`` stands for, all CSV or all Parquet."""
    parts = [source] if isinstance(source, (str, os.PathLike)) else list(source)
    every = [file for part in parts for file in _expand(os.fsdecode(part))]
    # A file counts once, by whatever names it is given.
    found = list({os.path.realpath(file.path): file for file in reversed(every)}.values())[::-1]
    if len(found) > MOST_FILES:
        raise EngineError(f"There are more than {MOST_FILES} files.")
    kinds = {_find_kind(file.path) for file in found}
    if len(kinds) > 1:
        raise EngineError("The files are not all of one kind: give CSV files or Parquet files, not both.")
    kind, delimiter = kinds.pop()
    paths = tuple(file.path for file in found)
    return Files("csv" if kind == "csv" else "parquet", paths, delimiter, _find_base(found))


def _find_base(found: Sequence[_Found]) -> str | None:
    if not any(file.is_partition() for file in found):
        return None
    bases = {file.base for file in found}
    if len(bases) > 1:
        raise EngineError("Files in folders such as state=GA must be given as one folder or one pattern.")
    return str(bases.pop())


def _expand(text: str, base: Path | None = None) -> list[_Found]:
    shown = show(text, most=150)
    try:
        path = Path(text)
        if text and path.is_dir():
            return _list_folder(path, base)
        if text and path.exists():  # whatever its name: a file may be called "a*.csv"
            _check_readable(path)
            return [_Found(str(path.absolute()), base or path.absolute().parent)]
        found = _match(text) if glob.has_magic(text) else []
    except EngineError:
        raise
    except (OSError, ValueError) as error:
        why = describe(error) if isinstance(error, OSError) else "no file can have such a name"
        raise EngineError(f"{shown} cannot be read: {why}.") from None
    if not found:
        raise EngineError(NOT_A_FILE if looks_like_address(text) else f"There is no file {shown}.")
    start = (base or Path(*_find_start(text))).absolute()
    return [file for name in found for file in _expand(name, start)]


def _match(pattern: str) -> list[str]:
    """The paths that a glob matches, sorted; ``**`` matches any depth, and no wildcard what is hidden."""
    start = Path(pattern).anchor
    rest = str(Path(pattern).relative_to(start)) if start else pattern
    known = len(_find_start(pattern))
    hidden = any(part.startswith(".") for part in Path(pattern).parts[known:])
    return sorted(
        str(path)
        for path in Path(start).glob(rest)
        if hidden or not any(part.startswith(".") for part in path.parts[known:])
    )


def _find_start(pattern: str) -> tuple[str, ...]:
    """The leading folders of a glob that are named literally."""
    parts = Path(pattern).parts
    return next(parts[:place] for place, part in enumerate(parts) if glob.has_magic(part))


def _list_folder(folder: Path, base: Path | None) -> list[_Found]:
    """The Parquet files of a folder, at any depth, as Spark and others write them."""
    found = []
    seen = set()
    for name, folders, files in os.walk(folder, onerror=_raise, followlinks=True):
        if (real := os.path.realpath(name)) in seen:  # linked folders may go in a circle
            folders.clear()
            continue
        seen.add(real)
        # Unfinished output of other programs, and their logs, are hidden: a folder's name may begin with _
        # only if it is a column's.
        folders[:] = [below for below in folders if not is_hidden(below)]
        found += [
            Path(name, file).absolute()
            for file in files
            if Path(file).suffix.lower() in PARQUET_ENDINGS and not is_hidden(file)
        ]
    if not found:
        raise EngineError(f"The folder {show(folder, most=150)} has no Parquet files.")
    for path in found:
        _check_readable(path)
    return [_Found(str(path), base or folder.absolute()) for path in sorted(found)]


def is_hidden(name: str) -> bool:
    """Return whether Spark and similar programs skip files and folders of this name."""
    return name.startswith(".") or (name.startswith("_") and "=" not in name)


def _raise(error: OSError) -> NoReturn:
    raise error  # rather than leave out what cannot be listed


def _check_readable(path: Path) -> None:
    shown = show(path, most=150)
    if not path.is_file():
        raise EngineError(f"{shown} is not a file.")
    try:
        with path.open("rb") as file:
            empty = not file.read(1)
    except OSError as error:
        raise EngineError(f"{shown} cannot be read: {describe(error)}.") from None
    if empty:
        raise EngineError(f"The file {shown} is empty.")


def _find_kind(path: str) -> tuple[str, str]:
    name = path.lower()
    if name.endswith(CSV_ENDINGS):
        return "csv", find_delimiter(name)
    if name.endswith(PARQUET_ENDINGS):
        return "parquet", ","
    raise EngineError(f"{show(path, most=150)} is neither a CSV nor a Parquet file, by its ending.")


# The first rows of CSV files, which name their columns, and the last, which an engine may lose silently.


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
