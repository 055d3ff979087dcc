"""What a comparison found."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from tallytree.errors import show
from tallytree.hierarchy import Path
from tallytree.markup import shorten, tag, write_box, write_paragraph, write_table
from tallytree.sizes import Sizes, state_sizes

Verdict = Literal["explained", "more", "less"]


@dataclass(frozen=True)
class Difference:
    """A region and size of which A and B have different numbers of groups."""

    path: Path
    size: int
    a: int
    b: int

    @property
    def difference(self) -> int:
        """How many more B has."""
        return self.b - self.a


@dataclass(frozen=True)
class Alone:
    """The regions of a level that only one of the two has."""

    regions: int
    groups: int
    """The number of groups in all of them."""
    examples: tuple[Path, ...]


@dataclass(frozen=True)
class Noise:
    """The differences between the measurements of A and B, and those that noise alone would make."""

    answers: int
    """Measured numbers that were compared."""
    found: float
    """The root mean square of their differences."""
    expected: float
    """The root mean square if only the noise differed."""
    largest: int
    """The largest difference of one answer."""
    reach: int
    """With noise alone, the largest would be beyond this at most once in a thousand comparisons."""
    verdict: Verdict
    """Whether noise explains the differences, or they are more, or less than independent noise gives."""


@dataclass(frozen=True)
class LevelComparison:
    """The differences at one level, over the regions that both have."""

    level: str
    regions: int
    """How many regions both have."""
    only_in_a: Alone
    only_in_b: Alone
    total_a: int
    total_b: int
    """The groups of all regions of the level, compared or not."""
    l1: int
    """The sum of the absolute differences over regions and sizes."""
    emd: float
    """The mean over regions of the sum over sizes of the cumulative differences, as in ``evaluate``."""
    cells: int
    """Regions x sizes in which either has groups."""
    differing: int
    """Those of them in which the two do not have the same number."""
    largest: tuple[Difference, ...]
    noise: Noise | None
    """None where it cannot be told; the notes say why."""

    @property
    def share(self) -> float:
        """The share of the cells with groups that differ."""
        return self.differing / self.cells if self.cells else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return the level's comparison as a dictionary, for JSON."""
        largest = [{**asdict(each), "difference": each.difference} for each in self.largest]
        return {**asdict(self), "share": self.share, "largest": largest}


@dataclass(frozen=True)
class Comparison:
    """A and B, level by level from the root."""

    sizes: Sizes
    """The sizes that were compared."""
    levels: tuple[LevelComparison, ...]
    notes: tuple[str, ...]
    """What was left out or combined, in words."""

    @property
    def same(self) -> bool:
        """Whether nothing that was compared differs."""
        return not any(level.differing for level in self.levels)

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as a dictionary, for JSON."""
        return {
            "same": self.same,
            **state_sizes(self.sizes),
            "levels": [level.to_dict() for level in self.levels],
            "notes": list(self.notes),
        }

    def _repr_html_(self) -> str:
        words = [
            text for level in self.levels for text in (describe_noise(level), *describe_alone(level)) if text
        ]
        largest = [
            [shorten(level.level), shorten(" > ".join(each.path)), *write_difference_figures(each)]
            for level in self.levels
            for each in level.largest
        ]
        return write_box(
            tag("span", "A and B are the same" if self.same else "A and B side by side"),
            write_table(
                LEVEL_COLUMNS, [[shorten(level.level), *write_level_figures(level)] for level in self.levels]
            ),
            *([write_table(DIFFERENCE_COLUMNS, largest, left=2)] if largest else []),
            *(write_paragraph(text) for text in (*words, *self.notes)),
        )


# A comparison in words.

VERDICTS = {
    "explained": "Noise explains this.",
    "more": "That is more than noise explains: the data differ as well.",
    "less": "That is less than independent noise would give: A and B share measurements.",
}


LEVEL_COLUMNS = ["level", "regions", "groups in A", "in B", "L1", "EMD", "differ"]
DIFFERENCE_COLUMNS = ["level", "region", "size", "A", "B", "B - A"]


def write_level_figures(level: LevelComparison) -> list[str]:
    """Return the numbers of a level in the order of LEVEL_COLUMNS, without its name."""
    return [
        f"{level.regions:,}",
        f"{level.total_a:,}",
        f"{level.total_b:,}",
        f"{level.l1:,}",
        f"{level.emd:,.1f}",
        f"{level.share:.1%}",
    ]


def write_difference_figures(each: Difference) -> list[str]:
    """Return the numbers of a difference in the order of DIFFERENCE_COLUMNS, without the names."""
    return [f"{each.size:,}", f"{each.a:,}", f"{each.b:,}", f"{each.difference:+,}"]


def describe_noise(level: LevelComparison) -> str | None:
    """Describe whether noise explains the differences of a level."""
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
    """Describe the regions that only one of the two has."""
    found = (("A", level.only_in_a), ("B", level.only_in_b))
    return [_describe(name, alone, level.level) for name, alone in found if alone.regions]


def _describe(name: str, alone: Alone, level: str) -> str:
    some = ", ".join(show(" > ".join(path)) for path in alone.examples)
    more = ", ..." if alone.regions > len(alone.examples) else ""
    return (
        f"Only {name} has {alone.regions:,} region{'s'[: alone.regions > 1]} of level {show(level)}, with "
        f"{alone.groups:,} groups: {some}{more}."
    )
