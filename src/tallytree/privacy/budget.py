"""Epsilon and its split over the levels, exactly: nothing about privacy is a float."""

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from numbers import Rational, Real

from tallytree.errors import PrivacyError, name_choices, show
from tallytree.numerals import find_whole, is_numeral

Exact = str | int | Fraction | Decimal
"""A number that means what it says: "0.1", 1, Fraction(1, 3), Decimal("0.1")."""

MOST_DIGITS = 40

MOST_EPSILON = 1000
"""No release has a larger one, and no budget. It is far beyond anything that protects, and OpenDP's
arithmetic for Gaussian noise ends not far above."""
LARGE_EPSILON = 10
"""From here on a release carries a warning. Odds that were even may become exp(10) = 22,026 to 1, so that the
worst case is near certainty, and what agencies publish with a promise to each person is mostly below it."""


def parse_exact(value: object, what: str) -> Fraction:
    """A positive number as a fraction; a float is refused, because 0.1 as a float is not 1/10.

    >>> parse_exact("0.1", "epsilon")
    Fraction(1, 10)
    """
    value = _refuse_floats(value, what)
    if isinstance(value, str) and len(value) > MOST_DIGITS:
        raise PrivacyError(f"{what} is longer than {MOST_DIGITS} characters.")
    # An exponent is looked at before it is carried out: 1e-9999999999 would fill the memory.
    if _magnitude(value) > MOST_DIGITS:
        raise PrivacyError(f"{what} has more than {MOST_DIGITS} digits.")
    try:
        if isinstance(value, str) and not is_numeral(value.strip()):
            raise ValueError
        number = Fraction(value)
    except (ValueError, ArithmeticError):
        raise PrivacyError(f"{what} is not a number: {show(value)}. Write it as 0.5, 1e-9 or 1/3.") from None
    # A Fraction may hold NumPy's whole numbers, which overflow.
    number = Fraction(int(number.numerator), int(number.denominator))
    if number <= 0:
        raise PrivacyError(f"{what} must be above zero.")
    if max(number.numerator, number.denominator) >= 10**MOST_DIGITS:
        raise PrivacyError(f"{what} has more than {MOST_DIGITS} digits.")
    return number


def _refuse_floats(value: object, what: str) -> Exact:
    """The value, if it is of a type that is exact; NumPy's whole numbers become Python's."""
    if isinstance(value, Real) and not isinstance(value, Rational):  # NumPy's floats as well
        if not math.isfinite(value):
            raise PrivacyError(f"{what} must be a finite number above zero.")
        raise PrivacyError(
            f"{what} is a float, which cannot hold most decimal numbers exactly: "
            f'give it as text, such as "{value}".'
        )
    if isinstance(value, (str, Fraction, Decimal)):
        return value
    if (whole := find_whole(value)) is None:
        raise PrivacyError(f'{what} must be text such as "0.5", a whole number, Fraction or Decimal.')
    return whole


def check_epsilon(epsilon: Fraction, what: str) -> None:
    """Refuse an epsilon that leaves no privacy."""
    if epsilon > MOST_EPSILON:
        raise PrivacyError(
            f"{what} is too large: there is no privacy left above {MOST_EPSILON}. Take the smallest one that "
            f"serves the purpose; from {LARGE_EPSILON} on, a release carries a warning."
        )


def show_exact(number: Fraction) -> str:
    """As people would write it: a decimal number where that is exact and short, else a fraction.

    >>> show_exact(Fraction(3, 10)), show_exact(Fraction(1, 3)), show_exact(Fraction(1, 10**9))
    ('0.3', '1/3', '1e-9')
    """
    places = 0
    while places <= MOST_DIGITS and (number * 10**places).denominator > 1:
        places += 1
    if places > MOST_DIGITS:
        return str(number)
    digits = str(int(number * 10**places))
    if places > len(digits) + 3:
        return f"{digits[0]}{'.' if digits[1:] else ''}{digits[1:]}e-{places - len(digits) + 1}"
    digits = digits.rjust(places + 1, "0")
    return f"{digits[:-places]}.{digits[-places:]}" if places else digits


def _magnitude(value: Exact) -> int:
    """How many places a decimal number is away from one digit; 0 for what is not a decimal number."""
    try:
        number = Decimal(value) if isinstance(value, str) else value
    except ArithmeticError:
        return 0
    return abs(number.adjusted()) if isinstance(number, Decimal) and number.is_finite() else 0


def split_budget(
    epsilon: Fraction, levels: Sequence[str], budget: Mapping[str, Exact] | None
) -> tuple[Fraction, ...]:
    """Epsilon's part at each level: in proportion to ``budget``, or even, as in the paper.

    >>> split_budget(Fraction(1), ["nation", "state"], {"nation": 1, "state": "3"})
    (Fraction(1, 4), Fraction(3, 4))
    """
    if budget is None:
        return (epsilon / len(levels),) * len(levels)
    if not isinstance(budget, Mapping):
        raise PrivacyError('The budget must name a weight for each level, such as {"nation": 1, "state": 2}.')
    for name in budget:
        if name not in levels:
            raise PrivacyError(
                f"The budget names a level {show(name)} that there is not: {name_choices(name, levels)}"
            )
    missing = [name for name in levels if name not in budget]
    if missing:
        raise PrivacyError(f"The budget gives no weight to level {show(missing[0])}; every level needs one.")
    weights = [parse_exact(budget[name], f"The budget of level {show(name)}") for name in levels]
    return tuple(epsilon * weight / sum(weights) for weight in weights)
