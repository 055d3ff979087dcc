"""The region hierarchy: the paper's tree T, with named levels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tallytree.errors import HierarchyError, name_choices, show
from tallytree.path_trees import (
    Column,
    Names,
    PathTree,
    encode_column,
    encode_names,
    find_blank,
    grow_tree,
    invert,
    sort_regions,
)

Path = tuple[str, ...]
Ints = npt.NDArray[np.int64]


class Hierarchy:
    """Regions in a tree, level by level from a single root.

    A region is identified by its path of names from the root, so two counties in different states may
    share a name. A leaf may stand above the last level (a *ragged* tree). Within a level, regions are
    in the order in which the given paths first mention them; this is the order of all arrays.

    Inside, a level is an array of names and one of parents: a tree of millions of regions takes little more
    room than its names. Paths are made when they are asked for.

    >>> h = Hierarchy.from_paths(["nation", "state"], [("US", "GA"), ("US", "NY")])
    >>> h.regions("state")
    (('US', 'GA'), ('US', 'NY'))
    >>> h.parents("state").tolist()
    [0, 0]
    """

    def __init__(
        self,
        levels: tuple[str, ...],
        names: Sequence[Names],
        parents: Sequence[Ints],
        leaf_places: tuple[Ints, Ints] | None = None,
    ) -> None:
        # Private: use `from_paths` or `from_arrays`, which check what they get.
        self._levels = levels
        self._names = tuple(names)
        self._parents = tuple(map(_frozen, parents))
        if leaf_places is None:  # level by level
            bare = [np.flatnonzero(~self.has_children(level)) for level in range(len(levels))]
            leaf_places = np.repeat(np.arange(len(levels)), [len(b) for b in bare]), np.concatenate(bare)
        self._leaf_places = _frozen(leaf_places[0]), _frozen(leaf_places[1])
        self._paths: dict[int, tuple[Path, ...]] = {}

    @classmethod
    def from_paths(
        cls, levels: Sequence[str], paths: Iterable[Sequence[str]], *, unique_names: bool = False
    ) -> Hierarchy:
        """Return the tree whose leaves are ``paths``: names from the root down, one for each level.

        With ``unique_names`` a name stands for one region wherever it occurs, as official codes do,
        and a name below two parents is refused.
        """
        names = check_levels(levels)
        if isinstance(paths, str) or not isinstance(paths, Iterable):
            raise HierarchyError("The paths must be a list of paths, one for each leaf region.")
        leaves = tuple(_check_path(path, names) for path in paths)
        if not leaves:
            raise HierarchyError("A hierarchy needs at least one region, and no paths were given.")
        _check_leaves(leaves)
        if unique_names:
            _check_unique_names(leaves, names)
        return cls.from_tree(names, grow_tree(_list_columns(leaves, len(names))))

    @classmethod
    def from_tree(cls, levels: Sequence[str], tree: PathTree) -> Hierarchy:
        """Return the tree of rows that are each about a leaf; leaves are in order of their first rows."""
        names = check_levels(levels)
        depth = 1 + int(tree.row_level.max())
        if depth < len(names):
            raise HierarchyError(
                f"No path reaches level {show(names[depth])}: leave the level out, or add regions to it."
            )
        return cls(names, tree.names, tree.parents, (tree.leaves.level, tree.leaves.place))

    @classmethod
    def from_arrays(cls, levels: Sequence[str], names: Sequence[Names], parents: Sequence[Ints]) -> Hierarchy:
        """Return the tree with these regions at each level, by own name and parent, no two the same."""
        checked = check_levels(levels)
        for level, own in zip(checked, names, strict=True):
            if len(own) == 0 or find_blank(own):
                raise HierarchyError(f"Level {show(level)} has no regions, or one without a name.")
        if len(names[0]) > 1:
            raise HierarchyError("There must be one root.")
        return cls(checked, names, parents)

    @property
    def levels(self) -> tuple[str, ...]:
        """The names of the levels, root first."""
        return self._levels

    @property
    def leaves(self) -> tuple[Path, ...]:
        """The regions without subregions, in the order in which they were given."""
        return self._leaf_paths

    @cached_property
    def _leaf_paths(self) -> tuple[Path, ...]:
        level, index = (places.tolist() for places in self._leaf_places)
        regions = [self.regions(depth) for depth in range(len(self._levels))]
        return tuple(regions[depth][place] for depth, place in zip(level, index, strict=True))

    @property
    def leaf_count(self) -> int:
        """How many leaves there are."""
        return len(self._leaf_places[0])

    @property
    def leaf_places(self) -> tuple[Ints, Ints]:
        """For each leaf its level and its index there."""
        return self._leaf_places

    @property
    def region_counts(self) -> tuple[int, ...]:
        """Per level: how many regions it has."""
        return tuple(map(len, self._parents))

    @property
    def region_count(self) -> int:
        """How many regions there are over all levels."""
        return sum(self.region_counts)

    def regions(self, level: int | str) -> tuple[Path, ...]:
        """Return the paths of a level's regions, in array order."""
        at = self.index(level)
        if at not in self._paths:
            names = list(map(str, self._names[at].to_pylist()))
            if at == 0:
                self._paths[0] = tuple((name,) for name in names)
            else:
                above = self.regions(at - 1)
                self._paths[at] = tuple(
                    (*above[parent], name)
                    for parent, name in zip(self._parents[at].tolist(), names, strict=True)
                )
        return self._paths[at]

    def path(self, level: int | str, region: int) -> Path:
        """Return the path of one region, by its index."""
        names: list[str] = []
        for at in range(self.index(level), -1, -1):
            names.append(self._names[at][region].as_py())
            region = int(self._parents[at][region])
        return tuple(reversed(names))

    def names(self, level: int | str) -> Names:
        """Return the own names of a level's regions, each the last of its path, as an Arrow text array."""
        return self._names[self.index(level)]

    def leaf_names(self, level: int | str) -> Names:
        """Return for each leaf the name of its region at a level; null for a leaf above that level."""
        at = self.index(level)
        leaf_level, leaf_index = self._leaf_places
        place = np.full(len(leaf_level), -1, dtype=np.int64)
        for depth in range(at, len(self._levels)):
            here = leaf_level == depth
            place[here] = self.ancestors(depth, at)[leaf_index[here]]
        return self._names[at].take(pa.array(place, pa.int64(), mask=place < 0))

    def parents(self, level: int | str) -> Ints:
        """Return each region's parent, as an index into the level above; the root's is -1."""
        return self._parents[self.index(level)]

    def ancestors(self, level: int | str, above: int) -> Ints:
        """Return for each region of a level its ancestor at the level numbered ``above``."""
        at = self.index(level)
        found = np.arange(len(self._parents[at]))
        for depth in range(at, above, -1):
            found = self._parents[depth][found]
        return found

    def has_children(self, level: int | str) -> npt.NDArray[np.bool_]:
        """Return for each region of a level whether there are regions below it."""
        at = self.index(level)
        found = np.zeros(len(self._parents[at]), dtype=np.bool_)
        if at + 1 < len(self._levels):
            found[self._parents[at + 1]] = True
        return found

    def index(self, level: int | str) -> int:
        """Return the index of a level, counted from the root."""
        return find_level(self._levels, level)

    def find(self, path: Sequence[str]) -> tuple[int, int]:
        """Return the level of the region with this path, and its index there."""
        names = _check_path(path, self._levels)
        region = -1
        for level, name in enumerate(names):
            above = np.array([region])
            found = int(self.find_children(level, above, pa.array([name], pa.large_string()))[0])
            if found < 0:
                raise HierarchyError(self._describe_missing(names[: level + 1], region))
            region = found
        return len(names) - 1, region

    def _describe_missing(self, path: Path, parent: int) -> str:
        """What to say of a path of which all but the last name is right."""
        *above, name = path
        if not above:
            root = show(self._names[0][0].as_py())
            return f"There is no region {show(name)} at the top: a path begins with the root, {root}."
        children = self.children(len(above) - 1, parent)
        if not len(children):
            return f"There is no region {show(name)} in {show(' > '.join(above))}, which has no subregions."
        known = map(str, self._names[len(above)].take(children).to_pylist())
        return f"There is no region {show(name)} in {show(' > '.join(above))}: {name_choices(name, known)}"

    def children(self, level: int | str, region: int) -> Ints:
        """Return the subregions of one region, as indices into the level below."""
        at = self.index(level)
        if at + 1 == len(self._levels):
            return np.zeros(0, dtype=np.int64)
        order, first = self._children[at]
        return order[first[region] : first[region + 1]]

    def cut(self, levels: int) -> Hierarchy:
        """Return the tree of the first ``levels`` levels: all regions of the last of them are leaves."""
        return Hierarchy(self._levels[:levels], self._names[:levels], self._parents[:levels])

    def sort(self) -> tuple[Hierarchy, Ints]:
        """Return the tree with its regions sorted by path, and for each leaf its number there.

        Names are compared by code points. The order in which regions appear in sensitive data may reveal
        something about the data; the sorted order reveals nothing but the names.

        >>> h = Hierarchy.from_paths(["nation", "state"], [("US", "NY"), ("US", "GA")])
        >>> ordered, number = h.sort()
        >>> ordered.leaves, number.tolist()
        ((('US', 'GA'), ('US', 'NY')), [1, 0])
        """
        moves = sort_regions(self._names, self._parents)
        leaf_level, leaf_index = self._leaf_places
        is_even = bool((leaf_level == len(moves) - 1).all())
        if is_even and all(map(_is_range, [*moves, leaf_index])):  # a large tree is not built twice
            return self, leaf_index
        names, parents = [self._names[0]], [self._parents[0]]
        for level in range(1, len(moves)):
            first = invert(moves[level])
            names.append(self._names[level].take(first))
            parents.append(moves[level - 1][self._parents[level][first]])
        ordered = Hierarchy(self._levels, names, parents)  # its leaves level by level
        place, number = np.empty_like(leaf_level), np.empty_like(leaf_level)
        for level in np.unique(leaf_level).tolist():
            here = np.flatnonzero(leaf_level == level)
            place[here] = moves[level][leaf_index[here]]
            number[here] = ordered.last_leaves(level)[place[here]]
        first = invert(number)
        return Hierarchy(self._levels, names, parents, (leaf_level[first], place[first])), number

    def find_children(self, level: int, parents: Ints, names: Names) -> Ints:
        """Return for each pair the region of ``level`` with that parent and that name; -1 if there is none.

        Only the children of these parents are looked at: if pairs come a few regions at a time, as in a file,
        the cost depends on their number and not on the size of the tree.
        """
        if level == 0:
            is_root = pc.equal(names, self._names[0][0]).to_numpy(zero_copy_only=False)
            return np.where(is_root, 0, -1)
        order, first = self._children[level - 1]
        touched = np.unique(parents[parents >= 0])
        counts = first[touched + 1] - first[touched]
        starts = np.cumsum(counts) - counts
        children = order[np.repeat(first[touched] - starts, counts) + np.arange(int(counts.sum()))]
        column = encode_column(pa.concat_arrays([self._names[level].take(children), names]))
        known = np.repeat(touched, counts) * len(column.names) + column.codes[: len(children)]
        wanted = parents * len(column.names) + column.codes[len(children) :]
        by_key = np.argsort(known, kind="stable")
        place = np.searchsorted(known, wanted, sorter=by_key)
        found = np.full(len(wanted), -1, dtype=np.int64)
        inside = np.flatnonzero((place < len(known)) & (parents >= 0))
        candidate = by_key[place[inside]]
        same = known[candidate] == wanted[inside]
        found[inside[same]] = children[candidate[same]]
        return found

    @cached_property
    def _children(self) -> list[tuple[Ints, Ints]]:
        """Per level: the regions of the next level, siblings together, and where each region's begin."""
        found = []
        for level, parents in enumerate(self._parents[1:]):
            is_sorted = bool((parents[1:] >= parents[:-1]).all())
            order = np.arange(len(parents)) if is_sorted else np.argsort(parents, kind="stable")
            counts = np.bincount(parents, minlength=len(self._parents[level]))
            found.append((order, np.concatenate([[0], np.cumsum(counts)])))
        return found

    def last_leaves(self, level: int | str) -> Ints:
        """Return for each region of a level the number of its last leaf in post-order.

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
            # Leaves before a region's first sibling belong to other parents: not counted.
            skipped = np.zeros(len(self._parents[level - 1]), dtype=np.int64)
            skipped[parents[siblings][::-1]] = before[::-1]
            here = np.empty(len(parents), dtype=np.int64)
            here[siblings] = (first[-1] - skipped)[parents[siblings]] + before
            first.append(here)
        return [_frozen(a + b - 1) for a, b in zip(first, below, strict=True)]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Hierarchy):
            return NotImplemented
        if self is other:
            return True
        if (self._levels, self.region_counts) != (other._levels, other.region_counts):
            return False
        same = all(map(np.array_equal, self._parents, other._parents))
        return same and all(a.equals(b) for a, b in zip(self._names, other._names, strict=True))

    def __hash__(self) -> int:
        return hash((self._levels, self.region_counts, self._names[-1][-1].as_py()))

    def __repr__(self) -> str:
        shape = ", ".join(
            f"{name}: {regions}" for name, regions in zip(self._levels, self.region_counts, strict=True)
        )
        return f"Hierarchy({shape})"


def _is_range(values: Ints) -> bool:
    """Whether these are 0, 1, 2 and so on."""
    return bool((values == np.arange(len(values))).all())


def _frozen(values: Ints) -> Ints:
    array = np.asarray(values, dtype=np.int64).view()
    array.flags.writeable = False
    return array


def _list_columns(leaves: Sequence[Path], levels: int) -> list[Column]:
    return [
        encode_names([path[depth] if depth < len(path) else None for path in leaves])
        for depth in range(levels)
    ]


def find_level(levels: Sequence[str], level: int | str) -> int:
    """Return the index of a level among ``levels``, counted from the root."""
    if isinstance(level, str):
        if level not in levels:
            raise HierarchyError(f"There is no level {show(level)}: {name_choices(level, levels)}")
        return levels.index(level)
    if isinstance(level, bool) or not isinstance(level, (int, np.integer)):
        raise HierarchyError("A level is given by its name or its number, counted from the root.")
    if not -len(levels) <= level < len(levels):
        raise HierarchyError(f"There is no level {level}: there are {len(levels)}.")
    return int(level) % len(levels)


def check_levels(levels: Sequence[str]) -> tuple[str, ...]:
    """Return the names of levels, root first; refuse names that levels cannot have."""
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
