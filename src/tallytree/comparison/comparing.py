"""The comparison itself."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from tallytree.arrays import cut_rows, get_rows, get_shape, get_total, take_rows
from tallytree.comparison.differences import Alone, Comparison, Difference, LevelComparison
from tallytree.comparison.expectation import explain_no_verdict, judge
from tallytree.comparison.sides import Side, open_sides
from tallytree.counts.arrow import Table
from tallytree.errors import CountsError, HierarchyError, ViewError, name_choices, show
from tallytree.releases.released import Release
from tallytree.sizes import Sizes, find_whole

# Where the regions and sizes of A are in B.

Ints = npt.NDArray[np.int64]


def share_levels(a: Side, b: Side) -> tuple[str, ...]:
    """The levels that both have, from the root on."""
    shared = []
    for one, other in zip(a.hierarchy.levels, b.hierarchy.levels, strict=False):
        if one != other:
            break
        shared.append(one)
    if not shared:
        names = " and ".join(show(side.hierarchy.levels[0]) for side in (a, b))
        raise HierarchyError(f"A and B have no level in common: their roots' levels are {names}.")
    roots = [side.hierarchy.path(0, 0)[0] for side in (a, b)]
    if roots[0] != roots[1]:
        raise HierarchyError(
            f"A and B have no region in common: their roots are {show(roots[0])} and {show(roots[1])}."
        )
    return tuple(shared)


def share_sizes(a: Side, b: Side) -> Sizes:
    """The range that both have. What is outside counts at its ends, as it does in any release."""
    low, high = max(a.sizes[0], b.sizes[0]), min(a.sizes[1], b.sizes[1])
    if low > high:
        raise CountsError(
            f"A and B have no size in common: A has {a.sizes[0]} to {a.sizes[1]}, "
            f"B {b.sizes[0]} to {b.sizes[1]}."
        )
    return low, high


def match_regions(a: Side, b: Side, levels: int) -> list[Ints]:
    """For each of the first levels and each region of A, its index in B; -1 if B does not have it."""
    if a.hierarchy == b.hierarchy:
        return [np.arange(regions) for regions in a.hierarchy.region_counts[:levels]]
    found = [np.zeros(1, dtype=np.int64)]  # the roots
    for level in range(1, levels):
        parents = found[-1][a.hierarchy.parents(level)]
        found.append(b.hierarchy.find_children(level, parents, a.hierarchy.names(level)))
    return found


def pair_rows(a: Side, b: Side, level: int, match: Ints, sizes: Sizes) -> Iterator[tuple[Ints, Ints, Ints]]:
    """A few regions that both have at a time: their indices in A, and both sides' counts of the sizes."""
    for start, stop in cut_rows(*get_shape(a.counts, level)):
        here = np.flatnonzero(match[start:stop] >= 0)
        rows = get_rows(a.counts, level, start, stop)[here]
        others = take_rows(b.counts, level, match[start:stop][here]).astype(np.int64, copy=False)
        yield here + start, fold(rows, a.sizes, sizes), fold(others, b.sizes, sizes)


def fold(rows: Ints, sizes: Sizes, into: Sizes) -> Ints:
    """Rows for a range of sizes within their own: what is outside is added at the ends."""
    if sizes == into:
        return rows
    start, stop = into[0] - sizes[0], into[1] - sizes[0] + 1
    folded = rows[:, start:stop].copy()
    folded[:, 0] += rows[:, :start].sum(axis=1)
    folded[:, -1] += rows[:, stop:].sum(axis=1)
    return folded


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
