"""Where the regions and sizes of A are in B."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from tallytree.comparison.sides import Side
from tallytree.errors import CountsError, HierarchyError, show
from tallytree.level_arrays import cut_rows, get_rows, get_shape, take_rows
from tallytree.sizes import Sizes

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
