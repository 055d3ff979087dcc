"""What was published, taken apart into small facts with a place each, so that a difference can be named."""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pa_parquet

Facts = dict[str, object]
"""What stands where."""

MOST_SHOWN = 80
SLACK = 2.0
"""Seconds: file systems keep time less exactly than the clock does."""


def find_differences(first: Facts, second: Facts, *, without: tuple[str, ...] = ()) -> list[str]:
    """The places that differ, with what stands there; ``without``: how places begin that may."""
    places = [place for place in {**first, **second} if not place.startswith(without)]
    missing = "nothing"
    return [
        f"{place}: {_shorten(first.get(place, missing))} / {_shorten(second.get(place, missing))}"
        for place in places
        if place not in first or place not in second or first[place] != second[place]
    ]


def _shorten(value: object) -> str:
    text = repr(value)
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}..."


def describe_folder(folder: Path, *, private: tuple[str, ...], since: float, until: float) -> Facts:
    """Names, kinds, rights, times and contents of all that is below a folder.

    Of the ``private`` files, which are not published, all but the contents.
    """
    facts: Facts = {}
    for path in sorted(folder.rglob("*")):
        name, status = str(path.relative_to(folder)), path.lstat()
        facts[f"{name}: rights"] = oct(status.st_mode)
        facts[f"{name}: attributes"] = os.listxattr(path, follow_symlinks=False)
        written_now = since - SLACK <= status.st_mtime <= until + SLACK
        facts[f"{name}: time"] = "that of the run" if written_now else status.st_mtime
        if path.is_file() and name not in private:
            facts |= {f"{name}: {what}": fact for what, fact in describe_content(path.read_bytes()).items()}
    return facts


def describe_content(content: bytes) -> Facts:
    """The parts of a file by its kind, and at last its bytes."""
    facts: Facts = {}
    if content[:4] == b"PAR1":
        facts |= dict(_describe_parquet(content))
    elif content[:1] == b"{":
        facts |= dict(_flatten(json.loads(content), ""))
    elif content[:15] == b"<!doctype html>":
        facts |= describe_text(content.decode())
    return {**facts, "length": len(content), "bytes": hashlib.sha256(content).hexdigest()}


def describe_text(text: str) -> Facts:
    """Line by line."""
    return {f"line {number}": line for number, line in enumerate(text.splitlines(), 1)}


def _describe_parquet(content: bytes) -> Iterator[tuple[str, object]]:
    plain = pa_parquet.ParquetFile(io.BytesIO(content))
    metadata: dict[str, Any] = {**plain.metadata.to_dict()}
    groups = metadata.pop("row_groups")
    yield "schema", str(plain.schema).splitlines()[1:]  # the first has its address in memory
    yield "metadata", {str(key): str(value) for key, value in (plain.metadata.metadata or {}).items()}
    yield "written by", (metadata["created_by"], metadata["format_version"])
    yield "rows", metadata["num_rows"]
    yield "row groups", [group["num_rows"] for group in groups]
    for number, group in enumerate(groups):
        for chunk in group["columns"]:
            yield f"row group {number}, column {chunk['path_in_schema']!r}: kept as", chunk
    names = plain.schema_arrow.names
    coded = pa_parquet.ParquetFile(io.BytesIO(content), read_dictionary=names)
    for number in range(len(groups)):
        table = coded.read_row_group(number)
        for name in names:
            column: Any = table[name].combine_chunks()
            if hasattr(column, "dictionary"):
                yield f"row group {number}, column {name!r}: dictionary", column.dictionary.to_pylist()
            yield f"row group {number}, column {name!r}: values", column.to_pylist()


def _flatten(value: object, place: str) -> Iterator[tuple[str, object]]:
    """Every value of a JSON document, with the keys that lead to it; and the order of its keys."""
    if isinstance(value, dict):
        yield f"{place or 'top'}: keys", list(value)
        for key, inner in value.items():
            yield from _flatten(inner, f"{place}.{key}" if place else str(key))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _flatten(inner, f"{place}[{number}]")
        yield f"{place}: length", len(value)
    else:
        yield place, value
