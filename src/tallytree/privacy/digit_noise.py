"""Exact two-sided geometric noise from binary digits: a draw is the difference of two geometrics.

What a draw is, is written here in plain Python, as a function of a stream of random bytes (``draw_noise``).
The kernel works out the same function for almost all draws; the few that it leaves are worked out here, from
the same bytes. So the result depends on the stream alone: not on what was decided where, nor on buffers.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from tallytree.errors import PrivacyError
from tallytree.limits import MAX_SCALE
from tallytree.privacy.digit_kernel import fill_decided
from tallytree.privacy.digit_probabilities import DigitProbabilities, Expansion, expand_probabilities
from tallytree.privacy.noise import ExactNoise, Fill
from tallytree.privacy.random_stream import ByteQueue, RandomStream, Take

Ints = npt.NDArray[np.int64]

DEPTH = 8
"""Bytes of each probability that the kernel is given: it is undecided after them with probability 2^-64."""

MOST = 2**62
"""Draws beyond this, either way, are set to it: see ``draw_noise``."""


class DigitNoise(ExactNoise):
    """Binary digits decided one by one, exactly, by the bytes of a cipher."""

    description = (
        "two-sided geometric noise as the difference of two geometrics, whose binary digits are drawn "
        "independently with exact probabilities; random bytes of AES-256 in counter mode, keyed anew by the "
        "operating system for every piece of work"
    )
    chunk = 65_536

    def prepare(self, scale: Fraction) -> Fill:
        """A function that fills an array, with a stream of its own for every call."""
        if not isinstance(scale, Fraction) or not 0 < scale <= MAX_SCALE:
            raise PrivacyError(f"The scale of noise must be a Fraction above 0, at most {MAX_SCALE}.")
        probabilities = expand_probabilities(scale)
        return lambda out: fill_draws(probabilities, self.open_stream(), out)

    def open_stream(self) -> Take:
        """Random bytes for one piece of work: a stream of its own, with a key of its own."""
        return RandomStream().take


def fill_draws(probabilities: DigitProbabilities, take: Take, out: Ints) -> None:
    """Fill ``out`` with draws made of the bytes that ``take`` gives."""
    rows = [*probabilities.digits, probabilities.more]
    p = np.array([list(row.first(DEPTH)) for row in rows], dtype=np.uint8)
    most = 2 * p.size  # the kernel makes no draw with fewer bytes before it
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
    """G1 - G2 for independent geometrics G1, G2 of ratio q has P(k) = (1 - q) / (1 + q) q^|k|.

    It is cut at +-MOST to fit into 64 bits. That is post-processing of the exact draw, and changes nothing
    that is measured: an answer with noise beyond twice ``limits.MAX_MEASURED`` is set to a limit anyway.
    At the largest scale, the probability of a cut is below exp(-2^30).
    """
    first = draw_geometric(probabilities, pop)
    second = draw_geometric(probabilities, pop)
    return max(-MOST, min(MOST, first - second))


def draw_geometric(probabilities: DigitProbabilities, pop: Callable[[], int]) -> int:
    """The digits from the lowest, then how often 2^I fits in besides.

    The part from digit I on is 2^I times a geometric of ratio q^(2^I): as many as there are successes, each
    of that probability, before the first failure.
    """
    value = sum(decide(digit, pop) << i for i, digit in enumerate(probabilities.digits))
    while decide(probabilities.more, pop):
        value += 1 << len(probabilities.digits)
    return value


def decide(probability: Expansion, pop: Callable[[], int]) -> bool:
    """Whether a uniform number on [0, 1), of which bytes are drawn as needed, is below ``probability``.

    That is so with just this probability. The first byte in which the two differ tells; each is the same
    with probability 1/256, whatever came before.
    """
    place = 0
    while (byte := pop()) == (edge := probability.byte(place)):
        place += 1
    return byte < edge
