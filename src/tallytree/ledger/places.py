"""Where a ledger is: a file, or a database by its URL."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from tallytree.errors import LedgerError

if TYPE_CHECKING:
    from tallytree.ledger.store import Store, Transaction

Place = str | os.PathLike[str]
"""The path of a SQLite file, or ``postgresql://user@host/database``."""

Begin = Callable[["Transaction", bool], None]
"""Writes the first entries of a ledger, or more entries; told whether the ledger is new."""

SCHEMES = ("postgresql://", "postgres://", "postgresql+psycopg://")

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


def open_store(place: Place) -> Store:
    """The store of a ledger that there is. Nothing is ever made by looking for it."""
    from tallytree.ledger import postgres, sqlite

    if address := _find_url(place):
        return postgres.open_postgres(address)
    return sqlite.open_sqlite(Path(place))


def write_to(place: Place, begin: Begin) -> None:
    """Let ``begin`` write to a ledger, which is made if there is none."""
    from tallytree.ledger import postgres, sqlite

    if address := _find_url(place):
        with postgres.connect_postgres(address).write() as transaction:
            begin(transaction, transaction.make_table())
    elif os.path.lexists(Path(place)):
        with sqlite.open_sqlite(Path(place)).write() as transaction:
            begin(transaction, False)
    else:
        sqlite.make_sqlite(Path(place), lambda transaction: begin(transaction, True))


def _find_url(place: Place) -> str:
    """The URL that a place is; none if it is a path."""
    if not isinstance(place, (str, os.PathLike)):
        raise LedgerError("A ledger is given by its path or URL.")
    if not isinstance(place, str) or not _URL.match(place):
        return ""
    if not place.startswith(SCHEMES):
        raise LedgerError("A ledger is in a file (SQLite), or in a database given as postgresql://...")
    return place
