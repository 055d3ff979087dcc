"""A comparison in words."""

from __future__ import annotations

from tallytree.comparison.results import Alone, Difference, LevelComparison
from tallytree.errors import show

VERDICTS = {
    "explained": "Noise explains this.",
    "more": "That is more than noise explains: the data differ as well.",
    "less": "That is less than independent noise gives: A and B share what was measured.",
}


LEVEL_COLUMNS = ["level", "regions", "groups in A", "in B", "L1", "EMD", "differ"]
DIFFERENCE_COLUMNS = ["level", "region", "size", "A", "B", "B - A"]


def write_level_figures(level: LevelComparison) -> list[str]:
    """The numbers of a level, in the order of LEVEL_COLUMNS: all but its name."""
    return [
        f"{level.regions:,}",
        f"{level.total_a:,}",
        f"{level.total_b:,}",
        f"{level.l1:,}",
        f"{level.emd:,.1f}",
        f"{level.share:.1%}",
    ]


def write_difference_figures(each: Difference) -> list[str]:
    """The numbers of a difference, in the order of DIFFERENCE_COLUMNS: all but the names."""
    return [f"{each.size:,}", f"{each.a:,}", f"{each.b:,}", f"{each.difference:+,}"]


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
