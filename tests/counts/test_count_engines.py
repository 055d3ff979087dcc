"""PostgreSQL and Spark, for real, count to the last cell what DuckDB and the obvious loop count."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet
import pytest

import tallytree as tt
from tests.counts.people import People, as_cells, count_slowly, draw_people
from tests.servers import fill

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TABLE = 'people"; DROP TABLE people; --'


def draw(seed: int) -> People:
    return draw_people(np.random.default_rng(seed), text=seed % 2 == 0)


def check_classes(count: Callable[..., tt.GroupCounts], people: People) -> None:
    """Whole groups are counted without bounds, and the counts of classes are sums of those of sizes."""
    bounds = ("sizes", "person", "max_records", "max_quantity")
    given = {name: value for name, value in people.arguments.items() if name not in bounds}
    every, classes = (
        count(sizes=sizes, protect="group", **given) for sizes in ((1, 30), tt.SizeClasses([1, 2, 5, 30]))
    )
    assert every.total > 0
    np.testing.assert_array_equal(classes.leaf, np.add.reduceat(every.leaf, [0, 1, 4, 29], axis=1))


def check_dropping(count: Callable[..., tt.GroupCounts]) -> None:
    """Rows of :data:`REGISTER` that are blank or negative are left out, and the curator is told how many."""
    given: dict[str, Any] = {"group": "firm", "regions": ["county"], "size": "employees", "protect": "group"}
    counts = count(sizes=tt.SizeClasses([1, 5]), missing="drop", **given)
    assert as_cells(counts) == {(("all", "Bibb"), 5): 1, (("all", "Cobb"), 1): 1}
    assert counts.left_out == (
        "Missing values in column 'firm': 1; missing values in column 'county': 2; missing values in column "
        "'employees': 2; values of column 'employees' that are not whole numbers: 1; values of column "
        "'employees' below 0: 1; groups of size 0: 1."
    )


REGISTER = pa.table(
    {
        "firm": ["a", "b", "c", "d", "e", "f", "g", "h", " "],
        "county": ["Cobb", "Bibb", "", None, "Bibb", "Bibb", "Bibb", "Bibb", "Bibb"],
        "employees": ["3", "7", "4", "4", "", None, "-2", "0", "1.5"],
    }
)


def test_duckdb_drops_what_is_blank() -> None:
    check_dropping(partial(tt.count_groups, REGISTER))
    check_dropping(partial(tt.count_groups, REGISTER.to_pandas()))
    check_dropping(partial(tt.count_groups, pl.from_arrow(REGISTER)))


@pytest.mark.xdist_group("postgres")
def test_postgresql_drops_what_is_blank(postgres: str) -> None:
    fill(postgres, "register", REGISTER)
    check_dropping(partial(tt.count_groups, postgres, table="register"))


@pytest.mark.xdist_group("spark")
def test_spark_drops_what_is_blank(spark: SparkSession) -> None:
    rows = [tuple(row.values()) for row in REGISTER.to_pylist()]
    check_dropping(partial(tt.count_groups, spark.createDataFrame(rows, REGISTER.column_names)))


def count_in_duckdb(people: People) -> Any:
    return as_cells(tt.count_groups(people.table, frame=people.frame_table, **people.arguments))


@pytest.mark.xdist_group("postgres")
@pytest.mark.parametrize("seed", range(12))
def test_postgresql_counts_the_same(postgres: str, seed: int) -> None:
    people = draw(seed)
    fill(postgres, TABLE, people.table)
    if people.frame_table is not None:
        fill(postgres, "frame of groups", people.frame_table)
    frame = None if people.frame is None else "frame of groups"
    counts = tt.count_groups(postgres, table=TABLE, frame=frame, **people.arguments)
    assert as_cells(counts) == count_slowly(people) == count_in_duckdb(people)
    if seed < 2:
        check_classes(partial(tt.count_groups, postgres, table=TABLE), people)


@pytest.mark.xdist_group("postgres")
def test_a_frame_may_be_outside_the_database(postgres: str, tmp_path: Path) -> None:
    people = next(people for people in map(draw, range(99)) if people.frame)
    fill(postgres, TABLE, people.table)
    assert people.frame_table is not None
    pa_csv.write_csv(people.frame_table, tmp_path / "frame.csv")
    frames = people.frame_table, str(tmp_path / "frame.csv")
    for frame in frames:
        counts = tt.count_groups(postgres, table=f"public.{TABLE}", frame=frame, **people.arguments)
        assert as_cells(counts) == count_slowly(people)


@pytest.mark.xdist_group("spark")
def test_the_cluster_is_one(spark: SparkSession) -> None:
    assert spark.range(10).count() == 10
    executors = spark.sparkContext._jsc.sc().statusTracker().getExecutorInfos()
    assert len(executors) == 3  # the driver counts as one


@pytest.mark.xdist_group("spark")
@pytest.mark.parametrize("seed", range(4))
def test_spark_counts_the_same(spark: SparkSession, seed: int, tmp_path: Path) -> None:
    people = draw(seed)
    pa_parquet.write_table(people.table, tmp_path / "people [1].parquet")
    frame = None
    if people.frame_table is not None:
        frame = tmp_path / "frame.csv"
        pa_csv.write_csv(people.frame_table, frame)
    # The session of the fixture is the active one.
    engine = tt.Engine(name="spark")
    path = tmp_path / "people [1].parquet"
    counts = tt.count_groups(path, frame=frame, engine=engine, **people.arguments)
    assert as_cells(counts) == count_slowly(people) == count_in_duckdb(people)
    if seed == 0:
        check_classes(partial(tt.count_groups, path, engine=engine), people)


@pytest.mark.xdist_group("spark")
def test_a_spark_data_frame_is_counted_in_its_session(spark: SparkSession, tmp_path: Path) -> None:
    people = draw(7)
    pa_parquet.write_table(people.table, tmp_path / "people.parquet")
    frame = spark.read.parquet(str(tmp_path / "people.parquet"))
    counts = tt.count_groups(frame, frame=people.frame_table, **people.arguments)
    assert as_cells(counts) == count_slowly(people)
    assert not [view for view in spark.catalog.listTables() if view.name.startswith("tallytree")]
