"""Numbers rounded to what is known of them: no more digits than their intervals have."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

DIGITS = 2
"""So many digits of the width of an interval are shown."""


class Rounded(NamedTuple):
    """A number and the ends of its interval, as they are shown."""

    value: str
    low: str
    high: str


def round_to_interval(value: float, low: float, high: float) -> Rounded:
    """Round a number and its interval to the digits that the interval's width leaves; its ends go outwards.

    Without a width, whole numbers are shown in full, and others with four digits behind the point. What is
    not a number is shown as nothing.

    >>> round_to_interval(1234567, 1230246, 1238888)
    Rounded(value='1,234,600', low='1,230,200', high='1,238,900')
    >>> round_to_interval(2.51234, 2.4981, 2.5273)
    Rounded(value='2.512', low='2.498', high='2.528')
    """
    width = high - low
    has_width = math.isfinite(width) and width > 0
    places = DIGITS - 1 - math.floor(math.log10(width)) if has_width else 4
    if all(float(each).is_integer() for each in (value, low, high) if math.isfinite(each)):
        places = min(places, 0)
    return Rounded(
        _show(value, places, round), _show(low, places, math.floor), _show(high, places, math.ceil)
    )


def _show(number: float, places: int, towards: Callable[[Fraction], int]) -> str:
    if not math.isfinite(number):
        return ""
    unit = Fraction(10) ** -places
    shown = towards(Fraction(str(number)) / unit) * unit  # as it is written: 0.3 is three tenths
    return f"{float(shown):,.{places}f}" if places > 0 else f"{int(shown):,}"
