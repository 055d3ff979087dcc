"""Records are read once: a source that changes between two looks must not undo the bounds on a person."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ibis
import psycopg
import pyarrow as pa
import pyarrow.parquet as pa_parquet
import pytest

import tallytree as tt
from tallytree.errors import EngineError
from tallytree.progress import Progress, no_progress

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = 40
"""Records of one person, each in a group of its own, and in other groups whenever they are read."""


def count(source: Any, **options: Any) -> tt.GroupCounts:
    return tt.count_groups(source, group="household", regions=[], sizes=(0, 3), person="person", **options)


def check_bounds_hold(counts: tt.GroupCounts) -> None:
    """The one person adds one to one group, whatever the number of groups is."""
    _, *others = counts.array(0)[0].tolist()
    assert others == [1, 0, 0]


def test_a_view_of_duckdb_that_changes_is_read_once() -> None:
    connection = ibis.duckdb.connect()
    connection.raw_sql("CREATE SEQUENCE homes")
    connection.raw_sql(
        f"CREATE VIEW people AS SELECT 1 AS person, nextval('homes') AS household FROM range({ROWS})"
    )
    check_bounds_hold(count(connection.table("people")))
    left = connection.con.sql("SELECT count(*) FROM duckdb_tables()").fetchall()
    assert left == [(0,)]  # no copy of the records stays behind


def test_a_view_of_sqlite_that_changes_is_read_once(tmp_path: Path) -> None:
    connection = ibis.sqlite.connect(tmp_path / "people.db")
    connection.raw_sql("CREATE TABLE numbers (number INTEGER)")
    connection.raw_sql(f"INSERT INTO numbers VALUES {', '.join(f'({number})' for number in range(ROWS))}")
    connection.raw_sql("CREATE VIEW people AS SELECT 1 AS person, random() AS household FROM numbers")
    check_bounds_hold(count(connection.table("people")))
    assert set(connection.list_tables()) == {"numbers", "people"}


@pytest.mark.xdist_group("postgres")
@pytest.mark.parametrize(
    "rows",
    [
        f"SELECT 1 AS person, nextval('homes') AS household FROM generate_series(1, {ROWS})",
        "SELECT 1 AS person, household FROM everyone TABLESAMPLE BERNOULLI (50)",
    ],
    ids=["sequence", "sample"],
)
def test_a_view_of_postgresql_that_changes_is_read_once(postgres: str, rows: str) -> None:
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("CREATE SEQUENCE homes")
        connection.execute(f"CREATE TABLE everyone AS SELECT generate_series(1, {ROWS}) AS household")
        connection.execute(f"CREATE VIEW changing AS {rows}")
        try:
            check_bounds_hold(count(postgres, table="changing"))
        finally:
            connection.execute("DROP VIEW changing; DROP TABLE everyone; DROP SEQUENCE homes")


@pytest.mark.xdist_group("spark")
def test_a_data_frame_of_spark_that_changes_is_read_once(spark: SparkSession) -> None:
    from pyspark.sql import functions

    @functions.udf("string")
    def draw() -> str:
        return os.urandom(8).hex()

    people = spark.range(ROWS).select(
        functions.lit(1).alias("person"), draw.asNondeterministic()().alias("household")
    )
    persistent: Any = spark.sparkContext._jsc.sc().getPersistentRDDs
    before = persistent().size()
    check_bounds_hold(count(people))
    assert persistent().size() == before
    assert not [view for view in spark.catalog.listTables() if view.name.startswith("tallytree")]


def write_csv(path: Path, homes: range) -> None:
    path.write_text("person,household\n" + "".join(f"1,{home}\n" for home in homes))


def write_parquet(path: Path, homes: range) -> None:
    pa_parquet.write_table(pa.table({"person": [1] * len(homes), "household": homes}), path)


def change_during(what: str, change: Callable[[], None]) -> Progress:
    """A progress that changes something when a step begins."""

    def progress(step: str, total: int) -> Callable[[int], None]:
        if step == what:
            change()
        return no_progress(step, total)

    return progress


@pytest.mark.parametrize("write", [write_csv, write_parquet], ids=["csv", "parquet"])
@pytest.mark.parametrize(
    ("step", "person"),
    [("Reading the records", "person"), ("Counting groups", "person"), ("Counting groups", None)],
)
def test_a_file_that_is_written_to_while_it_is_read_is_refused(
    write: Callable[[Path, range], None], step: str, person: str | None, tmp_path: Path
) -> None:
    path = tmp_path / ("people.csv" if write is write_csv else "people.parquet")
    write(path, range(ROWS))
    changes = []

    def change() -> None:
        changes.append(step)
        write(tmp_path / "new", range(ROWS, 2 * ROWS))
        (tmp_path / "new").rename(path)

    with pytest.raises(EngineError, match="changed while it was read"):
        tt.count_groups(
            path, group="household", regions=[], sizes=(0, 3), person=person,
            progress=change_during(step, change),
        )  # fmt: skip
    assert changes == [step]


@pytest.mark.parametrize("change", ["append", "touch", "remove", "nothing"])
def test_every_change_of_a_file_shows(change: str, tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    write_csv(path, range(ROWS))

    def do() -> None:
        if change == "append":
            with path.open("a") as file:
                file.write("2,1\n")
        elif change == "touch":  # as a program does that sets the time back
            found = path.stat()
            os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))
        elif change == "remove":
            path.unlink()

    options = {"progress": change_during("Counting groups", do)}
    if change == "nothing":
        check_bounds_hold(count(path, **options))
        return
    with pytest.raises(EngineError, match="changed while it was read"):
        count(path, **options)
