"""Neighbouring datasets, and the many forms in which the same data can come."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet

import tallytree as tt

Ints = npt.NDArray[np.int64]
Row = dict[str, Any]
Form = Callable[[pa.Table, Path], Any]
"""A table as a source: in memory, or in files of a folder."""

REGIONS = ["state", "county"]
HOMES = {
    "h08": ("TX", "Travis"),
    "h01": ("NY", "Kings"),
    "h05": ("GA", "Fulton"),
    "h02": ("NY", "Kings"),
    "h07": ("TX", "Bexar"),
    "h03": ("NY", "Bronx"),
    "h06": ("GA", "Cobb"),
    "h04": ("NY", "Kings"),
    "h09": ("TX", "Travis"),
    "h10": ("GA", "Fulton"),
    "h11": ("GA", "Cobb"),
    "h12": ("TX", "Bexar"),
}
"""The household's county. Neither households nor regions appear in the order of the alphabet."""

PATHS = [("US", "TX", "Travis"), ("US", "TX", "Loving"), ("US", "TX", "Bexar"), ("US", "GA", "Fulton")]
PATHS += [("US", "GA", "Cobb"), ("US", "NY", "Kings"), ("US", "NY", "Bronx")]
HIERARCHY = tt.Hierarchy.from_paths(["root", *REGIONS], PATHS)
"""A public one: in an order of its own, and with a county without people."""


def _make_people() -> list[Row]:
    """The first row is the only one of a person in a household of several, who can be left out."""
    rows = [make_record("ann", "h08", 2)]
    for number, house in enumerate(sorted(HOMES, reverse=True)):
        rows += [
            make_record(f"p{number}-{n}", house, (number + 2 * n) % 6 - 1) for n in range(1 + number % 3)
        ]
    # Records in several households, more than count; and one household whose only member she is.
    rows += [make_record("bob", house, 1 + place) for place, house in enumerate(("h01", "h07", "h05", "h09"))]
    return rows


def make_record(person: str, house: str, hours: int) -> Row:
    state, county = HOMES[house]
    return {"house": house, "person": person, "hours": hours, "state": state, "county": county}


PEOPLE = _make_people()
FRAME = pa.Table.from_pylist([{"house": h, "state": s, "county": c} for h, (s, c) in HOMES.items()])


def to_table(rows: Sequence[Row]) -> pa.Table:
    return pa.Table.from_pylist(list(rows))


def leave_out(person: str) -> list[Row]:
    return [row for row in PEOPLE if row["person"] != person]


def _find_lonely() -> str:
    """Somebody who is alone in a household: without a frame, it would vanish."""
    members = {house: {str(row["person"]) for row in PEOPLE if row["house"] == house} for house in HOMES}
    return next(next(iter(found)) for found in members.values() if len(found) == 1)


NEIGHBOURS: dict[str, list[Row]] = {
    "one person fewer": leave_out("ann"),
    "one person more": [make_record("new", "h11", 5), *PEOPLE],
    "one person with too many records fewer": leave_out("bob"),
    "a person of another quantity": [
        {**row, "hours": 0} if row["person"] == "ann" else row for row in PEOPLE
    ],
}
"""Of PEOPLE, with the same households."""

EMPTIED = leave_out(_find_lonely())
"""A neighbour if there is a frame: a household becomes empty."""

STRAYS: dict[str, list[Row]] = {
    "somebody in no household": [*PEOPLE, {**make_record("new", "h11", 5), "house": None}],
    "somebody outside the frame": [*PEOPLE, {**make_record("new", "h11", 5), "house": "h99"}],
    "somebody in an unknown county": [*PEOPLE, {**make_record("new", "h11", 5), "county": "Nowhere"}],
}
"""Neighbours if such records are dropped: otherwise there is an error."""


# Tables of counts.

LEAVES = [("NY", "Kings"), ("GA", "Cobb"), ("TX", "Travis"), ("DC", None), ("GA", "Fulton"), ("TX", "Bexar")]
"""DC has no counties."""
LEAF = np.array([[5, 3, 1, 1], [2, 4, 1, 0], [3, 3, 0, 2], [4, 3, 1, 0], [0, 1, 1, 0], [6, 2, 0, 1]])
SIZES = (1, 4)


def move_group(leaf: int, size: int) -> Ints:
    """The counts after one person came to a group of this size."""
    moved = LEAF.astype(np.int64)
    moved[leaf, size - 1] -= 1
    moved[leaf, size] += 1
    return moved


MOVED = {
    "Kings": move_group(0, 3),
    "Travis": move_group(2, 1),
    "DC": move_group(3, 1),
    "Fulton": move_group(4, 3),
}
"""Neighbours of LEAF with other cells above zero, and others that are the largest."""


class Order(NamedTuple):
    """How a query may list cells: its ORDER BY, and whether cells without groups are there."""

    key: Callable[[Mapping[str, Any]], Any]
    zeros: bool = False


ORDERS: dict[str, Order] = {
    "as they are": Order(lambda row: 0, zeros=True),
    "without zeros": Order(lambda row: 0),
    "by groups": Order(lambda row: -row["groups"]),
    "by size": Order(lambda row: (row["size"], row["groups"])),
    "by groups of a size": Order(lambda row: (row["size"] != 2, -row["groups"])),
    "shuffled": Order(lambda row: zlib.crc32(str((row["county"], row["size"])).encode()), zeros=True),
}


def list_cells(leaf: Iterable[Iterable[int]], order: Order) -> pa.Table:
    """Counts as a tidy table."""
    rows: list[Row] = [
        {"state": state, "county": county, "size": size, "groups": int(groups)}
        for (state, county), counts in zip(LEAVES, leaf, strict=True)
        for size, groups in enumerate(counts, SIZES[0])
        if groups or order.zeros
    ]
    return pa.Table.from_pylist(sorted(rows, key=order.key))


# Forms.


def shuffle(table: pa.Table, seed: int = 1) -> pa.Table:
    return table.take(np.random.default_rng(seed).permutation(table.num_rows))


def cut(table: pa.Table, parts: int = 3) -> list[pa.Table]:
    edges = [table.num_rows * n // parts for n in range(parts + 1)]
    return [table.slice(a, b - a) for a, b in pairwise(edges)]


def encode(table: pa.Table) -> pa.Table:
    """Text as dictionaries: other ones in each chunk, backwards, with names that no row has."""
    chunks = []
    for part in cut(table):
        columns: list[Any] = []
        for name in table.column_names:
            column = part[name].combine_chunks()
            if pa.types.is_string(column.type):
                values = column.to_pylist()
                known = sorted({*filter(None, values), f"Nobody's {name}"}, reverse=True)
                places = [None if value is None else known.index(value) for value in values]
                column = pa.DictionaryArray.from_arrays(pa.array(places, pa.int32()), pa.array(known))
            columns.append(column)
        chunks.append(pa.table(columns, names=table.column_names))
    return pa.concat_tables(chunks)


def to_categories(table: pa.Table) -> Any:
    """A pandas frame with categories that no row has."""
    frame = table.to_pandas()
    for name in REGIONS:
        kinds = [*sorted(set(frame[name].dropna()), reverse=True), "Nowhere"]
        frame[name] = frame[name].astype("category").cat.set_categories(kinds)
    return frame


def to_polars(table: pa.Table) -> Any:
    import polars as pl

    frame = pl.DataFrame(table)
    return frame.with_columns(pl.col("state").cast(pl.Categorical), pl.col("county").cast(pl.Categorical))


def write_csv(table: pa.Table, folder: Path) -> Path:
    pa_csv.write_csv(table, folder / "data.csv")
    return folder / "data.csv"


def write_packed_csv(table: pa.Table, folder: Path) -> Path:
    """Its columns in another order, in gzip."""
    content = write_csv(table.select(sorted(table.column_names)), folder).read_bytes()
    (folder / "data.csv.gz").write_bytes(gzip.compress(content))
    return folder / "data.csv.gz"


def write_parquet(table: pa.Table, folder: Path) -> Path:
    pa_parquet.write_table(table, folder / "data.parquet")
    return folder / "data.parquet"


def write_small_groups(table: pa.Table, folder: Path) -> Path:
    """Row groups of three rows, with dictionaries of their own."""
    pa_parquet.write_table(encode(table), folder / "data.parquet", row_group_size=3)
    return folder / "data.parquet"


ONE: dict[str, Form] = {
    "Arrow": lambda table, folder: table,
    "Arrow, dictionaries": lambda table, folder: encode(table),
    "pandas": lambda table, folder: table.to_pandas(),
    "pandas, categories": lambda table, folder: to_categories(table),
    "Polars": lambda table, folder: to_polars(table),
    "CSV": write_csv,
    "CSV, packed": write_packed_csv,
    "Parquet": write_parquet,
    "Parquet, row groups": write_small_groups,
}
"""Forms of any table."""


def split_csv(table: pa.Table, folder: Path) -> str:
    for number, part in enumerate(cut(table)):
        names = sorted(table.column_names, reverse=number == 1)
        pa_csv.write_csv(part.select(names), folder / f"part-{number}.csv")
    return str(folder / "part-*.csv")


def split_parquet(table: pa.Table, folder: Path) -> Path:
    for number, part in enumerate(cut(table)):
        pa_parquet.write_table(encode(part), folder / f"part-{number}.parquet")
    return folder


def partition_parquet(table: pa.Table, folder: Path) -> Path:
    """A folder for each state, as Spark and others write it."""
    pa_parquet.write_to_dataset(table, str(folder / "states"), partition_cols=["state"])
    return folder / "states"


SEVERAL: dict[str, Form] = {
    "CSV files": split_csv,
    "Parquet files": split_parquet,
    "Parquet folders": partition_parquet,
}
"""Forms of records only: a table of counts is in one file."""
