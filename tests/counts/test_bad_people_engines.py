"""PostgreSQL and Spark, for real: hostile names are data there too, and their errors become ours."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pyarrow as pa
import pyarrow.parquet as pa_parquet
import pytest
from psycopg import sql

import tallytree as tt
from tallytree.counts.engines.spark import SETTINGS
from tallytree.errors import CountsError, EngineError, InputError
from tests.bad_input_support import COUNT, SECRET, Bench, Case, cut
from tests.counts.test_bad_people import PEOPLE, ROWS, csv, damage, parquet
from tests.counts.test_bad_people import count as ask
from tests.counts.test_hostile_people import (
    NAMES,
    OURS,
    PLAIN,
    PURPOSES,
    count,
    expect,
    make_people,
    write_csv,
)
from tests.servers import fill, find_port

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SPARK = tt.Engine(name="spark")


# PostgreSQL


@pytest.fixture(scope="module")
def database(postgres: str) -> Iterator[str]:
    """A schema of our own with good and bad tables."""
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA bad")
        connection.execute("SET search_path TO bad")
        connection.execute("CREATE TABLE people (household bigint, state text, person text, hours text)")
        with connection.cursor() as cursor:
            rows = zip(*PEOPLE.values(), strict=True)
            cursor.executemany("INSERT INTO people VALUES (%s, %s, %s, %s)", list(rows))
        for statement in TABLES:
            connection.execute(statement)
    yield postgres
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("DROP SCHEMA bad CASCADE")
        connection.execute("DROP TYPE public.kind")
        connection.execute("DROP ROLE weak")


TABLES = [
    "CREATE VIEW nothing AS SELECT * FROM people WHERE false",
    "CREATE VIEW no_household AS SELECT NULL::int AS household, state FROM people",
    f"CREATE VIEW no_number AS SELECT household, state, '{SECRET}' AS hours FROM people",
    "CREATE VIEW far AS SELECT household, state, '1e400'::text AS hours FROM people",
    "CREATE VIEW nan AS SELECT household, state, 'NaN'::numeric AS hours FROM people",
    "CREATE VIEW infinite AS SELECT household, state, '-Infinity'::float8 AS hours FROM people",
    f"CREATE TYPE public.kind AS ENUM ('{SECRET}')",
    f"CREATE VIEW enumerated AS SELECT household, '{SECRET}'::public.kind AS state FROM people",
    "CREATE VIEW moments AS SELECT now() AS household, state FROM people",
    "CREATE VIEW divided AS SELECT household / (household - 1) AS household, state FROM people",
    "CREATE ROLE weak LOGIN PASSWORD 'weak'",
    "GRANT USAGE ON SCHEMA bad TO weak",
]

DATABASE: dict[str, tuple[Callable[[str], object], type[InputError], str]] = {
    "table-unknown": (lambda u: ask(u, table="bad.peple"), EngineError, "no table 'bad.peple'"),
    "table-is-sql": (lambda u: ask(u, table='x"; DROP TABLE bad.people; --'), EngineError, "no table"),
    "table-is-a-query": (lambda u: ask(u, table="(SELECT 1)"), EngineError, "no table"),
    "table-nameless": (lambda u: ask(u, table=""), EngineError, "no table ''"),
    "table-is-dots": (lambda u: ask(u, table="..."), EngineError, "no table"),
    "table-left-out": (lambda u: ask(u), EngineError, "name of a table with a database URL"),
    "frame-unknown": (
        lambda u: ask(u, table="bad.people", frame="no"),
        EngineError,
        "In the frame: .*no table",
    ),
    "frame-is-the-table": (
        lambda u: ask(u, table="bad.people", frame="bad.people"),
        CountsError,
        "The frame is the table of records itself",
    ),
    "column": (lambda u: ask(u, table="bad.people", group="houshold"), CountsError, "mean 'household'"),
    "no-rows": (lambda u: ask(u, table="bad.nothing"), CountsError, "There are no records"),
    "null": (lambda u: ask(u, table="bad.no_household"), CountsError, "Missing values.*'household': 4"),
    "text": (lambda u: ask(u, table="bad.no_number", quantity="hours"), CountsError, "not whole numbers: 4"),
    "far": (lambda u: ask(u, table="bad.far", quantity="hours"), CountsError, "not whole numbers: 4"),
    "nan": (lambda u: ask(u, table="bad.nan", quantity="hours"), CountsError, "not whole numbers: 4"),
    "infinite": (
        lambda u: ask(u, table="bad.infinite", quantity="hours"),
        CountsError,
        "not whole numbers: 4",
    ),
    "enumeration": (lambda u: ask(u, table="bad.enumerated"), EngineError, "give a view in which it is text"),
    "moments": (lambda u: ask(u, table="bad.moments"), CountsError, "'household' holds timestamp"),
    "failing-view": (
        lambda u: ask(u, table="bad.divided"),
        EngineError,
        r"could not count.*\(DivisionByZero\)",
    ),
    "no-privilege": (
        lambda u: ask(log_in(u, "weak", "weak"), table="bad.people"),
        EngineError,
        "may not read the table 'bad.people': ask for the rights",
    ),
    "password": (
        lambda u: ask(log_in(u, "tester", SECRET), table="x"),
        EngineError,
        "no connection to the database: the server knows no such user, or the password is wrong",
    ),
    "user": (
        lambda u: ask(log_in(u, SECRET, SECRET), table="x"),
        EngineError,
        "no connection to the database: the server knows no such user, or the password is wrong",
    ),
    "database": (lambda u: ask(f"{u}{COUNT}", table="x"), EngineError, "the server has no such database"),
    "option": (lambda u: ask(f"{u}?{SECRET}=1", table="x"), EngineError, "no connection to the database"),
    "server-down": (
        lambda u: ask(re.sub(r":\d+/", f":{find_port()}/", log_in(u, "tester", SECRET)), table="x"),
        EngineError,
        "no server answers at this host and port",
    ),
}


def log_in(url: str, user: str, password: str) -> str:
    return re.sub(r"//.*@", f"//{user}:{password}@", url)


@pytest.mark.xdist_group("postgres")
@pytest.mark.parametrize(("call", "kind", "words"), DATABASE.values(), ids=DATABASE)
def test_postgresql_errors_become_ours(
    call: Callable[[str], object], kind: type[InputError], words: str, database: str, bench: Bench
) -> None:
    Case(lambda b: call(database), words, kind).check(bench)
    with psycopg.connect(database) as connection:
        assert connection.execute("SELECT count(*) FROM bad.people").fetchone() == (4,)


@pytest.mark.xdist_group("postgres")
@pytest.mark.parametrize(
    "key", ["quotes", "semicolon", "newline", "backslash", "variable", "dots", "not-ascii"]
)
def test_postgresql_takes_names_for_names(key: str, postgres: str) -> None:
    name = NAMES[key]
    names = {**{what: f"{name}{what}" for what in PURPOSES}, "group": name}
    people = make_people(names, region=name, group=name)
    fill(postgres, name, people)
    fill(postgres, f"frame{name}", people)
    try:
        assert count(postgres, names, table=name, frame=people) == expect(name)
        assert count(postgres, names, table=f"public.{name}", frame=f"frame{name}") == expect(name)
    finally:
        with psycopg.connect(postgres) as connection:
            for table in (name, f"frame{name}"):
                connection.execute(sql.SQL("DROP TABLE {}").format(sql.Identifier(table)))


LIKE_OURS = dict(zip(PURPOSES, OURS, strict=False))
ONLY_CASE = {"group": "a", "person": "A", "quantity": "a_1", "region": "State", "below": "state"}


@pytest.mark.xdist_group("postgres")
@pytest.mark.parametrize("names", [LIKE_OURS, ONLY_CASE], ids=["ours", "case"])
def test_postgresql_tells_columns_apart(names: dict[str, str], postgres: str) -> None:
    fill(postgres, "like ours", make_people(names))
    assert count(postgres, names, table="like ours", frame=make_people(names)) == expect()


@pytest.mark.xdist_group("postgres")
def test_a_frame_with_long_names_reaches_postgresql(postgres: str) -> None:
    names = {**PLAIN, "group": "ä" * 31}  # as long as a name can be there
    fill(postgres, "long", make_people(names))
    frame = make_people(names).append_column("x" * 200, pa.array([1] * 4))
    assert count(postgres, names, table="long", frame=frame) == expect()


# Spark

SPARK_CASES: dict[str, tuple[Callable[[Bench], object], type[InputError], str]] = {
    "missing": (lambda b: ask(b.folder / "no.parquet", engine=SPARK), EngineError, "There is no file"),
    "address": (
        lambda b: ask((b.folder / f"{SECRET}.parquet").as_uri(), engine=SPARK),
        EngineError,
        "Spark cannot open the files",
    ),
    "scheme": (
        lambda b: ask(f"s3://{SECRET}/x.csv", engine=SPARK),
        EngineError,
        "Spark cannot open the files",
    ),
    "hidden": (
        lambda b: ask([parquet(b), parquet(b, "_b.parquet")], engine=SPARK),
        EngineError,
        "Spark does not read .*_b.parquet",
    ),
    "colon": (lambda b: ask(parquet(b, "a:b.parquet"), engine=SPARK), EngineError, "nor hold a colon"),
    "parquet-cut": (lambda b: ask(damage(parquet(b), cut), engine=SPARK), EngineError, "Spark cannot open"),
    "latin": (
        lambda b: csv(b, (ROWS * 2000 + f"3,{SECRET}é\n").encode("latin-1"), engine=SPARK),
        EngineError,
        "not UTF-8",
    ),
    "column-twice": (
        lambda b: csv(b, "1,2,3\n", "household,state,state\n", engine=SPARK),
        CountsError,
        "two columns",
    ),
}


@pytest.mark.xdist_group("spark")
def test_spark_errors_become_ours(spark: SparkSession, bench: Bench, subtests: pytest.Subtests) -> None:
    for name, (call, kind, words) in SPARK_CASES.items():
        with subtests.test(name):
            (bench.folder / name).mkdir()
            Case(call, words, kind).check(replace(bench, folder=bench.folder / name))


@pytest.mark.xdist_group("spark")
def test_spark_takes_names_for_names(spark: SparkSession, tmp_path: Path) -> None:
    before = [spark.conf.get(name) for name in SETTINGS]
    name = "".join(NAMES[key] for key in ("quotes", "semicolon", "glob", "backslash", "variable", "newline"))
    names = {**{what: f"{name}{what}" for what in PURPOSES}, "group": name, "below": name.upper()}
    file = name.replace(":", "")  # which Spark cannot open
    (tmp_path / file).mkdir()
    pa_parquet.write_table(make_people(names, region="decoy"), tmp_path / file / "a1.parquet")
    people = make_people(names, region=name, group=name)
    source = tmp_path / file / f"{file}.parquet"
    pa_parquet.write_table(people, source)
    # The frame's files have their columns in different orders.
    write_csv(people.slice(0, 2), tmp_path / "a.csv")
    write_csv(people.slice(2).select(people.column_names[::-1]), tmp_path / "b.csv")
    assert count(source, names, frame=tmp_path / "*.csv", engine=SPARK) == expect(name)
    assert [spark.conf.get(name) for name in SETTINGS] == before
    assert [view.name for view in spark.catalog.listTables()] == []

    # Folders may name regions.
    for state in ("01", "a b"):
        (tmp_path / "parts" / f"state={state}").mkdir(parents=True)
        pa_parquet.write_table(pa.table({"household": [1]}), tmp_path / f"parts/state={state}/x.parquet")
    leaves = ask(tmp_path / "parts", group=["household", "state"], engine=SPARK).hierarchy.leaves
    assert leaves == (("all", "01"), ("all", "a b"))
