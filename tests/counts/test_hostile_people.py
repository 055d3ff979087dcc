"""Names of columns, regions, files and folders are data, never code; and every file is read once, in full."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet
import pytest

import tallytree as tt
from tests.bad_input_support import HOSTILE_NAMES, unchanged
from tests.counts.people import as_cells

NAMES = {
    **HOSTILE_NAMES,
    "sql": "x') UNION SELECT * FROM read_csv('/etc/passwd') --",
    "backslash": "a\\b\\'c\\",
    "backtick": "`a``b`",
    "variable": "${env:HOME} $HOME %(x)s",
    "glob": "*[1]?{a,b}",
    "dots": "a.b[0].c",
    "comment": "# /* -- */",
    "partition": "household=9",
    "carriage-return": "a\r\nb",
}
OURS = [
    *("code", "group_0", "region_0", "region_1", "person", "quantity", "size", "groups", "listed", "wrong"),
    *("other", "torn", "strays", "records", "place", "column_0", "column_1", "name_0", "key_0", "not_whole"),
]
"""What columns are called inside the queries."""

PURPOSES = ("group", "person", "quantity", "region", "below")
ROWS: list[tuple[Any, ...]] = [
    ("a", "p", 1, "north", "x"),
    ("a", "q", 2, "north", "x"),
    ("b", "p", 1, "north", "y"),
    ("c", "r", 5, "south", "x"),
]


def make_people(names: dict[str, str], *, region: str = "north", group: str = "a") -> pa.Table:
    """A few people, with these names for the columns, one region and one group."""
    columns = list(zip(*ROWS, strict=True))
    renamed = {"north": region, "a": group}
    return pa.table({names[what]: [renamed.get(v, v) for v in columns[i]] for i, what in enumerate(PURPOSES)})


def count(source: Any, names: dict[str, str], **options: Any) -> dict[tuple[tuple[str, ...], int], int]:
    """What is counted, with every kind of column in use."""
    counts = tt.count_groups(
        source,
        group=names["group"],
        regions=[names["region"], names["below"]],
        sizes=(0, 9),
        person=names["person"],
        quantity=names["quantity"],
        max_quantity=3,
        max_records=2,
        **options,
    )
    assert counts.hierarchy.levels == ("root", names["region"], names["below"])
    return as_cells(counts)


def expect(region: str = "north") -> dict[tuple[tuple[str, ...], int], int]:
    return {(("all", region, "x"), 3): 1, (("all", region, "y"), 1): 1, (("all", "south", "x"), 3): 1}


PLAIN = {what: what for what in PURPOSES}


def write_csv(table: pa.Table, path: Path) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([table.column_names, *(row.values() for row in table.to_pylist())])
    return path


def write_parquet(table: pa.Table, path: Path) -> Path:
    pa_parquet.write_table(table, path)
    return path


WRITERS: dict[str, Callable[[pa.Table, Path], Any]] = {
    "memory": lambda table, path: table,
    "csv": lambda table, path: write_csv(table, path.with_name(path.name + ".csv")),
    "parquet": lambda table, path: write_parquet(table, path.with_name(path.name + ".parquet")),
}


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
@pytest.mark.parametrize("kind", WRITERS)
def test_columns_regions_and_groups_are_only_names(kind: str, name: str, tmp_path: Path) -> None:
    names = {**{what: f"{name}{what}" for what in PURPOSES}, "group": name}
    people = make_people(names, region=name, group=name)
    frame = people.select([names[what] for what in ("group", "region", "below")])
    source = WRITERS[kind](people, tmp_path / "people")
    assert count(source, names, frame=WRITERS[kind](frame, tmp_path / "frame")) == expect(name)


@pytest.mark.parametrize("kind", WRITERS)
def test_a_null_byte_does_not_end_a_name(kind: str, tmp_path: Path) -> None:
    source = WRITERS[kind](make_people(PLAIN, region="a\0b", group="b\0"), tmp_path / "people")
    assert count(source, PLAIN) == expect("a\0b")


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_may_end_in_any_way(end: str, tmp_path: Path) -> None:
    rows = ['"house\r\nhold\n",state', '1,"a\nb"', '1,"a\nb"', '2,"c\rd"', '3,"e\r\nf"']
    (tmp_path / "people.csv").write_bytes(end.join(rows).encode())
    (tmp_path / "more.csv").write_bytes(b'"house\r\nhold\n",state\r\n4,x\r\n')
    counts = tt.count_groups(tmp_path / "*.csv", group="house\r\nhold\n", regions=["state"], sizes=(1, 2))
    assert as_cells(counts) == {
        (("all", "a\nb"), 2): 1,
        (("all", "c\rd"), 1): 1,
        (("all", "e\r\nf"), 1): 1,
        (("all", "x"), 1): 1,
    }


@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.parametrize("start", range(0, len(OURS), 4))
def test_columns_may_be_called_like_ours(kind: str, start: int, tmp_path: Path) -> None:
    chosen = (OURS * 2)[start : start + len(PURPOSES)]
    names = dict(zip(PURPOSES, chosen, strict=True))
    people = make_people(names)
    assert count(WRITERS[kind](people, tmp_path / "people"), names, frame=make_people(names)) == expect()


@pytest.mark.parametrize("kind", WRITERS)
def test_names_that_differ_only_in_case_are_different(kind: str, tmp_path: Path) -> None:
    names = {"group": "a", "person": "A", "quantity": "a_1", "region": "State", "below": "state"}
    source = WRITERS[kind](make_people(names), tmp_path / "people")
    assert count(source, names) == expect()
    assert count(source, names, frame=make_people(names)) == expect()


def test_names_with_numbers_are_no_other_case(tmp_path: Path) -> None:
    names = {**PLAIN, "region": "group_1", "below": "group_2"}
    for place in range(2):
        write_parquet(make_people(names).slice(2 * place, 2), tmp_path / f"{place}.parquet")
    assert count(tmp_path, names) == expect()


@pytest.mark.parametrize("key", [key for key in NAMES if key != "long"])
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_paths_are_only_names(kind: str, key: str, tmp_path: Path) -> None:
    name = NAMES[key].replace("/", "|")
    folder = tmp_path / name
    folder.mkdir()
    for decoy in ("a1", "household", "x"):  # what a pattern would match
        WRITERS[kind](make_people(PLAIN, region="decoy"), folder / decoy)
    path = WRITERS[kind](make_people(PLAIN), folder / name)
    (tmp_path / "frame").mkdir()
    frame = WRITERS[kind](make_people(PLAIN), tmp_path / "frame" / name)
    with unchanged(tmp_path):
        assert count([str(path)], PLAIN, frame=frame, engine=tt.Engine(spill_folder=folder)) == expect()
        assert tt.read_hierarchy(path, regions=["region", "below"]).leaves[0] == ("all", "north", "x")


def test_a_long_file_name_is_only_a_name(tmp_path: Path) -> None:
    path = write_parquet(make_people(PLAIN), tmp_path / ("x" * 240 + ".parquet"))
    assert count(path, PLAIN) == expect()


def test_a_file_called_like_a_pattern_is_read_alone(tmp_path: Path) -> None:
    write_csv(make_people(PLAIN), tmp_path / "a*.csv")
    write_csv(make_people(PLAIN, region="decoy"), tmp_path / "ab.csv")
    assert count(tmp_path / "a*.csv", PLAIN) == expect()
    (tmp_path / "a*.csv").unlink()
    assert count(tmp_path / "a*.csv", PLAIN) == expect("decoy")  # now it is a pattern


def test_a_path_with_dots_is_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "in").mkdir()
    write_csv(make_people(PLAIN), tmp_path / "people.csv")
    monkeypatch.chdir(tmp_path / "in")
    assert count("../people.csv", PLAIN) == expect()
    assert count("../p*.csv", PLAIN) == expect()


def test_a_file_counts_once_by_whatever_names(tmp_path: Path) -> None:
    path = write_csv(make_people(PLAIN), tmp_path / "people.csv")
    (tmp_path / "in").mkdir()
    (tmp_path / "link.csv").symlink_to(path)
    assert count([path, tmp_path / "in" / ".." / "people.csv", tmp_path / "*.csv"], PLAIN) == expect()


def test_folders_in_a_folder_may_be_links(tmp_path: Path) -> None:
    (tmp_path / "all" / "in").mkdir(parents=True)
    (tmp_path / "more").mkdir()
    write_parquet(make_people(PLAIN).slice(0, 2), tmp_path / "all" / "in" / "a.parquet")
    write_parquet(make_people(PLAIN).slice(2), tmp_path / "more" / "b.parquet")
    (tmp_path / "all" / "link").symlink_to(tmp_path / "more")
    (tmp_path / "all" / "in" / "twice").symlink_to(tmp_path / "more")
    (tmp_path / "more" / "circle").symlink_to(tmp_path / "all")
    assert count(tmp_path / "all", PLAIN) == expect()


@pytest.mark.parametrize("mark", ["#", "//", "--", ";", "%"])
def test_rows_that_look_like_comments_are_people(mark: str, tmp_path: Path) -> None:
    rows = "".join(f"{mark}{number},GA\n" for number in range(9))
    (tmp_path / "people.csv").write_text(f"household,state\n{rows}1,GA\n")
    counts = tt.count_groups(tmp_path / "people.csv", group="household", regions=["state"], sizes=(1, 2))
    assert counts.total == 10


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_files_may_have_their_columns_in_different_orders(kind: str, tmp_path: Path) -> None:
    people = make_people(PLAIN)
    WRITERS[kind](people.slice(0, 2), tmp_path / "a")
    turned = people.slice(2).select(people.column_names[::-1]).append_column("more", pa.array([1, 2]))
    WRITERS[kind](turned, tmp_path / "b")
    assert count(tmp_path / f"*.{kind}", PLAIN) == expect()
    assert count(tmp_path / f"*.{kind}", PLAIN, frame=people) == expect()


@pytest.mark.parametrize("parts", [1, 2])
def test_folders_may_name_regions(parts: int, tmp_path: Path) -> None:
    above = tmp_path / "household=9" / "part"
    for state in ("01", "a b")[:parts]:
        (above / f"state={state}").mkdir(parents=True)
        pa_parquet.write_table(pa.table({"household": [state]}), above / f"state={state}" / "x.parquet")
    renamed = above.parent.rename(tmp_path / "data") / "part"
    for source in (renamed, renamed / "*" / "*.parquet", renamed / "state=*"):
        counts = tt.count_groups(source, group="household", regions=["state"], sizes=(1, 2))
        assert counts.hierarchy.leaves == (("all", "01"), ("all", "a b"))[:parts]


def test_a_folder_called_like_a_column_changes_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "group=decoy"
    folder.mkdir()
    for name in ("a", "b"):
        half = make_people(PLAIN).slice(2 * (name == "b"), 2)
        write_parquet(half, folder / f"{name}.parquet")
    assert count(folder, PLAIN) == count(folder / "*", PLAIN) == expect()


@pytest.mark.parametrize(
    "hidden", ["_temporary/0/part.parquet", ".part.parquet", "_part.parquet", ".git/x.parquet"]
)
def test_what_others_are_still_writing_is_left_out(hidden: str, tmp_path: Path) -> None:
    write_parquet(make_people(PLAIN), tmp_path / "part.parquet")
    (tmp_path / hidden).parent.mkdir(parents=True, exist_ok=True)
    write_parquet(make_people(PLAIN, region="decoy"), tmp_path / hidden)
    assert count(tmp_path, PLAIN) == expect()
    if hidden.startswith("."):
        assert count(tmp_path / "**" / "*.parquet", PLAIN) == expect()
    assert os.listdir(tmp_path)  # noqa: PTH208


def test_a_region_may_tell_groups_apart() -> None:
    people = {"taxi": [1, 1, 1], "zone": ["a", "a", "b"]}
    counts = tt.count_groups(people, group=["taxi", "zone"], regions=["zone"], sizes=(1, 2))
    assert as_cells(counts) == {(("all", "a"), 2): 1, (("all", "b"), 1): 1}


def test_there_may_be_no_regions_but_the_root() -> None:
    counts = tt.count_groups(pa.table({"taxi": [1, 1, 2]}), group="taxi", regions=[], sizes=(1, 2))
    assert as_cells(counts) == {(("all",), 1): 1, (("all",), 2): 1}


def test_numbers_of_csv_files_are_the_same_as_of_tables(tmp_path: Path) -> None:
    people = make_people(PLAIN)
    pa_csv.write_csv(people, tmp_path / "people.csv")  # quotes every text
    assert count(tmp_path / "people.csv", PLAIN) == count(people, PLAIN)
