"""The probabilities of a geometric's binary digits, to as many bits as anybody asks for.

A geometric with ratio q = exp(-1 / scale), P(G = k) = (1 - q) q^k, has independent binary digits:

    P(digit i = 1)              = q^(2^i) / (1 + q^(2^i)) = 1 / (1 + exp(2^i / scale))
    P(any digit from I on is 1) = q^(2^I)                 = exp(-2^I / scale)

All arithmetic is on whole numbers and rounded outwards: a probability is known as two whole numbers with
``low <= probability 2^bits <= high``, and a bit of it only once both agree on it. ``docs/noise.md`` has the
proofs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial

Enclosure = tuple[int, int]
"""Two whole numbers, with probability 2^bits between them."""

SPAN = 16
"""There are I digits, as few as make 2^I >= SPAN x scale: P(anything above) is exp(-SPAN) at most."""

GUARD = 32
"""Bits computed beyond those asked for: they leave a bit undecided once in about 2^30 times."""


class Expansion:
    """The binary expansion of a probability: its bytes after the point, found when they are asked for.

    It ends, because the probability is irrational: exp(r) is, for every rational r other than 0 (Lambert),
    and so is 1 / (1 + exp(r)). A number that is not a multiple of 2^-n lies strictly between two of them,
    and every enclosure that is narrow enough lies there too, which decides the first n bits.

    >>> Expansion(partial(enclose_exp, Fraction(1))).first(8).hex()  # exp(-1) = 0.3678794...
    '5e2d58d8b3bcdf1a'
    """

    def __init__(self, enclose: Callable[[int], Enclosure]) -> None:
        self._enclose = enclose
        self._known = b""

    def byte(self, place: int) -> int:
        """The byte at ``place``, 0 for the first after the point."""
        return self.first(place + 1)[place]

    def first(self, count: int) -> bytes:
        """The first ``count`` bytes."""
        known = self._known  # threads may replace it, by a right one in any case
        if len(known) < count:
            known = self._expand(max(count, 2 * len(known)))
            self._known = known
        return known[:count]

    def _expand(self, count: int) -> bytes:
        guard = GUARD
        while True:
            low, high = self._enclose(8 * count + guard)
            if low >> guard == high >> guard:
                return (low >> guard).to_bytes(count, "big")
            guard *= 2


@dataclass(frozen=True)
class DigitProbabilities:
    """What decides a geometric: the digits one by one, and whether there is anything above them."""

    digits: tuple[Expansion, ...]
    """P(digit i = 1), from the lowest digit."""

    more: Expansion
    """P(any digit above those is 1)."""


@lru_cache(maxsize=64)  # levels, and many releases, have the same scales
def expand_probabilities(scale: Fraction, *, span: int = SPAN) -> DigitProbabilities:
    """The probabilities of the digits of a geometric with ratio exp(-1 / ``scale``)."""
    count = 0
    while 2**count < span * scale:
        count += 1
    return DigitProbabilities(
        tuple(Expansion(partial(enclose_digit, 2**i / scale)) for i in range(count)),
        Expansion(partial(enclose_exp, 2**count / scale)),
    )


def enclose_digit(x: Fraction, bits: int) -> Enclosure:
    """1 / (1 + exp(x)) for x > 0: it is e / (1 + e) with e = exp(-x), which grows with e."""
    low, high = enclose_exp(x, bits)
    one = 1 << bits
    return low * one // (one + low), _divide_up(high * one, one + high)


def enclose_exp(x: Fraction, bits: int) -> Enclosure:
    """exp(-x) for x > 0: the square of the square ... of exp(-y), with y = x / 2^halvings at most 1/2.

    A square at most doubles the width of an enclosure (of numbers up to 1) and adds one to it, so that
    as many bits as there are squarings, and a few, are enough to begin with. That is a matter of speed:
    what comes out encloses exp(-x) whatever the width.
    """
    halvings = 0
    while x > Fraction(2**halvings, 2):
        halvings += 1
    extra = halvings + 8
    low, high = _enclose_series(x / 2**halvings, bits + extra)
    for _ in range(halvings):
        low, high = low * low >> bits + extra, _shift_up(high * high, bits + extra)
    return low >> extra, _shift_up(high, extra)


def _enclose_series(y: Fraction, bits: int) -> Enclosure:
    """exp(-y) = 1 - y + y^2/2! - y^3/3! + ... for 0 < y <= 1/2.

    The terms alternate and fall, so the rest of the series is between 0 and its first term (Leibniz).
    """
    low = high = 0
    term_low = term_high = 1 << bits
    k = 0
    while term_high > 1:
        low, high = (low + term_low, high + term_high) if k % 2 == 0 else (low - term_high, high - term_low)
        k += 1
        term_low = term_low * y.numerator // (k * y.denominator)
        term_high = _divide_up(term_high * y.numerator, k * y.denominator)
    return low - term_high, high + term_high


def _divide_up(dividend: int, divisor: int) -> int:
    return -(-dividend // divisor)


def _shift_up(value: int, bits: int) -> int:
    return -(-value >> bits)
