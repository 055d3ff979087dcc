"""What somebody may believe about a person after a release, and the epsilon that keeps it within bounds.

With epsilon-differential privacy the odds of anything that is true of a person or not, such as being in the
data, rise or fall at most by the factor exp(epsilon), whatever else is known (Wasserman and Zhou, 2010, "A
statistical framework for differential privacy", theorem 2.4, for tests; the Bayesian form is the same ratio).
"""

from __future__ import annotations

import math
from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction

from tallytree.errors import PrivacyError, show
from tallytree.privacy.budget import MOST_EPSILON, parse_exact
from tallytree.sizes import is_numeral

DIGITS = 6
"""The digits of an epsilon that is found, which is rounded down."""
PRECISE = Context(prec=100)
PERCENT = 100


def find_belief(before: Fraction, epsilon: float) -> float:
    """Return the most that somebody may believe afterwards, as a probability.

    >>> round(find_belief(Fraction(1, 2), 1.0), 3)
    0.731
    """
    odds = float(before / (1 - before))
    return 1.0 / (1.0 + math.exp(-epsilon) / odds)


def find_epsilon_for(before: Fraction, after: Fraction) -> Fraction:
    """Return the epsilon at which a belief rises to ``after`` at most: the logarithm of the ratio of odds.

    It is rounded down, so that the belief stays within the bound.

    >>> find_epsilon_for(Fraction(1, 2), Fraction(3, 4))
    Fraction(109861, 100000)
    """
    ratio = (after / (1 - after)) / (before / (1 - before))
    exact = PRECISE.divide(Decimal(ratio.numerator), Decimal(ratio.denominator)).ln(PRECISE)
    unit = Decimal(1).scaleb(exact.adjusted() - DIGITS + 1)
    return Fraction(exact.quantize(unit, rounding=ROUND_FLOOR, context=PRECISE))


def parse_risk(text: str) -> Fraction:
    """Parse a risk such as ``"50:75"`` and return its epsilon: a belief of 50 % may rise to 75 % at most.

    >>> float(parse_risk("10:50"))
    2.19722
    """
    parts = [part.strip() for part in text.split(":")]
    if len(parts) != 2 or not all(is_numeral(part) for part in parts):
        raise PrivacyError(_refuse(text))
    before, after = (parse_exact(part, "A belief in percent") / PERCENT for part in parts)
    if not before < after < 1:
        raise PrivacyError(_refuse(text))
    epsilon = find_epsilon_for(before, after)
    if epsilon > MOST_EPSILON:
        raise PrivacyError(f"The risk {show(text)} is too large: its epsilon is above {MOST_EPSILON}.")
    return epsilon


def _refuse(text: str) -> str:
    return (
        f"The risk {show(text)} is not two percentages such as 50:75: how much somebody may believe before "
        "the release, and how much at most, which is more, afterwards."
    )
