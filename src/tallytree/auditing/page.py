"""The audit of all mechanisms as a page of the documentation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tallytree import __version__
from tallytree.auditing.all_audits import AuditOfAll
from tallytree.auditing.attack import CONFIDENCE
from tallytree.auditing.audits import Audit
from tallytree.auditing.datasets import ATTACKED, ATTACKED_SMALL
from tallytree.auditing.verdicts import Verdict
from tallytree.auditing.wording import CASE, SUMMARY, conclude, summarize, write_case
from tallytree.sizes import count_sizes

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

An audit that finds nothing has shown something only if it finds what is there. The chain as the paper
calibrates it has too little noise, and must be caught by both parts.

{controls}

{words}

Its losses everywhere, beside what its plan states. *Split* is how the levels share epsilon, *totals* the
regions whose number of groups is public, *person* the records of a person x the largest quantity of each.

{cases}
"""


def write_page(found: AuditOfAll) -> str:
    """Markdown: all mechanisms, the controls, and where the controls lose how much."""
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
