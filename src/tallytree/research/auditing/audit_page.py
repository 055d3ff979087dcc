"""The audit of all mechanisms as a page of the documentation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

from tallytree import __version__
from tallytree.research.auditing.attack import CONFIDENCE, Attack
from tallytree.research.auditing.audit_run import Audit, AuditOfAll
from tallytree.research.auditing.exact_losses import ATTACKED, ATTACKED_SMALL, Enumeration, Verdict
from tallytree.sizes import count_sizes, show_sizes

# An audit in words: numbers, rows of a table, and the concluding sentence.

SUMMARY = ["mechanism", "asked for", "stated", "exact worst loss", "seen in measurements", "seen in counts"]
"""The columns of ``summarize``; the verdict comes after them."""

FEW_RUNS = "But so few runs cannot show more than {:.2f}: take more of them, or ask for a smaller epsilon."


def write_number(value: Fraction | None) -> str:
    """Write a fraction, with its approximate value if that is not obvious; None is a loss without bound.

    >>> write_number(Fraction(7, 3))
    '7/3 = 2.333'
    """
    if value is None:
        return "unbounded"
    return str(value) if value.denominator == 1 else f"{value} = {float(value):.4g}"


def write_bound(attack: Attack) -> str:
    """Write what an attack found, beside the epsilon that is stated for its case."""
    return f"{attack.evidence.bound:.2f} of {float(attack.stated):.4g}"


CASE = ["regions", "split", "totals", "sizes", "person", "pairs", "stated", "exact worst loss"]
"""The columns of ``write_case``."""


def write_case(found: Enumeration) -> list[str]:
    """Write a row: the case, what a person may contribute, the number of pairs, and their worst loss."""
    case = found.case
    return [
        case.regions,
        ":".join(map(str, case.weights)) if case.weights else "even",
        "root" if found.public_totals is None else "all",
        show_sizes(case.sizes),
        f"{case.bounds.max_records} x {case.bounds.max_quantity}",
        f"{found.pairs:,}",
        write_number(found.stated),
        write_number(found.worst.loss),
    ]


def summarize(audit: Audit) -> list[str]:
    """Write a row: the worst of all losses, and what each attack found."""
    worst = audit.worst
    return [
        audit.mechanism,
        write_number(audit.asked),
        write_number(worst.stated),
        write_number(worst.worst.loss),
        *map(write_bound, audit.attacks),
    ]


def conclude(audit: Audit) -> str:
    """Write the conclusion, for whoever has to sign off."""
    strongest = max(audit.attacks, key=lambda attack: (attack.verdict, attack.evidence.bound))
    loss, stated = write_number(audit.worst.worst.loss), write_number(audit.worst.stated)
    exact = f"the exact worst loss is {loss} where {stated} is stated"
    attacked = (
        f"epsilon is at least {strongest.evidence.bound:.2f}, with {CONFIDENCE} confidence, where "
        f"{write_number(strongest.stated)} is stated"
    )
    if audit.verdict == Verdict.HOLDS:
        holds = (
            f"{audit.mechanism} kept its stated epsilon in every case tried: {exact}; in attacks, {attacked}."
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


PAGE = """\
# Audit of all mechanisms: stated against measured

Written by `make audit` (`tallytree audit --all --out docs/audit-results.md`), tallytree {version}.
[What is done, and how to read this](audit.md).

*Asked for* is the epsilon given to the mechanism, *stated* the one that its plan promises. The *exact worst
loss* is the largest over all neighbours on small hierarchies. *Seen in* is what an attack showed epsilon to
be at least, with {confidence} confidence, of what is stated where it was made: on {attacked} regions, a group
being moved in each of them and between all of {sizes} sizes, or for counts on {small} where a solver takes
long. Noise is that of releases, which nobody can repeat: another run finds slightly other numbers.

{table}

## The control

An audit that finds nothing is evidence only if it catches known violations. The chain as the paper
calibrates it has too little noise, and must be caught by both parts.

{controls}

{words}

Its losses everywhere, beside what its plan states. *Split* is how the levels share epsilon, *totals* the
regions whose number of groups is public, *person* the records of a person x the largest quantity of each.

{cases}
"""


def write_page(found: AuditOfAll) -> str:
    """Write the page as Markdown: all mechanisms, the controls, and the losses of the controls by case."""
    return PAGE.format(
        version=__version__,
        confidence=CONFIDENCE,
        attacked=ATTACKED.regions,
        small=ATTACKED_SMALL.regions,
        sizes=count_sizes(ATTACKED.sizes),
        table=_write_table([*SUMMARY, "verdict"], [*map(_write_row, found.audits), *_list_skipped(found)]),
        controls=_write_table([*SUMMARY, "verdict"], map(_write_row, found.controls)),
        words="\n\n".join(map(conclude, found.controls)),
        cases="\n\n".join(_write_table(CASE, map(write_case, each.enumerations)) for each in found.controls),
    )


def _write_row(audit: Audit) -> list[str]:
    name, *cells = summarize(audit)
    verdict = str(audit.verdict)
    return [f"`{name}`", *cells, verdict if audit.verdict == Verdict.HOLDS else f"**{verdict}**"]


def _list_skipped(found: AuditOfAll) -> list[list[str]]:
    blanks = [""] * (len(SUMMARY) - 1)
    return [[f"`{name}`", *blanks, f"skipped: {reason}"] for name, reason in found.skipped.items()]


def _write_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
