"""The leaves of the joint model, in parts that are worked on one by one: there may be millions of them.

What a leaf is fitted to is kept as *steps*, runs of sizes with one value: few, once answers are smoothed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from tallytree.kernels import kernel, share_work
from tallytree.postprocess.layout import Tree

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Places = npt.NDArray[np.int32]
Result = TypeVar("Result")

LEAST_PART_CELLS, MOST_PART_CELLS = 2**16, 2**21
"""Leaves x sizes of a part: what a thread works on at once. Not a matter of how many threads there are, so
that sums come out the same on any machine."""


class StepRows(NamedTuple):
    """Rows of whole numbers as runs: ``heights[b]`` up to ``ends[b]``; row r has first[r] : first[r + 1]."""

    first: Places
    ends: Places
    heights: Ints


class Part(NamedTuple):
    """Some inner nodes of one level, with all their leaf children."""

    first: int
    stop: int
    """The nodes are those from ``first`` to ``stop``."""
    targets: StepRows
    """What each leaf is fitted to."""
    parent: Ints
    """The inner node above each leaf."""
    ease: Floats
    """1 / weight: how far a leaf moves for a price of one."""
    cap: Floats
    """The leaf's number of groups where it is known, else infinity."""


@dataclass(frozen=True, eq=False)
class Leaves:
    """All leaves, those with one parent together."""

    parts: Sequence[Part]
    sizes: int

    @property
    def nodes(self) -> int:
        """How many inner nodes there are."""
        return self.parts[-1].stop

    def sum_parts(self, work: Callable[[int, Part], Floats], width: int) -> Floats:
        """Inner nodes x ``width``: ``work`` gives the rows of a part's nodes."""
        sums = np.empty((self.nodes, width))

        def fill(number: int, part: Part) -> None:
            sums[part.first : part.stop] = work(number, part)

        self.map(fill)
        return sums

    def map(self, work: Callable[[int, Part], Result]) -> list[Result]:
        """``work(number, part)`` for each part, on all processors."""
        return share_work(work, self.parts)


def cut_nodes(tree: Tree, sizes: int) -> list[tuple[int, int]]:
    """The parts of a tree's inner nodes: on one level each, with not too many leaves if not one node."""
    cells = int(tree.family[-1]) * sizes
    most = min(MOST_PART_CELLS, max(LEAST_PART_CELLS, cells // 16))
    cuts = [0]
    ends = np.searchsorted(tree.level, np.arange(int(tree.level[-1]) + 1), side="right").tolist()
    for end in ends:
        while cuts[-1] < end:
            room = tree.family[cuts[-1]] + most // sizes
            reached = int(np.searchsorted(tree.family, room, side="right")) - 1
            cuts.append(min(end, max(reached, cuts[-1] + 1)))
    return list(pairwise(cuts))


@kernel
def find_steps(rows: npt.NDArray[np.signedinteger]) -> StepRows:
    """Rows as they are."""
    count, sizes = rows.shape
    first = np.zeros(count + 1, dtype=np.int32)
    ends, heights = np.empty(count * sizes, dtype=np.int32), np.empty(count * sizes, dtype=np.int64)
    used = 0
    for r in range(count):
        for i in range(sizes):
            if i + 1 == sizes or rows[r, i] != rows[r, i + 1]:
                ends[used], heights[used] = i + 1, rows[r, i]
                used += 1
        first[r + 1] = used
    return StepRows(first, ends[:used].copy(), heights[:used].copy())


@kernel
def sum_targets(part: Part, sizes: int) -> Floats:
    """The targets of each node's leaves added up; a leaf whose number of groups is known ends there."""
    sums = np.zeros((part.stop - part.first, sizes))
    for r in range(len(part.parent)):
        row = sums[part.parent[r] - part.first]
        begin = 0
        for b in range(part.targets.first[r], part.targets.first[r + 1]):
            for i in range(begin, part.targets.ends[b]):
                row[i] += part.targets.heights[b]
            begin = part.targets.ends[b]
        if part.cap[r] < np.inf:
            row[sizes - 1] += part.cap[r] - part.targets.heights[part.targets.first[r + 1] - 1]
    return sums


@kernel
def sum_slack(part: Part) -> Floats:
    """The ease of each node's leaves added up; and of those whose number of groups is not known."""
    sums = np.zeros((part.stop - part.first, 2))
    for r in range(len(part.parent)):
        row = sums[part.parent[r] - part.first]
        row[0] += part.ease[r]
        if not part.cap[r] < np.inf:
            row[1] += part.ease[r]
    return sums
