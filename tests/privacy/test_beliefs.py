"""What may be believed after a release, and the epsilon that keeps it within bounds."""

from __future__ import annotations

import math
from decimal import Context, Decimal
from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tallytree.errors import PrivacyError
from tallytree.privacy.beliefs import DIGITS, find_belief, find_epsilon_for, parse_risk

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
