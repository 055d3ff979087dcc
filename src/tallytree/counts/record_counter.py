"""The queries that are sent to an engine, one after the other, and the counts made from its answers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tallytree.arrays import MAX_CELLS, SparseRows, store_cells
from tallytree.counts.arrow import Table
from tallytree.counts.engines.session import Session
from tallytree.counts.record_columns import Columns, Records
from tallytree.counts.record_faults import (
    DROP,
    FOLLOW_FRAME,
    ONE_PLACE,
    Advice,
    Fault,
    advise_on_regions,
    advise_on_rows,
    find_faults,
    find_spellings,
    list_faults,
    refuse,
)
from tallytree.counts.record_query import NOWHERE, Counting, count_cells, count_strays, list_regions
from tallytree.counts.region_tables import read_complete
from tallytree.errors import CountsError
from tallytree.hierarchy import Hierarchy
from tallytree.progress import Progress
from tallytree.sizes import count_sizes

if TYPE_CHECKING:
    import ibis

Ints = npt.NDArray[np.int64]

FRAME = "In the frame: "
NOT_A_FRAME = (
    "The frame is the table of records itself. A frame is a public list of all groups that was made without "
    "the records, such as a register of addresses: if there is none, leave it out."
)


@dataclass(frozen=True)
class Counted:
    """The counts, leaves x sizes, and what was left out of them: both sensitive."""

    leaf: Ints | SparseRows
    left_out: str
    """A sentence, or nothing."""


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
        least = replace(columns, regions=())
        table = self.session.read(source, least.all, text=columns.keys, also=columns.regions)
        if frame is source or groups.opened.is_made_from(table):
            raise CountsError(NOT_A_FRAME)
        has_regions = set(columns.regions) <= set(table.names)
        return Records(table, columns if has_regions else least, self.session), groups

    def find_hierarchy(self, records: Records, root: str, root_level: str) -> Hierarchy:
        """Return the regions that a table names, in alphabetical order whatever the engine.

        Rows with a missing or empty name are skipped: the counting finds them again.
        """
        columns = records.columns
        if not columns.regions:
            return Hierarchy.from_paths([root_level], [(root,)])
        found = self._fetch(list_regions(records), "Listing the regions")
        if found.num_rows == 0:
            raise CountsError(f"{records.where}There are no records.")
        tree = read_complete(found, root)
        if tree is None:
            raise CountsError(f"{records.where}There are no records with a name in every region column.")
        hierarchy, _ = Hierarchy.from_tree([root_level, *columns.regions], tree).sort()
        return hierarchy

    def count(self, people: Records, frame: Records | None, counting: Counting) -> Counted:
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
        faults = self._find_faults(people, frame, counting) if (code < 0).any() else []
        # Of groups with a faulty record nothing else is said: it may be its only fault.
        torn, doubled, strays = (int(number[code >= 0].sum()) for number in (torn, doubled, strays))
        more = [
            Fault("groups of people that are not in the frame", strays, DROP),
            Fault("groups with more than one row", doubled, advise_on_rows(people.columns)),
            Fault("groups in more than one region", 0 if doubled else torn, _advise(people, frame, counting)),
        ]
        spellings = find_spellings(counting.hierarchy) if counting.regions_from_data else []
        refuse([*faults, *(fault for fault in more if fault.count), *spellings])
        there = place != NOWHERE
        leaf = store_cells((code * shape[1] + place)[there], groups[there], shape)
        return Counted(leaf, self._list_left_out(people, frame, counting, int(groups[~there].sum())))

    def _find_faults(self, people: Records, frame: Records | None, counting: Counting) -> list[Fault]:
        if frame is not None:
            refuse(find_faults(frame, self._look, counting), frame.where)
        if not (faults := find_faults(people, self._look, counting)):
            raise CountsError("The records changed while they were counted.")
        return faults

    def _list_left_out(self, people: Records, frame: Records | None, counting: Counting, empty: int) -> str:
        """What was not counted, for the curator's eyes."""
        found = find_faults(people, self._look, counting) if counting.drop else []
        if counting.drop and frame is not None:
            (row,) = self._look(count_strays(people, frame, counting)).to_pylist()
            if row["strays"]:
                found.append(Fault("records of groups that are not in the frame", row["strays"]))
        if empty:
            found.append(Fault("groups of size 0", empty))
        return list_faults(found) if found else ""

    def _hold(self, rows: ibis.Table) -> ibis.Table:
        return self.session.hold(rows, "Reading the records", self.progress)

    def _fetch(self, query: ibis.Table, what: str) -> pa.Table:
        return self.session.fetch(query, what, self.progress)

    def _look(self, query: ibis.Table) -> pa.Table:
        return self._fetch(query, "Looking at what cannot be counted")


def _advise(people: Records, frame: Records | None, counting: Counting) -> Advice:
    """What to do about groups in several regions: it depends on who says where a group is."""
    if frame is None:
        return advise_on_regions(people.columns)
    return ONE_PLACE if counting.drop or not people.columns.regions else FOLLOW_FRAME


@contextmanager
def _about(where: str) -> Iterator[None]:
    """Begin messages with the table that they are about."""
    try:
        yield
    except CountsError as error:
        raise type(error)(f"{where}{error}") from None
