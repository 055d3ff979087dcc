"""A ledger on a server and two roles: one decides on budgets, one spends them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from typing import Any

import psycopg
import pytest

import tallytree as tt
from tallytree.errors import LedgerError
from tallytree.ledger.entries import follow
from tallytree.ledger.receipts import find_outcome
from tallytree.ledger.store import TABLE
from tests.bad_input_support import refused
from tests.commands import ROOT
from tests.ledger.ledger_support import make_ledger, make_schema, read_rows, release, tamper

pytestmark = pytest.mark.xdist_group("postgres")


@dataclass(frozen=True)
class Roles:
    """A ledger, by the URLs of those who use it."""

    everything: str
    """A superuser's."""
    schema: str
    keeper: str
    releaser: str


@pytest.fixture
def roles(postgres: str) -> Iterator[Roles]:
    """A keeper, who owns the ledger, and somebody who only releases; the rights are those of the docs."""
    place = make_schema(postgres)
    schema = place.partition("%3D")[2]
    keeper, releaser = (place.replace("tester:it%27s%20secret", f"{name}:x") for name in ("keeper", "ann"))
    for statement in (
        "CREATE ROLE keeper LOGIN PASSWORD 'x'",
        "CREATE ROLE releasers",
        "CREATE ROLE ann LOGIN PASSWORD 'x' IN ROLE releasers",
        f"GRANT USAGE, CREATE ON SCHEMA {schema} TO keeper",
        f"GRANT USAGE ON SCHEMA {schema} TO releasers",
    ):
        tamper(place, statement)
    make_ledger(keeper, charges=["1"])
    yield Roles(place, schema, keeper, releaser)
    tamper(place, f"DROP SCHEMA {schema} CASCADE")
    tamper(place, "DROP ROLE IF EXISTS keeper, releasers, ann")


def give_rights(roles: Roles) -> None:
    """Do as the documentation says."""
    page = (ROOT / "docs" / "ledger.md").read_text(encoding="utf-8")
    (statements,) = re.findall(r"^```sql\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    with psycopg.connect(roles.keeper) as connection:
        connection.execute(statements.encode())


def test_somebody_who_only_releases_can_charge_and_nothing_else(roles: Roles) -> None:
    with pytest.raises(LedgerError, match="the database user has no right to this") as refused:
        release(roles.releaser)
    assert find_outcome(refused.value) == ""  # it could not even be opened
    give_rights(roles)
    made = release(roles.releaser)
    ledger = tt.Ledger(roles.releaser)
    assert ledger.verify([made]).passed
    assert ledger.balance().spent == 2
    for dataset in ("new", "census"):
        with pytest.raises(LedgerError, match=r"has no right to this.*create budgets|has its budget already"):
            tt.Ledger.create(roles.releaser, dataset=dataset, epsilon=100)
    for statement in (
        f"UPDATE {TABLE.name} SET amount = '100' WHERE number = 1",
        f"DELETE FROM {TABLE.name}",
        f"TRUNCATE {TABLE.name}",
        f"DROP TABLE {TABLE.name}",
        f"ALTER TABLE {TABLE.name} DISABLE ROW LEVEL SECURITY",
        f"DROP POLICY tallytree_charge ON {TABLE.name}",
        f"CREATE POLICY mine ON {TABLE.name} FOR ALL USING (true)",
        f"LOCK TABLE {TABLE.name} IN ACCESS EXCLUSIVE MODE",
        "SET ROLE keeper",
    ):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            tamper(roles.releaser, statement)
    tt.Ledger.create(roles.keeper, dataset="new", epsilon=1)
    release(roles.releaser, dataset="new")
    assert [row.kind for row in read_rows(roles.keeper)] == ["create", "charge", "charge", "create", "charge"]
    assert ledger.verify([made]).passed


def enter(place: str, **changes: Any) -> None:
    """Add an entry by hand, which fits but for the changes, and has a hash that fits."""
    entries = read_rows(place)
    entry = follow(
        entries, dataset="census", kind="charge", unit="epsilon", amount=Fraction(1), what="mine", time="now"
    )
    changed = replace(entry, **changes)
    values = asdict(changed if "hash" in changes else replace(changed, hash=changed.compute_hash()))
    names, marks = ", ".join(values), ", ".join("?" * len(values))
    tamper(place, f"INSERT INTO {TABLE.name} ({names}) VALUES ({marks})", list(values.values()))


@pytest.mark.parametrize(
    "changes",
    [
        {"kind": "create", "dataset": "new"}, {"kind": "create"}, {"kind": "refund"}, {"dataset": "new"},
        {"time": "2020-01-31T00:00:00+00:00"}, {"time": "2999-01-31T00:00:00+00:00"},
        {"unit": "rho"}, {"amount": "-1"}, {"amount": "0"}, {"amount": "1/0"}, {"amount": "0.5"},
        {"amount": "1\n"}, {"amount": "9" * 201}, {"number": 4}, {"number": -1}, {"previous": "1" * 64},
        {"what": "x" * 501}, {"hash": ""}, {"hash": "X" * 64},
    ],
    ids=lambda changes: repr(changes)[:40],
)  # fmt: skip
def test_the_database_refuses_entries_that_no_releaser_makes(
    changes: dict[str, object], roles: Roles
) -> None:
    give_rights(roles)
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="row-level security"):
        enter(roles.releaser, **changes)
    enter(roles.releaser)  # one that fits is accepted
    assert tt.Ledger(roles.releaser).balance().spent == 2


@pytest.mark.parametrize("changes", [{"hash": "0" * 64}, {"amount": "1000"}], ids=["hash", "budget"])
def test_an_entry_that_only_we_can_check_stops_the_ledger_until_its_owner_removes_it(
    changes: dict[str, object], roles: Roles
) -> None:
    give_rights(roles)
    enter(roles.releaser, **changes)
    for place in (roles.releaser, roles.keeper):
        with pytest.raises(LedgerError, match="tampered with or is damaged: entry 3"):
            release(place)
    tamper(roles.keeper, f"DELETE FROM {TABLE.name} WHERE number = 3")
    assert release(roles.releaser).manifest["privacy"]["ledger"]["entry"] == 3


def test_a_right_that_was_taken_away_is_called_that(roles: Roles) -> None:
    give_rights(roles)
    for right, reason in (
        ("INSERT ON {table}", "the database user has no right to this"),
        ("SELECT ON {table}", "the database user has no right to this"),
        ("USAGE ON SCHEMA {schema}", "the database has one in a schema that its user has no right to use"),
    ):
        statement = right.format(table=TABLE.name, schema=roles.schema)
        tamper(roles.everything, f"REVOKE {statement} FROM releasers")
        with refused(LedgerError, reason):
            release(roles.releaser)
    with pytest.raises(LedgerError, match="has no schema in which to look for it"):
        tt.Ledger.create(roles.releaser, dataset="mine", epsilon=100)
