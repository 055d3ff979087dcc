"""True counts in a file, between counting and releasing. Sensitive: nothing in it is private.

A Parquet file carries with it where the counts are from: the bounds that were enforced and what was taken
on trust, so that a release from it claims neither more nor less than one straight from the records.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet

from tallytree.counts import GroupCounts
from tallytree.errors import CountsError, SpecError, show
from tallytree.privacy.neighbours import Bounds
from tallytree.sizes import Sizes, check_sizes

KEY = b"tallytree.counts"
WARNING = (
    "SENSITIVE: these are true counts, without noise and not private. Keep this file as safe as the records "
    "that it was made from, and delete it after the release."
)


@dataclass(frozen=True)
class Origin:
    """What a file of counts says about how they were made."""

    sizes: Sizes
    bounds: Bounds
    assumptions: tuple[str, ...]
    has_frame: bool

    def check(self, sizes: Sizes | None, bounds: Bounds | None) -> tuple[Sizes, Bounds]:
        """The sizes and bounds that were enforced; to release with others would promise what is not so."""
        if sizes is not None and check_sizes(sizes) != self.sizes:
            low, high = self.sizes
            raise CountsError(f"The groups were counted with sizes {low} to {high}: release them with these.")
        if bounds is not None and bounds != self.bounds:
            m, z = self.bounds.max_records, self.bounds.max_quantity
            raise CountsError(
                f"The groups were counted with max_records = {m} and max_quantity = {z}: release them so."
            )
        return self.sizes, self.bounds


def check_count_file(path: Path, regions: Sequence[str]) -> None:
    """Refuse a name under which counts cannot be written, and regions called like other columns."""
    name = path.name.lower()
    if not name.endswith((".parquet", ".csv")):
        raise SpecError(f"{show(path, most=150)} must end in .parquet or .csv.")
    if name.endswith(".csv") and "sensitive" not in name:
        raise SpecError(
            "A CSV file cannot say inside that it is sensitive: its name must hold the word 'sensitive'."
        )
    for column in ("size", "groups"):
        if column in regions:
            raise SpecError(f"A region column may not be called {column!r}: the file has another such.")


def write_counts(counts: GroupCounts, file: Path, *, as_csv: bool) -> None:
    """Write the counts of the leaf regions; a region without groups has one row."""
    table = _tabulate(counts)
    if as_csv:
        pa_csv.write_csv(table, file)
    else:
        pa_parquet.write_table(table.replace_schema_metadata({KEY: _describe(counts)}), file)


def read_origin(table: pa.Table) -> Origin | None:
    """Where the counts of a table are from, if it says so."""
    text = (table.schema.metadata or {}).get(KEY)
    if text is None:
        return None
    try:
        facts: dict[str, Any] = json.loads(text)
        assumed, has_frame = facts["assumed"], facts["has_frame"]
        if not isinstance(assumed, list) or not all(isinstance(note, str) for note in assumed):
            raise TypeError
        if not isinstance(has_frame, bool):
            raise TypeError
        return Origin(
            check_sizes(facts["sizes"]),
            Bounds(max_records=facts["max_records"], max_quantity=facts["max_quantity"]),
            tuple(assumed),
            has_frame,
        )
    except (KeyError, TypeError, ValueError, RecursionError):
        raise CountsError("The table's own account of how it was counted is damaged.") from None


def _tabulate(counts: GroupCounts) -> pa.Table:
    leaf, size, groups = counts.list_cells()
    empty = np.setdiff1d(np.arange(counts.hierarchy.leaf_count), leaf)
    leaf = np.concatenate([leaf, empty])
    order = np.argsort(leaf, kind="stable")
    nothing = np.zeros(len(empty), dtype=np.int64)
    leaf, size, groups = (
        column[order] for column in (leaf, np.concatenate([size, nothing]), np.concatenate([groups, nothing]))
    )
    columns: dict[str, Any] = {}
    for depth, level in enumerate(counts.hierarchy.levels[1:], start=1):
        columns[level] = counts.hierarchy.leaf_names(depth).take(leaf)
    columns["size"] = pa.array(size + counts.sizes[0], pa.int64())
    columns["groups"] = pa.array(groups, pa.int64())
    return pa.table(columns)


def _describe(counts: GroupCounts) -> bytes:
    facts = {
        "note": WARNING,
        "sizes": list(counts.sizes),
        "max_records": counts.bounds.max_records,
        "max_quantity": counts.bounds.max_quantity,
        "assumed": list(counts.assumptions),
        "has_frame": counts.has_frame,
    }
    return json.dumps(facts).encode()
