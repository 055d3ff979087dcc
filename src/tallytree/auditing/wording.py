"""An audit in words: numbers, rows of a table, and the sentence at its end."""

from __future__ import annotations

from fractions import Fraction

from tallytree.auditing.attack import CONFIDENCE, Attack
from tallytree.auditing.audits import Audit
from tallytree.auditing.exact import Enumeration
from tallytree.auditing.verdicts import Verdict

SUMMARY = ["mechanism", "asked for", "stated", "exact worst loss", "seen in measurements", "seen in counts"]
"""The columns of ``summarize``; the verdict comes after them."""

FEW_RUNS = "But so few runs cannot show more than {:.2f}: take more of them, or ask for a smaller epsilon."


def write_number(value: Fraction | None) -> str:
    """A fraction, and what it is about if that is not plain; None is a loss without bound.

    >>> write_number(Fraction(7, 3))
    '7/3 = 2.333'
    """
    if value is None:
        return "unbounded"
    return str(value) if value.denominator == 1 else f"{value} = {float(value):.4g}"


def write_bound(attack: Attack) -> str:
    """What an attack found, beside the epsilon that is stated where it was made."""
    return f"{attack.evidence.bound:.2f} of {float(attack.stated):.4g}"


CASE = ["regions", "split", "totals", "sizes", "person", "pairs", "stated", "exact worst loss"]
"""The columns of ``write_case``."""


def write_case(found: Enumeration) -> list[str]:
    """A row: where neighbours were tried, what a person may contribute, how many, and what they lose."""
    case = found.case
    return [
        case.regions,
        ":".join(map(str, case.weights)) if case.weights else "even",
        "root" if found.public_totals is None else "all",
        f"{case.sizes[0]} to {case.sizes[1]}",
        f"{case.bounds.max_records} x {case.bounds.max_quantity}",
        f"{found.pairs:,}",
        write_number(found.stated),
        write_number(found.worst.loss),
    ]


def summarize(audit: Audit) -> list[str]:
    """A row: the worst of all losses, and what each attack found."""
    worst = audit.worst
    return [
        audit.mechanism,
        write_number(audit.asked),
        write_number(worst.stated),
        write_number(worst.worst.loss),
        *map(write_bound, audit.attacks),
    ]


def conclude(audit: Audit) -> str:
    """What whoever has to sign wants to know."""
    strongest = max(audit.attacks, key=lambda attack: (attack.verdict, attack.evidence.bound))
    loss, stated = write_number(audit.worst.worst.loss), write_number(audit.worst.stated)
    exact = f"the exact worst loss is {loss} where {stated} is stated"
    attacked = (
        f"epsilon is at least {strongest.evidence.bound:.2f}, with {CONFIDENCE} confidence, where "
        f"{write_number(strongest.stated)} is stated"
    )
    if audit.verdict == Verdict.HOLDS:
        holds = (
            f"{audit.mechanism} holds what it states, on all that was tried: {exact}; in attacks, {attacked}."
        )
        most = max(attack.evidence.most for attack in audit.attacks)
        return holds if most > audit.asked else f"{holds} {FEW_RUNS.format(most)}"
    caught = {f"by enumeration: {exact}": audit.exact_verdict, f"by attack: {attacked}": audit.attack_verdict}
    found = "; ".join(words for words, verdict in caught.items() if verdict > Verdict.HOLDS)
    if audit.verdict == Verdict.OVERSPENDS:
        return (
            f"{audit.mechanism} does NOT keep the epsilon that was asked for, {write_number(audit.asked)}. "
            f"Caught {found}. Its plan states what it really costs: that, and not what was asked for, is the "
            "epsilon it has."
        )
    return (
        f"{audit.mechanism} LOSES MORE THAN IT STATES. Caught {found}. Do not release anything with it, and "
        "please report this."
    )
