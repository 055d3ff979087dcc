"""Parts of the benchmarks that may fail, each in a fresh process."""

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from tallytree.research.reproduction.runs import Failure, run_in_child

R = TypeVar("R")


@dataclass(frozen=True)
class Missing:
    """A part that could not be measured, and why."""

    what: str
    reason: str


def attempt(what: str, job: Callable[[], R | Failure], missing: list[Missing]) -> R | None:
    """What ``job`` measures; if it cannot, that goes to ``missing``."""
    tell(what)
    outcome = run_in_child(job)
    if isinstance(outcome, Failure):
        tell(f"  {outcome.reason}")
        missing.append(Missing(what, outcome.reason))
        return None
    return outcome


def attempt_all(jobs: Iterable[tuple[str, Callable[[], R | Failure]]], missing: list[Missing]) -> list[R]:
    """One after the other: what those measure that can."""
    outcomes = [attempt(what, job, missing) for what, job in jobs]
    return [outcome for outcome in outcomes if outcome is not None]


def tell(line: str) -> None:
    """Say what is being done."""
    print(line, file=sys.stderr, flush=True)
