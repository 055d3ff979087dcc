"""Tables as CSV: text that a spreadsheet would take for a formula is guarded by an apostrophe."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pa_csv

from tallytree.exporting.published_tables import ExportTable
from tallytree.releases.release_columns import make_plain

_FORMULA = re.compile("'*[=+@\t\r-]")


def guard(text: str) -> str:
    """Return text that no spreadsheet takes for a formula, with an apostrophe before one.

    A text that begins like a guarded one gets an apostrophe too, so that the guard can be taken off again.

    >>> guard("=1+1"), guard("'=1+1"), guard("'s-Gravenhage")
    ("'=1+1", "''=1+1", "'s-Gravenhage")
    """
    return f"'{text}" if _FORMULA.match(text) else text


def write_csv(table: ExportTable, path: Path) -> int:
    """Write a table as UTF-8 with a header, some rows at a time; return the number of rows."""
    plain = make_plain(table.schema)
    header = pa.schema([(guard(field.name), field.type) for field in plain])
    rows = 0
    with pa_csv.CSVWriter(path, header) as writer:
        for part in table.stream(guard):
            writer.write_table(part.rename_columns(header.names))
            rows += part.num_rows
    return rows
