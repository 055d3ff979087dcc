"""Noise made of digits: the kernel, the plain code and the twin agree byte for byte, and the law is right."""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from tallytree.arrays import MAX_SCALE
from tallytree.errors import PrivacyError
from tallytree.privacy.digits import (
    DEPTH,
    MOST,
    SPAN,
    DigitNoise,
    DigitProbabilities,
    Expansion,
    RandomStream,
    decide,
    decide_digits,
    draw_noise,
    expand_probabilities,
    fill_decided,
    fill_draws,
)
from tallytree.privacy.noise import OpenDPNoise
from tests.privacy import naive_noise
from tests.privacy.noise_statistics import (
    REJECT,
    independence_p_value,
    p_value,
    residue_p_value,
    two_sample_p_value,
)

Ints = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]


def draw(scale: Fraction, count: int) -> Ints:
    return DigitNoise().draw(scale, count, lambda done: None)


def take_from(stream: bytes) -> Callable[[int], bytes]:
    """The bytes of ``stream``, and zeros after them."""
    at = 0

    def take(count: int) -> bytes:
        nonlocal at
        at += count
        return stream[at - count : at].ljust(count, b"\0")

    return take


def fill(scale: Fraction, stream: bytes, count: int, span: int = SPAN) -> list[int]:
    out = np.empty(count, dtype=np.int64)
    fill_draws(expand_probabilities(scale, span=span), take_from(stream), out)
    return out.tolist()


def fill_naively(scale: Fraction, stream: bytes, count: int, span: int = SPAN) -> list[int]:
    source = itertools.chain(stream, itertools.repeat(0))
    return [naive_noise.draw_noise(scale, span, source) for _ in range(count)]


def tabulate(probabilities: DigitProbabilities) -> Bytes:
    rows = [*probabilities.digits, probabilities.more]
    return np.array([list(row.first(DEPTH)) for row in rows], dtype=np.uint8)


# The twin, draw for draw.


@pytest.mark.parametrize("scale", ["1/1000", "1/10", "1/2", "3", "20/3", "1000", str(MAX_SCALE)])
def test_random_bytes_give_the_draws_of_the_twin(scale: str) -> None:
    stream = np.random.default_rng(1).bytes(20_000)
    found = fill(Fraction(scale), stream, 150)
    assert found == fill_naively(Fraction(scale), stream, 150)
    assert len(set(found)) > 1 or Fraction(scale) < 1


@pytest.mark.parametrize("span", [1, 2])
@pytest.mark.parametrize("scale", ["1/2", "3", "47/5"])
def test_draws_with_something_above_the_digits_are_those_of_the_twin(scale: str, span: int) -> None:
    stream = np.random.default_rng(2).bytes(20_000)
    found = fill(Fraction(scale), stream, 500, span)
    assert found == fill_naively(Fraction(scale), stream, 500, span)
    assert max(map(abs, found)) >= 2 ** naive_noise.count_digits(Fraction(scale), span)


def tie(probability: Fraction, depth: int, outcome: bool) -> bytes:
    """Bytes that agree with ``probability`` in the first ``depth`` places, or a few more, and then decide."""
    known = naive_noise.first_bytes(probability, 120)
    while known[depth] == (0 if outcome else 255):
        depth += 1
    return known[:depth] + bytes([known[depth] - 1 if outcome else known[depth] + 1])


def craft_draw(scale: Fraction, depths: Iterator[int], outcomes: Iterator[bool]) -> bytes:
    """The bytes of one draw with ties as deep and outcomes as given, comparison by comparison."""
    places = naive_noise.count_digits(scale, SPAN)
    crafted = b""
    for _ in range(2):
        for place in range(places):
            crafted += tie(naive_noise.digit_probability(scale, place), next(depths), next(outcomes))
        more = True
        while more:
            more = next(outcomes)
            crafted += tie(naive_noise.exponential(2**places / scale), next(depths), more)
    return crafted


@pytest.mark.parametrize("depth", range(20))
@pytest.mark.parametrize("scale", ["1/4", "3"])
def test_ties_of_every_depth_are_decided_as_the_twin_does(scale: str, depth: int) -> None:
    rng = np.random.default_rng(depth)
    depths = itertools.repeat(depth)
    stream = b"".join(
        craft_draw(Fraction(scale), depths, (bool(b) for b in rng.integers(0, 2, 10**4))) for _ in range(12)
    )
    found = fill(Fraction(scale), stream, 12)
    assert found == fill_naively(Fraction(scale), stream, 12)
    assert len(set(found)) > 6


def test_ties_of_mixed_depths_here_and_there_are_decided_as_the_twin_does() -> None:
    """Buffers run out in all places, since ties take far more bytes than are expected."""
    rng = np.random.default_rng(3)
    depths = (int(d) for d in rng.choice([0, 0, 0, 0, 1, 2, 7, 8, 9, 30], 10**5))
    outcomes = (bool(b) for b in rng.random(10**5) < 0.3)
    stream = b"".join(craft_draw(Fraction(5), depths, outcomes) for _ in range(150))
    takes: list[int] = []
    source = take_from(stream)

    def take(count: int) -> bytes:
        takes.append(count)
        return source(count)

    out = np.empty(150, dtype=np.int64)
    fill_draws(expand_probabilities(Fraction(5)), take, out)
    assert out.tolist() == fill_naively(Fraction(5), stream, 150)
    assert len(takes) > 3


def test_the_plain_code_alone_gives_the_same_draws() -> None:
    scale = Fraction(40)
    stream = np.random.default_rng(4).bytes(10**6)
    probabilities, pop = expand_probabilities(scale), iter(stream).__next__
    slow = [draw_noise(probabilities, pop) for _ in range(10_000)]
    assert slow == fill(scale, stream, 10_000)
    assert slow != fill(scale, stream[1:], 10_000)  # a control


def test_the_kernel_leaves_what_it_cannot_decide_untouched() -> None:
    scale = Fraction(3)
    p = tabulate(expand_probabilities(scale))
    zeros, ones = itertools.repeat(0), itertools.repeat(False)
    plain = craft_draw(scale, zeros, ones)
    above = craft_draw(scale, zeros, itertools.chain([False] * (len(p) - 1), [True], ones))
    deep = craft_draw(scale, itertools.chain([0] * 9, [DEPTH], zeros), ones)
    for odd in (above, deep):
        random = np.frombuffer(plain + odd + plain * 20, dtype=np.uint8)
        out = np.full(5, -99)
        assert fill_decided(p, random, 0, out, 1) == (2, len(plain))
        assert out.tolist() == [-99, 0, -99, -99, -99]
    for length in range(2 * p.size + 20):  # it never reads past the end, and stops in time
        random = np.frombuffer((plain * 20)[:length], dtype=np.uint8)
        done, at = fill_decided(p, random, 0, np.empty(50, dtype=np.int64), 0)
        assert at == done * len(plain)
        assert length - 2 * p.size < at <= max(0, length - 2 * p.size + len(plain))


@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(3), Fraction(100)])
def test_the_kernel_decides_almost_all_draws(scale: Fraction) -> None:
    """What it leaves is right as well, but slow."""
    draws = 20_000
    p = tabulate(expand_probabilities(scale))
    random = np.random.default_rng(1).integers(0, 256, draws * 2 * p.size, dtype=np.uint8)
    assert fill_decided(p, random, 0, np.empty(draws, dtype=np.int64), 0)[0] == draws


def test_draws_beyond_64_bits_are_cut() -> None:
    def make(digit: int) -> Expansion:
        return Expansion(lambda bits: (digit << bits - 8, (digit << bits - 8) + 1))

    high = DigitProbabilities(tuple(make(128) for _ in range(70)), make(1))
    for first, second, cut in ((0, 255, MOST), (255, 0, -MOST)):
        source = iter([first] * 70 + [255] + [second] * 70 + [255])
        assert draw_noise(high, source.__next__) == cut


# The law, by enumeration.


@pytest.mark.parametrize("scale", ["1/3", "2", "1000"])
def test_every_first_byte_and_every_pair_of_bytes_is_decided_as_it_should_be(scale: str) -> None:
    """Of 256^n strings, as many say yes as the probability times 256^n, rounded down; one is undecided."""
    probabilities = expand_probabilities(Fraction(scale))
    exact = [naive_noise.digit_probability(Fraction(scale), i) for i in range(len(probabilities.digits))]
    for digit, p in zip(probabilities.digits, exact, strict=True):
        for length in (1, 2):
            yes = undecided = 0
            for string in itertools.product(range(256), repeat=length):
                try:
                    yes += decide(digit, iter(string).__next__)
                except StopIteration:
                    undecided += 1
            assert (yes, undecided) == (math.floor(p * 256**length), 1)


def classes(probability: Fraction, depth: int) -> Iterator[tuple[bool, bytes, Fraction]]:
    """All ways to decide within ``depth`` bytes: the outcome, such bytes, and the share of all bytes."""
    edges = naive_noise.first_bytes(probability, depth)
    for ties, edge in enumerate(edges):
        for outcome, ways in ((True, edge), (False, 255 - edge)):
            if ways:
                last = bytes([edge - 1 if outcome else edge + 1])
                yield outcome, edges[:ties] + last, Fraction(ways, 256 ** (ties + 1))


def enumerate_geometrics(scale: Fraction, span: int, depth: int) -> Iterator[tuple[bytes, Fraction]]:
    """All ways to draw a geometric with ties less than ``depth`` deep and at most 2^I on top."""
    places = naive_noise.count_digits(scale, span)
    digits = [list(classes(naive_noise.digit_probability(scale, i), depth)) for i in range(places)]
    more = list(classes(naive_noise.exponential(2**places / scale), depth))
    no, yes = [c for c in more if not c[0]], [c for c in more if c[0]]
    for chosen in itertools.product(*digits):
        for end in [*((c,) for c in no), *itertools.product(yes, no)]:
            parts = (*chosen, *end)
            share = math.prod((part[2] for part in parts), start=Fraction(1))
            yield b"".join(part[1] for part in parts), share


def enumerate_law(scale: Fraction, span: int, depth: int) -> dict[int, Fraction]:
    """The probability of every draw as the code makes it, from all those ways, two at a time."""
    ways = list(enumerate_geometrics(scale, span, depth))
    pairs = list(itertools.product(ways, ways))
    found = fill(scale, b"".join(one[0] + other[0] for one, other in pairs), len(pairs), span)
    law: dict[int, Fraction] = {}
    for value, (one, other) in zip(found, pairs, strict=True):
        law[value] = law.get(value, Fraction(0)) + one[1] * other[1]
    return law


@pytest.mark.parametrize(("scale", "span", "depth"), [("1/4", 8, 3), ("1", 4, 2), ("6/5", 3, 2)])
def test_the_law_is_the_two_sided_geometric(scale: str, span: int, depth: int) -> None:
    """No chance here: all short byte strings are tried, and what they leave undecided bounds the error."""
    law = enumerate_law(Fraction(scale), span, depth)
    undecided = 1 - sum(law.values())
    assert 0 < undecided < Fraction(1, 300)

    def fits(other: Fraction) -> bool:
        return all(0 <= naive_noise.mass(other, k) - found <= undecided for k, found in law.items())

    assert fits(Fraction(scale))
    assert not fits(Fraction(scale) * Fraction(102, 100))  # negative controls
    assert not fits(Fraction(scale) * Fraction(98, 100))


# The law, by chance.

MANY = 10**7
SCALES = [Fraction(1, 2), Fraction(3), Fraction(20, 3), Fraction(60), Fraction(1000), Fraction(10**4)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scale", "count"), [(Fraction(1, 10), 5 * MANY), *((s, MANY) for s in SCALES)], ids=str
)
def test_many_draws_have_the_distribution_that_is_claimed(scale: Fraction, count: int) -> None:
    draws = draw(scale, count)
    assert p_value(draws, float(scale)) > REJECT
    for wrong in (0.98, 1.02):  # negative controls
        assert p_value(draws, float(scale) * wrong) < REJECT
    for modulus in (2, 16) if scale >= 1 else (2,):
        assert residue_p_value(draws, float(scale), modulus) > REJECT


@pytest.mark.slow
@pytest.mark.parametrize("scale", [Fraction(3), Fraction(1000)], ids=str)
def test_the_part_above_the_digits_has_its_distribution(scale: Fraction) -> None:
    """With few digits, most draws have such a part and are finished by the plain code."""
    draws = np.empty(200_000, dtype=np.int64)
    fill_draws(expand_probabilities(scale, span=1), RandomStream().take, draws)
    assert p_value(draws, float(scale)) > REJECT
    assert (
        p_value(np.sign(draws) * np.minimum(abs(draws), int(3 * scale)), float(scale)) < REJECT
    )  # a control
    for wrong in (0.95, 1.05):
        assert p_value(draws, float(scale) * wrong) < REJECT


@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(3), Fraction(50)], ids=str)
def test_draws_agree_with_those_of_opendp(scale: Fraction) -> None:
    peer = OpenDPNoise().draw(scale, 60_000, lambda done: None)
    most = math.ceil(3 * scale)
    assert two_sample_p_value(draw(scale, 300_000), peer, most) > REJECT
    for wrong in (Fraction(9, 10), Fraction(11, 10)):  # negative controls
        assert two_sample_p_value(draw(scale * wrong, 300_000), peer, most) < REJECT


def stutter(stream: bytes, block: int) -> bytes:
    """Every ``block`` bytes twice: what a sampler does that uses random bytes again."""
    blocks = np.frombuffer(stream, dtype=np.uint8).reshape(-1, block)
    return np.repeat(blocks, 2, axis=0).tobytes()


def digits_of(scale: Fraction, stream: bytes, count: int) -> Ints:
    """The digits that the kernel decides, a row for each geometric."""
    p, random = tabulate(expand_probabilities(scale)), np.frombuffer(stream, dtype=np.uint8)
    drawn, at = np.empty(count, dtype=np.int64), 0
    for i in range(count):
        drawn[i], at = decide_digits(p, random, at)
    return drawn[:, None] >> np.arange(len(p)) & 1


def frequency_p_value(digits: Ints, scale: float) -> float:
    """The least p-value of all digits' frequencies, as many times as there are digits."""
    found = digits[:, :-1].sum(axis=0)
    right = [1 / (1 + math.exp(2**place / scale)) for place in range(len(found))]
    tests = (stats.binomtest(int(n), len(digits), p) for n, p in zip(found, right, strict=True))
    return len(found) * min(float(test.pvalue) for test in tests)


def digit_independence_p_value(digits: Ints) -> float:
    pairs = list(itertools.combinations(range(digits.shape[1] - 3), 2))  # the highest are hardly ever 1
    return len(pairs) * min(independence_p_value(digits[:, i], digits[:, j], 1) for i, j in pairs)


def test_digits_have_their_frequencies_and_are_independent() -> None:
    scale, count = Fraction(10), 300_000
    stream = RandomStream().take(10 * count)
    digits = digits_of(scale, stream, count)
    assert frequency_p_value(digits, float(scale)) > REJECT
    assert digit_independence_p_value(digits) > REJECT
    for wrong in (0.95, 1.05):  # negative controls
        assert frequency_p_value(digits, float(scale) * wrong) < REJECT
    assert digit_independence_p_value(digits_of(scale, stutter(stream, 1), count)) < REJECT


def test_neighbouring_draws_are_independent() -> None:
    scale, count = Fraction(3), 200_000
    draws = draw(scale, count)
    rows = len(tabulate(expand_probabilities(scale)))
    repeated = np.array(fill(scale, stutter(RandomStream().take(2 * rows * count), 2 * rows), count))
    for gap in (1, 2, 3):
        assert independence_p_value(draws[:-gap], draws[gap:], 5) > REJECT
    assert independence_p_value(repeated[:-1], repeated[1:], 5) < REJECT  # a control


# The class.


def test_every_chunk_has_a_key_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    keys: list[bytes] = []
    system = os.urandom

    def record(count: int) -> bytes:
        keys.append(system(count))
        return keys[-1]

    monkeypatch.setattr(DigitNoise, "chunk", 100)
    monkeypatch.setattr(os, "urandom", record)
    rows = draw(Fraction(50), 2_000).reshape(20, 100)
    assert len(keys) == len(set(keys)) == 20
    assert {len(key) for key in keys} == {32}
    assert len({row.tobytes() for row in rows}) == 20
    monkeypatch.setattr(os, "urandom", bytes)  # a control: the key is all that tells the chunks apart
    rows = draw(Fraction(50), 2_000).reshape(20, 100)
    assert len({row.tobytes() for row in rows}) == 1


@pytest.mark.parametrize(
    "scale", [3, 3.0, Fraction(0), Fraction(-1), Fraction(MAX_SCALE) + Fraction(1, 2)], ids=str
)
def test_a_scale_that_is_not_exact_or_out_of_range_is_refused(scale: object) -> None:
    with pytest.raises(PrivacyError, match="scale"):
        DigitNoise().draw(cast(Any, scale), 1, lambda done: None)


def test_no_draws_are_no_trouble() -> None:
    assert draw(Fraction(3), 0).shape == (0,)
    assert not draw(Fraction(1, 10**6), 1000).any()
