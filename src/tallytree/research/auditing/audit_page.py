"""The audit of all mechanisms as a page of the documentation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction

from tallytree import __version__
from tallytree.research.auditing.attack import CONFIDENCE, Attack
from tallytree.research.auditing.audit_run import Audit, AuditOfAll
from tallytree.research.auditing.exact_losses import (
    ATTACKED,
    ATTACKED_SMALL,
    Enumeration,
    Promise,
    Verdict,
)
from tallytree.sizes import count_sizes, show_sizes

# An audit in words: numbers, rows of a table, and the concluding sentence.

SUMMARY = [
    "mechanism",
    "protected",
    "total",
    "asked for",
    "stated",
    "exact worst loss",
    "seen in measurements",
    "seen in counts",
    "verdict",
]
"""The columns of ``summarize``."""

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


def write_promise(promise: Promise) -> str:
    """Write who is protected, and with which kind of total.

    >>> write_promise(("group", "private"))
    'a group (private total)'
    """
    protect, total = promise
    return f"a {protect} ({total} total)"


CASE = ["regions", "split", "totals", "protected", "sizes", "pairs", "stated", "exact worst loss"]
"""The columns of ``write_case``."""


def write_case(found: Enumeration) -> list[str]:
    """Write a row: the case, who is protected, the number of pairs, and their worst loss."""
    case = found.case
    public = "root" if found.public_totals is None else "all"
    person = f"person, {case.bounds.max_records} x {case.bounds.max_quantity}"
    return [
        case.regions,
        ":".join(map(str, case.weights)) if case.weights else "even",
        public if case.neighbours.has_public_total else "none",
        person if case.protect == "person" else case.protect,
        show_sizes(case.sizes),
        f"{found.pairs:,}",
        write_number(found.stated),
        write_number(found.worst.loss),
    ]


def summarize(audit: Audit) -> list[list[str]]:
    """Write a row for each promise: the worst loss, what the strongest attacks found, and the verdict."""
    rows = []
    for promise in audit.promises:
        found = audit.under(promise)
        worst = found.worst
        rows.append(
            [
                audit.mechanism,
                *promise,
                write_number(audit.asked),
                write_number(worst.stated),
                write_number(worst.worst.loss),
                *(write_bound(found.find_strongest(seen)) for seen in ("measurements", "counts")),
                str(found.verdict),
            ]
        )
    return rows


def conclude(audit: Audit) -> str:
    """Write the conclusion, for whoever has to sign off."""
    worst = audit.worst
    strongest = audit.find_strongest()
    exact = f"the exact worst loss is {write_number(worst.worst.loss)} where {write_number(worst.stated)}"
    attacked = (
        f"epsilon is at least {strongest.evidence.bound:.2f}, with {CONFIDENCE} confidence, where "
        f"{write_number(strongest.stated)}"
    )
    if audit.verdict == Verdict.HOLDS:
        holds = (
            f"{audit.mechanism} kept its stated epsilon in every case tried, for "
            f"{', '.join(map(write_promise, audit.promises))}: {exact} is stated; in attacks, {attacked} is "
            "stated."
        )
        most = max(attack.evidence.most for attack in audit.attacks)
        return holds if most > audit.asked else f"{holds} {FEW_RUNS.format(most)}"
    caught = {
        f"by enumeration: {exact} is stated for {write_promise(worst.case.promise)}": audit.exact_verdict,
        f"by attack: {attacked} is stated for {write_promise(strongest.case.promise)}": audit.attack_verdict,
    }
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

A row is a promise that a mechanism offers: who is *protected*, and whether the *total*, the number of groups,
is public or private. *Asked for* is the epsilon given to the mechanism, *stated* the one that its plan
promises. The *exact worst loss* is the largest over all neighbours on small hierarchies. *Seen in* is what an
attack showed epsilon to be at least, with {confidence} confidence, of what is stated where it was made: on
{attacked} regions, a group being moved, changed or added in each of them and at all of {sizes} sizes or
classes, or for counts on {small} where a solver takes long. Noise is that of releases, which nobody can
repeat: another run finds slightly other numbers.

{table}

## The control

An audit that finds nothing is evidence only if it catches known violations. The chain as the paper
calibrates it has too little noise, and must be caught by both parts.

{controls}

{words}

Its losses everywhere, beside what its plan states. *Split* is how the levels share epsilon, *totals* the
regions whose number of groups is public; a *person* has so many records x the largest quantity of each.

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
        table=_write_table(SUMMARY, [*_write_rows(found.audits), *_list_skipped(found)]),
        controls=_write_table(SUMMARY, _write_rows(found.controls)),
        words="\n\n".join(map(conclude, found.controls)),
        cases="\n\n".join(_write_table(CASE, map(write_case, each.enumerations)) for each in found.controls),
    )


def _write_rows(audits: Iterable[Audit]) -> Iterator[list[str]]:
    for audit in audits:
        for name, *cells, verdict in summarize(audit):
            yield [f"`{name}`", *cells, verdict if verdict == str(Verdict.HOLDS) else f"**{verdict}**"]


def _list_skipped(found: AuditOfAll) -> list[list[str]]:
    blanks = [""] * (len(SUMMARY) - 2)
    return [[f"`{name}`", *blanks, f"skipped: {reason}"] for name, reason in found.skipped.items()]


def _write_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
