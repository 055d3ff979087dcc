"""The files that a user means: a path, a glob, a folder, or a list of these."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tallytree.errors import EngineError, describe, show
from tallytree.tables import CSV_ENDINGS, PARQUET_ENDINGS

MOST_FILES = 100_000


@dataclass(frozen=True)
class Files:
    """Files of one kind that together are a table."""

    kind: Literal["csv", "parquet"]
    paths: tuple[str, ...]
    """Absolute; these very files, whatever characters their names hold."""
    delimiter: str = ","


def is_file_source(source: object) -> bool:
    """Whether a source names files: text, a path, or a list of them."""
    if isinstance(source, (list, tuple)):
        return bool(source) and all(isinstance(part, (str, os.PathLike)) for part in source)
    return isinstance(source, (str, os.PathLike))


def has_file_ending(name: str) -> bool:
    """Whether a name looks like that of a file, rather than of a table in a database."""
    return name.lower().endswith((*CSV_ENDINGS, *PARQUET_ENDINGS))


def find_files(source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> Files:
    """The files that ``source`` stands for, all CSV or all Parquet."""
    parts = [source] if isinstance(source, (str, os.PathLike)) else list(source)
    paths = list(dict.fromkeys(path for part in parts for path in _expand(os.fsdecode(part))))
    if len(paths) > MOST_FILES:
        raise EngineError(f"There are more than {MOST_FILES} files.")
    kinds = {_find_kind(path) for path in paths}
    if len(kinds) > 1:
        raise EngineError("The files are not all of one kind: give CSV files or Parquet files, not both.")
    kind, delimiter = kinds.pop()
    return Files("csv" if kind == "csv" else "parquet", tuple(paths), delimiter)


def _expand(text: str) -> list[str]:
    shown = show(text, most=150)
    try:
        path = Path(text)
        if path.is_dir():
            return _list_folder(path)
        if path.exists():  # whatever its name: a file may be called "a*.csv"
            _check_readable(path)
            return [str(path.absolute())]
        found = _match(text) if glob.has_magic(text) else []
    except EngineError:
        raise
    except (OSError, ValueError) as error:
        why = describe(error) if isinstance(error, OSError) else "no file can have such a name"
        raise EngineError(f"{shown} cannot be read: {why}.") from None
    if not found:
        raise EngineError(f"There is no file {shown}.")
    return [path for name in found for path in _expand(name)]


def _match(pattern: str) -> list[str]:
    """What a glob matches, in order; ``**`` stands for any depth."""
    start = Path(pattern).anchor
    rest = str(Path(pattern).relative_to(start)) if start else pattern
    return sorted(map(str, Path(start).glob(rest)))


def _list_folder(folder: Path) -> list[str]:
    """A folder stands for its Parquet files, at any depth, as Spark and others write them."""
    found = sorted(
        str(path.absolute())
        for path in folder.rglob("*")
        if path.suffix.lower() in PARQUET_ENDINGS and not path.name.startswith(("_", ".")) and path.is_file()
    )
    if not found:
        raise EngineError(f"The folder {show(folder, most=150)} has no Parquet files.")
    return found


def _check_readable(path: Path) -> None:
    with path.open("rb") as file:
        if not file.read(1):
            raise EngineError(f"The file {show(path, most=150)} is empty.")


def _find_kind(path: str) -> tuple[str, str]:
    name = path.lower()
    if name.endswith(CSV_ENDINGS):
        return "csv", "\t" if ".tsv" in Path(name).name else ","
    if name.endswith(PARQUET_ENDINGS):
        return "parquet", ","
    raise EngineError(f"{show(path, most=150)} is neither a CSV nor a Parquet file, by its ending.")
