"""What was spent on a dataset: period by period, and by whom."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction

from tallytree.errors import LedgerError
from tallytree.ledger.entries import CHARGE, Balance, Entry
from tallytree.ledger.periods import COUNTS, Per, Period

MOST_PERIODS = 36


@dataclass(frozen=True)
class Spending:
    """The charges of one period."""

    period: Period
    charges: Sequence[Entry] = ()

    @property
    def amount(self) -> Fraction:
        """All of them together."""
        return add_amounts(self.charges)


def add_amounts(charges: Sequence[Entry]) -> Fraction:
    """Return what some charges add up to."""
    return sum((Fraction(entry.amount) for entry in charges), Fraction(0))


def list_charges(entries: Sequence[Entry], dataset: str) -> list[Entry]:
    """Return the charges of a dataset."""
    return [entry for entry in entries if (entry.kind, entry.dataset) == (CHARGE, dataset)]


def sort_by_owner(charges: Sequence[Entry]) -> dict[str, list[Entry]]:
    """Return the charges of each owner, those who were charged most first; no owner is an empty text."""
    found: defaultdict[str, list[Entry]] = defaultdict(list)
    for entry in charges:
        found[entry.words.owner].append(entry)
    return dict(sorted(found.items(), key=lambda item: (-add_amounts(item[1]), item[0])))


def list_spending(entries: Sequence[Entry], balance: Balance) -> list[Spending]:
    """Return the periods from the first charge of a dataset to its last, without gaps: the latest 36 of them.

    They are those of its limit. Without one they are months, or quarters or years if there would be too many.
    """
    charges = list_charges(entries, balance.dataset)
    choices: list[Per] = list(COUNTS) if balance.limit is None else [balance.limit.per]
    spending: list[Spending] = []
    for per in choices:
        spending = _fill(charges, per)
        if len(spending) <= MOST_PERIODS:
            break
    return spending[-MOST_PERIODS:]


def _fill(charges: Sequence[Entry], per: Per) -> list[Spending]:
    found: defaultdict[int, list[Entry]] = defaultdict(list)
    for entry in charges:
        with suppress(LedgerError):  # without a limit, an entry may have any time
            found[Period.of(entry.time, per).number].append(entry)
    if not found:
        return []
    return [Spending(Period(at, per), found.get(at, ())) for at in range(min(found), max(found) + 1)]
