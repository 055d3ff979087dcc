"""The entries of a ledger, and the chain of hashes that ties them together. No database here."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from fractions import Fraction

FORMAT = "tallytree-ledger-1"
CREATE, CHARGE = "create", "charge"
START = "0" * 64
"""What the first entry has for the hash of an entry before it."""
MOST_DIGITS = 200
"""Of an amount. A rho may be made of the squares of several epsilons, of at most 40 digits each."""

_AMOUNT = re.compile(rf"[1-9][0-9]{{0,{MOST_DIGITS - 1}}}(/[1-9][0-9]{{0,{MOST_DIGITS - 1}}})?")


@dataclass(frozen=True)
class Entry:
    """One line of a ledger, as it stands in the database: also when somebody changed it there."""

    number: int
    """From 1 on, without gaps, over all datasets."""
    dataset: str
    kind: str
    """``create``: a dataset gets its total budget; ``charge``: some of it is spent."""
    unit: str
    """In what the dataset's budget is kept: ``epsilon``, or ``rho`` for Gaussian noise."""
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
    def exact_amount(self) -> Fraction | None:
        """The amount as a number; None if the text is not one in lowest terms and above zero."""
        if not isinstance(self.amount, str) or not _AMOUNT.fullmatch(self.amount):
            return None
        number = Fraction(self.amount)
        return number if str(number) == self.amount else None

    def compute_hash(self) -> str:
        """SHA-256 over the canonical form: the JSON list of the format's name and all other fields.

        ASCII, no blanks. The hash of the entry before is one of the fields, so that a hash stands for
        all entries up to its own.
        """
        fields = [value for name, value in asdict(self).items() if name != "hash"]
        canonical = json.dumps([FORMAT, *fields], ensure_ascii=True, separators=(",", ":"), default=repr)
        return hashlib.sha256(canonical.encode("ascii")).hexdigest()


def follow(
    entries: Sequence[Entry], *, dataset: str, kind: str, unit: str, amount: Fraction, what: str, time: str
) -> Entry:
    """The entry that comes after ``entries``."""
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
    """The first entry that was changed, is missing or is out of place, as far as the chain can tell.

    The hashes have no key. What the chain alone cannot tell is that the *last* entries were cut off, or
    that somebody wrote the ledger anew from some entry on, with hashes to match. A hash that is kept
    elsewhere gives both away, and every release keeps one: that of its own charge, in its manifest.
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
