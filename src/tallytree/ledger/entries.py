"""The entries of a ledger, and the chain of hashes that ties them together. No database here."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from typing import get_args

from tallytree.errors import BudgetError, DoneAlreadyError, LedgerError, name_choices, show
from tallytree.ledger.periods import Limit, Period
from tallytree.privacy.budget import UNITS, Loss, UnitName
from tallytree.privacy.neighbours import Whom

FORMAT = "tallytree-ledger-1"
CREATE, LIMIT, CHARGE = "create", "limit", "charge"
START = "0" * 64
"""The ``previous`` hash of the first entry."""
MOST_DIGITS = 200
"""The most digits of an amount. A rho may be made of the squares of several epsilons of up to 40 digits."""

_AMOUNT = re.compile(rf"[1-9][0-9]{{0,{MOST_DIGITS - 1}}}(/[1-9][0-9]{{0,{MOST_DIGITS - 1}}})?")


WORDS_FORMAT = 2


@dataclass(frozen=True, kw_only=True)
class Words:
    """What an entry says of its charge: the text ``what``, in parts.

    They are in one text, as JSON, so that ledgers of earlier versions take them as they are: no column is
    added to a database whose owner may be somebody else, and the hash covers them like any other text. In an
    entry of an earlier version all of the text is the purpose.
    """

    label: str = ""
    """A dataset is charged once with it."""
    owner: str = ""
    release: str = ""
    """The random name of the release that is paid for."""
    purpose: str

    def write(self) -> str:
        """Return the text for an entry."""
        parts = {name: text for name, text in asdict(self).items() if text}
        if parts.keys() == {"purpose"} and not self.purpose.startswith("{"):
            return self.purpose
        return json.dumps({"format": WORDS_FORMAT, **parts}, ensure_ascii=False)

    @classmethod
    def read(cls, text: str) -> Words:
        """Return the parts of a text; a text that was not written here is a purpose."""
        with suppress(ValueError, TypeError, RecursionError):
            parts = json.loads(text)
            if isinstance(parts, dict) and parts.pop("format", None) == WORDS_FORMAT:
                words = cls(**parts)
                if all(isinstance(part, str) for part in parts.values()) and words.write() == text:
                    return words
        return cls(purpose=text)


@dataclass(frozen=True)
class Entry:
    """One line of a ledger, as it is in the database, even if somebody changed it there."""

    number: int
    """From 1 on, without gaps, over all datasets."""
    dataset: str
    kind: str
    """``create``: a dataset gets its total budget; ``limit``: the most that may be spent in each period;
    ``charge``: some of it is spent. Version 0.1.0 refuses a ledger with a limit, which it would not keep.
    """
    unit: str
    """The unit of the dataset's budget: ``epsilon``, or ``rho`` for Gaussian noise.

    It is what a person loses; ``epsilon per group`` is what a whole group does.
    """
    amount: str
    """Exact, in lowest terms: "1/3"."""
    what: str
    """What it was for, in public words."""
    time: str
    """UTC, ISO 8601."""
    previous: str
    """The hash of the entry before."""
    hash: str = ""

    @property
    def words(self) -> Words:
        """The parts of ``what``."""
        return Words.read(self.what)

    @property
    def exact_amount(self) -> Fraction | None:
        """The amount as a number; None if the text is not one in lowest terms and above zero."""
        if not isinstance(self.amount, str) or not _AMOUNT.fullmatch(self.amount):
            return None
        number = Fraction(self.amount)
        return number if str(number) == self.amount else None

    def compute_hash(self) -> str:
        """Return the SHA-256 of the canonical form: the JSON list of the format's name and all other fields.

        ASCII, no blanks. The hash of the entry before is one of the fields, so that a hash stands for
        all entries up to its own.
        """
        fields = [value for name, value in asdict(self).items() if name != "hash"]
        canonical = json.dumps([FORMAT, *fields], ensure_ascii=True, separators=(",", ":"), default=repr)
        return hashlib.sha256(canonical.encode("ascii")).hexdigest()


def follow(
    entries: Sequence[Entry], *, dataset: str, kind: str, unit: str, amount: Fraction, what: str, time: str
) -> Entry:
    """Return the entry that comes after ``entries``."""
    previous = entries[-1].hash if entries else START
    entry = Entry(len(entries) + 1, dataset, kind, unit, str(amount), what, time, previous)
    return replace(entry, hash=entry.compute_hash())


@dataclass(frozen=True)
class Fault:
    """The first entry of a ledger that is not as it should be."""

    number: int
    problem: str

    def __str__(self) -> str:
        return f"entry {self.number} {self.problem}"


def find_break(entries: Sequence[Entry]) -> Fault | None:
    """Return the first entry that was changed, is missing or is out of place, as far as the chain shows.

    The hashes have no key. The chain alone cannot show that the *last* entries were cut off, or that
    somebody rewrote the ledger from some entry on, with matching hashes. A hash that is kept elsewhere
    shows both, and every release keeps one: that of its own charge, in its manifest.
    """
    if not entries:
        return Fault(1, "is missing")  # no ledger is made without one
    previous = START
    for number, entry in enumerate(entries, start=1):
        if entry.number != number:
            return Fault(number, "is missing")
        if entry.hash != entry.compute_hash():
            return Fault(number, "was changed: its hash does not fit what it says")
        if entry.previous != previous:
            before = f"entry {number - 1}" if number > 1 else "the start"
            return Fault(number, f"does not follow {before}: one of the two was exchanged")
        previous = entry.hash
    return None


# What the entries of a ledger add up to, exactly, and what they may not do.

MOST_BALANCE_DIGITS = 1000
"""The most digits of a sum. Fractions with many different denominators add up to ever longer ones."""


@dataclass(frozen=True)
class Balance:
    """A dataset's budget and what is left of it."""

    dataset: str
    unit: UnitName
    total: Fraction
    whom: Whom = "person"
    spent: Fraction = Fraction(0)
    charges: int = 0
    labels: frozenset[str] = frozenset()
    limit: Limit | None = None
    period: Period | None = None
    """The latest in which something was charged, if there is a limit."""
    spent_in_period: Fraction = Fraction(0)

    @property
    def remaining(self) -> Fraction:
        """What may still be spent, in all periods together."""
        return self.total - self.spent

    def find_left(self, time: str) -> Fraction:
        """Return what may be spent at a time (UTC, ISO 8601): with a limit, what its period leaves."""
        if self.limit is None:
            return self.remaining
        is_latest = Period.of(time, self.limit.per) == self.period
        spent = self.spent_in_period if is_latest else Fraction(0)
        return min(self.remaining, self.limit.amount - spent)

    def restrict(self, limit: Limit) -> Balance:
        """Return the balance with a limit for each period, which can be set once, before all charges."""
        if self.limit is not None or self.charges:
            raise LedgerError(f"The limit of dataset {show(self.dataset)} cannot be changed.")
        if limit.amount > self.total:
            raise LedgerError(
                f"The limit of dataset {show(self.dataset)} is above its total budget: "
                f"{show_amount(limit.amount)} per {limit.per}, {show_amount(self.total)} in all."
            )
        return replace(self, limit=limit)

    def price(self, loss: Loss) -> Fraction:
        """Return what a loss costs in the unit of this budget; refuse a loss that no amount of it covers."""
        if loss.whom not in (None, self.whom):
            listed = " --total public" if loss.whom == "listed group" else ""
            protected = "person" if loss.whom == "person" else "group"
            raise LedgerError(
                f"The budget of dataset {show(self.dataset)} is what a {self.whom} may lose, and this is "
                f"what a {loss.whom} loses. The two cannot be added up: create another dataset for it, with "
                f"'tallytree ledger create --protect {protected}{listed}'."
            )
        amount = loss.count(self.unit)
        if amount is None:
            raise LedgerError(
                f"The budget of dataset {show(self.dataset)} is an epsilon, which Gaussian noise cannot "
                "keep: it needs a budget that was created with a delta."
            )
        return amount

    def charge(self, amount: Fraction, time: str, label: str = "") -> Balance:
        """Return the balance after a charge; refuse one that does not fit, or whose label was charged."""
        if label in self.labels:
            raise DoneAlreadyError(
                f"Dataset {show(self.dataset)} was charged with the label {show(label)} already. "
                "'tallytree ledger show' tells when and for which release; another label is another charge."
            )
        if amount > self.remaining:
            raise BudgetError(
                f"The budget of dataset {show(self.dataset)} does not allow this: requested "
                f"{show_amount(amount)}, remaining {show_amount(self.remaining)}, difference "
                f"{show_amount(amount - self.remaining)}."
            )
        after = self if self.limit is None else self._enter_period(amount, self.limit, time)
        labels = self.labels | {label} if label else self.labels
        after = replace(after, spent=self.spent + amount, charges=self.charges + 1, labels=labels)
        for number in (after.spent, after.remaining):
            if max(number.numerator, number.denominator) >= 10**MOST_BALANCE_DIGITS:
                raise LedgerError(
                    f"What was spent on dataset {show(self.dataset)} would take more than "
                    f"{MOST_BALANCE_DIGITS} digits to write down exactly: take a budget with a simpler "
                    "denominator."
                )
        return after

    def _enter_period(self, amount: Fraction, limit: Limit, time: str) -> Balance:
        """Add a charge to what was spent in its period. No period comes back after a later one."""
        period, left = Period.of(time, limit.per), self.find_left(time)
        if self.period is not None and period < self.period:
            raise LedgerError(
                f"Dataset {show(self.dataset)} was charged in {self.period} already, and this charge is of "
                f"{period}: a clock is wrong."
            )
        if amount > limit.amount:
            raise BudgetError(
                f"The budget of dataset {show(self.dataset)} does not allow this in any {limit.per}: "
                f"requested {show_amount(amount)}, limit {show_amount(limit.amount)}."
            )
        if amount > left:
            raise BudgetError(
                f"The budget of dataset {show(self.dataset)} does not allow this in {period}: requested "
                f"{show_amount(amount)}, remaining {show_amount(left)} of {show_amount(limit.amount)} per "
                f"{limit.per}, difference {show_amount(amount - left)}. The next {limit.per} begins on "
                f"{period.next.begin} (UTC).",
                renews=period.next.begin,
            )
        return replace(self, period=period, spent_in_period=limit.amount - left + amount)


Balances = dict[str, Balance]
PER = " per "


def name_unit(unit: UnitName, whom: Whom) -> str:
    """Return the unit of an amount as an entry has it: that of a person is the plain one."""
    return unit if whom == "person" else f"{unit}{PER}{whom}"


def parse_unit(text: str) -> tuple[UnitName, Whom]:
    """Return what the unit of an entry counts, and whose loss it is."""
    for unit in UNITS.values():
        for whom in get_args(Whom):
            if text == name_unit(unit.name, whom):
                return unit.name, whom
    raise LedgerError("Its amount is neither an epsilon nor a rho.")


def enter(balances: Balances, entry: Entry) -> None:
    """Apply an entry to the balances; refuse an entry that a ledger may not have."""
    amount = entry.exact_amount
    if amount is None:
        raise LedgerError("Its amount is not a number above zero in lowest terms.")
    unit, whom = parse_unit(entry.unit)
    if entry.kind == CREATE:
        if entry.dataset in balances:
            raise LedgerError(
                f"Dataset {show(entry.dataset)} has its budget already, which cannot be changed: "
                f"{show_amount(balances[entry.dataset].total)}."
            )
        balances[entry.dataset] = Balance(entry.dataset, unit, amount, whom)
        return
    if entry.kind not in (LIMIT, CHARGE):
        raise LedgerError(
            "It is neither a budget nor a charge nor a limit; a newer version of Tallytree may know it."
        )
    balance = find_balance(balances, entry.dataset)
    if (unit, whom) != (balance.unit, balance.whom):
        raise LedgerError("Its unit is not that of the budget.")
    balances[entry.dataset] = (
        balance.restrict(Limit.read(amount, entry.what))
        if entry.kind == LIMIT
        else balance.charge(amount, entry.time, entry.words.label)
    )


def add_up(entries: Sequence[Entry]) -> tuple[Balances, Fault | None]:
    """Return the balances, up to the first entry that a ledger may not have, and what is wrong with it."""
    balances: Balances = {}
    for number, entry in enumerate(entries, start=1):
        try:
            enter(balances, entry)
        except LedgerError as error:
            why = str(error).removesuffix(".")
            return balances, Fault(number, f"is not allowed: {why[:1].lower()}{why[1:]}")
    return balances, None


def find_balance(balances: Balances, dataset: str | None) -> Balance:
    """Return the balance of a dataset, which need not be named if it is the only one."""
    if dataset is None and len(balances) == 1:
        return next(iter(balances.values()))
    if dataset is None:
        raise LedgerError(f"Name the dataset, since the ledger holds several: {name_choices('', balances)}")
    if dataset not in balances:
        raise LedgerError(f"The ledger has no dataset {show(dataset)}: {name_choices(dataset, balances)}")
    return balances[dataset]


def show_amount(number: Fraction) -> str:
    """Return an amount for people to read: exact if that is short, otherwise rounded."""
    text = str(number)
    return text if len(text) <= 24 else f"about {float(number):.6g}"
