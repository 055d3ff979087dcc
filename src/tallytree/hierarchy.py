"""The region hierarchy: the paper's tree T, with named levels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from tallytree.errors import HierarchyError, name_choices, show

Path = tuple[str, ...]
Ints = npt.NDArray[np.int64]


class Hierarchy:
    """Regions in a tree, level by level from a single root.

    A region is identified by its path of names from the root, so two counties in different states may
    share a name. A leaf may stand above the last level (a *ragged* tree). Within a level, regions are
    in the order in which the given paths first mention them; this is the order of all arrays.

    >>> h = Hierarchy.from_paths(["nation", "state"], [("US", "GA"), ("US", "NY")])
    >>> h.regions("state")
    (('US', 'GA'), ('US', 'NY'))
    >>> h.parents("state").tolist()
    [0, 0]
    """

    def __init__(self, levels: tuple[str, ...], regions: Sequence[Sequence[Path]]) -> None:
        # Private: use `from_paths` or `from_regions`, which check what they get.
        index = [{path: i for i, path in enumerate(level)} for level in regions]
        self._levels = levels
        self._regions = tuple(map(tuple, regions))
        self._parents = tuple(
            _frozen([above[path[:-1]] for path in level] if depth else [-1])
            for depth, (level, above) in enumerate(zip(regions, [{}, *index], strict=False))
        )
        inner = {path[:-1] for level in regions for path in level}
        self._leaves = tuple(path for level in regions for path in level if path not in inner)

    @classmethod
    def from_paths(
        cls, levels: Sequence[str], paths: Iterable[Sequence[str]], *, unique_names: bool = False
    ) -> Hierarchy:
        """The tree whose leaves are ``paths``: names from the root down, a name for each level.

        With ``unique_names`` a name stands for one region wherever it occurs, as official codes do,
        and a name below two parents is refused.
        """
        names = _check_levels(levels)
        if isinstance(paths, str) or not isinstance(paths, Iterable):
            raise HierarchyError("The paths must be a list of paths, one for each leaf region.")
        leaves = tuple(_check_path(path, names) for path in paths)
        if not leaves:
            raise HierarchyError("A hierarchy needs at least one region, and no paths were given.")
        _check_leaves(leaves)
        if unique_names:
            _check_unique_names(leaves, names)
        depth = max(map(len, leaves))
        if depth < len(names):
            raise HierarchyError(
                f"No path reaches level {show(names[depth])}: leave the level out, or add regions to it."
            )
        regions: list[dict[Path, None]] = [{} for _ in names]
        for path in leaves:
            for level in range(len(path)):
                regions[level][path[: level + 1]] = None
        tree = cls(names, [list(level) for level in regions])
        tree._leaves = leaves
        return tree

    @classmethod
    def from_regions(cls, levels: Sequence[str], regions: Sequence[Iterable[Sequence[str]]]) -> Hierarchy:
        """The tree with these regions at each level, in this order; its leaves are level by level."""
        names = _check_levels(levels)
        if len(regions) != len(names):
            raise HierarchyError(f"There are regions for {len(regions)} of {len(names)} levels.")
        paths = [[_check_path(path, names) for path in level] for level in regions]
        known: set[Path] = {()}
        for depth, level in enumerate(paths):
            for path in level:
                if len(path) != depth + 1 or path[:-1] not in known:
                    raise HierarchyError(f"The region {show(path)} has no parent in the level above.")
            known = set(level)
            if not level or len(known) < len(level) or (depth == 0 and len(level) > 1):
                raise HierarchyError(
                    f"Level {show(names[depth])} needs regions, each named once, and the first only one."
                )
        return cls(names, paths)

    @property
    def levels(self) -> tuple[str, ...]:
        """The names of the levels, root first."""
        return self._levels

    @property
    def leaves(self) -> tuple[Path, ...]:
        """The regions without subregions, in the order in which they were given."""
        return self._leaves

    def regions(self, level: int | str) -> tuple[Path, ...]:
        """The paths of a level's regions, in array order."""
        return self._regions[self.index(level)]

    def parents(self, level: int | str) -> Ints:
        """Each region's parent, as an index into the level above; the root's is -1."""
        return self._parents[self.index(level)]

    def has_children(self, level: int | str) -> npt.NDArray[np.bool_]:
        """For each region of a level, whether there are regions below it."""
        at = self.index(level)
        found = np.zeros(len(self._regions[at]), dtype=np.bool_)
        if at + 1 < len(self._levels):
            found[self._parents[at + 1]] = True
        return found

    def index(self, level: int | str) -> int:
        """The place of a level, counted from the root."""
        if isinstance(level, str):
            if level not in self._levels:
                raise HierarchyError(f"There is no level {show(level)}: {name_choices(level, self._levels)}")
            return self._levels.index(level)
        if isinstance(level, bool) or not isinstance(level, (int, np.integer)):
            raise HierarchyError("A level is given by its name or its number, counted from the root.")
        if not -len(self._levels) <= level < len(self._levels):
            raise HierarchyError(f"There is no level {level}: there are {len(self._levels)}.")
        return int(level) % len(self._levels)

    def cut(self, levels: int) -> Hierarchy:
        """The tree of the first ``levels`` levels: what has children in the last of them becomes a leaf."""
        return Hierarchy(self._levels[:levels], self._regions[:levels])

    @cached_property
    def leaf_places(self) -> tuple[Ints, Ints]:
        """For each leaf its level and its index there."""
        index = [{region: i for i, region in enumerate(level)} for level in self._regions]
        return (
            _frozen([len(path) - 1 for path in self._leaves]),
            _frozen([index[len(path) - 1][path] for path in self._leaves]),
        )

    def last_leaves(self, level: int | str) -> Ints:
        """For each region of a level, where its last leaf stands when the tree is walked in post-order.

        The leaves are numbered from 0; children are visited in the order of their level.
        """
        return self._last_leaves[self.index(level)]

    @cached_property
    def _last_leaves(self) -> list[Ints]:
        below = [np.where(self.has_children(level), 0, 1) for level in range(len(self._levels))]
        for level in reversed(range(1, len(self._levels))):
            np.add.at(below[level - 1], self._parents[level], below[level])
        first = [np.zeros(1, dtype=np.int64)]
        for level in range(1, len(self._levels)):
            parents = self._parents[level]
            siblings = np.argsort(parents, kind="stable")
            before = np.cumsum(below[level][siblings]) - below[level][siblings]
            # What comes before a region's first sibling is in other parents: not counted.
            skipped = np.zeros(len(self._regions[level - 1]), dtype=np.int64)
            skipped[parents[siblings][::-1]] = before[::-1]
            here = np.empty(len(parents), dtype=np.int64)
            here[siblings] = (first[-1] - skipped)[parents[siblings]] + before
            first.append(here)
        return [_frozen((a + b - 1).tolist()) for a, b in zip(first, below, strict=True)]

    @property
    def region_count(self) -> int:
        """How many regions there are over all levels."""
        return sum(map(len, self._regions))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Hierarchy):
            return NotImplemented
        return (self._levels, self._regions) == (other._levels, other._regions)

    def __hash__(self) -> int:
        return hash((self._levels, self._regions[-1]))

    def __repr__(self) -> str:
        shape = ", ".join(
            f"{name}: {len(regions)}" for name, regions in zip(self._levels, self._regions, strict=True)
        )
        return f"Hierarchy({shape})"


def _frozen(values: Sequence[int]) -> Ints:
    array = np.array(values, dtype=np.int64)
    array.flags.writeable = False
    return array


def _check_levels(levels: Sequence[str]) -> tuple[str, ...]:
    names = _check_names(levels, "The levels must be a list of names (text), root first.")
    if not names:
        raise HierarchyError("A hierarchy needs at least one level.")
    for name in names:
        if not name.strip():
            raise HierarchyError("A level has an empty name.")
    if len(set(names)) < len(names):
        raise HierarchyError("Two levels have the same name.")
    return names


def _check_names(given: Sequence[str], rule: str) -> tuple[str, ...]:
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise HierarchyError(rule)
    names = tuple(given)
    for name in names:
        if not isinstance(name, str):
            raise HierarchyError(rule)
        try:
            name.encode()
        except UnicodeEncodeError:
            raise HierarchyError("A name is not valid text: it cannot be written as UTF-8.") from None
    return names


def _check_path(path: Sequence[str], levels: tuple[str, ...]) -> Path:
    names = _check_names(path, "A path must be a sequence of names (text), from the root down.")
    if not names:
        raise HierarchyError("A path is empty: it must name at least the root.")
    if len(names) > len(levels):
        raise HierarchyError(
            f"The path {show(names)} has {len(names)} names, but there are only {len(levels)} levels."
        )
    for name in names:
        if not name.strip():
            raise HierarchyError(f"The path {show(names)} holds an empty name.")
    return names


def _check_leaves(leaves: tuple[Path, ...]) -> None:
    known = set(leaves)
    if len(known) < len(leaves):
        raise HierarchyError(f"{len(leaves) - len(known)} of the paths are given more than once.")
    roots = {path[0] for path in leaves}
    if len(roots) > 1:
        some = ", ".join(show(root) for root in sorted(roots)[:3])
        raise HierarchyError(f"There must be one root, but the paths start at {len(roots)}: {some}.")
    for path in leaves:
        for depth in range(1, len(path)):
            if path[:depth] in known:
                raise HierarchyError(
                    f"The region {show(path[:depth])} is given as a leaf, but there are regions below it."
                )


def _check_unique_names(leaves: tuple[Path, ...], levels: tuple[str, ...]) -> None:
    for depth in range(1, len(levels)):
        parent: dict[str, Path] = {}
        for path in leaves:
            if len(path) > depth and parent.setdefault(path[depth], path[:depth]) != path[:depth]:
                raise HierarchyError(
                    f"The region {show(path[depth])} of level {show(levels[depth])} has two parents: "
                    f"{show(parent[path[depth]])} and {show(path[:depth])}."
                )
