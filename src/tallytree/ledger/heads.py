"""The head of a ledger, signed: a ledger that does not begin with the same entries later was rewritten.

The hash of the last entry stands for all entries up to it, so that is what is signed, with what they add up
to. The chain alone cannot show that its end was cut off or made up anew with matching hashes; a statement
that is kept elsewhere shows both, up to its entry.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from tallytree.errors import SignatureError, describe, show
from tallytree.ledger.entries import Entry, add_up, name_unit
from tallytree.ledger.envelopes import read_statement, sign_statement, write_statement
from tallytree.solvers.checks import Check

PREDICATE_TYPE = "urn:tallytree:ledger:1"

SIGNED = "the ledger begins with the entries that the holder of the key signed (Ed25519)"


def sign_head(entries: Sequence[Entry], key: Ed25519PrivateKey) -> bytes:
    """Return the signed statement about the entries so far, which have been checked."""
    return sign_statement(_state(entries), key)


def check_head(entries: Sequence[Entry], path: Path, key: Ed25519PublicKey) -> Check:
    """Check that a statement is by this key, and that the ledger continues what it is about."""
    try:
        statement = read_statement(path, key, PREDICATE_TYPE, "a ledger")
        problem = _compare(statement, entries)
    except SignatureError as error:
        problem = str(error).removesuffix(".")
    except FileNotFoundError:
        raise SignatureError(f"There is no statement {show(path, most=150)}.") from None
    except OSError as error:
        raise SignatureError(
            f"The statement {show(path, most=150)} cannot be read: {describe(error)}."
        ) from None
    return Check("statement", SIGNED, int(bool(problem)), problem)


def _state(entries: Sequence[Entry]) -> bytes:
    balances, _ = add_up(entries)
    datasets = {
        name: {
            "unit": name_unit(balance.unit, balance.whom),
            "total": str(balance.total),
            "spent": str(balance.spent),
            "charges": balance.charges,
        }
        for name, balance in balances.items()
    }
    last = entries[-1]
    predicate = {"entries": last.number, "time": last.time, "datasets": datasets}
    return write_statement(PREDICATE_TYPE, {f"entry {last.number}": last.hash}, predicate)


def _compare(statement: dict[str, Any], entries: Sequence[Entry]) -> str:
    """Return how the ledger does not continue what was signed; empty if it does."""
    predicate = statement.get("predicate")
    number = predicate.get("entries") if isinstance(predicate, dict) else None
    if type(number) is not int or number < 1:
        return "the signed statement does not name an entry"
    if number > len(entries):
        return f"{number} entries were signed, and the ledger has {len(entries)}: its end was cut off"
    now = json.loads(_state(entries[:number]))
    if statement.get("subject") != now["subject"]:
        return f"entry {number} is not the one that was signed: it, or an entry before it, was written anew"
    return "" if statement == now else f"what was signed is not what the entries up to {number} add up to"
