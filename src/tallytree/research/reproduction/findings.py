"""What is found out by looking at the results beside the paper's: the numbers choose the words."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from tallytree.research.reproduction.document import number
from tallytree.research.reproduction.paper_figures import Figures
from tallytree.research.reproduction.run_results import Result

# What numbers were hoped to be, and whether they are.


@dataclass(frozen=True)
class Goal:
    """One goal with its outcome, by the least favourable of the numbers that it is about."""

    statement: str
    measured: str
    met: bool

    @classmethod
    def open(cls, statement: str) -> "Goal":
        """Nothing is known about it."""
        return cls(statement, "not measured", False)


NEAR = 0.15
"""Two figures agree when they differ by less than this share: the paper's data are not quite ours."""


@dataclass(frozen=True)
class Finding:
    """A sentence, or a few."""

    agrees: bool | None
    """None: it neither agrees nor disagrees, but explains."""
    text: str


@dataclass(frozen=True)
class Both:
    """One mechanism at one epsilon, here and in the paper."""

    ours: Result
    paper: Figures

    @property
    def name(self) -> str:
        """As it is written in sentences."""
        return f"`{self.ours.label}`"

    def tell(self, value: float) -> str:
        """A figure of ours, with the real epsilon where that is not the one asked for."""
        real = float(self.ours.real_epsilon)
        return number(value) + ("" if self.ours.is_private else f" with a real epsilon of {real:,.1f}")


def find_both(results: Iterable[Result]) -> list[Both]:
    """The mechanisms that are in both tables."""
    return [Both(result, result.paper) for result in results if result.paper]


def divide(a: float, b: float) -> float:
    """a / b, for errors that may be zero."""
    return a / b if b else math.inf


def is_near(ratio: float) -> bool:
    """Whether two figures of this ratio agree."""
    return abs(ratio - 1) < NEAR
