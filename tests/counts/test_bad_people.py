"""Wrong records of people through Python: one clear error, nothing of the data in it, nothing left behind."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import ibis
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pa_parquet
import pytest

import tallytree
from tallytree.errors import CountsError, EngineError, HierarchyError, PrivacyError
from tests.bad_input_support import (
    COUNT,
    SECRET,
    Bench,
    Calls,
    Case,
    closed_bench,
    cut,
    list_all,
    list_cases,
    not_utf8,
)

tt: Any = tallytree
"""Untyped here: most of these calls have wrong types, on purpose."""

PEOPLE: dict[str, Any] = {
    "household": [1, 1, 2, COUNT],
    "state": ["GA", "GA", "GA", SECRET],
    "person": [f"{SECRET}-{number}" for number in range(4)],
    "hours": [1, 2, 0, COUNT],
}
HEADER = "household,state\n"
ROWS = f"1,GA\n1,GA\n2,GA\n{COUNT},{SECRET}\n"
GROUPS: dict[str, Any] = {"household": [1, 2, COUNT], "state": ["GA", "GA", SECRET]}

STATES = tallytree.Hierarchy.from_paths(["root", "state"], [("all", "GA"), ("all", SECRET)])
ADDRESS = f"postgresql://tester:{SECRET}@host/database"


def count(source: Any = None, **changes: Any) -> Any:
    """Counting that works, but for ``changes``."""
    options = {"group": "household", "regions": ["state"], "sizes": (0, 3), **changes}
    if "quantity" in options:
        options.setdefault("max_quantity", 1)
    return tt.count_groups(pa.table(PEOPLE) if source is None else source, **options)


def spill(folder: Any, **options: Any) -> Any:
    return count(engine=tt.Engine(spill_folder=folder, **options))


def having(name: str, values: Any, **options: Any) -> Callable[[Bench], object]:
    """Count people with these values in a column."""
    return lambda b: count(pa.table({**PEOPLE, name: values}), **options)


def with_frame(**columns: Any) -> Any:
    return count(frame=pa.table({**GROUPS, **columns}))


def csv(bench: Bench, rows: str | bytes, header: str = HEADER, **options: Any) -> Any:
    """Count a CSV file with these rows."""
    content = header.encode() + (rows.encode() if isinstance(rows, str) else rows)
    return count(bench.file("people.csv", content), **options)


def parquet(bench: Bench, name: str = "people.parquet", **columns: Any) -> Path:
    path = bench.folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    pa_parquet.write_table(pa.table({**PEOPLE, **columns}), path)
    return path


def damage(path: Path, change: Callable[[Path], object]) -> Path:
    change(path)
    return path


def garble_middle(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[:10] + b"\xff" * 40 + content[50:])


def make_folder(bench: Bench, name: str) -> Path:
    (bench.folder / name).mkdir()
    return bench.folder / name


def make_pipe(bench: Bench) -> Path:
    os.mkfifo(bench.folder / "pipe.csv")
    return bench.folder / "pipe.csv"


COLUMNS: Calls = {
    "group-missing": (lambda b: count(group="houshold"), "no column.*did you mean 'household'"),
    "region-missing": (lambda b: count(regions=["stat"]), "did you mean 'state'"),
    "person-missing": (lambda b: count(person="persom"), "did you mean 'person'"),
    "quantity-missing": (lambda b: count(quantity="hour"), "did you mean 'hours'"),
    "column-in-other-case": (lambda b: count(group="Household"), "did you mean 'household'"),
    "columns-all-missing": (lambda b: count({SECRET: [1]}), "none of the columns 'household'"),
    "group-none": (lambda b: count(group=None), "name of a column, or a list"),
    "group-number": (lambda b: count(group=3), "name of a column, or a list"),
    "group-no-columns": (lambda b: count(group=[]), "name of a column, or a list"),
    "group-not-names": (lambda b: count(group=["household", None]), "name of a column"),
    "group-twice": (lambda b: count(group=["household"] * 2), "'household'.*two purposes"),
    "group-is-quantity": (lambda b: count(quantity="household"), "two purposes"),
    "region-is-person": (lambda b: count(person="state"), "'state'.*two purposes"),
    "region-twice": (lambda b: count(regions=["state", "state"]), "'state'.*two purposes"),
    "regions-text": (lambda b: count(regions="state"), "list of names"),
    "regions-none": (lambda b: count(regions=None), "list of names"),
    "person-number": (lambda b: count(person=1), "person column.*by its name"),
    "quantity-list": (lambda b: count(quantity=["hours"]), "quantity column.*by its name"),
    "column-ambiguous": (
        lambda b: count(pa.table(PEOPLE).append_column("state", pa.array([SECRET] * 4))),
        "two columns 'state'",
    ),
    "column-ambiguous-csv": (
        lambda b: csv(b, f"1,GA,{SECRET}\n", "household,state,state\n"),
        "two columns 'state'",
    ),
}


MOMENT = datetime(2020, 1, 1)
BAD_KEYS: dict[str, tuple[Any, str]] = {
    "fraction": ([1.5, 2.0, 3.0, COUNT + 0.5], "holds float64; names and keys must be text or whole"),
    "nan": ([1.0, 2.0, np.nan, COUNT], "holds float64"),
    "infinite": ([1.0, 2.0, np.inf, COUNT], "holds float64"),
    "moment": ([MOMENT] * 4, "holds timestamp"),
    "date": ([MOMENT.date()] * 4, "holds date"),
    "list": ([[COUNT]] * 4, "holds array"),
    "struct": ([{SECRET: 1}] * 4, "holds struct; names"),
    "boolean": ([True, False, True, True], "holds boolean"),
    "bytes": ([SECRET.encode()] * 4, "holds binary"),
    "nothing": ([None] * 4, "holds null"),
    "fixed-bytes": (
        pa.array([b"ab"] * 4, pa.binary(2)),
        "columns hold .*fixed_size_binary.*; names and keys",
    ),
    "interval": (
        pa.array([(1, 2, COUNT)] * 4, pa.month_day_nano_interval()),
        "columns hold .*month_day_nano_interval",
    ),
    "union": (
        pa.UnionArray.from_sparse(pa.array([0] * 4, pa.int8()), [pa.array([SECRET] * 4)]),
        "columns hold .*sparse_union",
    ),
    "null": ([None, None, "a", SECRET], r"Missing values in column '\w+': 2"),
    "null-number": ([None, 1.0, 2.0, COUNT], r"Missing values in column '\w+': 1"),
}
BAD_QUANTITIES: dict[str, tuple[Any, str]] = {
    "nan": ([1, 2, np.nan, COUNT], "'hours' that are not whole numbers: 1"),
    "infinite": ([1, np.inf, -np.inf, COUNT], "not whole numbers: 2"),
    "fraction": ([1.5, 2.0, 3.0, COUNT + 0.5], "not whole numbers: 2"),
    "decimal": ([Decimal("1.5"), Decimal(2), Decimal(3), Decimal(COUNT)], "not whole numbers: 1"),
    "text": (["1", "two", "", SECRET], "Missing values in column 'hours': 1; .*not whole numbers: 2"),
    "endless": (["1e999", "9" * 400, "-0", str(COUNT)], "not whole numbers: 2"),
    "null": ([None, 1, None, COUNT], "Missing values in column 'hours': 2"),
    "boolean": ([True] * 4, "'hours' holds boolean; quantities must be whole"),
    "list": ([[COUNT]] * 4, "'hours' holds array"),
    "moment": ([date(2020, 1, 1)] * 4, "'hours' holds date"),
    "bytes": ([SECRET.encode()] * 4, "'hours' holds binary"),
}

VALUES: Calls = {
    **{
        f"{column}-{name}": (having(column, values, person="person"), words)
        for column in ("household", "state", "person")
        for name, (values, words) in BAD_KEYS.items()
    },
    **{
        f"hours-{name}": (having("hours", values, quantity="hours"), words)
        for name, (values, words) in BAD_QUANTITIES.items()
    },
    "state-decimal": (having("state", [Decimal("1.5")] * 4), "decimal"),
    "state-empty": (
        having("county", ["a", "a", "a", ""], regions=["state", "county"]),
        "Missing values in column 'county': 1",
    ),
    "state-blank": (having("state", ["GA", "GA", "GA", " "]), "Missing values in column 'state': 1"),
    "state-blank-otherwise": (having("state", ["GA", "GA", "GA", "\xa0"]), "not a leaf of the hierarchy: 1"),
    "household-blank": (having("household", ["a", "b", " ", ""]), "Missing values in column 'household': 2"),
    "states-all-missing": (having("state", ["", " ", None, ""]), "no records with a name in every region"),
    "states-in-two-ways": (
        having("state", ["GA", " ga", SECRET, SECRET.lower()], group="person"),
        "Names in column 'state' that differ from another one in case or spaces only: 2. Spell each",
    ),
    "states-other-than-listed": (
        having("state", ["GA ", "ga", SECRET, "Utah"], hierarchy=STATES, group="person"),
        "not a leaf of the hierarchy: 3; regions of these that differ .* in case or spaces only: 2. Correct",
    ),
    "state-not-utf8": (
        having("state", not_utf8([b"GA", b"GA", b"GA", SECRET.encode() + b"\xff"])),
        "not UTF-8",
    ),
    "two-regions": (
        having("state", ["GA", SECRET, "GA", "GA"]),
        r"Groups in more than one region: 1. Filter .*give group=\['household', 'state'\] \(--group",
    ),
    "no-rows": (lambda b: count(pa.table(PEOPLE).slice(0, 0)), "There are no records"),
    "no-columns": (lambda b: count(pd.DataFrame()), "none of the columns"),
    "table-number": (lambda b: count(COUNT), "int cannot be read as a table"),
    "table-no-files": (lambda b: count([]), "none of the columns|cannot be read"),
    "table-list": (lambda b: count([COUNT, SECRET]), "list cannot be read as a table"),
    "table-query": (lambda b: count(make_failing_query()), "cannot be read as a table"),
    "table-broken": (lambda b: count(Broken()), "A Broken cannot be read as a table"),
    "table-series": (lambda b: count(pd.Series([COUNT])), "Series cannot be read as a table"),
    "table-ragged": (lambda b: count({**PEOPLE, "state": [SECRET]}), "cannot be read as a table"),
    "table-mixed": (
        lambda b: count(pd.DataFrame({**PEOPLE, "household": [1, 2, COUNT, SECRET]})),
        "cannot be read as a table",
    ),
}


def make_failing_query() -> duckdb.DuckDBPyRelation:
    """It is run when it is read, and then says which value it stumbled over."""
    broken = f"CAST('{SECRET}' || number AS integer)"
    case = f"CASE WHEN number < 3000 THEN number ELSE {broken} END"
    return duckdb.connect().sql(f"SELECT {case} AS household, 'GA' AS state FROM range(5000) t(number)")


class Broken:
    """A table of a library with a fault."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        raise RuntimeError(SECRET)


SETTINGS: Calls = {
    "sizes-reversed": (lambda b: count(sizes=(3, 1)), "are not a range"),
    "sizes-negative": (lambda b: count(sizes=(-1, 3)), "are not a range"),
    "sizes-three": (lambda b: count(sizes=(1, 2, 3)), "pair of whole numbers"),
    "sizes-none": (lambda b: count(sizes=None), "pair of whole numbers"),
    "sizes-huge": (lambda b: count(sizes=(0, 2**63)), "are not a range"),
    "sizes-many": (lambda b: count(sizes=(0, 2**20)), "more than 1048576"),
    "cells": (
        lambda b: count(
            {"household": range(2**11 + 1), "state": [f"{SECRET} {n}" for n in range(2**11 + 1)]},
            sizes=(0, 2**20 - 1),
        ),
        "more than 2147483648 leaves x sizes",
    ),
    "records-without-person": (lambda b: count(max_records=2), "max_records needs the column that"),
    "quantity-unbounded": (
        lambda b: count(quantity="hours", max_quantity=None),
        "A quantity needs its bound, max_quantity",
    ),
    "missing-word": (lambda b: count(missing="ignore"), "one of 'refuse', 'drop', not 'ignore'"),
    "root-empty": (lambda b: count(root=""), "root must have a name"),
    "root-level-none": (lambda b: count(root_level=None), "root's level must have a name"),
    "hierarchy-text": (lambda b: count(hierarchy="US"), "must be a tallytree.Hierarchy"),
    "hierarchy-levels": (
        lambda b: count(hierarchy=STATES, regions=["state", "person"]),
        "1 levels below its root, but 2 region columns",
    ),
    "hierarchy-regions": (
        lambda b: count(hierarchy=tt.Hierarchy.from_paths(["root", "state"], [("all", "GA")])),
        "Rows whose region is not a leaf of the hierarchy: 1",
    ),
    "hierarchy-null": (
        having("state", ["GA", None, None, SECRET], hierarchy=STATES),
        "Missing values in column 'state': 2",
    ),
}

BAD_LIMITS = [
    "much",
    "",
    "0GB",
    "-1GB",
    "1.5GB",
    "50%",
    8,
    "8GB; DROP TABLE x",
    "999999999TB",
    "1\u0663GB",
    "8Gi",
]


def limited(size: Any) -> Callable[[Bench], object]:
    return lambda b: count(engine=tt.Engine(memory_limit=size))


ENGINES: Calls = {
    "engine-text": (lambda b: count(engine="duckdb"), "must be a tallytree.Engine"),
    "engine-unknown": (lambda b: tt.Engine(name="dukdb"), "did you mean 'duckdb'"),
    "engine-list": (lambda b: tt.Engine(name=["duckdb"]), "no engine"),
    "master-without-spark": (lambda b: tt.Engine(master="local[2]"), "belongs to Spark"),
    "master-empty": (lambda b: tt.Engine(name="spark", master=" "), "master must be like"),
    "master-number": (lambda b: tt.Engine(name="spark", master=2), "master must be like"),
    "master-unknown": (lambda b: tt.Engine(name="spark", master="host"), "master must be like"),
    "threads-zero": (lambda b: tt.Engine(threads=0), "from 1 to 4096"),
    "threads-text": (lambda b: tt.Engine(threads="2"), "from 1 to 4096"),
    "threads-bool": (lambda b: tt.Engine(threads=True), "from 1 to 4096"),
    "threads-huge": (lambda b: tt.Engine(threads=2**40), "from 1 to 4096"),
    "threads-of-spark": (lambda b: tt.Engine(name="spark", threads=2), "with its master"),
    **{f"memory-{place}": (limited(size), "such as 8GB") for place, size in enumerate(BAD_LIMITS)},
    "memory-tiny": (limited("1KB"), "ran out of memory"),
    "spill-number": (lambda b: tt.Engine(spill_folder=3), "given by its path"),
    "spill-missing": (
        lambda b: spill(b.folder / "no"),
        "Cannot write temporary files to .*no': No such file",
    ),
    "spill-file": (lambda b: spill(b.file("file", "")), "Cannot write temporary files to .*Not a directory"),
    "spill-comma": (
        lambda b: spill(make_folder(b, "a,b"), name="spark"),
        "Spark cannot spill to .*: a comma makes two folders of it",
    ),
    "spill-null": (lambda b: spill("a\0b"), "such a name"),
    "table-of-a-file": (lambda b: count(b.file("x.csv", "a"), table="x"), "and only with one"),
    "table-of-a-data-frame": (lambda b: count(table="people"), "Give the name of a table"),
    "database-without-table": (lambda b: count(ADDRESS), "name of a table with a database URL"),
    "database-engine": (
        lambda b: count(ADDRESS, table="x", engine=tt.Engine(threads=2)),
        "brings its own engine",
    ),
    "ibis-engine": (lambda b: count(make_ibis_table(), engine=tt.Engine(threads=2)), "brings its own engine"),
    "ibis-two-engines": (
        lambda b: count(make_ibis_table(), frame=make_ibis_table()),
        "In the frame: All tables must be in the same engine",
    ),
}


def make_ibis_table() -> ibis.Table:
    connection = ibis.duckdb.connect()
    connection.con.execute("CREATE TABLE people AS SELECT 1 AS household, 'GA' AS state")
    return connection.table("people")


BOUNDS: Calls = {
    "records-zero": (lambda b: count(person="person", max_records=0), "from 1 to 1048576"),
    "records-fraction": (lambda b: count(person="person", max_records=1.5), "max_records must"),
    "quantity-huge": (lambda b: count(quantity="hours", max_quantity=2**63), "max_quantity must"),
    "quantity-text": (lambda b: count(quantity="hours", max_quantity="2"), "max_quantity must"),
}

FRAMES: Calls = {
    "frame-null-group": (lambda b: with_frame(household=[1, None, COUNT]), "In the frame: Miss.*: 1"),
    "frame-null-region": (lambda b: with_frame(state=["GA", None, None]), "'state': 2"),
    "frame-no-region": (lambda b: count(frame={"household": [1]}), "frame: .*no column 'state'"),
    "frame-no-group": (lambda b: count(frame={"state": [SECRET]}), "frame: .*no column 'household'"),
    "frame-fraction": (lambda b: with_frame(household=[1.5, 2, 3]), "In the frame: .*holds float64"),
    "frame-empty": (lambda b: count(frame=pa.table(GROUPS).slice(0, 0)), "frame: There are no rec"),
    "frame-number": (lambda b: count(frame=COUNT), "In the frame: A int cannot be read"),
    "frame-two-regions": (
        lambda b: count(
            {"household": [1, COUNT]}, frame={"household": [1, COUNT, COUNT], "state": ["a", "a", SECRET]}
        ),
        "Groups in more than one region: 1",
    ),
    "frame-and-people-disagree": (
        lambda b: with_frame(state=[SECRET, "GA", SECRET]),
        "Groups in more than one region: 1",
    ),
    "frame-strays": (
        lambda b: count({"household": [1, 3, COUNT]}, frame={"household": [1, 2], "state": ["GA", SECRET]}),
        "Groups of people that are not in the frame: 2",
    ),
    "frame-regions-unknown": (
        lambda b: count(frame=GROUPS, hierarchy=tt.Hierarchy.from_paths(["n", "s"], [("all", "GA")])),
        "In the frame: Rows whose region is not a leaf of the hierarchy: 1",
    ),
}

FILES: Calls = {
    "hierarchy-address": (lambda b: tt.read_hierarchy(ADDRESS, regions=["state"]), "An address"),
    "csv-header-only": (lambda b: csv(b, ""), "There are no records"),
    "csv-endless-line": (lambda b: csv(b, "", "x" * (2**22 + 1)), "is it damaged"),
    "csv-no-header": (lambda b: csv(b, ROWS, ""), "none of the columns.*the table has a header"),
    "csv-title": (lambda b: csv(b, HEADER + ROWS, f"{SECRET}\n"), "none of the columns"),
    "csv-blank-line-first": (lambda b: csv(b, HEADER + ROWS, "\n"), "begins with an empty line"),
    "csv-other-delimiter": (lambda b: csv(b, "1;GA\n", "household;state\n"), "none of the columns"),
    "csv-short-row": (lambda b: csv(b, ROWS + f"{SECRET}\n"), "cannot be read as a table"),
    "csv-long-row": (lambda b: csv(b, f"1,GA,{SECRET}\n" + ROWS), "cannot be read as a table"),
    "csv-cut-in-a-quote": (lambda b: csv(b, ROWS + f'2,"{SECRET}'), "cannot be read as a table"),
    "csv-quote-goes-on": (lambda b: csv(b, ROWS + f'2,"{SECRET}"A\n'), "cannot be read as a tab"),
    "csv-cut-in-the-header": (lambda b: csv(b, ROWS, 'household,"state\n'), "is it damaged"),
    "csv-mixed-line-ends": (lambda b: csv(b, "1,GA\r\n" + ROWS), "mixed line ends"),
    "csv-latin": (lambda b: csv(b, "3,Curaçao\n".encode("latin-1")), "not UTF-8"),
    "csv-latin-far-down": (lambda b: csv(b, (ROWS * 5000 + "3,é\n").encode("latin-1")), "not UTF-8"),
    "csv-utf16": (lambda b: csv(b, "", (HEADER + ROWS).encode("utf-16").decode("latin-1")), "."),
    "csv-null": (lambda b: csv(b, f'{COUNT},GA\n,GA\n"",GA\n'), "Missing values.*'household': 2"),
    "csv-quantity": (
        lambda b: csv(b, f"1,{SECRET},many\n", "household,state,hours\n", quantity="hours"),
        ": 1",
    ),
    "gzip-none": (lambda b: count(b.file("people.csv.gz", HEADER + ROWS)), "is it damaged"),
    "gzip-cut": (
        lambda b: count(b.file("people.csv.gz", gzip.compress((HEADER + ROWS * 999).encode())[:-12])),
        "it is cut off",
    ),
    "parquet-text": (lambda b: count(b.file("p.parquet", HEADER + ROWS)), "damaged"),
    "parquet-cut": (lambda b: count(damage(parquet(b), cut)), "damaged"),
    "parquet-garbled": (lambda b: count(damage(parquet(b), garble_middle)), "damaged"),
    "parquet-without-the-column": (
        lambda b: count([parquet(b), parquet(b, "b.parquet", state=[None] * 4)]),
        "Missing values in column 'state': 4",
    ),
    "csv-without-the-column": (
        lambda b: count([b.file("a.csv", HEADER + ROWS), b.file("b.csv", "household\n1\n")]),
        "no column 'state'",
    ),
    "parquet-names-like-others": (
        lambda b: count([parquet(b, name, State=["x"] * 4) for name in ("a.parquet", "b.parquet")]),
        "names differ only in case",
    ),
}

PATHS: Calls = {
    "file-missing": (lambda b: count(b.folder / "no.parquet"), "There is no file .*no.parquet"),
    "file-nameless": (lambda b: count(""), "There is no file ''"),
    "file-below-file": (lambda b: count(b.file("x.csv", "a") / "y.csv"), "no file|cannot be read"),
    "file-null-name": (lambda b: count("a\0.csv"), "no file|such a name"),
    "file-long-name": (lambda b: count("x" * 300 + ".csv"), "File name too long"),
    "file-surrogate-name": (lambda b: count("\udcff.csv"), "There is no file"),
    "file-ending": (lambda b: count(b.file("people.xlsx", ROWS)), "neither a CSV nor a Parquet"),
    "file-is-a-pipe": (lambda b: count(make_pipe(b)), "pipe.csv' is not a file"),
    "folder-without-parquet": (lambda b: count(b.file("x.csv", "a").parent), "no Parquet files"),
    "folder-with-an-empty-file": (lambda b: count(b.file("x.parquet", "").parent), "x.parquet' is empty"),
    "glob-without-match": (lambda b: count(b.folder / "*.csv"), r"There is no file .*\*.csv"),
    "glob-wrong": (lambda b: count("**people.csv"), "cannot be read|no file"),
    "glob-mixed": (lambda b: count(parquet(b, "x/a.parquet").parent.parent / "*/*.csv"), "no file"),
    "mixed-kinds": (lambda b: count([b.file("a.csv", "a"), parquet(b)]), "not all of one kind"),
    "list-with-a-missing-file": (lambda b: count([parquet(b), b.folder / "no.parquet"]), "no file"),
    "list-with-an-address": (lambda b: count([parquet(b), ADDRESS]), "An address was given"),
    "path-of-an-address": (lambda b: count(Path(ADDRESS)), "An address was given"),
    "address-http": (lambda b: count(f"http://{SECRET}/people.csv"), "an address that Spark can"),
    "address-hdfs": (lambda b: count(f"hdfs://{SECRET}/people.parquet"), "an address that Spark can"),
    "address-driver": (lambda b: count(ADDRESS.replace("sql", "sql+x")), "an address that Spark can"),
    "database-port": (
        lambda b: count(f"postgresql://u:{SECRET}@127.0.0.1:{SECRET}/x", table="x"),
        "no connection to the database",
    ),
    "csv-empty": (lambda b: csv(b, "", ""), "people.csv' is empty"),
    "parquet-empty": (lambda b: count(b.file("p.parquet", "")), "is empty"),
    "partitions-of-two-folders": (
        lambda b: count([parquet(b, f"{n}/state=GA/x.parquet").parent.parent for n in "ab"]),
        "as one folder or one pattern",
    ),
    "partitions-below-another": (
        lambda b: count(parquet(b, "household=7/part/state=GA/x.parquet").parents[1]),
        "'household=7'.*has the name of a column",
    ),
    "frame-file": (lambda b: count(frame=b.folder / "no.csv"), "In the frame: There is no file"),
    "frame-address": (lambda b: count(frame=ADDRESS), "In the frame: An address was given"),
}


CASES = list_cases(
    (CountsError, COLUMNS),
    (CountsError, VALUES),
    (CountsError, SETTINGS),
    (CountsError, FRAMES),
    (CountsError, FILES),
    (PrivacyError, BOUNDS),
    (EngineError, ENGINES),
    (EngineError, PATHS),
    (HierarchyError, {"root-level-taken": (lambda b: count(root_level="state"), "the same name")}),
)


@pytest.mark.parametrize("case", CASES)
def test_wrong_people_are_one_clear_error(case: Case, bench: Bench) -> None:
    case.check(bench)


@pytest.mark.parametrize(
    "values",
    [[1, 2, 0, 2**62], [1, 2, -(2**62), 9], [1.0, 2.0, -1e18, 1e200], ["1", " 2 ", "-1e15", "1e19"]],
    ids=["64-bit", "negative", "float", "text"],
)
def test_huge_quantities_are_clipped(values: list[Any], bench: Bench) -> None:
    counts = count({**PEOPLE, "hours": values}, quantity="hours", max_quantity=2)
    assert counts.leaf.tolist() == [[1, 0, 0, 1], [0, 0, 1, 0]]
    assert list_all(bench.spill) == []


def test_too_little_memory_is_one_clear_error(many: Path, bench: Bench) -> None:
    engine = tt.Engine(memory_limit="10MB")
    words = "ran out of memory, or of space to spill to"
    Case(lambda b: count(many, engine=engine), words, EngineError).check(bench)


CLOSED: dict[str, tuple[int, Callable[[Bench], object], str]] = {
    "csv": (0o700, lambda b: count(b.folder / "in/people.csv"), "people.csv' cannot be read: Perm"),
    "folder": (0o700, lambda b: count(b.folder / "in"), "people.parquet' cannot be read: Perm"),
    "below": (0o000, lambda b: count(b.folder / "in/people.csv"), "cannot be read: Permission"),
    "folder-closed": (0o000, lambda b: count(b.folder / "in"), "cannot be read: Permission"),
    "folder-closed-below": (0o000, lambda b: count(b.folder), "cannot be read: Permission"),
    "frame": (0o000, lambda b: count(frame=b.folder / "in/x.csv"), "In the frame: .*Permission"),
    "spill": (0o500, lambda b: spill(b.folder / "in"), "Cannot write temporary files to .*Permission denied"),
}


@pytest.mark.parametrize(("mode", "act", "words"), CLOSED.values(), ids=CLOSED)
def test_no_permission_is_one_clear_error(
    mode: int, act: Callable[[Bench], object], words: str, bench: Bench
) -> None:
    count()  # all that is loaded late is loaded now, while it can be read
    with closed_bench(bench, mode, "people.csv", "people.parquet") as closed:
        if not os.access(tt.__file__, os.R_OK, effective_ids=True):
            pytest.skip("others than root cannot read the package here")
        Case(act, words, EngineError).check(closed)


def test_what_is_spilled_is_for_nobody_else(
    many: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[int, list[str]]] = []
    monkeypatch.setattr("tallytree.counts.engines.duckdb.POLL", 0.001)

    def look(what: str, steps: int) -> Callable[[int], None]:
        def advance(done: int) -> None:
            for folder in tmp_path.iterdir():
                seen.append((folder.stat().st_mode & 0o777, list_all(folder)))

        return advance

    before = os.umask(0)
    try:
        count(many, engine=tt.Engine(memory_limit="40MB", spill_folder=tmp_path), progress=look)
    finally:
        os.umask(before)
    assert seen
    assert {mode for mode, _ in seen} == {0o700}
    assert list_all(tmp_path) == []
