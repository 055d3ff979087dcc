"""What the tests of the ledger share: small releases, ledgers on both databases, tampering."""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import psycopg
import sqlalchemy as sa
from psycopg import sql

import tallytree as tt
from tallytree.ledger.entries import Entry
from tallytree.ledger.store import TABLE
from tests import commands
from tests.ledger.ledger_workers import count


def make_schema(postgres: str) -> str:
    """The URL of a part of the database that nobody else uses."""
    name = f"ledger_{secrets.token_hex(4)}"
    with psycopg.connect(postgres) as connection:
        connection.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(name)))
    return f"{postgres}?options=-csearch_path%3D{name}"


def make_ledger(place: str | Path, epsilon: str = "10", charges: Sequence[str] = ()) -> tt.Ledger:
    """A ledger with one dataset, and charges."""
    ledger = tt.Ledger.create(place, dataset="census", epsilon=epsilon)
    for number, amount in enumerate(charges):
        ledger.charge(amount, what=f"release {number}")
    return ledger


def release(ledger: tt.Ledger | str | Path, epsilon: str = "1", **options: Any) -> tt.Release:
    """A small release."""
    return tt.release(count(), epsilon=epsilon, ledger=ledger, **options)


def tamper(place: str | Path, statement: str, values: Sequence[object] = ()) -> None:
    """Do what somebody with access to the database could do; ``?`` stands for a value."""
    if str(place).startswith("postgresql"):
        with psycopg.connect(str(place)) as server:
            server.execute(statement.replace("?", "%s").encode(), values)
        return
    file = sqlite3.connect(place)
    with file:
        file.execute(statement, values)
    file.close()


def change(place: str | Path, number: int, values: Mapping[str, object]) -> None:
    """Change fields of an entry."""
    fields = ", ".join(f"{name} = ?" for name in values)
    tamper(place, f"UPDATE {TABLE.name} SET {fields} WHERE number = ?", [*values.values(), number])


def read_rows(place: str | Path) -> list[Entry]:
    """The entries, read by other means than the ledger's own."""
    url = str(place)
    engine = sa.create_engine(
        url.replace("postgresql://", "postgresql+psycopg://") if "://" in url else f"sqlite:///{url}"
    )
    with engine.connect() as connection:
        rows = connection.execute(sa.text(f"SELECT * FROM {TABLE.name} ORDER BY number")).all()
    engine.dispose()
    return [Entry(*row) for row in rows]


def sum_charges(place: str | Path) -> Fraction:
    """What the ledger shows as spent."""
    return sum((Fraction(row.amount) for row in read_rows(place) if row.kind == "charge"), Fraction(0))


def run_workers(what: str, place: str | Path, folder: Path, *more: object) -> Any:
    """Let the workers do something; what they found out."""
    return commands.run_workers("tests.ledger.ledger_workers", what, str(place), str(folder), *map(str, more))
