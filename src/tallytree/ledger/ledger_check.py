"""Checking a ledger: its chain, its sums, and the releases that it should have been charged for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from tallytree.arrays import cut_rows, get_rows, get_shape
from tallytree.ledger.entries import CHARGE, Entry, Fault, add_up, find_break
from tallytree.ledger.receipts import Receipt, read_receipt
from tallytree.solvers.checks import Check, Verification

if TYPE_CHECKING:
    from tallytree.releases.released import Released

Ints = npt.NDArray[np.int64]


def audit(entries: Sequence[Entry], releases: Sequence[Released] = ()) -> Verification:
    """Recompute everything; the example of a failed check names the first entry that is wrong.

    The releases show what the chain alone cannot (entries cut off at its end, or rewritten with new hashes),
    up to the last entry that one of them names.
    """
    checks = [
        _check("chain", "every entry is as it was written and follows the one before", find_break(entries)),
        _check("budgets", "no dataset was charged more than its budget", add_up(entries)[1]),
    ]
    if releases:
        checks.append(_check_releases(entries, releases))
    return Verification(tuple(checks))


def _check(name: str, statement: str, fault: Fault | None) -> Check:
    return Check(name, statement, int(fault is not None), str(fault or ""))


def _check_releases(entries: Sequence[Entry], releases: Sequence[Released]) -> Check:
    problems = [problem for release in releases if (problem := _find_problem(entries, release))]
    problems += _find_doubles(releases)
    statement = "each release was paid for by the entry that it names, and by no other release's"
    return Check("releases", statement, len(problems), problems[0] if problems else "")


def _find_problem(entries: Sequence[Entry], release: Released) -> str:
    receipt = read_receipt(release.manifest)
    if receipt is None:
        return "a release names no entry of a ledger: none was charged for it"
    number = receipt.entry
    if not 1 <= number <= len(entries):
        return f"entry {number}, which paid for a release, is missing"
    entry = entries[number - 1]
    if entry.hash != receipt.hash:
        return f"entry {number} is not the one that paid for a release, or an entry before it was changed"
    if entry.kind != CHARGE:
        return f"entry {number} created a budget; it did not pay for a release"
    balances, fault = add_up(entries[:number])
    if fault:
        return f"{fault}"
    loss, balance = release.measurements.plan.loss, balances[entry.dataset]
    if loss.whom != balance.whom:
        return f"entry {number} paid for what a {balance.whom} loses, and its release costs a {loss.whom}"
    cost = loss.count(balance.unit)
    if entry.exact_amount is None or cost is None or entry.exact_amount < cost:
        return f"entry {number} paid less than what its release costs"
    if receipt != Receipt.of(entry, balances[entry.dataset]):
        return f"a release's manifest and the ledger disagree about entry {number}"
    return ""


def _find_doubles(releases: Sequence[Released]) -> list[str]:
    """Different releases that name the same entry; copies of one release may.

    A charge pays for the noisy answers. These are compared themselves, not by what manifests say of their
    files: a copy may have been given intervals, or be in memory only, and a digest can be forged.
    """
    paid: dict[str, Released] = {}
    problems = []
    for release in releases:
        receipt = read_receipt(release.manifest)
        if receipt is not None and not _is_copy(paid.setdefault(receipt.hash, release), release):
            problems.append(f"entry {receipt.entry} paid for one release, but two name it")
    return problems


def _is_copy(one: Released, other: Released) -> bool:
    """Whether two releases have the same regions, answers and counts."""
    if one is other:
        return True
    if one.measurements.plan != other.measurements.plan:
        return False
    return _are_equal(one.measurements.values, other.measurements.values) and _are_equal(
        one.counts, other.counts
    )


def _are_equal(one: Sequence[Ints], other: Sequence[Ints]) -> bool:
    return all(
        np.array_equal(get_rows(one, level, *rows), get_rows(other, level, *rows))
        for level in range(len(one))
        for rows in cut_rows(*get_shape(one, level))
    )
