"""The first lines of CSV files, which name their columns; files may name them in different orders."""

from __future__ import annotations

from collections.abc import Sequence

from tallytree.engines.files import Files
from tallytree.engines.session import Opened
from tallytree.tables import Header, check_columns, read_header


def read_headers(files: Files) -> list[tuple[Header, list[str]]]:
    """The different headers, each with the files that begin with it."""
    found: dict[Header, list[str]] = {}
    for path in files.paths:
        found.setdefault(read_header(path, files.delimiter), []).append(path)
    return list(found.items())


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
