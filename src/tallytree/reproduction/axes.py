"""The axes of a picture: where a value lies, in pixels, and which values are written beside it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


class Axis(Protocol):
    """From values to pixels."""

    @property
    def name(self) -> str:
        """What is counted along it."""
        ...

    @property
    def ticks(self) -> Sequence[tuple[float, str]]:
        """The values with a line across the picture, and how they are written."""
        ...

    def place(self, value: float) -> float:
        """The value's pixel."""
        ...


@dataclass(frozen=True)
class LogAxis:
    """Powers of ten from below the least value to above the largest, spread over pixels."""

    name: str
    values: Sequence[float]
    start: float
    stop: float

    @property
    def _powers(self) -> range:
        low = math.floor(math.log10(min(self.values)))
        return range(low, max(low + 1, math.ceil(math.log10(max(self.values)))) + 1)

    @property
    def ticks(self) -> Sequence[tuple[float, str]]:
        """The powers of ten."""
        return [
            (10.0**power, f"{10**power:,}" if power >= 0 else f"{10.0**power:.{-power}f}")
            for power in self._powers
        ]

    def place(self, value: float) -> float:
        """Equal ratios are equally far apart."""
        share = (math.log10(value) - self._powers[0]) / (self._powers[-1] - self._powers[0])
        return self.start + share * (self.stop - self.start)


@dataclass(frozen=True)
class LinearAxis:
    """The values themselves, from zero to the largest."""

    name: str
    values: Sequence[float]
    start: float
    stop: float

    @property
    def ticks(self) -> Sequence[tuple[float, str]]:
        """Every value."""
        return [(value, f"{value:,.0f}") for value in sorted(set(self.values))]

    def place(self, value: float) -> float:
        """Equal differences are equally far apart."""
        return self.start + value / max(self.values) * (self.stop - self.start)
