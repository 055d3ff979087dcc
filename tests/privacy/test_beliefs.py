"""What may be believed after a release, and the epsilon that keeps it within bounds."""

from __future__ import annotations

import math
from decimal import Context, Decimal
from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tallytree.errors import PrivacyError
from tallytree.privacy.beliefs import (
    DIGITS,
    find_belief,
    find_epsilon_for,
    find_most_gain,
    find_rho_for,
    parse_risk,
)
from tallytree.privacy.zcdp import convert_rho, find_rho

BELIEFS = st.fractions(Fraction(1, 1000), Fraction(999, 1000), max_denominator=1000)
PRECISE = Context(prec=60)


def raise_odds(before: Fraction, epsilon: Fraction) -> Fraction:
    """The odds afterwards, to fifty digits."""
    exponent = PRECISE.divide(Decimal(epsilon.numerator), Decimal(epsilon.denominator))
    return before / (1 - before) * Fraction(PRECISE.exp(exponent))


@given(BELIEFS, BELIEFS)
def test_epsilon_is_the_largest_of_so_many_digits_that_keeps_the_belief(
    one: Fraction, other: Fraction
) -> None:
    before, after = sorted((one, other))
    assume(before < after)
    epsilon = find_epsilon_for(before, after)
    unit = Fraction(10) ** (math.floor(math.log10(epsilon)) - DIGITS + 1)
    assert (epsilon / unit).denominator == 1
    assert raise_odds(before, epsilon) < after / (1 - after) < raise_odds(before, epsilon + unit)
    assert find_belief(before, float(epsilon)) == pytest.approx(float(after), abs=1e-5)


@given(BELIEFS, st.floats(0, 700))
def test_a_belief_never_becomes_certainty_below_what_floats_can_tell(
    before: Fraction, epsilon: float
) -> None:
    after = find_belief(before, epsilon)
    assert float(before) * (1 - 1e-12) <= after <= 1
    assert find_belief(before, epsilon + 1) >= after


def test_a_risk_is_an_epsilon() -> None:
    assert parse_risk("50:75") == Fraction("1.09861")  # ln 3, rounded down
    assert parse_risk(" 0.1 : 99.9 ") == Fraction("13.8135")


@pytest.mark.parametrize(
    "text", ["", "50", "50:", "75:50", "50:50", "0:50", "50:100", "50:101", "-1:50", "a:b", "1:2:3", "nan:50"]
)
def test_what_is_no_risk_is_refused(text: str) -> None:
    with pytest.raises(PrivacyError, match=r"not two percentages|must be above zero|not a number"):
        parse_risk(text)


RHOS = st.fractions(Fraction(1, 10**6), Fraction(20), max_denominator=10**6)
DELTAS = st.integers(3, 15).map(lambda places: Fraction(1, 10**places))


@given(RHOS, DELTAS)
def test_gaussian_noise_gives_more_away_hardly_ever(rho: Fraction, delta: Fraction) -> None:
    """Of Gaussian noise, the logarithm of the ratio of odds is normal, with mean rho and variance 2 rho."""
    gain = float(find_most_gain(rho, delta))

    def find_chance(gain: float) -> float:
        return math.erfc((gain - float(rho)) / (2 * math.sqrt(rho))) / 2

    assert find_chance(gain) <= delta
    assert find_chance(float(rho) + 0.8 * (gain - float(rho))) > delta  # and much less would not do


@given(BELIEFS, BELIEFS, DELTAS)
def test_the_rho_of_a_risk_keeps_it(one: Fraction, other: Fraction, delta: Fraction) -> None:
    before, after = sorted((one, other))
    assume(before < after)
    gain = find_most_gain(find_rho_for(before, after, delta), delta)
    unit = 1 + Fraction(1, 10 ** (DIGITS - 1))
    assert raise_odds(before, gain / unit) < after / (1 - after) < raise_odds(before, gain * unit)


def test_a_risk_with_delta_is_an_epsilon_whose_rho_keeps_it() -> None:
    delta = Fraction(1, 10**9)
    rho = find_rho(parse_risk("50:75", delta), delta)
    most = find_rho_for(Fraction(1, 2), Fraction(3, 4), delta)
    assert 0.999 * most < rho <= most
    # The epsilon that is stated at delta is less than what beliefs rise by: it does not bound them.
    assert parse_risk("50:75", delta) < convert_rho(most, delta) < parse_risk("50:75")
