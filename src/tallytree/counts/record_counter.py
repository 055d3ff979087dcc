"""The queries that are sent to an engine, one after the other, and the counts made from its answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tallytree.arrays import SparseRows, store_cells
from tallytree.counts.arrow import Table
from tallytree.counts.engines.session import Session
from tallytree.counts.record_columns import Columns, Records
from tallytree.counts.record_query import (
    NOWHERE,
    UNKNOWN,
    Counting,
    add_codes,
    count_cells,
    count_where,
    is_ragged,
    is_whole,
    list_regions,
    read_rows,
)
from tallytree.errors import CountsError, show
from tallytree.hierarchy import Hierarchy
from tallytree.limits import MAX_CELLS
from tallytree.privacy.neighbours import Bounds
from tallytree.progress import Progress
from tallytree.sizes import count_sizes

if TYPE_CHECKING:
    import ibis

# Errors about records that cannot be counted say how many there are, never which.

Fetch = Callable[["ibis.Table"], pa.Table]


def refuse_dirt(records: Records, fetch: Fetch, *, hierarchy: Hierarchy, bounds: Bounds) -> None:
    """Refuse missing keys, quantities that are not whole, and unknown regions, with one error."""
    columns = records.columns
    may_be_missing = columns.regions if is_ragged(hierarchy) else ()
    keys = [name for name in columns.keys if name not in may_be_missing]
    refuse_missing(records, keys, fetch)
    if columns.quantity is not None:
        found = _fetch_counts(records.table.aggregate(not_whole=count_where(~is_whole(records))), fetch)
        if found[0]:
            what = f"values of column {show(columns.quantity)} that are not whole numbers"
            raise CountsError(_say(records, what, found[0]))
    rows = add_codes(read_rows(records, bounds), records, hierarchy)
    found = _fetch_counts(rows.aggregate(unknown=count_where(rows["code"] == UNKNOWN)), fetch)
    if found[0]:
        raise CountsError(_say(records, "rows whose region is not a leaf of the hierarchy", found[0]))


def refuse_missing(records: Records, keys: list[str], fetch: Fetch) -> None:
    """Refuse missing values, with one error about the first of these columns that has any."""
    if not keys:
        return
    missing = {f"key_{place}": count_where(records[name].isnull()) for place, name in enumerate(keys)}
    for name, count in zip(keys, _fetch_counts(records.table.aggregate(**missing), fetch), strict=True):
        if count:
            raise CountsError(_say(records, f"missing values in column {show(name)}", count))


def _fetch_counts(query: ibis.Table, fetch: Fetch) -> list[int]:
    (row,) = fetch(query).to_pylist()
    return [int(value) for value in row.values()]


def _say(records: Records, what: str, count: int) -> str:
    return f"{records.where}{what[0].upper()}{what[1:]}: {count}."


Ints = npt.NDArray[np.int64]

FRAME = "In the frame: "
NOT_A_FRAME = (
    "The frame is the table of records itself. A frame is a public list of all groups that was made without "
    "the records, such as a register of addresses: if there is none, leave it out."
)


@dataclass(frozen=True)
class Counter:
    """Counts the records of people, and of groups in a frame, in one engine."""

    session: Session
    progress: Progress

    def open(self, source: Table, frame: Table | None, columns: Columns) -> tuple[Records, Records | None]:
        """Open the tables of people and of groups; the people need no regions if the groups have them."""
        if frame is None:
            opened = self.session.read(source, columns.all, text=columns.keys)
            return Records(opened, columns, self.session), None
        listed = Columns(groups=columns.groups, regions=columns.regions)
        with _about(FRAME):
            opened = self.session.read(frame, listed.all, text=listed.keys)
            groups = Records(opened, listed, self.session, FRAME)
        least = Columns(groups=columns.groups, regions=(), person=columns.person, quantity=columns.quantity)
        table = self.session.read(source, least.all, text=columns.keys, also=columns.regions)
        if frame is source or groups.opened.is_made_from(table):
            raise CountsError(NOT_A_FRAME)
        has_regions = set(columns.regions) <= set(table.names)
        return Records(table, columns if has_regions else least, self.session), groups

    def find_hierarchy(self, records: Records, root: str, root_level: str, *, drop: bool) -> Hierarchy:
        """Return the regions that a table names, in alphabetical order whatever the engine.

        With ``drop``, rows with a missing or empty name are skipped instead of refused.
        """
        columns = records.columns
        if not columns.regions:
            return Hierarchy.from_paths([root_level], [(root,)])
        found = self._fetch(list_regions(records), "Listing the regions").to_pylist()
        names = [[row[name] for name in columns.region_names] for row in found]
        if drop:
            names = [path for path in names if all(name is not None and str(name).strip() for name in path)]
        if not names:
            raise CountsError(f"{records.where}There are no records.")
        if any(name is None for path in names for name in path):
            refuse_missing(records, list(columns.regions), self._look)
        for place, column in enumerate(columns.regions):
            if any(not str(path[place]).strip() for path in names):
                raise CountsError(f"{records.where}Column {show(column)} holds an empty name.")
        paths = sorted((root, *map(str, path)) for path in names)
        return Hierarchy.from_paths([root_level, *columns.regions], paths)

    def count(self, people: Records, frame: Records | None, counting: Counting) -> Ints | SparseRows:
        """Return the counts, leaves x sizes, if nothing is wrong with the records."""
        shape = counting.hierarchy.leaf_count, count_sizes(counting.sizes)
        if shape[0] * shape[1] > MAX_CELLS:
            raise CountsError(f"There are more than {MAX_CELLS} leaves x sizes.")
        query = count_cells(people, frame, counting, self._hold)
        cells = self._fetch(query, "Counting groups")
        self.session.check_files()
        if cells.num_rows == 0:
            raise CountsError("There are no records.")
        # Groups without a code neither have a region nor are in the frame: strays.
        code, place, groups, torn, doubled, strays = (
            np.nan_to_num(cells[name].to_numpy()).astype(np.int64)
            for name in ("code", "place", "groups", "torn", "doubled", "strays")
        )
        if (code < 0).any():
            for records in (people,) if frame is None else (frame, people):
                refuse_dirt(records, self._look, hierarchy=counting.hierarchy, bounds=counting.bounds)
            raise CountsError("The records changed while they were counted.")
        if strays.any():
            raise CountsError(f"Groups of people that are not in the frame: {strays.sum()}.")
        if doubled.any():
            raise CountsError(
                f"Groups with more than one row: {doubled.sum()}. Each row is to be a group with its size; "
                "if sizes are to be added up, give the column as the quantity."
            )
        if torn.any():
            raise CountsError(f"Groups in more than one region: {torn.sum()}. A group must be in one.")
        there = place != NOWHERE
        return store_cells((code * shape[1] + place)[there], groups[there], shape)

    def _hold(self, rows: ibis.Table) -> ibis.Table:
        return self.session.hold(rows, "Reading the records", self.progress)

    def _fetch(self, query: ibis.Table, what: str) -> pa.Table:
        return self.session.fetch(query, what, self.progress)

    def _look(self, query: ibis.Table) -> pa.Table:
        return self._fetch(query, "Looking for what is wrong")


@contextmanager
def _about(where: str) -> Iterator[None]:
    """Begin messages with the table that they are about."""
    try:
        yield
    except CountsError as error:
        raise type(error)(f"{where}{error}") from None
