"""What became of a charge, said with every error that may come after it.

A charge comes before the noise that it pays for, so whatever goes wrong later has cost something. The words
about it are a note on the exception (:meth:`BaseException.add_note`): that keeps the exception what it is,
an interruption as well, and Python shows notes by itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tallytree.ledger.receipts import Receipt


class Outcome(str):
    """A note of ours, told apart from those of libraries, which may show data."""

    __slots__ = ()


NOTHING = Outcome("Nothing was spent.")


@dataclass(frozen=True)
class Attempt:
    """A charge that may be in the ledger, or certainly is."""

    receipt: Receipt
    is_certain: bool = False
    is_used: bool = False
    """The release that it paid for was written."""

    def describe(self) -> Outcome:
        """What was spent, and for what."""
        from tallytree.ledger.balances import show_amount  # not sooner: every command has this module

        amount = f"{self.receipt.unit.capitalize()} {show_amount(self.receipt.charged)}"
        entry = self.receipt.entry
        if not self.is_certain:
            return Outcome(
                f"{amount} may have been spent for nothing: if it was, then as entry {entry} of the ledger."
            )
        if self.is_used:
            return Outcome(f"{amount} was spent as entry {entry}, and the release was written.")
        return Outcome(f"{amount} was spent for nothing: it is entry {entry} of the ledger.")


def note(error: BaseException, outcome: Outcome) -> None:
    """Say the outcome with the error, unless that was done already."""
    if not _find_notes(error):
        error.add_note(outcome)


def find_outcome(error: BaseException) -> str:
    """What was said with the error, or with those that led to it."""
    seen: list[BaseException] = []
    current: BaseException | None = error
    while current is not None and current not in seen:
        if found := _find_notes(current):
            return found[0]
        seen.append(current)
        current = current.__cause__ or current.__context__
    return ""


def _find_notes(error: BaseException) -> list[Outcome]:
    return [text for text in getattr(error, "__notes__", ()) if isinstance(text, Outcome)]
