"""The hierarchy as flat arrays that the solvers walk: parents before children, siblings together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from tallytree.hierarchy import Hierarchy

Ints = npt.NDArray[np.int64]


class Tree(NamedTuple):
    """The shape of the tree, for the kernels.

    Inner nodes and leaves are numbered apart, each level by level, children of a node together. All
    leaf children of a node (its *family*) are on one level and so have one weight.
    """

    level: Ints
    """Per inner node: its level; its leaf children are one level down."""
    parent: Ints
    """Per inner node: its parent (the root's is -1)."""
    inner: Ints
    """Inner nodes + 1 offsets: the inner children of v are ``inner[v] : inner[v + 1]``."""
    family: Ints
    """Inner nodes + 1 offsets: the leaf children of v are ``family[v] : family[v + 1]``."""


class Cells(NamedTuple):
    """One number for every region and size, in a layout's order."""

    inner: Ints
    """Sizes x inner nodes."""
    leaf: Ints
    """Sizes x leaves."""

    def some(self, sizes: slice) -> Cells:
        """Return the cells of some of the sizes."""
        return Cells(self.inner[sizes], self.leaf[sizes])


@dataclass(frozen=True, eq=False)
class TreeLayout:
    """A hierarchy's :class:`Tree`, and where each of its regions stands in it."""

    tree: Tree
    region_counts: tuple[int, ...]
    """Per level: how many regions it has."""
    inner_rows: tuple[tuple[Ints, Ints], ...]
    """Per level: indices of its regions that have children, and their inner numbers."""
    leaf_rows: tuple[tuple[Ints, Ints], ...]
    """Per level: indices of its leaves, and their leaf numbers."""

    @classmethod
    def of(cls, hierarchy: Hierarchy) -> TreeLayout:
        """Return the layout of ``hierarchy``."""
        if len(hierarchy.levels) == 1:
            return cls._of_root_alone()
        inner_rows, leaf_rows, inner_parents, leaf_parents = [], [], [], []
        above = np.full(1, -1)  # per region of the level above: its inner number
        inner_count = leaf_count = 0
        for level in range(len(hierarchy.levels)):
            parent = above[hierarchy.parents(level)] if level else np.full(1, -1)
            has_children = hierarchy.has_children(level)
            ordered = np.argsort(parent, kind="stable")
            inner, leaf = ordered[has_children[ordered]], ordered[~has_children[ordered]]
            inner_rows.append((inner, inner_count + np.arange(len(inner))))
            leaf_rows.append((leaf, leaf_count + np.arange(len(leaf))))
            inner_parents.append(parent[inner])
            leaf_parents.append(parent[leaf])
            above = np.full(len(parent), -1)
            above[inner] = inner_rows[-1][1]
            inner_count += len(inner)
            leaf_count += len(leaf)
        parents = np.concatenate(inner_parents)
        tree = Tree(
            level=np.repeat(np.arange(len(inner_parents)), [len(p) for p in inner_parents]),
            parent=parents,
            inner=1 + _offsets(parents[1:], inner_count),
            family=_offsets(np.concatenate(leaf_parents), inner_count),
        )
        return cls(tree, hierarchy.region_counts, tuple(inner_rows), tuple(leaf_rows))

    @classmethod
    def _of_root_alone(cls) -> TreeLayout:
        """Return the layout of a root that is also a leaf: it appears twice, the upper one at no cost."""
        offsets = np.array([1, 1]), np.array([0, 1])
        rows = (np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64))
        return cls(Tree(np.array([0]), np.array([-1]), *offsets), (1,), (rows,), (rows,))

    def per_level(self, weights: Ints, scales: Sequence[Fraction]) -> tuple[Ints, list[Fraction]]:
        """Return the levels' weights and scales for the levels of the tree."""
        if len(self.region_counts) > 1:
            return weights, list(scales)
        return np.concatenate([[0], weights]), [*scales, *scales]

    def gather(self, arrays: Sequence[Ints]) -> Cells:
        """Arrange per-level arrays (regions x sizes, root first) as cells."""
        sizes = arrays[0].shape[1]
        inner = np.empty((sizes, len(self.tree.level)), dtype=np.int64)
        leaf = np.empty((sizes, int(self.tree.family[-1])), dtype=np.int64)
        for values, inner_at, leaf_at in zip(arrays, self.inner_rows, self.leaf_rows, strict=True):
            for cells, (rows, places) in ((inner, inner_at), (leaf, leaf_at)):
                if len(rows):
                    cells[:, places[0] : places[-1] + 1] = values[rows].T
        return Cells(inner, leaf)

    def stack(self, arrays: Sequence[Ints]) -> tuple[Ints, Ints]:
        """Arrange per-level arrays the other way round: inner nodes x sizes, and leaves x sizes."""
        inner = np.concatenate(
            [values[rows] for values, (rows, _) in zip(arrays, self.inner_rows, strict=True)]
        )
        leaf = np.concatenate(
            [values[rows] for values, (rows, _) in zip(arrays, self.leaf_rows, strict=True)]
        )
        return inner, leaf

    def scatter(self, cells: Cells) -> list[Ints]:
        """Arrange cells as per-level arrays: the inverse of :meth:`gather`."""
        arrays = []
        for regions, inner_at, leaf_at in zip(
            self.region_counts, self.inner_rows, self.leaf_rows, strict=True
        ):
            values = np.empty((regions, len(cells.inner)), dtype=np.int64)
            for source, (rows, places) in ((cells.inner, inner_at), (cells.leaf, leaf_at)):
                if len(rows):
                    values[rows] = source[:, places[0] : places[-1] + 1].T
            arrays.append(values)
        return arrays


def _offsets(parents: Ints, count: int) -> Ints:
    """Where each parent's children start, given the children's parents in order."""
    return np.concatenate([[0], np.cumsum(np.bincount(parents, minlength=count))]).astype(np.int64)
