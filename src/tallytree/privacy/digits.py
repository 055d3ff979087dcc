"""Exact two-sided geometric noise from binary digits: a draw is the difference of two geometrics.

A draw is defined here in plain Python, as a function of a stream of random bytes (``draw_noise``). The kernel
computes the same function for almost all draws; the few that it leaves are computed here, from the same
bytes. So the result depends on the stream alone: neither on which code made a draw, nor on buffers.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial

import numpy as np
import numpy.typing as npt
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CTR

from tallytree.arrays import MAX_SCALE
from tallytree.errors import PrivacyError
from tallytree.kernels import kernel
from tallytree.privacy.noise import ExactNoise, Fill

# Random bytes, many and unpredictable: AES-256 in counter mode, keyed by the operating system.
#
# The one assumption behind the noise that is not a theorem: nobody without the key can tell these bytes from
# truly random ones.

Take = Callable[[int], bytes]
"""Takes the next bytes of a stream, as many as it is asked for."""


class RandomStream:
    """The key stream of a cipher with a key of its own, for one piece of work in one thread.

    Streams share nothing, so pieces of work may be done in any order, thread or process. The counter
    starts at 0, which is safe because no key is used twice.
    """

    def __init__(self) -> None:
        self._cipher = Cipher(AES(os.urandom(32)), CTR(bytes(16))).encryptor()
        self._process = os.getpid()

    def take(self, count: int) -> bytes:
        """Return the next ``count`` bytes."""
        if os.getpid() != self._process:  # both processes would get the same bytes
            raise RuntimeError("A random stream cannot be used in a process forked after it began.")
        return self._cipher.update(bytes(count))


class ByteQueue:
    """The bytes of a stream in their order, each to be used once: those before ``at`` are used up."""

    def __init__(self, take: Take) -> None:
        self._take = take
        self.buffer: npt.NDArray[np.uint8] = np.empty(0, dtype=np.uint8)
        self.at = 0

    @property
    def left(self) -> int:
        """How many bytes are buffered and not yet used."""
        return len(self.buffer) - self.at

    def refill(self, count: int) -> None:
        """Append ``count`` more bytes of the stream to those that are left."""
        kept = self.buffer[self.at :].tobytes()
        self.buffer = np.frombuffer(kept + self._take(count), dtype=np.uint8)
        self.at = 0

    def pop(self) -> int:
        """Return the next byte."""
        if not self.left:
            self.refill(64)
        self.at += 1
        return int(self.buffer[self.at - 1])


# Two-sided geometric draws from random bytes, for as long as the first bytes of the probabilities decide.

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]


@kernel
def fill_decided(p: Bytes, random: Bytes, at: int, out: Ints, done: int) -> tuple[int, int]:
    """Fill ``out`` from ``done`` on with draws from the bytes from ``at`` on; return the new positions.

    ``p`` holds the first bytes of each probability: a row for each digit, and a last one for anything above.
    The kernel stops before a draw that these do not decide, or that may need more random bytes than are left,
    and uses none of its bytes. A draw depends on its own bytes alone, and the next draw begins after them.
    """
    rows, depth = p.shape
    above = 1 << (rows - 1)
    most = 2 * rows * depth
    while done < len(out) and len(random) - at >= most:
        first, middle = decide_digits(p, random, at)
        second, end = decide_digits(p, random, middle)
        if first < 0 or second < 0 or first >= above or second >= above:
            break
        out[done] = first - second
        done += 1
        at = end
    return done, at


@kernel
def decide_digits(p: Bytes, random: Bytes, at: int) -> tuple[int, int]:
    """Decide one bit per row of ``p``: the bits (-1 if a row does not decide), and the first unused byte."""
    bits = 0
    for i in range(len(p)):
        k = 0
        byte = random[at]
        at += 1
        while byte == p[i, k]:
            k += 1
            if k == p.shape[1]:
                return -1, at
            byte = random[at]
            at += 1
        bits |= int(byte < p[i, k]) << i
    return bits, at


# The probabilities of a geometric's binary digits, to any number of bits.
#
# A geometric with ratio q = exp(-1 / scale), P(G = k) = (1 - q) q^k, has independent binary digits:
#
#     P(digit i = 1)              = q^(2^i) / (1 + q^(2^i)) = 1 / (1 + exp(2^i / scale))
#     P(any digit from I on is 1) = q^(2^I)                 = exp(-2^I / scale)
#
# All arithmetic is on whole numbers and rounded outwards: a probability is known as two whole numbers with
# ``low <= probability 2^bits <= high``, and a bit of it only once both agree on it. ``docs/noise.md`` has
# the proofs.

Enclosure = tuple[int, int]
"""Two whole numbers, with probability 2^bits between them."""

SPAN = 16
"""I, the number of digits, is the smallest with 2^I >= SPAN x scale: P(anything above) <= exp(-SPAN)."""

GUARD = 32
"""Bits computed beyond those asked for: with them a bit is undecided about once in 2^30 times."""


class Expansion:
    """The binary expansion of a probability: its bytes after the point, computed on demand.

    The search ends, because the probability is irrational: exp(r) is, for every rational r != 0 (Lambert),
    and so is 1 / (1 + exp(r)). A number that is not a multiple of 2^-n lies strictly between two of them,
    and every enclosure that is narrow enough lies there too, which decides the first n bits.

    >>> Expansion(partial(enclose_exp, Fraction(1))).first(8).hex()  # exp(-1) = 0.3678794...
    '5e2d58d8b3bcdf1a'
    """

    def __init__(self, enclose: Callable[[int], Enclosure]) -> None:
        self._enclose = enclose
        self._known = b""

    def byte(self, place: int) -> int:
        """Return the byte at ``place``, 0 for the first after the point."""
        return self.first(place + 1)[place]

    def first(self, count: int) -> bytes:
        """Return the first ``count`` bytes."""
        known = self._known  # threads may replace it, always by a correct one
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
    """The probabilities that define a geometric: of each digit, and of anything above the digits."""

    digits: tuple[Expansion, ...]
    """P(digit i = 1), from the lowest digit."""

    more: Expansion
    """P(any digit above those is 1)."""


@lru_cache(maxsize=64)  # levels, and many releases, have the same scales
def expand_probabilities(scale: Fraction, *, span: int = SPAN) -> DigitProbabilities:
    """Return the probabilities of the digits of a geometric with ratio exp(-1 / ``scale``)."""
    count = 0
    while 2**count < span * scale:
        count += 1
    return DigitProbabilities(
        tuple(Expansion(partial(enclose_digit, 2**i / scale)) for i in range(count)),
        Expansion(partial(enclose_exp, 2**count / scale)),
    )


def enclose_digit(x: Fraction, bits: int) -> Enclosure:
    """Enclose 1 / (1 + exp(x)) for x > 0: it is e / (1 + e) with e = exp(-x), which grows with e."""
    low, high = enclose_exp(x, bits)
    one = 1 << bits
    return low * one // (one + low), _divide_up(high * one, one + high)


def enclose_exp(x: Fraction, bits: int) -> Enclosure:
    """Enclose exp(-x) for x > 0: exp(-y) squared ``halvings`` times, with y = x / 2^halvings at most 1/2.

    A square at most doubles the width of an enclosure (of numbers up to 1) and adds one to it, so one extra
    bit per squaring, and a few more, are enough to begin with. That only matters for speed: the result
    encloses exp(-x) whatever its width.
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
    """Enclose exp(-y) = 1 - y + y^2/2! - y^3/3! + ... for 0 < y <= 1/2.

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


DEPTH = 8
"""Bytes of each probability that the kernel is given: they leave a draw undecided with probability 2^-64."""

MOST = 2**62
"""Draws beyond this in absolute value are clamped to it: see ``draw_noise``."""


class DigitNoise(ExactNoise):
    """Binary digits decided one by one, exactly, by the bytes of a cipher."""

    description = (
        "two-sided geometric noise as the difference of two geometrics, whose binary digits are drawn "
        "independently with exact probabilities; random bytes of AES-256 in counter mode, keyed anew by the "
        "operating system for every piece of work"
    )
    chunk = 65_536

    def prepare(self, scale: Fraction) -> Fill:
        """Return a function that fills an array; each call has a stream of its own."""
        if not isinstance(scale, Fraction) or not 0 < scale <= MAX_SCALE:
            raise PrivacyError(f"The scale of noise must be a Fraction above 0, at most {MAX_SCALE}.")
        probabilities = expand_probabilities(scale)
        return lambda out: fill_draws(probabilities, self.open_stream(), out)

    def open_stream(self) -> Take:
        """Open a stream of random bytes for one piece of work, with a key of its own."""
        return RandomStream().take


def fill_draws(probabilities: DigitProbabilities, take: Take, out: Ints) -> None:
    """Fill ``out`` with draws made of the bytes that ``take`` gives."""
    rows = [*probabilities.digits, probabilities.more]
    p = np.array([list(row.first(DEPTH)) for row in rows], dtype=np.uint8)
    most = 2 * p.size  # with fewer bytes left, the kernel makes no draw
    queue = ByteQueue(take)
    done = 0
    while done < len(out):
        if queue.left < most:
            expected = (len(out) - done) * 2 * len(rows)
            queue.refill(expected + expected // 128 + most)  # one comparison in 256 takes another byte
        done, queue.at = fill_decided(p, queue.buffer, queue.at, out, done)
        if done < len(out) and queue.left >= most:
            out[done] = draw_noise(probabilities, queue.pop)
            done += 1


def draw_noise(probabilities: DigitProbabilities, pop: Callable[[], int]) -> int:
    """Draw G1 - G2 for independent geometrics G1, G2 of ratio q: P(k) = (1 - q) / (1 + q) q^|k|.

    It is clamped to +-MOST to fit 64 bits. That is post-processing of the exact draw, and changes nothing
    that is measured: an answer with noise beyond twice ``arrays.MAX_MEASURED`` is clamped anyway.
    At the largest scale, the probability of clamping is below exp(-2^30).
    """
    first = draw_geometric(probabilities, pop)
    second = draw_geometric(probabilities, pop)
    return max(-MOST, min(MOST, first - second))


def draw_geometric(probabilities: DigitProbabilities, pop: Callable[[], int]) -> int:
    """Draw a geometric: its digits from the lowest, then the multiple of 2^I above them.

    The part from digit I on is 2^I times a geometric of ratio q^(2^I): the number of successes, each of that
    probability, before the first failure.
    """
    value = sum(decide(digit, pop) << i for i, digit in enumerate(probabilities.digits))
    while decide(probabilities.more, pop):
        value += 1 << len(probabilities.digits)
    return value


def decide(probability: Expansion, pop: Callable[[], int]) -> bool:
    """Return whether a uniform number on [0, 1), drawn byte by byte as needed, is below ``probability``.

    That happens with exactly this probability. The first byte in which the two differ decides; each byte
    agrees with probability 1/256, whatever came before.
    """
    place = 0
    while (byte := pop()) == (edge := probability.byte(place)):
        place += 1
    return byte < edge
