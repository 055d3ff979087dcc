"""How useful the numbers of each level are, after post-processing: from the intervals of a release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tallytree.arrays import cut_rows, get_cells, get_shape
from tallytree.hierarchy import Hierarchy
from tallytree.privacy.accuracy import find_deviation
from tallytree.privacy.plan import Plan
from tallytree.releases.flags import FLAGS, Flag, find_relative_errors
from tallytree.releases.interval_bounds import CellBounds, Intervals, SummaryBounds
from tallytree.releases.manifest import Manifest
from tallytree.solvers.checks import Check

Ints = npt.NDArray[np.int64]

MOST_NOISE, SOME_NOISE = 0.5, 0.1
"""A level is mostly noise from this share of its groups in counts that are, and is good below the other."""
DIGITS = 4
"""Of the shares and errors that a manifest states."""


@dataclass(frozen=True)
class LevelUsefulness:
    """How useful the counts of a level are."""

    level: str
    verdict: Flag
    """By the share of its groups in counts that are mostly noise."""
    counts: int
    """The counts above zero."""
    wider: float
    """The share of them whose interval is wider than the count."""
    good: float
    """The share of the level's groups that are in counts flagged good."""
    noise: float
    """The share of the level's groups that are in counts flagged as mostly noise."""
    groups_error: float | None
    """The relative error of a region's number of groups: the median over regions."""
    mean_error: float | None
    """The same of the mean size."""

    def to_dict(self) -> dict[str, Any]:
        """Return the facts for a manifest or a program."""
        return asdict(self)

    def describe(self) -> str:
        """Describe them in sentences."""
        if not self.counts:
            return "No counts above zero."
        words = [
            f"{FLAGS[self.verdict].capitalize()}: {_percent(self.good)} of the groups are in counts that are "
            f"good, {_percent(self.noise)} in counts that are mostly noise.",
            f"Of {self.counts:,} counts above zero, {_percent(self.wider)} have an interval wider than the "
            "count.",
        ]
        errors = [
            f"{_percent(error)} from the {what}"
            for what, error in (("number of groups", self.groups_error), ("mean size", self.mean_error))
            if error
        ]
        if errors:
            words.append(f"In a typical region, the interval reaches {' and '.join(errors)}.")
        return " ".join(words)


def _percent(share: float) -> str:
    """A share in per cent: never rounded to nothing, or to all."""
    if 0 < share < 0.001:
        return "less than 0.1 %"
    if 0.999 < share < 1:
        return "more than 99.9 %"
    return f"{100 * share:.1f} %" if 0 < share < 0.1 or 0.9 < share < 1 else f"{100 * share:,.0f} %"


def find_usefulness(
    intervals: Intervals, hierarchy: Hierarchy, counts: Sequence[Ints]
) -> tuple[LevelUsefulness, ...]:
    """Find how useful the counts of each level are, root first."""
    return tuple(_judge(intervals, level, name, counts) for level, name in enumerate(hierarchy.levels))


def _judge(intervals: Intervals, level: int, name: str, counts: Sequence[Ints]) -> LevelUsefulness:
    some, wider = 0, 0
    groups = dict.fromkeys(FLAGS, 0)
    cells: CellBounds = intervals.cells[level]
    for start, stop in cut_rows(*get_shape(counts, level)):
        region, size, value = get_cells(counts, level, start, stop)
        low, high = cells.low[region, size], cells.high[region, size]
        some += len(value)
        wider += int((high - low > value).sum())
        flags = intervals.limits.find(value, low, high)
        for flag in FLAGS:
            groups[flag] += int(value[flags == flag].sum())
    whole = max(1, sum(groups.values()))
    noise = groups["noise"] / whole
    return LevelUsefulness(
        level=name,
        verdict="noise" if noise >= MOST_NOISE else "care" if noise >= SOME_NOISE else "good",
        counts=some,
        wider=_round(wider / max(1, some)),
        good=_round(groups["good"] / whole),
        noise=_round(noise),
        groups_error=_find_typical_error(intervals.summaries[level], "groups"),
        mean_error=_find_typical_error(intervals.summaries[level], "size_mean", "size_mean_least"),
    )


def _find_typical_error(found: SummaryBounds, *names: str) -> float | None:
    """Return the median relative error of a statistic over the regions that have a number above zero."""
    place = next((found.names.index(name) for name in names if name in found.names), None)
    if place is None:
        return None
    value, low, high = (ends[:, place] for ends in (found.value, found.low, found.high))
    some = np.isfinite(value) & (value != 0)
    if not some.any():
        return None
    return _round(float(np.median(find_relative_errors(value[some], low[some], high[some]))))


def _round(number: float) -> float:
    return float(f"{number:.{DIGITS}g}")


def check_usefulness(
    stated: Mapping[str, Any], intervals: Intervals, hierarchy: Hierarchy, counts: Sequence[Ints]
) -> tuple[Check, ...]:
    """Check what a manifest says of it; a folder of an earlier version says nothing."""
    if "usefulness" not in stated:
        return ()
    found = [level.to_dict() for level in find_usefulness(intervals, hierarchy, counts)]
    wrong = stated["usefulness"] != found
    example = "the manifest says something else" if wrong else ""
    statement = "how useful each level is follows from its intervals"
    return (Check("usefulness", statement, int(wrong), example),)


def read_usefulness(manifest: Manifest) -> tuple[LevelUsefulness, ...]:
    """Return what a manifest states, which :func:`check_usefulness` must have checked."""
    stated = manifest.get("intervals") or {}
    return tuple(LevelUsefulness(**level) for level in stated.get("usefulness", ()))


# Before anything is measured, from the plan and public facts alone.


def warn_of_noise(plan: Plan, total: int) -> str:
    """Return a warning if the noise of a plan is larger than the public total; nothing if it is not.

    The answers of all levels together say most about the root: those of a level, added up, have the variance
    of one answer times its number of regions.
    """
    if not plan.has_public_total or not total:
        return ""
    weights = 0.0
    for level, planned in enumerate(plan.levels):
        variance = plan.shape(level)[0] * find_deviation(planned) ** 2
        if variance == 0:
            return ""
        weights += 1 / variance
    reach = WITHIN * weights**-0.5
    if reach < total:
        return ""
    return (
        f"The noise is larger than the public total: it is within ± {reach:,.0f} (95 %) even for the whole, "
        f"which has {total:,} group{'s'[: total != 1]}. The release will be mostly noise: give it a "
        "larger epsilon."
    )


WITHIN = 1.96
"""Normal noise is within so many standard deviations with probability 95 %."""
