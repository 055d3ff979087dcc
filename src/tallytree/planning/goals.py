"""What a release should be good at."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tallytree.errors import SpecError, name_choices, show
from tallytree.numerals import is_decimal_numeral
from tallytree.planning.forecasts import Forecast, LevelError

SCORES: dict[str, Callable[[Sequence[LevelError]], float]] = {
    "l1": lambda levels: sum(level.l1 for level in levels),
    "emd": lambda levels: sum(level.emd * level.regions for level in levels),
    "relative": lambda levels: sum(level.relative for level in levels) / len(levels),
}
"""L1 and EMD added up over all regions of all levels; the relative error as a mean over levels."""

MISS = 1000.0
"""How much worse a limit makes a split that misses it: by this times the share that it is over."""

MARGIN = 0.98
"""The share of a limit that is aimed at, since errors vary from run to run."""


@dataclass(frozen=True)
class Goal:
    """An error to make small, and perhaps a limit to the L1 error of one level."""

    metric: str = "l1"
    level: str = ""
    limit: float = float("inf")

    def __str__(self) -> str:
        return f"{self.level}<={self.limit:g}" if self.level else self.metric

    def is_met(self, forecast: Forecast) -> bool:
        """Whether the limit is kept."""
        return self._excess(forecast) == 0.0

    def score(self, forecast: Forecast) -> float:
        """The smaller the better."""
        return SCORES[self.metric](forecast.levels) * (1.0 + MISS * self._excess(forecast, MARGIN))

    def _excess(self, forecast: Forecast, share: float = 1.0) -> float:
        limit = share * self.limit
        return max([0.0, *(error.l1 / limit - 1.0 for error in forecast.levels if error.level == self.level)])


def parse_goal(text: str, levels: Sequence[str]) -> Goal:
    """A goal from ``"l1"``, ``"emd"``, ``"relative"``, or a limit such as ``"county<=50000"``."""
    level, limited, limit = text.partition("<=")
    if not limited:
        if text not in SCORES:
            raise SpecError(f"There is no goal {show(text)}: {name_choices(text, SCORES)}")
        return Goal(text)
    if level.strip() not in levels:
        raise SpecError(f"There is no level {show(level.strip())}: {name_choices(level.strip(), levels)}")
    number = float(limit) if is_decimal_numeral(limit.strip()) else 0.0
    if not 0 < number < float("inf"):
        raise SpecError(f"The goal {show(text)} is not a limit such as county<=50000.")
    return Goal("l1", level.strip(), number)
