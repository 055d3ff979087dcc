"""The ledger as its users see it: opened or created, charged, read, verified."""

from __future__ import annotations

import os
import re
import secrets
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Self

from tallytree.errors import InputError, LedgerError, show
from tallytree.ledger.entries import (
    CHARGE,
    CREATE,
    LIMIT,
    Balance,
    Balances,
    Entry,
    Words,
    add_up,
    enter,
    find_balance,
    find_break,
    follow,
    name_unit,
)
from tallytree.ledger.periods import Limit, Per, check_per
from tallytree.ledger.receipts import NOTHING, Attempt, Receipt, note
from tallytree.privacy.budget import Budget, Exact, Loss, UnitName, check_epsilon
from tallytree.privacy.neighbours import Neighbours, Protected, TotalKind, check_kinds
from tallytree.privacy.plan import split_loss
from tallytree.privacy.zcdp import check_delta

if TYPE_CHECKING:
    from tallytree.ledger.store import Store, Transaction
    from tallytree.releases.released import Released
    from tallytree.solvers.checks import Verification

# Where a ledger is: a file, or a database by its URL.

Place = str | os.PathLike[str]
"""The path of a SQLite file, or ``postgresql://user@host/database``."""

Begin = Callable[["Transaction", bool], None]
"""Writes the first entries of a ledger, or further ones; its argument says whether the ledger is new."""

SCHEMES = ("postgresql://", "postgres://", "postgresql+psycopg://")

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


def open_store(place: Place) -> Store:
    """Open the store of an existing ledger. Nothing is ever created by opening it."""
    from tallytree.ledger import postgres_store, sqlite_store

    if address := _find_url(place):
        return postgres_store.open_postgres(address)
    return sqlite_store.open_sqlite(Path(place))


def write_to(place: Place, begin: Begin) -> None:
    """Let ``begin`` write to a ledger, which is made if there is none."""
    from tallytree.ledger import postgres_store, sqlite_store

    if address := _find_url(place):
        with postgres_store.connect_postgres(address).write() as transaction:
            begin(transaction, transaction.make_table())
    elif os.path.lexists(Path(place)):
        with sqlite_store.open_sqlite(Path(place)).write() as transaction:
            begin(transaction, False)
    else:
        sqlite_store.make_sqlite(Path(place), lambda transaction: begin(transaction, True))


def _find_url(place: Place) -> str:
    """The URL of a place; an empty text if it is a path."""
    if not isinstance(place, (str, os.PathLike)):
        raise LedgerError("A ledger is given by its path or URL.")
    if not isinstance(place, str) or not _URL.match(place):
        return ""
    if not place.startswith(SCHEMES):
        raise LedgerError("A ledger is in a file (SQLite), or in a database given as postgresql://...")
    return place


LONGEST_NAME, LONGEST_WHAT, LONGEST_WORD = 100, 500, 60


@dataclass(frozen=True)
class Record:
    """All that a ledger holds, after its checks."""

    entries: Sequence[Entry]
    balances: Balances


class Ledger:
    """What was spent on each dataset, and the one place where spending more is allowed or refused.

    ``Ledger(place)`` opens an existing ledger; :meth:`create` makes one. It may be used by any number of
    processes and threads at the same time.

    >>> from tempfile import TemporaryDirectory
    >>> folder = TemporaryDirectory()
    >>> ledger = Ledger.create(f"{folder.name}/budget.db", dataset="people 2026", epsilon=2)
    >>> import tallytree as tt
    >>> regions = tt.Hierarchy.from_paths(["nation", "state"], [("US", "GA"), ("US", "NY")])
    >>> counts = tt.GroupCounts(regions, sizes=(1, 3), leaf=[[40, 30, 20], [60, 20, 10]])
    >>> made = tt.release(counts, epsilon="0.5", ledger=ledger)
    >>> print(ledger.balance().remaining)
    3/2
    >>> folder.cleanup()
    """

    def __init__(self, place: Place) -> None:
        self._store: Store = open_store(place)
        self._own = threading.local()

    @classmethod
    def create(
        cls,
        place: Place,
        *,
        dataset: str,
        epsilon: Exact | None = None,
        delta: Exact | None = None,
        rho: Exact | None = None,
        protect: Protected = "person",
        total: TotalKind = "private",
        limit: Exact | None = None,
        per: Per | None = None,
    ) -> Self:
        """Give a dataset its total budget, in a new ledger or an existing one.

        The budget is an epsilon; or with ``delta``, for releases with Gaussian noise, the largest rho that
        implies (epsilon, delta)-DP, or a ``rho``. It cannot be changed later. It is what a person may lose;
        with ``protect="group"``, what a whole group may, and then all releases have the same kind of total.
        A ``limit`` ``per`` "month", "quarter" or "year" (UTC), in the same unit as the total, bounds what is
        spent in each of them; what is left of it at the end is not carried over.
        """
        name = _check_name(dataset)
        whom = check_kinds(Neighbours(protect=protect, total=total)).whom
        (amount,), settled = split_loss([name], Budget(epsilon=epsilon, rho=rho, delta=delta))
        check_epsilon(amount, "The budget")  # a rho as well: it implies a larger epsilon at every such delta
        if settled is not None:
            check_delta(settled)
        unit: UnitName = "epsilon" if settled is None else "rho"
        restriction = _settle_limit(name, limit, per, rho=rho, delta=delta)

        def begin(transaction: Transaction, is_new: bool) -> None:
            record = Record([], {}) if is_new else trust(transaction.read())
            # The random name distinguishes ledgers that are created in the same second.
            news = [(CREATE, amount, f"total budget {secrets.token_hex(8)}")]
            if restriction is not None:
                news.append((LIMIT, restriction.amount, restriction.write()))
            time = transaction.read_clock()
            for kind, number, what in news:
                entry = _write_next(record, name, kind, name_unit(unit, whom), number, what, time)
                transaction.append(entry)
                record = Record([*record.entries, entry], record.balances)
            transaction.commit()

        write_to(place, begin)
        return cls(place)

    def read(self) -> Record:
        """Return all entries and balances; refuse a ledger in which anything was changed."""
        return trust(self._store.read())

    def balance(self, dataset: str | None = None) -> Balance:
        """Return a dataset's budget and what is left of it; the only dataset need not be named."""
        return find_balance(self.read().balances, dataset)

    def require(self, loss: Loss | Exact, *, dataset: str | None = None, label: str | None = None) -> None:
        """Refuse a loss that a charge would refuse now. Only a charge itself secures anything."""
        balance = self.balance(dataset)
        balance.charge(balance.price(Loss.of(loss)), self._store.tell_time(), check_word("label", label))

    def charge(
        self,
        loss: Loss | Exact,
        *,
        what: str,
        dataset: str | None = None,
        label: str | None = None,
        owner: str | None = None,
        release: str = "",
    ) -> Receipt:
        """Spend some of a dataset's budget; when this returns, that is on the disk and cannot be undone.

        ``loss`` is an epsilon, or what a plan costs: ``plan.loss``. ``what`` is the purpose, which is public.
        A ``label`` is charged once: the second charge of a dataset with the same label is refused, so that a
        job that runs again does not pay twice. ``owner`` says whose charge it is, and ``release`` is the name
        of what it pays for.

        One transaction: wait for all other writers, check the whole chain, refuse what does not fit, add the
        entry, check that it is there, commit. Nothing that is to be paid for may be done before this returns,
        nor at all if this raises anything.
        """
        asked = Loss.of(loss)
        label, owner = check_word("label", label), check_word("owner", owner)
        if isinstance(what, str):
            what = Words(label=label, owner=owner, release=release, purpose=what).write()
        if not isinstance(what, str) or len(what) > LONGEST_WHAT or not what.isprintable():
            raise LedgerError(
                f"The purpose of a charge must be text of at most {LONGEST_WHAT} printable characters, "
                "its label and owner included."
            )
        with self.tell_what_was_spent():
            try:
                with self._store.write() as transaction:
                    record = trust(transaction.read())
                    before = find_balance(record.balances, dataset)
                    amount = before.price(asked)
                    unit = name_unit(before.unit, before.whom)
                    time = transaction.read_clock()
                    entry = _write_next(record, before.dataset, CHARGE, unit, amount, what, time)
                    transaction.append(entry)
                    if transaction.read() != [*record.entries, entry]:
                        raise LedgerError("The new entry was not stored as written: the ledger is damaged.")
                    receipt = Receipt.of(entry, record.balances[before.dataset])
                    self._own.attempt = Attempt(receipt)
                    transaction.commit()
                    self._own.attempt = Attempt(receipt, is_certain=True)
            except BaseException:
                self._settle()
                raise
        return receipt

    def sign(self, key: str | os.PathLike[str], out: str | os.PathLike[str]) -> None:
        """Write a statement about all entries so far, signed with a private key (Ed25519, PEM).

        Whoever keeps it can show that nothing before it was changed, removed or written anew: see
        :meth:`verify`. An earlier statement is not replaced.
        """
        from tallytree.files import write_new
        from tallytree.ledger.envelopes import read_private_key
        from tallytree.ledger.heads import sign_head

        signer = read_private_key(key)
        write_new(Path(out), sign_head(self.read().entries, signer))

    def verify(
        self,
        releases: Sequence[Released] = (),
        *,
        key: str | os.PathLike[str] | None = None,
        statement: str | os.PathLike[str] | None = None,
    ) -> Verification:
        """Check the whole chain and all sums, and that each of the releases was paid for.

        The chain shows every entry that was changed, removed or moved, except for the last ones: if those
        are cut off, or rewritten with new hashes, the rest looks whole. A release that names one of them in
        its manifest shows that, so verify with the releases that you have, at least with the last one. A
        signed ``statement`` (:meth:`sign`) shows it too, with the public ``key``.
        """
        from tallytree.ledger.ledger_check import audit

        if (key is None) != (statement is None):
            raise LedgerError("A signed statement is checked with the public key: give both.")
        if key is None or statement is None:
            return audit(self._store.read(), releases)
        from tallytree.ledger.envelopes import read_public_key
        from tallytree.ledger.heads import check_head

        signer, entries = read_public_key(key), self._store.read()
        found = audit(entries, releases)
        return replace(found, checks=(*found.checks, check_head(entries, Path(statement), signer)))

    def _settle(self) -> None:
        """After a commit that failed, check whether the charge is there."""
        attempt: Attempt | None = self._own.attempt
        if attempt is None or attempt.is_certain:
            return
        try:
            entries = self._store.read()
        except LedgerError:
            return
        if any(entry.hash == attempt.receipt.hash for entry in entries):
            self._own.attempt = replace(attempt, is_certain=True)
        elif self._store.absence_is_certain:
            self._own.attempt = None

    @contextmanager
    def tell_what_was_spent(self, is_used: Callable[[Receipt], bool] = lambda _: False) -> Iterator[None]:
        """Add a note to every exception that leaves the block: what this thread's charge in it has cost.

        ``is_used`` tells whether the charge was of use all the same, because its release exists.
        """
        self._own.attempt = None
        try:
            yield
        except BaseException as error:
            attempt: Attempt | None = self._own.attempt
            if attempt is not None:
                note(error, replace(attempt, is_used=is_used(attempt.receipt)).describe())
            elif not isinstance(error, InputError) or isinstance(error, LedgerError):
                note(error, NOTHING)
            raise

    @property
    def title(self) -> str:
        """What it is called on a page, which shows no password."""
        return self._store.shown

    def __repr__(self) -> str:
        return f"Ledger({self._store.shown.removeprefix('The ledger ')})"


def open_ledger(ledger: Ledger | Place) -> Ledger:
    """Return a ledger that is given itself, or by its place."""
    return ledger if isinstance(ledger, Ledger) else Ledger(ledger)


def trust(entries: Sequence[Entry]) -> Record:
    """Return the entries with their balances; refuse them with an error that names the first wrong one.

    All of them are checked every time: a balance is only as good as the entries that it is the sum of.
    """
    fault = find_break(entries)
    if fault is None:
        balances, fault = add_up(entries)
    if fault is not None:
        raise LedgerError(f"The ledger was tampered with or is damaged: {fault}.")
    return Record(entries, balances)


def _write_next(
    record: Record, dataset: str, kind: str, unit: str, amount: Fraction, what: str, time: str
) -> Entry:
    """The next entry, if it may be there; the record's balances are then those after it."""
    entry = follow(record.entries, dataset=dataset, kind=kind, unit=unit, amount=amount, what=what, time=time)
    enter(record.balances, entry)
    return entry


def _settle_limit(
    dataset: str, limit: Exact | None, per: Per | None, *, rho: Exact | None, delta: Exact | None
) -> Limit | None:
    """The limit in the unit of the budget; an epsilon becomes a rho at the delta, as the total does."""
    if limit is None and per is None:
        return None
    if limit is None or per is None:
        raise LedgerError("A limit is an amount and a period: give both 'limit' and 'per'.")
    asked = Budget(epsilon=limit, delta=delta) if rho is None else Budget(rho=limit, delta=delta)
    (amount,), _ = split_loss([dataset], asked)
    return Limit(amount, check_per(per))


def check_word(what: str, word: object) -> str:
    """Check the label or the owner of a charge, which are public; return it, empty if it is None."""
    if word is None:
        return ""
    if not isinstance(word, str) or not word or word != word.strip() or not word.isprintable():
        raise LedgerError(f"The {what} of a charge must be printable text, with no blanks around it.")
    if len(word) > LONGEST_WORD:
        raise LedgerError(f"The {what} of a charge has at most {LONGEST_WORD} characters: {show(word)}.")
    return word


def _check_name(name: object) -> str:
    """A name for a dataset, which is shown in tables and messages."""
    if not isinstance(name, str) or not name.strip() or name != name.strip():
        raise LedgerError("A dataset's name must be text, with no blanks around it.")
    if len(name) > LONGEST_NAME or not name.isprintable():
        raise LedgerError(
            f"A dataset's name has at most {LONGEST_NAME} characters, all of them printable: {show(name)}."
        )
    return name
