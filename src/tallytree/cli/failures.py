"""The kinds of failures, for programs: the exit code of each, and whether to run the command again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tallytree.errors import (
    BudgetError,
    CheckError,
    CountsError,
    DoneAlreadyError,
    HierarchyError,
    InputError,
    LedgerError,
    LedgerUnreachableError,
)
from tallytree.ledger.receipts import Outcome


@dataclass(frozen=True)
class Kind:
    """One kind of failure."""

    name: str
    exit_code: int
    passes: bool = False
    """It may be gone the next time, without anybody doing anything about it."""


USAGE, INPUT = Kind("usage", 2), Kind("input", 2)
OUTPUT, MEMORY, BUG = Kind("output", 2), Kind("memory", 2), Kind("bug", 70)
INTERRUPTED = Kind("interrupted", 130, passes=True)

ERRORS: tuple[tuple[type[Exception], Kind], ...] = (
    (DoneAlreadyError, Kind("done-already", 5)),
    (LedgerUnreachableError, Kind("ledger-unreachable", 4, passes=True)),
    (BudgetError, Kind("budget", 3)),
    (LedgerError, Kind("ledger", 2)),
    (CountsError, Kind("data", 2)),
    (HierarchyError, Kind("data", 2)),
    (InputError, INPUT),
    (CheckError, Kind("check", 1)),
)
"""The kinds of this package's errors, special ones first."""


def find_kind(error: InputError | CheckError) -> Kind:
    """Return the kind of an error of this package."""
    return next(kind for known, kind in ERRORS if isinstance(error, known))


def describe_failure(
    kind: Kind, message: str, outcome: Outcome, error: BaseException | None = None
) -> dict[str, Any]:
    """Return what a program should know: whether a ledger was charged, and whether to run this again.

    A charge of which nobody knows whether it was made (None) is not repeated. For a budget that renews, the
    day is told on which it does: to run this again sooner is of no use.
    """
    facts: dict[str, Any] = {
        "kind": kind.name,
        "message": message,
        "exit_code": kind.exit_code,
        "charged": outcome.charged,
        "retry": kind.passes and outcome.charged is False,
    }
    if outcome.entry is not None:
        facts |= {"entry": outcome.entry, "released": outcome.is_used}
    if isinstance(error, BudgetError) and error.renews is not None:
        facts["renews"] = error.renews.isoformat()
    return {"error": facts}
