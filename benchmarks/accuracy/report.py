"""Everything that one run of the benchmark found out about one dataset."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Protocol

from benchmarks.accuracy.duels import Duel
from benchmarks.accuracy.facts import Facts
from benchmarks.accuracy.findings import Finding
from benchmarks.accuracy.measuring import Measured
from benchmarks.accuracy.published import Published
from benchmarks.accuracy.results import Result
from benchmarks.accuracy.settings import Settings
from benchmarks.goals import Goal


class Words(Protocol):
    """What is said about one dataset, and no other."""

    @property
    def facts(self) -> Facts:
        """What the data are like."""
        ...

    def introduce(self) -> str:
        """What the page is about and what the data are: a few paragraphs."""
        ...

    def find(self, tables: Sequence[Sequence[Result]]) -> Iterator[Finding]:
        """All that can be said with the mechanisms that were measured; a table for each epsilon."""
        ...

    def compare(self, results: Sequence[Result]) -> str:
        """A section beside figures that others published, if there are any to be had."""
        ...

    def judge(self, duels: Sequence[Duel]) -> list[Goal]:
        """What was hoped."""
        ...


@dataclass(frozen=True)
class Report:
    """The numbers, before they are put into words."""

    day: date
    machine: dict[str, str]
    command: str
    quick: bool
    settings: Settings
    words: Words
    published: Published
    results: Sequence[Result]
    missing: Sequence[Measured]
    """The mechanisms without results, each with its reason."""

    @property
    def levels(self) -> tuple[str, ...]:
        """From the root down."""
        return self.words.facts.levels
