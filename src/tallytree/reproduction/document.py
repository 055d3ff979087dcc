"""A page as a list of blocks, to be written as HTML or as Markdown.

In texts, `this` is code, **this** is bold and *this* is set apart; nothing else is markup.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum


class Verdict(Enum):
    """Whether something that was claimed is so here."""

    HOLDS = "holds"
    PARTLY = "holds in part"
    FAILS = "does not hold"
    UNKNOWN = "not measured"


@dataclass(frozen=True)
class Heading:
    """The title (level 1), a section (2) or a part of one (3)."""

    level: int
    text: str


@dataclass(frozen=True)
class Paragraph:
    """Text."""

    text: str


@dataclass(frozen=True)
class Note:
    """Text that must not be overlooked."""

    text: str


@dataclass(frozen=True)
class Items:
    """A list."""

    texts: Sequence[str]


@dataclass(frozen=True)
class Table:
    """Its first ``left`` columns are text; the others are numbers, on the right."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    left: int = 1


@dataclass(frozen=True)
class Figure:
    """A picture as SVG, kept under its name too."""

    name: str
    svg: str
    caption: str


@dataclass(frozen=True)
class Claim:
    """What was claimed, and what is found: the verdict, the numbers, and why."""

    where: str
    claim: str
    verdict: Verdict
    evidence: str
    why: str = ""
    short: str = ""
    """In one sentence, for a claim that the page begins with."""


Block = Heading | Paragraph | Note | Items | Table | Figure | Claim
