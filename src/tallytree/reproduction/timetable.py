"""How long the jobs that are left will take, by what the finished ones took."""

from collections import Counter
from collections.abc import Hashable, Iterable

GUESS = 1.0
"""Seconds of a kind of job that was never seen."""


class Timetable:
    """The jobs left of each kind, and the seconds that the latest of the kind took."""

    def __init__(self, kinds: Iterable[Hashable]) -> None:
        self._left = Counter(kinds)
        self._seconds: dict[Hashable, float] = {}
        self._all = self._left.total()

    @property
    def total(self) -> int:
        """All jobs."""
        return self._all

    @property
    def done(self) -> int:
        """How many need no more work."""
        return self._all - self._left.total()

    def finish(self, kind: Hashable, seconds: float | None = None) -> None:
        """One is done; ``seconds`` are unknown of one that was done earlier."""
        self._left[kind] -= 1
        if seconds is not None:
            self._seconds[kind] = seconds

    def describe(self) -> str:
        """In words."""
        left = self._left.total()
        seconds = sum(count * self._seconds.get(kind, GUESS) for kind, count in self._left.items())
        return f"{self.done} of {self._all} runs, {_tell(seconds)} left" if left else f"{self._all} runs"


def _tell(seconds: float) -> str:
    if seconds < 60:
        return f"about {seconds:.0f} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"about {hours} h {minutes} min" if hours else f"about {minutes} min"
