"""The proof of a charge, which the manifest of the release that it paid for carries."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

from tallytree.errors import FolderError, show
from tallytree.ledger.entries import MOST_BALANCE_DIGITS, Balance, Entry, show_amount
from tallytree.ledger.entries import MOST_DIGITS as MOST_AMOUNT_DIGITS
from tallytree.privacy.budget import UNITS, UnitName

# What became of a charge, stated with every error that may come after it.
#
# A charge comes before the noise that it pays for, so whatever goes wrong later has cost something. The
# words about it are a note on the exception (:meth:`BaseException.add_note`): that keeps the exception what
# it is, an interruption as well, and Python shows notes by itself.


class Outcome(str):
    """A note of ours, as opposed to those of libraries, which may show data; with the same for programs."""

    charged: bool | None
    """Whether something was spent; None if that is not known."""
    entry: int | None
    is_used: bool

    def __new__(
        cls, text: str, *, charged: bool | None = False, entry: int | None = None, is_used: bool = False
    ) -> Self:
        """Make a note with its facts."""
        made = super().__new__(cls, text)
        made.charged, made.entry, made.is_used = charged, entry, is_used
        return made


NOTHING = Outcome("Nothing was spent.")


@dataclass(frozen=True)
class Attempt:
    """A charge that may be in the ledger, or certainly is."""

    receipt: Receipt
    is_certain: bool = False
    is_used: bool = False
    """The release that it paid for was written."""

    def describe(self) -> Outcome:
        """Say what was spent, and for what."""
        from tallytree.ledger.entries import show_amount  # not sooner: every command has this module

        amount = f"{self.receipt.unit.capitalize()} {show_amount(self.receipt.charged)}"
        entry = self.receipt.entry
        if not self.is_certain:
            return Outcome(
                f"{amount} may have been spent for nothing; if so, it is entry {entry} of the ledger.",
                charged=None,
                entry=entry,
            )
        if self.is_used:
            text = f"{amount} was spent as entry {entry}, and the release was written."
            return Outcome(text, charged=True, entry=entry, is_used=True)
        text = f"{amount} was spent for nothing: it is entry {entry} of the ledger."
        return Outcome(text, charged=True, entry=entry)


def note(error: BaseException, outcome: Outcome) -> None:
    """Add the outcome as a note to the error, unless that was done already."""
    if not _find_notes(error):
        error.add_note(outcome)


def find_outcome(error: BaseException | None) -> Outcome:
    """Return the outcome that was noted on the error, or on those that led to it; an empty one for none."""
    seen: list[BaseException] = []
    current = error
    while current is not None and current not in seen:
        if found := _find_notes(current):
            return found[0]
        seen.append(current)
        current = current.__cause__ or current.__context__
    return Outcome("")


def _find_notes(error: BaseException) -> list[Outcome]:
    return [text for text in getattr(error, "__notes__", ()) if isinstance(text, Outcome)]


NUMBERS = ("charged", "spent", "remaining")
WORDS = ("release", "label", "owner")

_NUMBER = re.compile(rf"[0-9]{{1,{MOST_BALANCE_DIGITS}}}(/[1-9][0-9]{{0,{MOST_BALANCE_DIGITS - 1}}})?")


@dataclass(frozen=True)
class Receipt:
    """Which entry of a ledger a charge is, and how the dataset's budget stood after it.

    The hash stands for that entry and all before it. So a release and its ledger prove each other: the
    release was paid for, and nothing up to that entry was changed or taken out of the ledger since.
    """

    dataset: str
    entry: int
    hash: str
    unit: UnitName
    charged: Fraction
    spent: Fraction
    """In all on the dataset, this charge included."""
    remaining: Fraction
    release: str = ""
    """The release's own name: random, and in its entry too. Releases of earlier versions have none."""
    label: str = ""
    owner: str = ""

    @classmethod
    def of(cls, entry: Entry, balance: Balance) -> Self:
        """Return the receipt for an entry, with the balance after it."""
        charged = Fraction(entry.amount)
        words = entry.words
        return cls(
            entry.dataset,
            entry.number,
            entry.hash,
            balance.unit,
            charged,
            balance.spent,
            balance.remaining,
            release=words.release,
            label=words.label,
            owner=words.owner,
        )

    @classmethod
    def parse(cls, value: Mapping[str, Any]) -> Self:
        """Parse the receipt of a manifest; raise a ValueError if it is not a receipt."""
        kinds = {"dataset": str, "entry": int, "hash": str, "unit": str} | dict.fromkeys(NUMBERS, str)
        kinds |= {name: str for name in WORDS if name in value}
        if set(value) != set(kinds) or any(type(value[name]) is not kind for name, kind in kinds.items()):
            raise ValueError("not a receipt")
        if value["unit"] not in UNITS:
            raise ValueError("not a unit")
        if not all(_NUMBER.fullmatch(value[name]) for name in NUMBERS):
            raise ValueError("not a number")
        numbers = {name: Fraction(value[name]) for name in NUMBERS}
        if max(numbers.values()) >= 10**MOST_AMOUNT_DIGITS:  # more than any budget
            raise ValueError("not a number of a ledger")
        return cls(**{**value, **numbers})

    def to_dict(self) -> dict[str, str | int]:
        """Return the receipt for the manifest, with numbers as exact text."""
        numbers = {name: str(getattr(self, name)) for name in NUMBERS}
        return {
            "dataset": self.dataset,
            "entry": self.entry,
            "hash": self.hash,
            "unit": self.unit,
            **numbers,
            **{name: text for name in WORDS if (text := getattr(self, name))},
        }

    def describe(self) -> str:
        """Describe the receipt in a sentence, for people."""
        charged, spent, remaining = map(show_amount, (self.charged, self.spent, self.remaining))
        label = f" with the label {show(self.label)}" if self.label else ""
        return (
            f"{self.unit.capitalize()} {charged} was charged to dataset {show(self.dataset)}, as entry "
            f"{self.entry} of the ledger{label}: {spent} spent in all, {remaining} remaining."
        )


def read_receipt(manifest: Mapping[str, Any]) -> Receipt | None:
    """Return the ledger's receipt in a manifest; None if no ledger was charged."""
    ledger = manifest["privacy"].get("ledger")
    if not isinstance(ledger, Mapping):
        return None
    try:
        return Receipt.parse(ledger)
    except ValueError:
        raise FolderError("The manifest is damaged: what it says of a ledger is not a receipt.") from None
