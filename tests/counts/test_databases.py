"""Databases by their URL: MariaDB, SQLite and DuckDB files for real, the others by the SQL that they get."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import ibis
import psycopg
import pyarrow as pa
import pytest
import sqlglot
from sqlglot import exp

import tallytree as tt
from tallytree.counts.engines import databases, opening
from tallytree.counts.engines.session import Session
from tallytree.counts.record_columns import Columns, Records
from tallytree.counts.record_query import Counting, count_cells
from tallytree.errors import CountsError, EngineError, InputError
from tallytree.privacy.neighbours import Bounds
from tests.bad_input_support import SECRET, Bench, Case
from tests.commands import Run
from tests.counts.people import People, as_cells, count_slowly
from tests.counts.test_bad_people import PEOPLE
from tests.counts.test_bad_people import count as ask
from tests.counts.test_count_engines import REGISTER, TABLE, check_dropping, count_in_duckdb, draw
from tests.servers import connect_mariadb, fill_rows, find_port

Fill = Callable[[str, pa.Table], None]
Database = tuple[str, Fill]


@pytest.fixture
def maria(mariadb: str) -> Iterator[Database]:
    with closing(connect_mariadb(mariadb)) as connection:
        yield mariadb, lambda name, table: fill_rows(connection, name, table, mark="%s", quote="`")


@pytest.fixture
def lite(tmp_path: Path) -> Iterator[Database]:
    path = tmp_path / "people [1].db"
    with closing(sqlite3.connect(path)) as connection:
        yield (
            f"sqlite:///{path}",
            lambda name, table: fill_rows(connection, name, table, mark="?", quote='"'),
        )


@pytest.fixture
def duck(tmp_path: Path) -> Database:
    path = tmp_path / "people.duckdb"

    def fill(name: str, table: pa.Table) -> None:
        with duckdb.connect(path) as connection:
            connection.register("given", table)
            escaped = name.replace('"', '""')
            connection.execute(f'CREATE OR REPLACE TABLE "{escaped}" AS SELECT * FROM given')

    return f"duckdb://{path}", fill


def check_counts(database: Database, people: People) -> None:
    url, fill = database
    fill(TABLE, people.table)
    if people.frame_table is not None:
        fill("frame of groups", people.frame_table)
    frame = None if people.frame is None else "frame of groups"
    counts = tt.count_groups(url, table=TABLE, frame=frame, **people.arguments)
    assert as_cells(counts) == count_slowly(people) == count_in_duckdb(people)
    if people.frame is None:  # whatever was drawn: records that are only counted, some of them too many
        bounded = replace(people, person=True, quantity=False, max_records=2)
        assert as_cells(tt.count_groups(url, table=TABLE, **bounded.arguments)) == count_slowly(bounded)


@pytest.mark.parametrize("seed", range(12))
def test_mariadb_counts_the_same(maria: Database, seed: int) -> None:
    check_counts(maria, draw(seed))


@pytest.mark.parametrize("seed", range(12))
def test_sqlite_counts_the_same(lite: Database, seed: int) -> None:
    check_counts(lite, draw(seed))


@pytest.mark.parametrize("seed", range(3))
def test_a_file_of_duckdb_counts_the_same(duck: Database, seed: int) -> None:
    check_counts(duck, draw(seed))


@pytest.mark.parametrize("kind", ["maria", "lite", "duck"])
def test_what_is_blank_is_dropped(kind: str, request: pytest.FixtureRequest) -> None:
    url, fill = request.getfixturevalue(kind)
    fill("register", REGISTER)
    check_dropping(lambda **options: tt.count_groups(url, table="register", **options))


ALIKE = pa.table(
    {"person": ["p", "P", "p ", "ä", "a"], "home": ["x", "X", "x ", "ä", "a"], "state": ["東"] * 5}
)
"""To a database that ignores case, accents or spaces at the end, these five are fewer."""


@pytest.mark.parametrize("kind", ["maria", "lite", "duck"])
def test_people_are_told_apart_by_bytes(kind: str, request: pytest.FixtureRequest) -> None:
    url, fill = request.getfixturevalue(kind)
    fill("people", ALIKE)
    if kind == "lite":
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as file, file:
            names = "person TEXT COLLATE NOCASE, home TEXT COLLATE NOCASE, state TEXT"
            file.executescript(
                f"CREATE TABLE other ({names}); INSERT INTO other SELECT * FROM people; "
                "DROP TABLE people; ALTER TABLE other RENAME TO people"
            )
    for frame in (None, ALIKE.select(["home", "state"])):
        counts = tt.count_groups(
            url, table="people", group="home", regions=["state"], sizes=(0, 3), person="person", frame=frame
        )
        assert as_cells(counts) == {(("all", "東"), 1): 5}


@pytest.mark.xdist_group("postgres")
def test_postgresql_tells_people_apart_by_bytes(postgres: str) -> None:
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute(
            "CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level1', deterministic = false)"
        )
        loose = "TEXT COLLATE loose"
        connection.execute(f"CREATE TABLE alike (person {loose}, home {loose}, state TEXT)")
        with connection.cursor() as cursor:
            rows = [tuple(row.values()) for row in ALIKE.to_pylist()]
            cursor.executemany("INSERT INTO alike VALUES (%s, %s, %s)", rows)
        counts = tt.count_groups(
            postgres, table="alike", group="home", regions=["state"], sizes=(0, 3), person="person"
        )
        connection.execute("DROP TABLE alike")
    assert as_cells(counts) == {(("all", "東"), 1): 5}


def test_a_view_of_mariadb_that_changes_is_read_once(mariadb: str) -> None:
    with closing(connect_mariadb(mariadb)) as connection:
        cursor = connection.cursor()
        cursor.execute("CREATE OR REPLACE VIEW changing AS SELECT 1 AS person, seq + rand() * 1e9 AS noise "
                       "FROM seq_1_to_40")  # fmt: skip
        cursor.execute(
            "CREATE OR REPLACE VIEW unsure AS SELECT person, CAST(noise AS SIGNED) AS household FROM changing"
        )
    counts = tt.count_groups(
        mariadb, table="unsure", group="household", regions=[], sizes=(0, 3), person="person"
    )
    assert counts.array(0)[0].tolist()[1:] == [1, 0, 0]


def test_a_database_file_is_only_read(lite: Database, tmp_path: Path) -> None:
    url, fill = lite
    fill("people", pa.table(PEOPLE))
    path = Path(url.removeprefix("sqlite:///"))
    before = path.read_bytes(), path.stat().st_mtime_ns
    assert ask(url, table="people", person="person").total == 3
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before
    assert list(tmp_path.iterdir()) == [path]


# What goes wrong


def log_in(url: str, user: str, password: str) -> str:
    return re.sub(r"//.*@", f"//{user}:{password}@", url)


MARIADB: dict[str, tuple[Callable[[str], object], type[InputError], str]] = {
    "table": (lambda u: ask(u, table="peple"), EngineError, "no table 'peple': did you mean 'people'"),
    "table-is-sql": (lambda u: ask(u, table="x`; DROP TABLE people; --"), EngineError, "no table"),
    "schema": (lambda u: ask(u, table="census.nothing"), EngineError, "no table 'census.nothing'"),
    "column": (lambda u: ask(u, table="people", group="houshold"), CountsError, "mean 'household'"),
    "frame": (lambda u: ask(u, table="people", frame="people"), CountsError, "table of records itself"),
    "number": (
        lambda u: ask(u, table="people", quantity="person"),
        CountsError,
        "not whole numbers: 4",
    ),
    "password": (lambda u: ask(log_in(u, "tester", SECRET), table="x"), EngineError, "password is wrong"),
    "user": (lambda u: ask(log_in(u, SECRET, SECRET), table="x"), EngineError, "knows no such user"),
    "database": (lambda u: ask(f"{u}{SECRET}", table="x"), EngineError, "has no such database"),
    "option": (lambda u: ask(f"{u}?{SECRET}=1", table="x"), EngineError, "no connection to the database"),
    "server-down": (
        lambda u: ask(re.sub(r":\d+/", f":{find_port()}/", log_in(u, "tester", SECRET)), table="x"),
        EngineError,
        "no server answers at this host and port",
    ),
    "settings": (
        lambda u: ask(u, table="people", engine=tt.Engine(memory_limit="1GB")),
        EngineError,
        "brings its own engine",
    ),
}


@pytest.mark.xdist_group("mariadb")
@pytest.mark.parametrize(("call", "kind", "words"), MARIADB.values(), ids=MARIADB)
def test_errors_of_mariadb_become_ours(
    call: Callable[[str], object], kind: type[InputError], words: str, maria: Database, bench: Bench
) -> None:
    url, fill = maria
    fill("people", pa.table({name: list(map(str, values)) for name, values in PEOPLE.items()}))
    Case(lambda b: call(url), words, kind).check(bench)


def test_a_table_without_rights_is_refused(maria: Database, bench: Bench) -> None:
    url, fill = maria
    fill("people", pa.table(PEOPLE))
    with closing(connect_mariadb(url)) as connection:
        connection.cursor().execute("CREATE OR REPLACE USER 'weak'@'127.0.0.1' IDENTIFIED BY 'weak'")
        connection.cursor().execute("CREATE OR REPLACE TABLE open (household INT)")
        connection.cursor().execute("GRANT SELECT ON census.open TO 'weak'@'127.0.0.1'")
    Case(lambda b: ask(log_in(url, "weak", "weak"), table="people"), "no table 'people'", EngineError).check(
        bench
    )


FILES = {
    "sqlite-missing": ("sqlite://no.db", "'no.db' cannot be opened: No such file"),
    "duckdb-missing": ("duckdb://no.duckdb", "'no.duckdb' cannot be opened: No such file"),
    "sqlite-nameless": ("sqlite://", "'.' cannot be opened: Is a directory"),
    "duckdb-null": ("duckdb://a%00b", "cannot be opened: no file can have such a name"),
    "sqlite-bracket": ("sqlite://[a", "cannot be opened: no file can have such a name"),
    "duckdb-memory": ("duckdb://:memory:", "':memory:' cannot be opened"),
    "sqlite-damaged": ("sqlite://junk.db", "is not a database of SQLite"),
    "duckdb-damaged": ("duckdb://junk.db", "is it a database of DuckDB"),
}


@pytest.mark.parametrize(("url", "words"), FILES.values(), ids=FILES)
def test_files_that_are_no_databases_are_refused(url: str, words: str, bench: Bench) -> None:
    (bench.folder / "junk.db").write_text(SECRET * 200)
    Case(lambda b: ask(url, table="people"), words, EngineError).check(bench)


@pytest.mark.parametrize("scheme", ["snowflake", "bigquery", "trino", "clickhouse", "mssql", "databricks"])
def test_a_missing_driver_is_named(scheme: str, run: Run) -> None:
    columns = ["--group", "household", "--region", "state", "--sizes", "0:3", "--table", "people"]
    outcome = run("release", f"{scheme}://me:{SECRET}@host/census", *columns, "--epsilon", "1", "--out", "x")
    assert outcome.code == 2
    assert f"pip install 'ibis-framework[{scheme}]'" in " ".join(outcome.err.split())
    assert SECRET not in outcome.out + outcome.err


def test_an_unknown_scheme_is_no_database() -> None:
    for url in ("polars://x", "pyspark://x", "nosuch://x", "s3://x", "people.csv", None):
        assert databases.find_backend(url) is None


# Servers that cannot be started here


SERVER = SimpleNamespace(get_server_info=lambda: "8.4.0")
GROUP = {"household": "string", "state": "string", "county": "string"}
PERSONAL = {**GROUP, "person": "string", "hours": "int64"}
ELSEWHERE = [
    kind for kind in opening.ENGINES if kind.backend_name not in ("duckdb", "postgres", "pyspark", "sqlite")
]
READ = {"mssql": "tsql"}
"""Dialects that sqlglot knows by another name."""


@pytest.mark.parametrize("kind", ELSEWHERE, ids=lambda kind: kind.backend_name)
@pytest.mark.parametrize("has_frame", [False, True], ids=["records", "frame"])
@pytest.mark.parametrize("drop", [False, True], ids=["refuse", "drop"])
def test_every_engine_gets_a_query_that_reads_its_source_once(
    kind: type[Session], has_frame: bool, drop: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend: Any = SimpleNamespace(name=kind.backend_name, con=SERVER)
    session = kind(backend)
    monkeypatch.setattr(session, "load", ibis.memtable)
    columns = Columns(groups=("household",), regions=("state", "county"), person="person", quantity="hours")
    records = Records(session.tell_apart(ibis.table(PERSONAL, name="people")), columns, session)
    listed = Columns(groups=("household",), regions=("state", "county"))
    frame = Records(session.tell_apart(ibis.table(GROUP, name="listed")), listed, session, "In the frame: ")
    hierarchy = tt.Hierarchy.from_paths(
        ["all", "state", "county"], [("all", "GA", "Cobb"), ("all", "NY", "Kings")]
    )
    counting = Counting(
        hierarchy=hierarchy,
        sizes=tt.SizeClasses([1, 2, 5]),
        bounds=Bounds(max_records=2, max_quantity=3),
        drop=drop,
    )

    def hold(rows: ibis.Table) -> ibis.Table:
        pytest.fail("nothing is held where no other connection must see it")

    query = count_cells(records, frame if has_frame else None, counting, hold)
    sql = ibis.to_sql(query, dialect=kind.backend_name)
    tree = sqlglot.parse_one(sql, dialect=READ.get(kind.backend_name, kind.backend_name))
    names = [table.name for table in tree.find_all(exp.Table)]
    assert names.count("people") == 1
    assert "md5" in sql.lower()
    if kind.backend_name == "mssql":  # where a condition is no value
        chosen = [value for select in tree.find_all(exp.Select) for value in select.expressions]
        conditions = exp.Connector, exp.Predicate, exp.Not, exp.Boolean
        assert not [value for value in chosen if isinstance(value.unalias(), conditions)]
