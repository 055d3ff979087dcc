"""The digits' probabilities are right to the last bit that is asked for."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallytree.arrays import MAX_SCALE
from tallytree.privacy.digits import SPAN, Expansion, enclose_digit, enclose_exp, expand_probabilities
from tests.privacy import naive_noise

SCALES = [
    Fraction(1, 1000), Fraction(1, 10), Fraction(1, 2), Fraction(1), Fraction(3), Fraction(20, 3),
    Fraction(10**40 + 1, 10**40), Fraction(1000), Fraction(123_456_789, 1000), Fraction(MAX_SCALE),
]  # fmt: skip

LENGTH = 40
"""Bytes compared: 320 bits."""


@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_the_expansions_are_those_of_the_probabilities(scale: Fraction) -> None:
    found = expand_probabilities(scale)
    count = naive_noise.count_digits(scale, SPAN)
    assert len(found.digits) == count
    for place, digit in enumerate(found.digits):
        right = naive_noise.digit_probability(scale, place)
        assert digit.first(LENGTH) == naive_noise.first_bytes(right, LENGTH)
    right = naive_noise.exponential(2**count / scale)
    assert found.more.first(LENGTH) == naive_noise.first_bytes(right, LENGTH)


@pytest.mark.parametrize("scale", SCALES[1:], ids=str)
def test_a_scale_that_is_hardly_off_has_other_expansions(scale: Fraction) -> None:
    wrong = scale * (1 + Fraction(1, 10**70))
    found = expand_probabilities(scale)
    for place, digit in enumerate(found.digits):
        other = naive_noise.digit_probability(wrong, place)
        assert digit.first(LENGTH) != naive_noise.first_bytes(other, LENGTH)


@given(
    x=st.fractions(min_value=Fraction(1, 2**40), max_value=2000).filter(bool),
    bits=st.integers(8, 600),
)
def test_enclosures_hold_the_number_and_are_narrow(x: Fraction, bits: int) -> None:
    power = naive_noise.exponential(x)
    for (low, high), right in (
        (enclose_exp(x, bits), power),
        (enclose_digit(x, bits), power / (1 + power)),
    ):
        assert low <= right * 2**bits <= high
        assert high - low <= 4


@given(
    scale=st.fractions(min_value=Fraction(1, 1000), max_value=MAX_SCALE), places=st.lists(st.integers(0, 99))
)
def test_bytes_are_the_same_in_whatever_order_they_are_asked_for(scale: Fraction, places: list[int]) -> None:
    expansion = expand_probabilities(scale).more
    whole = expand_probabilities(scale).more.first(100)
    assert [expansion.byte(place) for place in places] == [whole[place] for place in places]


def test_an_enclosure_that_does_not_decide_is_made_narrower() -> None:
    """A probability just above 1/2: the first bits of a wide enclosure could be those of 1/2 or of less."""
    asked: list[int] = []

    def enclose(bits: int) -> tuple[int, int]:
        asked.append(bits)
        number = (1 << bits - 1) + (1 << bits) // 2**70  # 1/2 + 2^-70
        return number - 1, number + 1

    assert Expansion(enclose).first(2) == b"\x80\x00"
    assert asked == [16 + 32, 16 + 64]


@pytest.mark.parametrize("scale", [Fraction(1, 10**30), Fraction(1, 10**300)], ids=["1e-30", "1e-300"])
def test_scales_near_zero_are_no_trouble(scale: Fraction) -> None:
    found = expand_probabilities(scale)
    assert found.digits == ()
    assert found.more.first(LENGTH) == bytes(LENGTH)


def test_the_digits_make_a_geometric() -> None:
    """Every value's probability, multiplied up from its digits, is (1 - q) q^k."""
    scale = Fraction(7, 3)
    ratio = naive_noise.exponential(1 / scale)
    probabilities = expand_probabilities(scale)
    exact = [Fraction(int.from_bytes(digit.first(60), "big"), 256**60) for digit in probabilities.digits]
    more = Fraction(int.from_bytes(probabilities.more.first(60), "big"), 256**60)
    for value in range(2 ** len(exact)):
        product = 1 - more
        for place, p in enumerate(exact):
            product *= p if value >> place & 1 else 1 - p
        assert abs(product - (1 - ratio) * ratio**value) < Fraction(1, 2**470)
