"""Sets of regions: found by their paths, of one or several levels, none inside another."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tallytree.errors import HierarchyError, IntervalsError, show
from tallytree.hierarchy import Hierarchy
from tallytree.path_trees import Names
from tallytree.privacy.plan import Plan

Ints = npt.NDArray[np.int64]

RegionPath = str | Sequence[str]
"""The names from the root down, or one text with slashes between them."""


class Located(NamedTuple):
    """Regions by their levels and their places there."""

    level: Ints
    place: Ints


def locate(hierarchy: Hierarchy, paths: Iterable[RegionPath] | None) -> Located:
    """Find regions by their paths, or by texts such as US/GA; None: the root."""
    if paths is None:
        return Located(np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64))
    if isinstance(paths, str) or not isinstance(paths, Iterable):
        raise IntervalsError(_NO_PATHS)
    names = [_read_path(hierarchy, path) for path in paths]
    if not names:
        raise IntervalsError("No region is selected: give at least one.")
    depth = np.array(list(map(len, names)))
    index = np.full(len(names), -1)
    for level in range(int(depth.max())):
        some = np.flatnonzero(depth > level)
        own = _encode_names([names[row][level] for row in some.tolist()])
        index[some] = hierarchy.find_children(level, index[some], own)
    for row in np.flatnonzero(index < 0).tolist():
        hierarchy.find(names[row])  # says what is wrong with it
    return Located(depth - 1, index)


_NO_PATHS = 'The regions must be a list of paths, such as [("US", "GA"), ("US", "NY")].'


def _encode_names(names: Sequence[str]) -> Names:
    try:
        return pa.array(names, pa.large_string())
    except UnicodeEncodeError:
        raise HierarchyError("A name is not valid text: it cannot be written as UTF-8.") from None


def _read_path(hierarchy: Hierarchy, path: RegionPath) -> tuple[str, ...]:
    if not isinstance(path, str):
        if not isinstance(path, Sequence):
            raise IntervalsError(_NO_PATHS)
        names = tuple(path)
        if not 0 < len(names) <= len(hierarchy.levels) or not all(isinstance(name, str) for name in names):
            hierarchy.find(path)  # says what is wrong with it
        return names
    names = tuple(path.split("/"))
    if len(names) <= len(hierarchy.levels) and not _have_slashes(hierarchy):
        return names
    fits = [way for way in _split(names, len(hierarchy.levels)) if _has(hierarchy, way)]
    if len(fits) > 1:
        raise IntervalsError(f"{show(path)} fits several regions, because names have slashes in them.")
    if not fits:
        hierarchy.find(names)  # says what is wrong with it
    return fits[0]


def _have_slashes(hierarchy: Hierarchy) -> bool:
    names = (hierarchy.names(level) for level in hierarchy.levels)
    return any(pc.any(pc.match_substring(some, "/")).as_py() for some in names)


def _split(parts: Sequence[str], levels: int) -> list[tuple[str, ...]]:
    """All ways to read a path: a name may have a slash in it."""
    if len(parts) > MOST_PARTS:
        return []
    ways: list[tuple[str, ...]] = [(parts[0],)]
    for part in parts[1:]:
        ways = [longer for way in ways for longer in ((*way, part), (*way[:-1], f"{way[-1]}/{part}"))]
    return [way for way in ways if len(way) <= levels]


MOST_PARTS = 8
"""A region whose path has more slashes is given by a list of names."""


def _has(hierarchy: Hierarchy, path: Sequence[str]) -> bool:
    try:
        hierarchy.find(path)
    except HierarchyError:
        return False
    return True


def group_by_level(hierarchy: Hierarchy, located: Located) -> tuple[Ints, ...]:
    """Return for each level the located regions; refuse one that is inside another or repeated."""
    given = [located.place[located.level == level] for level in range(len(hierarchy.levels))]
    regions = tuple(map(np.unique, given))
    _refuse_overlaps(hierarchy, given, regions)
    return regions


def _refuse_overlaps(hierarchy: Hierarchy, given: Sequence[Ints], regions: Sequence[Ints]) -> None:
    above = np.zeros(1, dtype=np.bool_)
    for level, some in enumerate(regions):
        if len(some) < len(given[level]):
            twice = next(index for index in some.tolist() if (given[level] == index).sum() > 1)
            raise IntervalsError(f"The region {show_path(hierarchy, level, twice)} is selected twice.")
        if level:
            above = above[hierarchy.parents(level)]
        inside = some[above[some]]
        if len(inside):
            raise IntervalsError(
                f"The region {show_path(hierarchy, level, int(inside[0]))} is inside another one that is "
                "selected as well: leave one of the two out."
            )
        above = above.copy()
        above[some] = True


def show_path(hierarchy: Hierarchy, level: int, index: int) -> str:
    """Return the path of a region as messages show it."""
    return show(" > ".join(hierarchy.path(level, index)), most=150)


def are_public(plan: Plan, regions: Sequence[Ints]) -> bool:
    """Return whether the regions' number of groups is public: they are, or they make up regions that are."""
    if not plan.has_public_total:
        return False
    hierarchy = plan.hierarchy
    last = 0 if plan.public_totals is None else hierarchy.index(plan.public_totals)
    whole: list[npt.NDArray[np.bool_]] = []
    for level in reversed(range(len(regions))):
        has_all = np.zeros(hierarchy.region_counts[level], dtype=np.bool_)
        if whole:
            parents = hierarchy.parents(level + 1)
            children = np.bincount(parents, minlength=len(has_all))
            has_all = (children > 0) & (np.bincount(parents[whole[0]], minlength=len(has_all)) == children)
        has_all[regions[level]] = True
        whole.insert(0, has_all)
    public = np.zeros(1, dtype=np.bool_)
    for level, some in enumerate(regions):
        public = public[hierarchy.parents(level)] if level else public
        if level <= last:
            public = public | whole[level]
        if not public[some].all():
            return False
    return True
