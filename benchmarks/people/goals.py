"""What was hoped for releases from people."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.goals import GROWTH
from benchmarks.people.measuring import Measured
from benchmarks.timing import find_growth
from tallytree.research.reproduction.document import Goal

MOST_RATIO, MOST_BYTES = 2.0, 8e9
RATIO = f"Release from people: at most {MOST_RATIO:.0f} times DuckDB's bare group-by"
MEMORY = f"Release from people: peak memory at most {MOST_BYTES / 1e9:.0f} GB"
LINEAR = f"`tallytree count`: time grows linearly with the people, exponent at most {GROWTH}"


def judge_people(measured: Sequence[Measured]) -> list[Goal]:
    """All of it, by the largest file and by all of them."""
    return [*judge_largest(measured), _judge_growth(measured)]


def judge_largest(measured: Sequence[Measured]) -> list[Goal]:
    """Speed and memory."""
    if not measured:
        return [Goal.open(RATIO), Goal.open(MEMORY)]
    largest = measured[-1]
    peak = largest.runs["release"].peak
    return [
        Goal(
            f"{RATIO}, at {largest.people:,} people",
            f"{largest.ratio:.2f} times; counting alone {largest.count_ratio:.2f} times",
            largest.ratio <= MOST_RATIO,
        ),
        Goal(f"{MEMORY}, at {largest.people:,} people", f"{peak / 1e9:.1f} GB", peak <= MOST_BYTES),
    ]


def _judge_growth(measured: Sequence[Measured]) -> Goal:
    exponent = find_growth(
        [case.people for case in measured], [case.runs["count"].seconds for case in measured]
    )
    if exponent is None:
        return Goal.open(LINEAR)
    return Goal(LINEAR, f"{exponent:.2f}", exponent <= GROWTH)
