"""A data package: a folder or a zip file with tables as CSV, and datapackage.json, which describes them.

Frictionless Data Package, version 1, which later versions read: https://specs.frictionlessdata.io/data-package/
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tallytree.exporting.published_tables import ExportTable, Kind, find_kind, guard, write_csv
from tallytree.exporting.release_facts import (
    describe_in_short,
    find_manifest_digest,
    make_slug,
    name_release,
)
from tallytree.files import hash_file
from tallytree.releases.released import MANIFEST, Released

DESCRIPTOR = "datapackage.json"
TYPES: dict[Kind, str] = {"integer": "integer", "number": "number", "boolean": "boolean", "text": "string"}


def write_data_package(release: Released, tables: Sequence[ExportTable], folder: Path) -> int:
    """Write the tables and their description; return the number of rows."""
    rows, resources = 0, []
    for table in tables:
        path = folder / f"{table.name}.csv"
        rows += write_csv(table, path)
        resources.append(_describe_table(table, path))
    title, digest = name_release(release), find_manifest_digest(release)
    source = f"{title}, a release by Tallytree {release.manifest['software']['tallytree']}"
    descriptor = {
        "profile": "tabular-data-package",
        "name": make_slug(title),
        "title": title,
        "description": describe_in_short(release),
        "created": release.manifest["created"],
        "sources": [{"title": f"{source} (SHA-256 of {MANIFEST}: {digest})" if digest else source}],
        "resources": resources,
        "privacy": release.manifest["privacy"],
    }
    text = json.dumps(descriptor, indent=2, ensure_ascii=False) + "\n"
    (folder / DESCRIPTOR).write_text(text, encoding="utf-8")
    return rows


def _describe_table(table: ExportTable, path: Path) -> dict[str, Any]:
    return {
        "profile": "tabular-data-resource",
        "name": table.name,
        "path": path.name,
        "description": table.about,
        "format": "csv",
        "mediatype": "text/csv",
        "encoding": "utf-8",
        "bytes": path.stat().st_size,
        "hash": f"sha256:{hash_file(path)}",
        "schema": {
            "fields": [
                {
                    "name": guard(column.name),
                    "type": TYPES[find_kind(column.type)],
                    "description": column.about,
                }
                for column in table.columns
            ],
            "missingValues": [""],
        },
    }
