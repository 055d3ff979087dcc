"""The errors of replicates on the page: what the interval of any sum of regions and sizes needs.

Sizes are joined to a few ranges, whose edges depend on the sizes alone. For each region, range and replicate
the page has how much the groups that were made differ from the known ones, and the known ones from the
released; and the same for the sums of sizes, less what the groups add at the first size of the range. Sums of
regions and of ranges are sums of these, so the page computes what ``release.estimate`` does.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tallytree.errors import FolderError
from tallytree.releases.interval_bounds import Intervals
from tallytree.releases.kept_replicates import (
    FEWEST,
    LUMPY,
    ROUNDING,
    KeptReplicates,
    LevelChanges,
    find_rank,
    find_reach,
)
from tallytree.releases.released import Released
from tallytree.report.report_content import encode, fold, write_bytes
from tallytree.sizes import SizeClasses, Sizes, list_edges

Ints = npt.NDArray[np.int64]

MOST_RANGES = 12
"""So many sizes or classes are not joined."""
MOST_TEXT = 1_450_000
"""The most characters of all errors on a page."""
MOST_ERRORS = 10**7
"""The most regions x ranges x replicates that are tried."""
FINE, COARSE = (7, (1, 2, 5)), (3, (1, 5))
"""The sizes that are ranges of their own, and the digits with which all further ranges begin."""
TRIES = ((FINE, 30), (FINE, 25), (FINE, 20), (COARSE, 20))
"""The ranges and the replicates that are put on the page: the first that fit."""

NOT_KEPT = (
    "Numbers of several regions together are not on this page, because the release keeps no replicates: "
    "'tallytree intervals DIR --keep-replicates' adds them, and 'tallytree estimate' computes such numbers."
)
TOO_MANY = (
    "Numbers of several regions together are not on this page, because the release has too many regions for "
    "it: 'tallytree estimate' computes them."
)
DAMAGED = (
    "Numbers of several regions together are not on this page, because the replicates of the release cannot "
    "be read."
)


@dataclass(frozen=True)
class RangeErrors:
    """The errors as the page reads them."""

    facts: dict[str, Any]
    """For JSON: the ranges, and what intervals need; or why there are no errors."""
    levels: tuple[str, ...] = ()
    """The errors of each level, root first."""


def pack_errors(release: Released, levels: int) -> RangeErrors:
    """Pack the errors of kept replicates, of the first levels, or say why there are none."""
    found = release.intervals
    if found is None or found.kept is None:
        return RangeErrors({"why": NOT_KEPT})
    regions = sum(release.hierarchy.region_counts[:levels])
    edges = np.array(list_edges(release.sizes))
    for (single, digits), most in TRIES:
        starts = choose_starts(release.sizes, single, digits)
        number = min(most, found.kept.number)
        if regions * len(starts) * number > MOST_ERRORS:
            continue
        try:
            packed = _pack_levels(found.kept, levels, edges, starts, number)
        except FolderError:
            return RangeErrors({"why": DAMAGED})
        if sum(map(len, packed)) <= MOST_TEXT:
            return RangeErrors(_describe(release, found, found.kept, starts, number), packed)
    return RangeErrors({"why": TOO_MANY})


def choose_starts(sizes: Sizes, single: int, digits: tuple[int, ...]) -> list[int]:
    """Return the places of the sizes or classes with which the ranges begin.

    >>> choose_starts((1, 1000), *FINE)
    [0, 1, 2, 3, 4, 5, 6, 9, 19, 49, 99, 199, 499, 999]
    """
    edges = list_edges(sizes)
    if len(edges) <= MOST_RANGES:
        return list(range(len(edges)))
    told = range(1, len(edges) + 1) if isinstance(sizes, SizeClasses) else edges
    powers = (10**power for power in range(1, len(str(told[-1]))))
    wanted = [digit * power for power in powers for digit in digits]
    starts = {bisect_left(told, each) for each in wanted if told[0] < each <= told[-1]}
    return sorted(starts | set(range(single)))


def _describe(
    release: Released, found: Intervals, kept: KeptReplicates, starts: list[int], number: int
) -> dict[str, Any]:
    words, limits = release.words, found.limits
    return {
        "starts": starts,
        "replicates": number,
        "kept": kept.number,
        "fewest": FEWEST,
        "rounding": ROUNDING,
        "reaches": [find_reach(found.coverage, errors) for errors in range(FEWEST, number + 1)],
        "lumpy": LUMPY,
        "ranks": [find_rank(found.coverage, errors) for errors in range(FEWEST, number + 1)],
        "flags": {"good": float(limits.good), "care": float(limits.care), "about": limits.describe()},
        "mean": words.mean_least if isinstance(release.sizes, SizeClasses) else words.mean,
    }


def _pack_levels(
    kept: KeptReplicates, levels: int, edges: Ints, starts: list[int], number: int
) -> tuple[str, ...]:
    return tuple(
        write_bytes(
            np.concatenate(
                [encode(fold(values))[0] for values in _list_errors(changes, edges, starts, number)]
            )
        )
        for changes in kept.levels[:levels]
    )


def _list_errors(changes: LevelChanges, edges: Ints, starts: list[int], number: int) -> Iterator[Ints]:
    """Yield the errors of each range, regions x replicates: of groups, then of the sums of sizes.

    First those of the counts that were made, then those of the known ones. A range of one size has no sums.
    """
    regions = len(changes.starts) - 1
    region = np.repeat(np.arange(regions), np.diff(changes.starts))
    place = region * number + changes.replicate
    few = changes.replicate < number
    for first, end in zip(starts, [*starts[1:], len(edges)], strict=True):
        some = np.flatnonzero(few & (changes.size >= first) & (changes.size < end))
        more = edges[changes.size[some]] - edges[first]
        for values in (changes.made[some].astype(np.int64), changes.known[some].astype(np.int64)):
            yield _add_up(place[some], values, regions * number)
            if end - first > 1:
                yield _add_up(place[some], values * more, regions * number)


def _add_up(place: Ints, values: Ints, width: int) -> Ints:
    sums = np.zeros(width, dtype=np.int64)
    np.add.at(sums, place, values)
    return sums
