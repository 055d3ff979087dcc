"""What somebody may believe about a person after a release, and the epsilon that keeps it within bounds.

With epsilon-differential privacy the odds of anything that is true of a person or not, such as being in the
data, rise or fall at most by the factor exp(epsilon), whatever else is known (Wasserman and Zhou, 2010, "A
statistical framework for differential privacy", theorem 2.4, for tests; the Bayesian form is the same ratio).

With rho-zCDP (Gaussian noise) there is no such factor for all outcomes. But the logarithm of the ratio of
odds exceeds rho + 2 sqrt(rho ln(1/delta)) only with probability delta (Bun and Steinke, 2016, "Concentrated
differential privacy", proof of proposition 1.3), so that beliefs are bounded but for that probability. This
is somewhat more than the epsilon that is stated at delta, which does not bound beliefs by itself.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

from tallytree.errors import PrivacyError, show
from tallytree.privacy.budget import MOST_EPSILON, parse_exact
from tallytree.privacy.zcdp import MOST_RHO, convert_rho
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
    return _round(_find_gain(before, after), ROUND_FLOOR)


def find_most_gain(rho: Fraction, delta: Fraction) -> Fraction:
    """Return by how much the logarithm of the odds rises at most under rho-zCDP, but for a probability delta.

    It is rounded up.

    >>> float(find_most_gain(Fraction(1, 100), Fraction(1, 10**9)))
    0.920457
    """
    known, doubt = _to_decimal(rho), -_to_decimal(delta).ln(PRECISE)
    return _round(known + 2 * (known * doubt).sqrt(PRECISE), ROUND_CEILING)


def find_rho_for(before: Fraction, after: Fraction, delta: Fraction) -> Fraction:
    """Return the rho at which a belief rises to ``after`` at most, but for a probability delta, rounded down.

    >>> float(find_rho_for(Fraction(1, 2), Fraction(3, 4), Fraction(1, 10**9)))
    0.0141866
    """
    gain, doubt = _find_gain(before, after), -_to_decimal(delta).ln(PRECISE)
    root = (gain + doubt).sqrt(PRECISE) - doubt.sqrt(PRECISE)
    return _round(root * root, ROUND_FLOOR)


def _find_gain(before: Fraction, after: Fraction) -> Decimal:
    """Return the logarithm of the ratio of the odds."""
    return _to_decimal((after / (1 - after)) / (before / (1 - before))).ln(PRECISE)


def _to_decimal(number: Fraction) -> Decimal:
    return PRECISE.divide(Decimal(number.numerator), Decimal(number.denominator))


def _round(number: Decimal, rounding: str) -> Fraction:
    unit = Decimal(1).scaleb(number.adjusted() - DIGITS + 1)
    return Fraction(number.quantize(unit, rounding=rounding, context=PRECISE))


def parse_risk(text: str, delta: Fraction | None = None) -> Fraction:
    """Parse a risk such as ``"50:75"`` and return its epsilon: a belief of 50 % may rise to 75 % at most.

    With a ``delta``, which is for Gaussian noise, it may rise further with that probability.

    >>> float(parse_risk("10:50"))
    2.19722
    """
    parts = [part.strip() for part in text.split(":")]
    if len(parts) != 2 or not all(is_numeral(part) for part in parts):
        raise PrivacyError(_refuse(text))
    before, after = (parse_exact(part, "A belief in percent") / PERCENT for part in parts)
    if not before < after < 1:
        raise PrivacyError(_refuse(text))
    epsilon = find_epsilon_for(before, after) if delta is None else _find_stated(before, after, delta)
    if epsilon > MOST_EPSILON:
        raise PrivacyError(f"The risk {show(text)} is too large: its epsilon is above {MOST_EPSILON}.")
    return epsilon


def _find_stated(before: Fraction, after: Fraction, delta: Fraction) -> Fraction:
    """Return the epsilon to state at delta, a little below that of the rho which the risk allows."""
    rho = find_rho_for(before, after, delta)
    if rho > MOST_RHO:
        return MOST_EPSILON + Fraction(1)
    stated = convert_rho(rho, delta)
    unit = Fraction(10) ** (math.floor(math.log10(stated)) - DIGITS + 1)
    return (stated // unit - 1) * unit


def _refuse(text: str) -> str:
    return (
        f"The risk {show(text)} is not two percentages such as 50:75: how much somebody may believe before "
        "the release, and how much at most, which is more, afterwards."
    )
