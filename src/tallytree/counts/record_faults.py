"""Faults of records: what keeps them from being counted, how many there are, and what to do about it.

A message says how many there are and in which column, never which: that would show the data. It says all at
once, so that a table need not be corrected in as many rounds as it has kinds of faults.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tallytree.counts.record_columns import Columns, Records
from tallytree.counts.record_query import (
    UNKNOWN,
    Counting,
    add_codes,
    count_where,
    is_missing,
    is_negative,
    is_ragged,
    is_whole,
    list_regions,
    read_rows,
)
from tallytree.counts.region_tables import fold_names
from tallytree.errors import RecordsError, Remedy, show
from tallytree.hierarchy import Hierarchy
from tallytree.path_trees import Names, encode_column

if TYPE_CHECKING:
    import ibis

Fetch = Callable[["ibis.Table"], pa.Table]


@dataclass(frozen=True)
class Advice:
    """What to do about a kind of fault, in words, and the setting that does it, if one does."""

    words: str
    remedy: Remedy | None = None


DROP = Advice(
    "Correct such records, or leave them out with missing='drop' (--missing drop).",
    Remedy("missing", ("drop",)),
)
CORRECT = Advice("Correct the frame: its rows are never left out.")
SPELL = Advice(
    "Spell each region in one way, or list all regions in a public table, with hierarchy "
    "(--hierarchy TABLE).",
    Remedy("hierarchy", ("TABLE",)),
)
FOLLOW_FRAME = Advice(
    "Correct the frame if it names such a group twice; if the records disagree with it, missing='drop' "
    "(--missing drop) follows the frame.",
    Remedy("missing", ("drop",)),
)
ONE_PLACE = Advice("Correct the frame: it must name each group once.")


def advise_on_rows(columns: Columns) -> Advice:
    """Return what to do about groups with several rows, where each row is to be a whole group."""
    name = columns.quantity or ""
    return Advice(
        "Each row is to be a group with its size: keep one row of each or, if sizes are to be added up, give "
        f"quantity={show(name)} in place of size (--quantity).",
        Remedy("quantity", (name,), replaces="size"),
    )


def advise_on_regions(columns: Columns) -> Advice:
    """Return what to do about groups in several regions that no frame puts in one."""
    key = tuple(dict.fromkeys([*columns.groups, *columns.regions]))
    shown = ", ".join(show(name, most=40) for name in key[:MOST_SHOWN])
    more = ", and more" if len(key) > MOST_SHOWN else ""
    return Advice(
        "Filter the records so that each group is in one, or let a public frame (--frame) say where it is, "
        "with missing='drop'; if it is another group in each region, give "
        f"group=[{shown}{more}] (--group for each).",
        Remedy("group", key),
    )


MOST_SHOWN = 4
"""Columns that a message names."""


@dataclass(frozen=True)
class Fault:
    """One kind of fault."""

    what: str
    count: int
    advice: Advice | None = None

    def __str__(self) -> str:
        return f"{self.what}: {self.count:,}"


def list_faults(faults: Sequence[Fault]) -> str:
    """Return a sentence that lists faults."""
    listed = "; ".join(map(str, faults))
    return f"{listed[0].upper()}{listed[1:]}."


def refuse(faults: Sequence[Fault], where: str = "") -> None:
    """Refuse the records with one error about all their faults, if there are any."""
    alike: dict[Advice, list[Fault]] = {}
    for fault in faults:
        if fault.advice is not None:
            alike.setdefault(fault.advice, []).append(fault)
    if alike:
        raise RecordsError(
            where + " ".join(f"{list_faults(found)} {advice.words}" for advice, found in alike.items()),
            [advice.remedy for advice in alike if advice.remedy is not None],
        )


def find_faults(records: Records, fetch: Fetch, counting: Counting) -> list[Fault]:
    """Return the faults of records one by one; a record may have several."""
    columns, hierarchy = records.columns, counting.hierarchy
    may_be_missing = columns.regions if is_ragged(hierarchy) else ()
    advice = CORRECT if records.where else DROP
    wrong = {
        f"missing values in column {show(name)}": count_where(is_missing(records[name]))
        for name in columns.all
        if name not in may_be_missing
    }
    if (name := columns.quantity) is not None:
        odd = ~is_whole(records) & ~is_missing(records[name])
        wrong[f"values of column {show(name)} that are not whole numbers"] = count_where(odd)
        if columns.rows_are_groups:
            wrong[f"values of column {show(name)} below 0"] = count_where(is_negative(records))
    found = _fetch_counts(records.table.aggregate(**_number(wrong.values())), fetch)
    faults = [Fault(what, count, advice) for what, count in zip(wrong, found, strict=True) if count]
    return faults + _find_unknown_regions(records, fetch, counting, advice)


def _find_unknown_regions(records: Records, fetch: Fetch, counting: Counting, advice: Advice) -> list[Fault]:
    """Records whose region the hierarchy does not have, and how many regions are only spelled otherwise."""
    rows = add_codes(read_rows(records, counting.bounds), records, counting.hierarchy)
    (unknown,) = _fetch_counts(rows.aggregate(unknown=count_where(rows["code"] == UNKNOWN)), fetch)
    if not unknown:
        return []
    faults = [Fault("rows whose region is not a leaf of the hierarchy", unknown, advice)]
    found = fetch(list_regions(records))
    named = [column.combine_chunks().cast(pa.large_string()) for column in found.columns]
    leaves = [counting.hierarchy.leaf_names(level) for level in range(1, len(counting.hierarchy.levels))]
    differs = pc.invert(pc.is_in(_join(named), _join(leaves)))
    is_close = pc.is_in(_join(map(fold_names, named)), _join(map(fold_names, leaves)))
    close = int(pc.and_(differs, is_close).to_numpy(zero_copy_only=False).sum())
    if close:
        faults.append(
            Fault("regions of these that differ from one of it in case or spaces only", close, advice)
        )
    return faults


def find_spellings(hierarchy: Hierarchy) -> list[Fault]:
    """Return the columns with names that differ from another in case or spaces only: likely one region."""
    faults = []
    for level, name in enumerate(hierarchy.levels[1:], start=1):
        folded = encode_column(fold_names(hierarchy.names(level)))
        keys = hierarchy.parents(level) * len(folded.names) + folded.codes
        if extra := len(keys) - len(np.unique(keys)):
            what = f"names in column {show(name)} that differ from another one in case or spaces only"
            faults.append(Fault(what, extra, SPELL))
    return faults


def _join(columns: Iterable[Names]) -> Names:
    """The paths of rows as one text each; names below a leaf are missing."""
    every = list(columns)
    separator = pa.repeat(pa.scalar("\0", pa.large_string()), len(every[0]))
    return pc.binary_join_element_wise(*every, separator, null_handling="skip")


def _number(values: Iterable[ibis.Value]) -> dict[str, ibis.Value]:
    return {f"count_{place}": value for place, value in enumerate(values)}


def _fetch_counts(query: ibis.Table, fetch: Fetch) -> list[int]:
    (row,) = fetch(query).to_pylist()
    return [int(value) for value in row.values()]
