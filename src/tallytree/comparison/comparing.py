"""The comparison itself."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tallytree.comparison.expectation import explain_no_verdict, judge
from tallytree.comparison.matching import match_regions, pair_rows, share_levels, share_sizes
from tallytree.comparison.results import Alone, Comparison, Difference, LevelComparison
from tallytree.comparison.sides import Side, open_sides
from tallytree.errors import HierarchyError, ViewError, name_choices, show
from tallytree.level_arrays import cut_rows, get_shape, get_total, take_rows
from tallytree.numerals import find_whole
from tallytree.releases import Release
from tallytree.sizes import Sizes
from tallytree.tables import Table

Ints = npt.NDArray[np.int64]

EXAMPLES = 3
"""Regions of one side alone that are named."""


def compare(
    a: Release | Table,
    b: Release | Table,
    *,
    level: str | None = None,
    top: int = 5,
    size: str = "size",
    groups: str = "groups",
) -> Comparison:
    """Two releases side by side, or a release and a published table (never a table of true counts).

    Each is a :class:`~tallytree.Release` or the path of its folder, or a table or the path of its CSV or
    Parquet file, with the release's region columns and the columns ``size`` and ``groups``. Levels are
    compared from the root down for as long as both have them, or only ``level``; of each, the ``top`` largest
    differences are kept.
    """
    most = find_whole(top)
    if most is None or most < 0:
        raise ViewError("The number of largest differences must be a whole number, 0 or more.")
    first, second = open_sides(a, b, size=size, groups=groups)
    shared = share_levels(first, second)
    if level is not None and level not in shared:
        raise HierarchyError(f"A and B do not both have a level {show(level)}: {name_choices(level, shared)}")
    sizes = share_sizes(first, second)
    matches = match_regions(first, second, len(shared))
    wanted = [index for index, name in enumerate(shared) if level in (None, name)]
    return Comparison(
        sizes,
        tuple(_compare_level(first, second, index, matches[index], sizes, top) for index in wanted),
        tuple(_note(first, second, shared, wanted, sizes)),
    )


def _compare_level(a: Side, b: Side, level: int, match: Ints, sizes: Sizes, top: int) -> LevelComparison:
    l1 = moved = cells = differing = 0
    largest: list[Difference] = []
    for regions, rows, others in pair_rows(a, b, level, match, sizes):
        apart = others - rows
        l1 += int(np.abs(apart).sum())
        moved += int(np.abs(np.cumsum(apart, axis=1)).sum())
        cells += int(((rows != 0) | (others != 0)).sum())
        differing += int((apart != 0).sum())
        found = [
            Difference(
                a.hierarchy.path(level, int(regions[row])),
                sizes[0] + column,
                int(rows[row, column]),
                int(others[row, column]),
            )
            for row, column in _find_largest(apart, top)
        ]
        # Sorting keeps the order of equal ones: those that come first stay first.
        largest = sorted([*largest, *found], key=lambda each: -abs(each.difference))[:top]
    both = int((match >= 0).sum())
    noise = judge(a.measurements, b.measurements, level, match)
    return LevelComparison(
        level=a.hierarchy.levels[level],
        regions=both,
        only_in_a=_describe_alone(a, level, np.flatnonzero(match < 0)),
        only_in_b=_describe_alone(
            b, level, np.setdiff1d(np.arange(b.hierarchy.region_counts[level]), match[match >= 0])
        ),
        total_a=get_total(a.counts, level),
        total_b=get_total(b.counts, level),
        l1=l1,
        emd=moved / both if both else 0.0,
        cells=cells,
        differing=differing,
        largest=tuple(largest),
        noise=noise,
    )


def _find_largest(apart: Ints, top: int) -> list[tuple[int, int]]:
    """The cells of the largest differences that are not zero; of equal ones, the first."""
    flat = np.abs(apart).reshape(-1)
    top = min(top, int(np.count_nonzero(flat)))
    if not top:
        return []
    least = np.partition(flat, len(flat) - top)[len(flat) - top]
    above = np.flatnonzero(flat > least)
    chosen = np.sort(np.concatenate([above, np.flatnonzero(flat == least)[: top - len(above)]]))
    return [(int(place) // apart.shape[1], int(place) % apart.shape[1]) for place in chosen]


def _describe_alone(side: Side, level: int, regions: Ints) -> Alone:
    parts = cut_rows(len(regions), get_shape(side.counts, level)[1])
    groups = sum(int(take_rows(side.counts, level, regions[a:b]).sum(dtype=np.int64)) for a, b in parts)
    examples = [side.hierarchy.path(level, int(region)) for region in regions[:EXAMPLES]]
    return Alone(len(regions), groups, tuple(examples))


def _note(a: Side, b: Side, shared: tuple[str, ...], wanted: list[int], sizes: Sizes) -> list[str]:
    notes = [*a.notes, *b.notes]
    for name, side in (("A", a), ("B", b)):
        more = side.hierarchy.levels[len(shared) :]
        if more:
            notes.append(f"Only {name} has the level{'s'[: len(more) > 1]} {', '.join(map(show, more))}.")
        if side.sizes != sizes:
            notes.append(
                f"{name} has sizes {side.sizes[0]} to {side.sizes[1]}; those outside {sizes[0]} to "
                f"{sizes[1]} are counted at the ends."
            )
    reasons = [explain_no_verdict(a.measurements, b.measurements, level) for level in wanted]
    return notes + list(dict.fromkeys(reason for reason in reasons if reason))
