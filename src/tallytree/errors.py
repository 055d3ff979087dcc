"""What can go wrong.

    TallytreeError
    ├── InputError            something given by the user is wrong (also a ValueError)
    │   ├── HierarchyError    the levels or the paths of regions
    │   ├── CountsError       the group counts, or the table they come from
    │   │   ├── EngineError   the files, the database or the engine that the records are in
    │   │   └── RecordsError  records that cannot be counted as they are, with the ways out
    │   ├── PrivacyError      epsilon, its split, the bounds on a person, the noise
    │   ├── MechanismError    an unknown mechanism or option, measurements that do not fit it
    │   ├── LedgerError       a ledger that cannot be used
    │   │   ├── BudgetError             a budget that does not allow a charge
    │   │   ├── DoneAlreadyError        a charge whose label was charged before
    │   │   └── LedgerUnreachableError  a ledger that may be usable again later
    │   ├── SpecError         a release.toml
    │   ├── ReportError       a report that cannot be made: the shapes for its map
    │   ├── ViewError         a form in which a release cannot be shown: a library is missing
    │   ├── IntervalsError    intervals that cannot be made as asked
    │   ├── SignatureError    a key, or a signature that is not one of a release
    │   ├── ExportError       an export that cannot be made as asked: the format does not allow it
    │   └── FolderError       a release folder that cannot be written or read
    └── CheckError            a result failed its own check: a bug in this software

A message says what is wrong, where, and what to do. It never shows a value of the sensitive data: it may
name columns, row numbers and numbers of rows, but not their contents.
"""

import difflib
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date

# Why a server refuses a connection, in our own words: the server's contain names, perhaps secrets.

ADVICE = "check the URL, the user and the password, and that the server is up"

# A failed connection has no error code, only a text, in English unless the server is set to another language.
# Names that users chose are in quotes, and are removed first.
REASONS = {
    "role does not exist": "the server knows no such user",
    "password authentication failed": "the server knows no such user, or the password is wrong",
    "no password supplied": "the server wants a password, which may be in the URL, PGPASSWORD or .pgpass",
    "Access denied for user": "the server knows no such user, or the password is wrong",  # MySQL
    "database does not exist|Unknown database": "the server has no such database",
    "permission denied for database": "the user may not connect to this database",
    "is not permitted to log in": "the user may not log in",
    "no pg_hba.conf entry": "the server does not admit this user from here (see its pg_hba.conf)",
    "too many": "the server has too many connections, so try again later",
    "terminating connection|closed the connection": "the server ended it",
    "starting up|shutting down": "the server is starting or stopping, so try again later",
    "Connection refused": "no server answers at this host and port",
    "resolve host|translate host|Name or service": "there is no such host",
    "timeout|timed out": "the server does not answer in time",
}


def explain_refusal(error: BaseException) -> str:
    """Return why there is no connection, as the end of a sentence."""
    text = " ".join(map(str, error.args)) or str(error)
    said = " ".join(re.sub(r'"[^"]*"', "", text).split())
    return next((reason for words, reason in REASONS.items() if re.search(words, said)), ADVICE)


PERMANENT = ("role", "password", "database", "permitted", "pg_hba")


def is_permanent(error: BaseException) -> bool:
    """Return whether a connection was refused for a reason that only a person can change."""
    reason = explain_refusal(error)
    return any(REASONS[words] == reason for words in REASONS if any(word in words for word in PERMANENT))


class TallytreeError(Exception):
    """The parent of all errors of this package."""


class InputError(TallytreeError, ValueError):
    """Something given by the user is wrong."""


class HierarchyError(InputError):
    """The levels or the paths of regions are wrong."""


class CountsError(InputError):
    """The group counts, or the table they come from, are wrong."""


class EngineError(CountsError):
    """The records cannot be read: there is no such file or table, or the engine failed."""


@dataclass(frozen=True)
class Remedy:
    """A setting with which something would be accepted that was refused."""

    setting: str
    values: tuple[str, ...]
    """Several for a setting that is a list; all of them, also those that were given already."""
    replaces: str = ""
    """A setting that must not be given with it."""


class RecordsError(CountsError):
    """Records cannot be counted as they are. The ``remedies`` are settings with which they would be."""

    def __init__(self, message: str, remedies: Sequence[Remedy] = ()) -> None:
        super().__init__(message)
        self.remedies = tuple(remedies)


class PrivacyError(InputError):
    """Epsilon, its split, the bounds on a person or the noise are wrong."""


class MechanismError(InputError):
    """There is no such mechanism or option, or the measurements do not fit it."""


class LedgerError(InputError):
    """A ledger cannot be used."""


class BudgetError(LedgerError):
    """The budget of a dataset does not allow a charge, or not before the day on which it ``renews``."""

    def __init__(self, message: str, renews: date | None = None) -> None:
        super().__init__(message)
        self.renews = renews


class DoneAlreadyError(LedgerError):
    """A charge with this label is in the ledger already."""


class LedgerUnreachableError(LedgerError):
    """A ledger cannot be used now, and may be later: no connection, or others are writing."""


class SpecError(InputError):
    """A release.toml is wrong."""


class ReportError(InputError):
    """A report cannot be made: the shapes for its map are wrong."""


class ViewError(InputError):
    """A release cannot be shown as asked: a library is missing, or a file's ending is unknown."""


class IntervalsError(InputError):
    """Intervals cannot be made as asked."""


class SignatureError(InputError):
    """A key cannot be used, or a signature is not one of a release."""


class ExportError(InputError):
    """A release cannot be exported as asked: an unknown format, or one that does not allow it."""


class FolderError(InputError):
    """A release folder cannot be written or read."""


class CheckError(TallytreeError):
    """A result failed its own check, so it is withheld. This is a bug: please report it."""


def name_choices(wrong: object, choices: Iterable[str]) -> str:
    """Return the end of a message about an unknown name: what was perhaps meant, and the known names."""
    known = list(choices)
    close = difflib.get_close_matches(str(wrong)[:200], known, n=1)
    listed = ", ".join(show(name, most=40) for name in known[:20])
    if len(listed) > MOST_LISTED or len(known) > 20:
        listed = listed[:MOST_LISTED].rpartition(",")[0] + f" and more, {len(known)} in all"
    meant = f"did you mean {show(close[0])}? There is" if close else "there is"
    return f"{meant} {listed or 'none'}."


MOST_LISTED = 160


def show(name: object, most: int = 60) -> str:
    """Return a public name or path in quotes, on one line and not too long, whatever it contains."""
    text = name if isinstance(name, (str, tuple)) else str(name)
    quoted = ascii(text) if _is_odd(text) else repr(text)
    return quoted if len(quoted) <= most else quoted[: most - 4] + "...'"


def describe(error: OSError) -> str:
    """Return the system's message for an error, without the paths and more that libraries add to it."""
    return os.strerror(error.errno) if error.errno else "Input/output error"


def _is_odd(text: object) -> bool:
    """Whether a text cannot be written as UTF-8, as file names and hostile input may be."""
    try:
        str(text).encode()
    except UnicodeEncodeError:
        return True
    return False
