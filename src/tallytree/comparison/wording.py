"""A comparison in words."""

from __future__ import annotations

from tallytree.comparison.results import Alone, LevelComparison
from tallytree.errors import show

VERDICTS = {
    "explained": "Noise explains this.",
    "more": "That is more than noise explains: the data differ as well.",
    "less": "That is less than independent noise gives: A and B share what was measured.",
}


def describe_noise(level: LevelComparison) -> str | None:
    """What noise has to do with the differences of a level."""
    noise = level.noise
    if noise is None:
        return None
    if noise.largest == 0:
        return f"Level {show(level.level)}: what was measured is the same in A and B."
    words = (
        f"Level {show(level.level)}: what was measured differs by {noise.found:,.1f} (root mean square); "
        f"noise alone gives {noise.expected:,.1f}."
    )
    if noise.largest > noise.reach:
        words += (
            f" One answer differs by {noise.largest:,}, where noise hardly ever goes beyond {noise.reach:,}."
        )
    return f"{words} {VERDICTS[noise.verdict]}"


def describe_alone(level: LevelComparison) -> list[str]:
    """The regions that only one has."""
    found = (("A", level.only_in_a), ("B", level.only_in_b))
    return [_describe(name, alone, level.level) for name, alone in found if alone.regions]


def _describe(name: str, alone: Alone, level: str) -> str:
    some = ", ".join(show(" > ".join(path)) for path in alone.examples)
    more = ", ..." if alone.regions > len(alone.examples) else ""
    return (
        f"Only {name} has {alone.regions:,} region{'s'[: alone.regions > 1]} of level {show(level)}, with "
        f"{alone.groups:,} groups: {some}{more}."
    )
