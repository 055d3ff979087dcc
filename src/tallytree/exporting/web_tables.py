"""CSV on the Web: a folder with tables as CSV, and csv-metadata.json, which describes them as JSON-LD.

W3C, Metadata Vocabulary for Tabular Data: https://www.w3.org/TR/tabular-metadata/
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tallytree.exporting.published_tables import ExportTable, Kind, find_kind, guard, write_csv
from tallytree.exporting.release_facts import describe_in_short, get_day, list_facts, name_release
from tallytree.releases.released import Released

METADATA = "csv-metadata.json"
"""The name under which readers look for the description of all tables of a folder."""

TYPES: dict[Kind, str] = {"integer": "integer", "number": "double", "boolean": "boolean", "text": "string"}


def write_web_tables(release: Released, tables: Sequence[ExportTable], folder: Path) -> int:
    """Write the tables and their description; return the number of rows."""
    rows = sum(write_csv(table, folder / f"{table.name}.csv") for table in tables)
    metadata = {
        "@context": ["http://www.w3.org/ns/csvw", {"@language": "en"}],
        "dc:title": name_release(release),
        "dc:description": describe_in_short(release),
        "dc:issued": {"@value": get_day(release), "@type": "xsd:date"},
        "rdfs:comment": [f"{name}: {text}" for name, text in list_facts(release)],
        "dialect": {"trim": False},
        "tables": [_describe_table(table) for table in tables],
    }
    text = json.dumps(metadata, indent=2, ensure_ascii=False) + "\n"
    (folder / METADATA).write_text(text, encoding="utf-8")
    return rows


def _describe_table(table: ExportTable) -> dict[str, Any]:
    return {
        "url": f"{table.name}.csv",
        "dc:description": table.about,
        "tableSchema": {
            "columns": [
                {
                    "name": _make_name(column.name),
                    "titles": guard(column.name),
                    "datatype": TYPES[find_kind(column.type)],
                    "dc:description": column.about,
                }
                for column in table.columns
            ]
        },
    }


def _make_name(name: str) -> str:
    """Return a name of a variable in a URI template: what is not a letter or a digit is percent-encoded.

    >>> _make_name("state"), _make_name("_a b")
    ('state', '%5Fa%20b')
    """
    encoded = quote(name, safe="").replace("-", "%2D").replace(".", "%2E").replace("~", "%7E")
    return f"%5F{encoded[1:]}" if encoded.startswith("_") else encoded
