"""The slow, obvious twin of the noise made of digits: real numbers, by the decimal module, and fractions."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache
from itertools import count

PLACES = 500
"""Decimal places: far more than any comparison here needs."""


@cache
def exponential(x: Fraction) -> Fraction:
    """exp(-x), to PLACES digits."""
    with localcontext(prec=PLACES, Emin=-(10**9)):
        return Fraction((-Decimal(x.numerator) / Decimal(x.denominator)).exp())


@cache
def digit_probability(scale: Fraction, place: int) -> Fraction:
    """q^(2^place) / (1 + q^(2^place)) with q = exp(-1 / scale)."""
    power = exponential(2**place / scale)
    return power / (1 + power)


def mass(scale: Fraction, k: int) -> Fraction:
    """P(X = k) of the two-sided geometric."""
    ratio = exponential(1 / scale)
    return (1 - ratio) / (1 + ratio) * ratio ** abs(k)


def first_bytes(probability: Fraction, length: int) -> bytes:
    """The beginning of its binary expansion."""
    return int(probability * 256**length).to_bytes(length, "big")


def count_digits(scale: Fraction, span: int) -> int:
    return next(places for places in count() if 2**places >= span * scale)


def decide(probability: Fraction, stream: Iterator[int]) -> bool:
    """Narrow down a uniform number byte by byte until it is surely on one side of ``probability``."""
    low, width = Fraction(0), Fraction(1)
    while True:
        width /= 256
        low += width * next(stream)
        if low + width <= probability:
            return True
        if low > probability:
            return False


def draw_noise(scale: Fraction, span: int, stream: Iterator[int]) -> int:
    """One draw."""
    places = count_digits(scale, span)
    digits = [digit_probability(scale, place) for place in range(places)]
    more = exponential(2**places / scale)
    values = []
    for _ in range(2):
        value = sum(1 << place for place, p in enumerate(digits) if decide(p, stream))
        while decide(more, stream):
            value += 1 << places
        values.append(value)
    return values[0] - values[1]
