"""How long the runs that are left will take."""

from collections.abc import Iterable


class Timetable:
    """The runs left of each mechanism, and the seconds that its latest run took."""

    def __init__(self, labels: Iterable[str]) -> None:
        self._left: dict[str, int] = {}
        self._seconds: dict[str, float] = {}
        for label in labels:
            self._left[label] = self._left.get(label, 0) + 1

    def finish(self, label: str, seconds: float) -> None:
        """One run is done."""
        self._left[label] -= 1
        self._seconds[label] = seconds

    def drop(self, label: str) -> None:
        """There will be no more runs of it."""
        del self._left[label]

    def describe(self) -> str:
        """In words; how long is known once every mechanism was seen at work."""
        runs = f"{sum(self._left.values())} runs left"
        if not self._left.keys() <= self._seconds.keys():
            return runs
        total = sum(count * self._seconds[label] for label, count in self._left.items())
        minutes, seconds = divmod(round(total), 60)
        return f"{runs}, about {minutes} min {seconds} s"
