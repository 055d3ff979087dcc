"""What a loss means, beside the epsilon that was asked for and the one that is stated."""

from enum import IntEnum
from fractions import Fraction


class Verdict(IntEnum):
    """From good to bad."""

    HOLDS = 0
    """Not above what was asked for, nor above what is stated."""
    OVERSPENDS = 1
    """Above what was asked for; what is stated is no less, so nobody is deceived who reads it."""
    BROKEN = 2
    """Above what is stated: a false claim."""

    def __str__(self) -> str:
        return WORDS[self]


WORDS = {
    Verdict.HOLDS: "holds",
    Verdict.OVERSPENDS: "more than asked for",
    Verdict.BROKEN: "more than stated",
}


def judge(loss: Fraction | float | None, *, stated: Fraction, asked: Fraction) -> Verdict:
    """The verdict on a loss, or on a lower bound of one; None is a loss without bound.

    Python compares floats with fractions exactly.
    """
    if loss is None or loss > stated:
        return Verdict.BROKEN
    return Verdict.OVERSPENDS if loss > asked else Verdict.HOLDS
