"""True counts in a file, between counting and releasing. Sensitive: nothing in it is private.

A Parquet file also states the origin of the counts: the bounds that were enforced and what was taken on
trust, so that a release from it claims neither more nor less than one made directly from the records. A
digest over that and over all regions and cells shows whether anything was changed since. It is not a
signature: whoever forges a file can compute it anew.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet

from tallytree.counts.arrow import Table
from tallytree.errors import CountsError, SpecError, show
from tallytree.hierarchy import Hierarchy
from tallytree.path_trees import Names
from tallytree.privacy.neighbours import PROTECTED, Bounds, Protected
from tallytree.sizes import Sizes, check_sizes, count_sizes, list_edges, read_sizes, show_sizes, state_sizes

if TYPE_CHECKING:
    from tallytree.counts.group_counts import GroupCounts

Ints = npt.NDArray[np.int64]

KEY = b"tallytree.counts"
DIGEST = "sha256"
"""The key of the digest in a file's metadata; files of earlier versions have none."""
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
    regions: tuple[str, ...] | None
    facts: Mapping[str, Any]
    """All that the file says, except for the digest."""
    only: Protected | None
    """Whom a release of them can protect alone: :attr:`GroupCounts.only`."""
    digest: str | None
    """Without one it is not known whether the counts were changed since."""

    def check(self, sizes: Sizes | None, regions: Sequence[str]) -> Sizes:
        """Return the sizes of the counting; refuse others, for which a release's promise would be false."""
        if sizes is not None and check_sizes(sizes) != self.sizes:
            raise CountsError(
                f"The groups were counted with sizes {show_sizes(self.sizes)}: release them with these."
            )
        if self.regions is not None and tuple(regions) != self.regions:
            named = ", ".join(map(show, self.regions)) or "none"
            raise CountsError(
                f"The groups were counted with the region columns {named}: release them with the same "
                "columns."
            )
        return self.sizes

    def check_bounds(self, bounds: Bounds | None) -> Bounds:
        """Return the bounds that were enforced; refuse others, since no others may be promised."""
        if bounds is not None and bounds != self.bounds:
            m, z = self.bounds.max_records, self.bounds.max_quantity
            raise CountsError(
                f"The groups were counted with max_records = {m} and max_quantity = {z}: release them with "
                "the same bounds."
            )
        return self.bounds

    def check_cells(self, hierarchy: Hierarchy, place: Ints, groups: Ints) -> None:
        """Refuse cells, given as leaf * sizes + size, other than those that were counted.

        ``hierarchy`` has the regions of the table alone, sorted.
        """
        if self.digest is not None and _digest(self.facts, hierarchy, place, groups) != self.digest:
            raise CountsError(
                "These are not the counts that 'tallytree count' wrote: the table was changed since, as its "
                "digest (SHA-256) shows. Count the groups again."
            )


def check_count_file(path: Path, regions: Sequence[str]) -> None:
    """Refuse a file name under which counts cannot be written, and regions named like other columns."""
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
    """Write the counts of the leaf regions; a region without groups has one row.

    In CSV too, names are written as they are, with no guard against spreadsheets: the file is read again for
    the release, which must have these names.
    """
    table = _tabulate(counts)
    if as_csv:
        pa_csv.write_csv(table, file)
    else:
        pa_parquet.write_table(table.replace_schema_metadata({KEY: _describe(counts)}), file)


def has_sensitive_name(table: Table) -> bool:
    """Return whether the name of a file, or of one that it links to, says sensitive, as CSV counts must."""
    if not isinstance(table, (str, os.PathLike)):
        return False
    path = os.fsdecode(table)
    return any("sensitive" in Path(name).name.lower() for name in (path, os.path.realpath(path)))


def read_origin(table: pa.Table) -> Origin | None:
    """Return the origin of the counts of a table, if the table states it."""
    text = (table.schema.metadata or {}).get(KEY)
    if text is None:
        return None
    try:
        facts: dict[str, Any] = json.loads(text)
        digest = facts.pop(DIGEST, None)
        has_frame = facts["has_frame"]
        if not isinstance(has_frame, bool) or not (digest is None or isinstance(digest, str)):
            raise TypeError
        return Origin(
            read_sizes(facts),
            Bounds(max_records=facts["max_records"], max_quantity=facts["max_quantity"]),
            _check_texts(facts["assumed"]),
            has_frame,
            _check_texts(facts["regions"]) if digest is not None else None,
            facts,
            _check_only(facts.get("only")),
            digest,
        )
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
        raise CountsError(
            "The table's metadata about the counting are damaged: count the groups again."
        ) from None


def _check_only(given: object) -> Protected | None:
    if given not in (None, *PROTECTED):
        raise ValueError
    return given


def _check_texts(given: object) -> tuple[str, ...]:
    if not isinstance(given, list) or not all(isinstance(text, str) for text in given):
        raise TypeError
    return tuple(given)


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
    columns["size"] = pa.array(np.asarray(list_edges(counts.sizes))[size], pa.int64())
    columns["groups"] = pa.array(groups, pa.int64())
    return pa.table(columns)


def _describe(counts: GroupCounts) -> bytes:
    facts = {
        "note": WARNING,
        **state_sizes(counts.sizes),
        "max_records": counts.bounds.max_records,
        "max_quantity": counts.bounds.max_quantity,
        "regions": list(counts.hierarchy.levels[1:]),
        "assumed": list(counts.assumptions),
        "has_frame": counts.has_frame,
        **({} if counts.only is None else {"only": counts.only}),
    }
    if counts.is_enforced or counts.only == "group":
        hierarchy, number = counts.hierarchy.sort()
        leaf, size, groups = counts.list_cells()
        facts[DIGEST] = _digest(facts, hierarchy, number[leaf] * count_sizes(counts.sizes) + size, groups)
    return json.dumps(facts).encode()


def _digest(facts: Mapping[str, Any], hierarchy: Hierarchy, place: Ints, groups: Ints) -> str:
    """SHA-256 over facts, regions and cells, however these were ordered; cells without groups are left out.

    Not over the root, which has no column in the file.
    """
    if not (place[1:] > place[:-1]).all():
        order = np.argsort(place, kind="stable")
        place, groups = place[order], groups[order]
    if not groups.all():
        place, groups = place[groups != 0], groups[groups != 0]
    parts: list[npt.NDArray[Any]] = [np.frombuffer(json.dumps(facts, sort_keys=True).encode(), np.uint8)]
    for level in range(1, len(hierarchy.levels)):
        parts += [*_get_text(hierarchy.names(level)), hierarchy.parents(level)]
    digest = hashlib.sha256()
    for part in (*parts, place, groups):
        digest.update(f"{part.nbytes},".encode())  # so that parts cannot be confused
        digest.update(np.ascontiguousarray(part).data)
    return digest.hexdigest()


def _get_text(names: Names) -> tuple[Ints, npt.NDArray[np.uint8]]:
    """How long each name is, and all of them one after the other, in UTF-8."""
    buffers: list[Any] = names.buffers()
    _, offsets, text = buffers
    ends = np.frombuffer(offsets, np.int64)[names.offset : names.offset + len(names) + 1]
    return np.diff(ends), np.frombuffer(text, np.uint8)[ends[0] : ends[-1]]
