"""An engine is added from outside: a class, and a line in the registry."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import ibis
import pyarrow as pa
import pytest

import tallytree as tt
from tallytree.counts.engines import opening
from tallytree.counts.engines.session import Session
from tallytree.errors import EngineError

PEOPLE = pa.table(
    {
        "household": [1, 1, 2, 3, 3, 3, 4],
        "state": ["GA", "GA", "GA", "NY", "NY", "NY", "NY"],
        "county": ["Fulton", "Fulton", "Cobb", "Kings", "Kings", "Kings", "Queens"],
    }
)
QUERIES: list[str] = []


class ListeningTables(Session):
    """Tables of SQLite, by a class that knows less of it than ours."""

    backend_name = "sqlite"

    def fetch(self, query: ibis.Table, what: str, progress: Any) -> pa.Table:
        QUERIES.append(what)
        return super().fetch(query, what, progress)


def test_an_engine_from_outside_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options: dict[str, Any] = {"group": "household", "regions": ["state", "county"], "sizes": (1, 5)}
    with closing(sqlite3.connect(tmp_path / "people.db")) as file, file:
        file.execute("CREATE TABLE people (household INT, state TEXT, county TEXT)")
        rows = [tuple(row.values()) for row in PEOPLE.to_pylist()]
        file.executemany("INSERT INTO people VALUES (?, ?, ?)", rows)
    table = ibis.sqlite.connect(tmp_path / "people.db").table("people")
    before = tt.count_groups(table, **options)
    assert not QUERIES
    monkeypatch.setattr(opening, "ENGINES", [*opening.ENGINES, ListeningTables])
    counts = tt.count_groups(table, **options)
    assert QUERIES
    for other in (before, tt.count_groups(PEOPLE, **options)):
        assert (counts.hierarchy, counts.leaf.tolist()) == (other.hierarchy, other.leaf.tolist())


def test_an_engine_without_a_class_needs_whole_numbers_for_persons(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(sqlite3.connect(tmp_path / "people.db")) as file, file:
        file.execute("CREATE TABLE people (household INT, number INT, name TEXT)")
        file.executemany("INSERT INTO people VALUES (?, ?, ?)", [(1, 1, "a"), (2, 1, "a"), (2, 2, "A")])
    table = ibis.sqlite.connect(tmp_path / "people.db").table("people")
    options: dict[str, Any] = {"group": "household", "regions": [], "sizes": (1, 3)}
    monkeypatch.setattr(opening, "ENGINES", [])
    counts = tt.count_groups(table, person="number", **options)
    assert counts.leaf.tolist() == [[2, 0, 0]]  # without a hash, the first group of a person counts
    with pytest.raises(EngineError, match="'name' identifies persons by text, and sqlite may take two"):
        tt.count_groups(table, person="name", **options)


def test_every_engine_says_what_ibis_calls_it() -> None:
    names = [kind.backend_name for kind in opening.ENGINES]
    assert all(names)
    assert len(set(names)) == len(names)
    assert {"duckdb", "postgres", "pyspark"} <= set(names)
