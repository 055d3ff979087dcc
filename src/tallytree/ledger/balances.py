"""What the entries of a ledger add up to, exactly, and what they may not do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from tallytree.errors import LedgerError, name_choices, show
from tallytree.ledger.entries import CHARGE, CREATE, Entry, Fault
from tallytree.privacy.losses import Loss
from tallytree.privacy.units import UNITS, UnitName

MOST_DIGITS = 1000
"""Of a sum. Fractions with many different denominators add up to ever longer ones."""


@dataclass(frozen=True)
class Balance:
    """A dataset's budget and what is left of it."""

    dataset: str
    unit: UnitName
    total: Fraction
    spent: Fraction = Fraction(0)
    charges: int = 0

    @property
    def remaining(self) -> Fraction:
        """What may still be spent."""
        return self.total - self.spent

    def price(self, loss: Loss) -> Fraction:
        """What a loss costs in the unit of this budget; refused if no amount of it covers the loss."""
        amount = loss.count(self.unit)
        if amount is None:
            raise LedgerError(
                f"The budget of dataset {show(self.dataset)} is an epsilon, which Gaussian noise cannot "
                "keep: it needs a budget that was created with a delta."
            )
        return amount

    def charge(self, amount: Fraction) -> Balance:
        """The balance after a charge, which is refused if it does not fit."""
        if amount > self.remaining:
            raise LedgerError(
                f"The budget of dataset {show(self.dataset)} does not allow this: requested "
                f"{show_amount(amount)}, remaining {show_amount(self.remaining)}, difference "
                f"{show_amount(amount - self.remaining)}."
            )
        after = replace(self, spent=self.spent + amount, charges=self.charges + 1)
        for number in (after.spent, after.remaining):
            if max(number.numerator, number.denominator) >= 10**MOST_DIGITS:
                raise LedgerError(
                    f"What was spent on dataset {show(self.dataset)} would take more than {MOST_DIGITS} "
                    "digits to write down exactly: take a budget with a simpler denominator."
                )
        return after


Balances = dict[str, Balance]


def enter(balances: Balances, entry: Entry) -> None:
    """Change the balances as an entry says; refuse an entry that a ledger may not have."""
    amount = entry.exact_amount
    if amount is None:
        raise LedgerError("Its amount is not a number above zero in lowest terms.")
    if entry.unit not in UNITS:
        raise LedgerError("Its amount is neither an epsilon nor a rho.")
    if entry.kind == CREATE:
        if entry.dataset in balances:
            raise LedgerError(
                f"Dataset {show(entry.dataset)} has its budget already, which cannot be changed: "
                f"{show_amount(balances[entry.dataset].total)}."
            )
        balances[entry.dataset] = Balance(entry.dataset, UNITS[entry.unit].name, amount)
    elif entry.kind == CHARGE:
        balance = find_balance(balances, entry.dataset)
        if entry.unit != balance.unit:
            raise LedgerError("Its amount has another unit than the budget.")
        balances[entry.dataset] = balance.charge(amount)
    else:
        raise LedgerError("It is neither a budget nor a charge.")


def add_up(entries: Sequence[Entry]) -> tuple[Balances, Fault | None]:
    """The balances, up to the first entry that a ledger may not have, and what is wrong with that."""
    balances: Balances = {}
    for number, entry in enumerate(entries, start=1):
        try:
            enter(balances, entry)
        except LedgerError as error:
            return balances, Fault(number, f"may not be there: {str(error).removesuffix('.')}")
    return balances, None


def find_balance(balances: Balances, dataset: str | None) -> Balance:
    """The balance of a dataset, which need not be named if it is the only one."""
    if dataset is None and len(balances) == 1:
        return next(iter(balances.values()))
    if dataset is None:
        raise LedgerError(f"Name the dataset, since the ledger holds several: {name_choices('', balances)}")
    if dataset not in balances:
        raise LedgerError(f"The ledger has no dataset {show(dataset)}: {name_choices(dataset, balances)}")
    return balances[dataset]


def show_amount(number: Fraction) -> str:
    """Exact if that is short; what is shown for people to read need not fill pages."""
    text = str(number)
    return text if len(text) <= 24 else f"about {float(number):.6g}"
