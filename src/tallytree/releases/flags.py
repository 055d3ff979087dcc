"""How good a released number is, by its interval: its flag, and the digits that are known of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from tallytree.errors import IntervalsError, PrivacyError, show
from tallytree.privacy.budget import parse_exact, show_short

Numbers = npt.NDArray[np.int64] | npt.NDArray[np.float64]

Flag = Literal["good", "care", "noise"]

FLAGS: dict[Flag, str] = {"good": "good", "care": "use with care", "noise": "mostly noise"}
"""The flags, from the best on, and what they are called."""

_NAMES = np.array(list(FLAGS))


@dataclass(frozen=True)
class FlagLimits:
    """The largest relative errors of numbers that are good, and of those that are usable with care.

    The relative error of a number is how far its interval reaches from it, as a share of the number itself. A
    zero is good if its interval holds nothing else.

    >>> limits = FlagLimits(good="0.1", care="0.3")
    >>> limits.flag(100, 95, 104), limits.flag(100, 95, 130), limits.flag(0, 0, 2)
    ('good', 'care', 'noise')
    """

    good: Fraction
    care: Fraction

    def __init__(self, good: object = "0.25", care: object = "0.5") -> None:
        for name, value in (("good", good), ("care", care)):
            try:
                share = parse_exact(value if isinstance(value, Fraction) else str(value), name)
            except PrivacyError:
                raise IntervalsError(f"{_RULE} {name} is {show(value)}.") from None
            object.__setattr__(self, name, share)
        if self.good > self.care:
            raise IntervalsError(f"{_RULE} good is {show(good)}, and care {show(care)}.")

    def find(self, value: Numbers, low: Numbers, high: Numbers) -> npt.NDArray[np.str_]:
        """Return the flag of each number; an empty text where there is no number."""
        error = find_relative_errors(value, low, high)
        place = (error > float(self.good)).astype(np.int64) + (error > float(self.care))
        return np.where(np.isnan(error), "", _NAMES[place])

    def flag(self, value: float, low: float, high: float) -> Flag:
        """Return the flag of one number."""
        numbers = (np.array([each], dtype=np.float64) for each in (value, low, high))
        found: Flag = self.find(*numbers).tolist()[0]
        return found

    def to_dict(self) -> dict[str, str]:
        """Return the limits as facts for a file, which :func:`read_limits` reads."""
        return {"good": str(self.good), "care": str(self.care)}

    def describe(self) -> str:
        """Describe what the flags mean."""
        good, care = (f"{show_short(100 * share)} %" for share in (self.good, self.care))
        return (
            f"good: the interval reaches at most {good} from the number; use with care: at most {care}; "
            "mostly noise: further"
        )


_RULE = "The limits of flags are shares above zero, such as 0.25, and that of 'care' is not the smaller one:"

LIMITS = FlagLimits()
"""The usual limits."""


def find_relative_errors(value: Numbers, low: Numbers, high: Numbers) -> npt.NDArray[np.float64]:
    """Return how far each interval reaches from its number, as a share of it; NaN where there is none."""
    reach = np.maximum(np.subtract(high, value), np.subtract(value, low)).astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        error = np.where(reach == 0, 0.0, reach / np.abs(value))
    return np.where(np.isnan(reach), np.nan, error)


def read_limits(stated: object) -> FlagLimits:
    """Return the limits that a file states."""
    if not isinstance(stated, Mapping) or set(stated) != {"good", "care"}:
        raise IntervalsError(_RULE)
    facts: Mapping[str, Any] = stated
    return FlagLimits(facts["good"], facts["care"])


# Numbers rounded to what is known of them: no more digits than their intervals have.

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
