"""A page as a list of blocks, to be written as HTML or as Markdown.

In texts, `this` is code, **this** is bold and *this* is emphasized; nothing else is markup.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

from tallytree.research.reproduction.paper_figures import Figures
from tallytree.research.reproduction.run_results import Result, Spread

# Formats of numbers and lists on the page.

MOST_DECIMALS = 2
MOST_EXACT_RATIO = 10


def number(value: float) -> str:
    """Format a number with three digits or more."""
    size = abs(value)
    return f"{value:,.0f}" if size >= 1000 else f"{value:.1f}" if size >= 100 else f"{value:.2f}"


def ratio(value: float) -> str:
    """Format a ratio, with three decimals where one percent matters."""
    return f"{value:.3f}" if value < MOST_EXACT_RATIO else number(value)


def with_deviation(values: Spread) -> str:
    """Format mean ± standard deviation, to two digits of the latter; one run alone has none."""
    if values.runs < 2:
        return number(values.mean)
    digits = 1 - math.floor(math.log10(values.deviation)) if values.deviation else MOST_DECIMALS
    decimals = min(max(digits, 0), MOST_DECIMALS)
    return f"{values.mean:,.{decimals}f} ± {values.deviation:,.{decimals}f}"


def between(values: Iterable[float]) -> str:
    """Format the smallest and the largest."""
    known = list(values)
    low, high = number(min(known)), number(max(known))
    return low if low == high else f"{low} to {high}"


def several(parts: Iterable[str]) -> str:
    """Join parts as "one, two and three"; there must be at least one."""
    *most, last = parts
    return f"{', '.join(most)} and {last}" if most else last


def at_epsilons(what: Iterable[tuple[str, str]]) -> str:
    """List what there is at each epsilon, from pairs of (epsilon, text); epsilons with equal text are merged.

    >>> at_epsilons([("0.1", "this"), ("0.5", "that"), ("1", "this")])
    'this at epsilon 0.1 and 1; that at epsilon 0.5'
    """
    epsilons: dict[str, list[str]] = {}
    for epsilon, text in what:
        epsilons.setdefault(text, []).append(epsilon)
    return "; ".join(f"{text} at epsilon {several(where)}" for text, where in epsilons.items())


def seconds(value: float) -> str:
    """Format a time with two or three digits, in seconds or milliseconds.

    >>> seconds(0.00123), seconds(0.25), seconds(12.3)
    ('1.2 ms', '250 ms', '12.3 s')
    """
    if value < 1:
        thousandths = 1000 * value
        return f"{thousandths:.1f} ms" if thousandths < 10 else f"{thousandths:.0f} ms"
    return f"{value:.1f} s"


def percent(share: float) -> str:
    """Format a share in whole percent, or in tenths where it is nearly all or nothing.

    >>> percent(0.577), percent(0.9971)
    ('58 %', '99.7 %')
    """
    return f"{100 * share:.1f} %" if 0 < share < 0.01 or 0.99 < share < 1 else f"{100 * share:.0f} %"


class Verdict(Enum):
    """Whether a claim holds here."""

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
    """Text that needs attention."""

    text: str


@dataclass(frozen=True)
class Items:
    """A list."""

    texts: Sequence[str]


@dataclass(frozen=True)
class Table:
    """A table whose first ``left`` columns are text; the others are numbers, aligned right."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    left: int = 1


@dataclass(frozen=True)
class Figure:
    """A picture as SVG, also saved under its name."""

    name: str
    svg: str
    caption: str


@dataclass(frozen=True)
class Claim:
    """What was claimed, and what was found: the verdict, the numbers, and why."""

    where: str
    claim: str
    verdict: Verdict
    evidence: str
    why: str = ""
    short: str = ""
    """The claim in one sentence, if it is shown at the beginning of the page."""


Block = Heading | Paragraph | Note | Items | Table | Figure | Claim


# Findings from comparing the results with the paper's: the numbers choose the words.

# Goals, and whether they are met.


@dataclass(frozen=True)
class Goal:
    """A goal with its outcome, judged by the least favourable of its numbers."""

    statement: str
    measured: str
    met: bool

    @classmethod
    def open(cls, statement: str) -> "Goal":
        """Return a goal whose outcome is unknown."""
        return cls(statement, "not measured", False)


NEAR = 0.15
"""Two figures agree if they differ by less than this share: the paper's data are not quite ours."""


@dataclass(frozen=True)
class Finding:
    """A finding, in one or a few sentences."""

    agrees: bool | None
    """Whether it agrees with the paper; None: it explains."""
    text: str


@dataclass(frozen=True)
class Both:
    """One mechanism at one epsilon, here and in the paper."""

    ours: Result
    paper: Figures

    @property
    def name(self) -> str:
        """The name as it is written in sentences."""
        return f"`{self.ours.label}`"

    def tell(self, value: float) -> str:
        """Format one of our figures, with the real epsilon where it differs from the requested one."""
        real = float(self.ours.real_epsilon)
        return number(value) + ("" if self.ours.is_private else f" with a real epsilon of {real:,.1f}")


def find_both(results: Iterable[Result]) -> list[Both]:
    """Return the mechanisms that are in both tables."""
    return [Both(result, result.paper) for result in results if result.paper]


def divide(a: float, b: float) -> float:
    """Return a / b, for errors that may be zero."""
    return a / b if b else math.inf


def is_near(ratio: float) -> bool:
    """Return whether two figures of this ratio agree."""
    return abs(ratio - 1) < NEAR
