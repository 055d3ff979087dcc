"""Records of people are counted as the obvious loop counts them, wherever they are."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import ibis
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tallytree as tt
from tallytree.errors import CountsError
from tests.counts.people import (
    COUNTY,
    GROUP,
    PERSON,
    QUANTITY,
    STATE,
    People,
    as_cells,
    count_slowly,
    draw_people,
)


@given(seed=st.integers(0, 2**32), text=st.booleans())
def test_groups_are_counted_as_by_the_obvious_loop(seed: int, text: bool) -> None:
    people = draw_people(np.random.default_rng(seed), text=text)
    counts = tt.count_groups(people.table, frame=people.frame_table, **people.arguments)
    assert as_cells(counts) == count_slowly(people)


def write_parquet(table: pa.Table, folder: Path) -> Any:
    pa_parquet.write_table(table, folder / "people.parquet")
    return folder / "people.parquet"


def write_csv(table: pa.Table, folder: Path) -> Any:
    pa_csv.write_csv(table, folder / "people.csv")
    return str(folder / "people.csv")


def write_parts(table: pa.Table, folder: Path) -> Any:
    """Two files with their columns in different orders."""
    (folder / "parts").mkdir()
    half = table.num_rows // 2
    pa_parquet.write_table(table.slice(0, half), folder / "parts" / "a.parquet")
    pa_parquet.write_table(table.slice(half).select(table.column_names[::-1]), folder / "parts" / "b.parquet")
    return folder / "parts"


def write_glob(table: pa.Table, folder: Path) -> Any:
    return str(write_parts(table, folder) / "*.parquet")


def write_list(table: pa.Table, folder: Path) -> Any:
    return sorted(write_parts(table, folder).iterdir())


def bind(table: pa.Table, folder: Path) -> Any:
    return ibis.duckdb.connect().read_parquet(str(write_parquet(table, folder)))


SOURCES: dict[str, Callable[[pa.Table, Path], Any]] = {
    "pandas": lambda table, folder: table.to_pandas(),
    "polars": lambda table, folder: pl.from_arrow(table),
    "parquet": write_parquet,
    "csv": write_csv,
    "folder": write_parts,
    "glob": write_glob,
    "list": write_list,
    "ibis": bind,
}


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("seed", range(4))
def test_every_kind_of_source_gives_the_same(source: str, seed: int, tmp_path: Path) -> None:
    people = draw_people(np.random.default_rng(seed), text=seed % 2 == 0)
    table = SOURCES[source](people.table, tmp_path)
    counts = tt.count_groups(table, frame=people.frame_table, **people.arguments)
    assert as_cells(counts) == count_slowly(people)


@pytest.mark.parametrize("seed", range(3))
def test_a_frame_may_be_a_file_and_its_groups_text(seed: int, tmp_path: Path) -> None:
    people = draw_people(np.random.default_rng(seed))
    frame = [{GROUP: row[GROUP], **{k: v for k, v in row.items() if k != GROUP}} for row in people.records]
    people = replace(people, frame=frame)
    assert people.frame_table is not None
    path = write_csv(people.frame_table, tmp_path)  # where numbers are text
    assert as_cells(tt.count_groups(people.table, frame=path, **people.arguments)) == count_slowly(people)


def test_any_other_ibis_table_works(tmp_path: Path) -> None:
    """SQLite has no hash, so there the group's name decides which records are kept."""
    people = replace(draw_people(np.random.default_rng(5)), max_records=50, person=True)
    people.table.to_pandas().to_sql("people", sqlite3.connect(tmp_path / "people.db"), index=False)
    table = ibis.sqlite.connect(tmp_path / "people.db").table("people")
    counts = tt.count_groups(table, frame=people.frame_table, **people.arguments)
    assert as_cells(counts) == count_slowly(people)
    limited = tt.count_groups(table, **{**people.arguments, "max_records": 1, "hierarchy": None})
    # A group of which nothing is kept does not exist, and each person keeps one record.
    assert 0 < limited.total <= min(len({row[key] for row in people.records}) for key in (GROUP, PERSON))


NUMBERED = ["7", "-3", "0", "12", "012", "+5", "5 ", "1_0", "7\n", "x", "\u0663", "9" * 19]
"""Regions of a hierarchy; only the first four are what a column of whole numbers can name."""


@pytest.mark.parametrize("kind", [pa.int8(), pa.int64(), pa.uint8(), pa.string()], ids=str)
def test_whole_numbers_name_the_regions_that_are_written_so(kind: pa.DataType) -> None:
    hierarchy = tt.Hierarchy.from_paths(["root", "zone"], [("all", name) for name in NUMBERED])
    named = [name for name in NUMBERED[:4] if not (name == "-3" and kind == pa.uint8())]
    zones = pa.array(named if kind == pa.string() else list(map(int, named)), kind)
    options: dict[str, Any] = {"group": "taxi", "regions": ["zone"], "sizes": (1, 1), "hierarchy": hierarchy}
    counts = tt.count_groups(pa.table({"taxi": range(len(named)), "zone": zones}), **options)
    assert counts.hierarchy is hierarchy
    assert as_cells(counts) == {(("all", name), 1): 1 for name in named}
    for stray in (5, 10, 3):
        zones = pa.array([str(stray) if kind == pa.string() else stray], kind)
        with pytest.raises(CountsError, match="not a leaf of the hierarchy: 1"):
            tt.count_groups(pa.table({"taxi": [1], "zone": zones}), **options)


def test_names_may_be_missing_below_a_leaf_of_whole_numbers() -> None:
    paths = [("all", "1", "a"), ("all", "2"), ("all", "3", "04"), ("all", "3", "4")]
    hierarchy = tt.Hierarchy.from_paths(["root", "zone", "block"], paths)
    for blocks in (["a", None, "4"], ["a", None, "04"]):
        people = pa.table({"taxi": [1, 2, 3], "zone": [1, 2, 3], "block": blocks})
        counts = tt.count_groups(
            people, group="taxi", regions=["zone", "block"], sizes=(1, 1), hierarchy=hierarchy
        )
        expected = [("all", "1", "a"), ("all", "2"), ("all", "3", blocks[2])]
        assert as_cells(counts) == {(path, 1): 1 for path in expected}


@pytest.mark.parametrize("kind", [pa.float32(), pa.float64()], ids=str)
def test_floats_are_keys_only_where_they_tell_whole_numbers_apart(kind: pa.DataType) -> None:
    """As pandas makes of whole numbers of which some are missing."""
    most = 2**24 if kind == pa.float32() else 2**53
    for last, is_key in ((most, True), (most + 2, False)):
        groups = pa.array(np.array([1, last], dtype=kind.to_pandas_dtype()))
        people = pa.table({"household": groups})
        if is_key:
            assert tt.count_groups(people, group="household", regions=[], sizes=(1, 1)).total == 2
            continue
        with pytest.raises(CountsError, match="'household' holds float"):
            tt.count_groups(people, group="household", regions=[], sizes=(1, 1))


def test_a_group_may_be_its_own_person() -> None:
    """As a taxi is: of its trips, so many count."""
    trips = pa.table({"taxi": [1] * 5 + [2] * 2 + [3]})
    counts = tt.count_groups(trips, group="taxi", person="taxi", regions=[], sizes=(0, 9), max_records=3)
    assert as_cells(counts) == {(("all",), 3): 1, (("all",), 2): 1, (("all",), 1): 1}


def spoil(
    people: People, generator: np.random.Generator
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The records with new ones among them that something is wrong with, and those that are to count.

    The wrong ones are of the same persons, in the same groups and in others: they must neither count, nor
    take the place of a record that does, nor name a group.
    """
    framed = {row[GROUP] for row in people.frame or []}
    wrong = []
    for record in people.records:
        blank: list[dict[str, Any]] = [{GROUP: None}, {PERSON: None}, {QUANTITY: None}, {COUNTY: "nowhere"}]
        if framed:
            blank.append({GROUP: "stray" if isinstance(record[GROUP], str) else 10**6})
        change = blank[int(generator.integers(len(blank)))]
        used = (
            {GROUP, COUNTY}
            | ({PERSON} if people.person else set())
            | ({QUANTITY} if people.quantity else set())
        )
        if set(change) <= used:
            wrong.append({**record, **change})
    every = [*people.records, *wrong]
    generator.shuffle(every)
    return every, wrong


@settings(max_examples=30)
@given(seed=st.integers(0, 2**32), text=st.booleans())
def test_what_is_wrong_is_dropped_as_if_it_had_never_been_there(seed: int, text: bool) -> None:
    generator = np.random.default_rng(seed)
    people = draw_people(generator, text=text)
    paths = sorted({("US", row[STATE], row[COUNTY]) for row in people.records + (people.frame or [])})
    people = replace(people, hierarchy=tt.Hierarchy.from_paths(["nation", STATE, COUNTY], paths))
    every, wrong = spoil(people, generator)
    dirty = replace(people, records=every)
    counts = tt.count_groups(dirty.table, frame=people.frame_table, missing="drop", **people.arguments)
    assert as_cells(counts) == count_slowly(people)
    if wrong:
        with pytest.raises(CountsError):
            tt.count_groups(dirty.table, frame=people.frame_table, **people.arguments)


def test_dropping_says_the_same_whether_there_was_anything_to_drop() -> None:
    hierarchy = tt.Hierarchy.from_paths(["root", "state"], [("all", "GA"), ("all", "NY")])
    notes = []
    for states in (["GA", "NY"], ["GA", None], ["GA", "somewhere"]):
        table = pa.table({"household": [1, 2], "state": states})
        counts = tt.count_groups(
            table, group="household", regions=["state"], sizes=(1, 3), missing="drop", hierarchy=hierarchy
        )
        notes.append(counts.assumptions)
    assert len(set(notes)) == 1
    assert any("are not counted, if there are any" in note for note in notes[0])
    strict = tt.count_groups(
        pa.table({"household": [1], "state": ["GA"]}), group="household", regions=["state"], sizes=(1, 3)
    )
    assert not any("not counted" in note for note in strict.assumptions)


def test_regions_of_the_records_are_the_complete_ones_if_others_are_dropped() -> None:
    table = pa.table({"household": [1, 2, 3, 4], "state": ["NY", None, " ", "GA"]})
    counts = tt.count_groups(table, group="household", regions=["state"], sizes=(1, 3), missing="drop")
    assert counts.hierarchy.leaves == (("all", "GA"), ("all", "NY"))
    assert counts.leaf.tolist() == [[1, 0, 0], [1, 0, 0]]


def test_where_a_record_and_the_frame_disagree_the_frame_counts_if_others_are_dropped() -> None:
    frame = pa.table({"household": [1, 2], "state": ["GA", "NY"]})
    people = pa.table({"household": [1, 1, 2], "state": ["GA", "NY", "NY"]})
    options: dict[str, Any] = {"group": "household", "regions": ["state"], "sizes": (0, 3), "frame": frame}
    counts = tt.count_groups(people, missing="drop", **options)
    assert counts.leaf.tolist() == [[0, 0, 1, 0], [0, 1, 0, 0]]
    with pytest.raises(CountsError, match="more than one region: 1"):
        tt.count_groups(people, **options)
    twice = pa.table({"household": [1, 1, 2], "state": ["GA", "NY", "NY"]})
    with pytest.raises(CountsError, match="more than one region: 1"):  # what is wrong with a frame is public
        tt.count_groups(people, missing="drop", **{**options, "frame": twice})


def test_records_are_no_frame_of_themselves(tmp_path: Path) -> None:
    table = pa.table({"household": [1, 2], "state": ["GA", "NY"]})
    path = write_parquet(table, tmp_path)
    (tmp_path / "link.parquet").symlink_to(path)
    (tmp_path / "hard.parquet").hardlink_to(path)
    connection = ibis.duckdb.connect()
    for name in ("people", "register"):
        connection.raw_sql(
            f"CREATE TABLE {name} AS SELECT household, 'GA' AS state FROM range(2) AS t(household)"
        )
    people = connection.table("people")
    pairs: dict[str, tuple[Any, Any]] = {
        "object": (table, table),
        "path": (path, str(path)),
        "link": (path, tmp_path / "link.parquet"),
        "hard link": (path, tmp_path / "hard.parquet"),
        "glob": (str(tmp_path / "*.parquet"), path),
        "list": ([path], tmp_path / ".." / tmp_path.name / "people.parquet"),
        "table": (people, connection.table("people")),
        "its schema": (people, connection.table("people", database="main")),
        "made from it": (people, people.select("household", "state").distinct()),
    }
    for name, (source, frame) in pairs.items():
        with pytest.raises(CountsError, match="The frame is the table of records itself"):
            tt.count_groups(source, frame=frame, group="household", regions=["state"], sizes=(0, 3))
            pytest.fail(name)
    register = connection.table("register")
    for source, frame in ((people, register), (people.join(register, "household"), register), (path, table)):
        counts = tt.count_groups(source, frame=frame, group="household", regions=["state"], sizes=(0, 3))
        assert counts.total == 2


FIRMS: dict[str, list[Any]] = {
    "firm": ["a", "b", "c", "d", "e", "f", "g", "g", " ", "i"],
    "county": ["Cobb", "", "COBB ", None, "Cobb", "Bibb", "Bibb", "Bibb", "Bibb", "Bibb"],
    "employees": ["3", "4", "5", "", "-1", "0", "7", "7", "8", "1.5"],
}


def count_firms(firms: dict[str, list[Any]], **options: Any) -> tt.GroupCounts:
    classes = tt.SizeClasses([1, 5])
    names: dict[str, Any] = {"group": "firm", "regions": ["county"], "size": "employees"}
    return tt.count_groups(pa.table(firms), sizes=classes, protect="group", **names, **options)


def test_all_faults_are_told_at_once() -> None:
    with pytest.raises(CountsError) as caught:
        count_firms(FIRMS)
    assert str(caught.value) == (
        "Missing values in column 'firm': 1; missing values in column 'county': 2; missing values in column "
        "'employees': 1; values of column 'employees' that are not whole numbers: 1; values of column "
        "'employees' below 0: 1. Correct such records, or leave them out with missing='drop' "
        "(--missing drop). Groups with more than one row: 1. Each row is to be a group with its size: keep "
        "one row of each or, if sizes are to be added up, give quantity='employees' in place of size "
        "(--quantity). Names in column 'county' that differ from another one in case or spaces only: 1. "
        "Spell each region in one way, or list all regions in a public table, with hierarchy (--hierarchy "
        "TABLE)."
    )


def test_the_curator_is_told_what_was_left_out_and_nobody_else(tmp_path: Path) -> None:
    single = {name: values[:7] + values[8:] for name, values in FIRMS.items()}
    hierarchy = tt.Hierarchy.from_paths(["root", "county"], [("all", "Bibb"), ("all", "Cobb")])
    counts = count_firms(single, missing="drop", hierarchy=hierarchy)
    assert counts.leaf.tolist() == [[0, 1], [1, 0]]
    assert counts.left_out == (
        "Missing values in column 'firm': 1; missing values in column 'county': 2; missing values in column "
        "'employees': 1; values of column 'employees' that are not whole numbers: 1; values of column "
        "'employees' below 0: 1; rows whose region is not a leaf of the hierarchy: 1; regions of these that "
        "differ from one of it in case or spaces only: 1; groups of size 0: 1."
    )
    clean = {name: [values[0], values[6]] for name, values in FIRMS.items()}
    other = count_firms(clean, missing="drop", hierarchy=hierarchy)
    assert other.left_out == ""
    assert other.leaf.tolist() == counts.leaf.tolist()
    # Nothing that is published depends on it: same public facts, and no trace of the words in any file.
    assert other.assumptions == counts.assumptions
    assert counts.left_out not in repr(counts)
    tt.release(counts, epsilon="1", protect="group").save(tmp_path / "release")
    for file in (tmp_path / "release").iterdir():
        assert b"below 0" not in file.read_bytes() and b"left_out" not in file.read_bytes()
    assert counts.add_note("a note").left_out == counts.replace(counts.leaf).left_out == ""


def test_a_record_outside_the_frame_is_left_out_and_told() -> None:
    people = pa.table({"household": [1, 2, 2, 9, 9, None], "state": ["GA"] * 6})
    frame = pa.table({"household": [1, 2], "state": ["GA", "GA"]})
    counts = tt.count_groups(
        people, group="household", regions=["state"], sizes=(0, 3), frame=frame, missing="drop"
    )
    assert counts.leaf.tolist() == [[0, 1, 1, 0]]
    assert counts.left_out == (
        "Missing values in column 'household': 1; records of groups that are not in the frame: 2."
    )


def test_keys_of_several_columns_do_not_run_together() -> None:
    people = {"plane": ["a", "ab", "a", "a/b"], "airline": ["bc", "c", "b/c", "c"], "person": [1, 1, 1, 1]}
    for person in (None, "person"):  # whose records are ordered by a hash of all columns
        counts = tt.count_groups(
            people, group=["plane", "airline"], regions=[], sizes=(1, 4), person=person,
            max_records=1 if person is None else 4,
        )  # fmt: skip
        assert counts.leaf.tolist() == [[4, 0, 0, 0]]


def test_a_key_with_a_hole_is_missing() -> None:
    people = {"plane": ["a", "a", None], "airline": ["b", None, "b"]}
    given: dict[str, Any] = {"group": ["plane", "airline"], "regions": [], "sizes": (1, 4)}
    with pytest.raises(CountsError, match="'plane': 1; missing values in column 'airline': 1"):
        tt.count_groups(people, **given)
    assert tt.count_groups(people, missing="drop", **given).leaf.tolist() == [[1, 0, 0, 0]]
