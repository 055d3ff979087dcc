"""Flags: whether a released number is good, usable with care, or mostly noise, by its relative error."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

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
