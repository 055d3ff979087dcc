"""A coarse version of the system of a Newton step: one unknown for each node and *group* of spans.

With d constant within a group, the leaves' responses are a small matrix for each node, groups x groups, and
the system is solved exactly, by elimination along the tree. Let E be a node's ease (diagonal) and B the
response of its subtree to the prices p above it, with its own multiplier y held fixed:

    E y + B (p + y) + rest = right    so    y = (E + B)^-1 (right - rest - B p),

and the response that the node passes on to its parent is B - B (E + B)^-1 B.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from tallytree.kernels import RowPool, kernel
from tallytree.solvers.joint.leaf_responses import Responses
from tallytree.solvers.layout import Tree

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

SINGLE = 6
"""The first spans each form a group: most leaves have their steps there."""
NO_EASE = 1e-12
SETTLED = 1e30
"""The ease of a value that must not move: far above any other."""


def choose_groups(spans: int) -> Ints:
    """Return where each group ends, in spans: at first single spans, then doubling widths; the last alone."""
    ends: list[int] = []
    at, width = 0, 1
    while at < spans - 1:
        if len(ends) >= SINGLE:
            width *= 2
        at = min(at + width, spans - 1)
        ends.append(at)
    return np.array([*ends, spans], dtype=np.int64)


class GroupedSystem:
    """The system in groups, factorized."""

    def __init__(
        self, tree: Tree, responses: Responses, ease: Floats, last: Floats, settled: Flags, ends: Ints
    ) -> None:
        sizes = np.append(responses.span_start, responses.leaves.sizes)[ends]
        counts = np.diff(sizes, prepend=0)
        self._tree, self._ends, self._length = tree, ends, responses.span_length
        self._ease = ease[:, None] * counts
        self._ease[:, -1] = np.where(settled, SETTLED, last)
        self._factors = responses.add_groups(sizes)
        depth = int(tree.level[-1]) + 1
        self._levels = [
            np.flatnonzero(tree.level == level)[[0, -1]] + np.array([0, 1]) for level in range(depth)
        ]
        self._upwards(
            lambda start, stop: _factorize(tree.inner, ease, self._ease, self._factors, start, stop)
        )
        _factorize_root(ease, self._ease, self._factors)

    def add_solution(self, right: Floats, solved: Floats) -> None:
        """Add the solution in groups to ``solved``, nodes x spans."""
        nodes, groups = self._ease.shape
        grouped, rest, found = np.empty((nodes, groups)), np.zeros((nodes, groups)), np.empty((nodes, groups))
        inner = self._tree.inner
        pool = RowPool(nodes, right.size)
        pool.run(lambda some: _gather(right[some], self._length, self._ends, grouped[some]))
        self._upwards(
            lambda start, stop: _solve_up(inner, self._ease, self._factors, grouped, rest, found, start, stop)
        )
        found[0] = grouped[0] - rest[0]
        _solve_root(self._factors, found)
        path = rest  # not needed any more
        path[0] = found[0]
        self._downwards(
            lambda start, stop: _solve_down(inner, self._ease, self._factors, found, path, start, stop)
        )
        pool.run(lambda some: _spread(found[some], self._ends, solved[some]))

    def _upwards(self, work: Callable[[int, int], None]) -> None:
        for start, stop in self._levels[-2::-1]:
            _share(work, int(start), int(stop))

    def _downwards(self, work: Callable[[int, int], None]) -> None:
        for start, stop in self._levels[:-1]:
            _share(work, int(start), int(stop))


def _share(work: Callable[[int, int], None], start: int, stop: int) -> None:
    """Share the work on parents ``start`` to ``stop``, which have no children in common."""
    if stop - start < 64:
        work(start, stop)
        return
    pool = RowPool(stop - start)
    pool.run(lambda some: work(start + some.start, start + some.stop))


@kernel
def _gather(right: Floats, length: Ints, ends: Ints, grouped: Floats) -> None:
    for v in range(len(right)):
        j = 0
        for k in range(len(ends)):
            total = 0.0
            while j < ends[k]:
                total += length[j] * right[v, j]
                j += 1
            grouped[v, k] = total


@kernel
def _spread(found: Floats, ends: Ints, solved: Floats) -> None:
    for v in range(len(found)):
        j = 0
        for k in range(len(ends)):
            while j < ends[k]:
                solved[v, j] += found[v, k]
                j += 1


@kernel
def _factorize(inner: Ints, own: Floats, ease: Floats, factors: Floats, start: int, stop: int) -> None:
    """Factorize the children of these nodes, and add to the nodes what their children pass on."""
    groups = ease.shape[1]
    response, half = np.empty((groups, groups)), np.empty((groups, groups))
    for p in range(start, stop):
        above = factors[p].reshape((groups, groups))
        for c in range(inner[p], inner[p + 1]):
            root = factors[c].reshape((groups, groups))
            response[:] = root
            _take_root(root, ease[c], own[c])
            for m in range(groups):  # root @ half = response
                for k in range(groups):
                    value = response[k, m]
                    for n in range(k):
                        value -= root[k, n] * half[n, m]
                    half[k, m] = value / root[k, k]
            for k in range(groups):
                for m in range(groups):
                    value = response[k, m]
                    for n in range(groups):
                        value -= half[n, k] * half[n, m]
                    above[k, m] += value


@kernel
def _factorize_root(own: Floats, ease: Floats, factors: Floats) -> None:
    groups = ease.shape[1]
    _take_root(factors[0].reshape((groups, groups)), ease[0], own[0])


@kernel
def _take_root(matrix: Floats, ease: Floats, own: float) -> None:
    """Factorize in place: L L' = matrix + ease, L lower; without ease or response, take the node's ease."""
    groups = len(matrix)
    if ease[groups - 1] + matrix[groups - 1, groups - 1] < NO_EASE:
        ease[groups - 1] = own
    for k in range(groups):
        for m in range(k + 1):
            value = matrix[k, m] + (ease[k] if k == m else 0.0)
            floor = 1e-14 * value
            for n in range(m):
                value -= matrix[k, n] * matrix[m, n]
            if k == m:
                matrix[k, k] = np.sqrt(max(value, floor))
            else:
                matrix[k, m] = value / matrix[m, m]


@kernel
def _solve(matrix: Floats, x: Floats) -> None:
    """Solve in place: x = (L L')^-1 x."""
    groups = len(x)
    for k in range(groups):
        value = x[k]
        for n in range(k):
            value -= matrix[k, n] * x[n]
        x[k] = value / matrix[k, k]
    for k in range(groups - 1, -1, -1):
        value = x[k]
        for n in range(k + 1, groups):
            value -= matrix[n, k] * x[n]
        x[k] = value / matrix[k, k]


@kernel
def _solve_root(factors: Floats, found: Floats) -> None:
    groups = found.shape[1]
    _solve(factors[0].reshape((groups, groups)), found[0])


@kernel
def _solve_up(
    inner: Ints,
    ease: Floats,
    factors: Floats,
    right: Floats,
    rest: Floats,
    found: Floats,
    start: int,
    stop: int,
) -> None:
    """Compute the part of y, for the children of these nodes, that does not depend on prices above."""
    groups = ease.shape[1]
    for p in range(start, stop):
        for c in range(inner[p], inner[p + 1]):
            found[c] = right[c] - rest[c]
            _solve(factors[c].reshape((groups, groups)), found[c])
            rest[p] += right[c] - ease[c] * found[c]


@kernel
def _solve_down(
    inner: Ints, ease: Floats, factors: Floats, found: Floats, path: Floats, start: int, stop: int
) -> None:
    """Subtract the part that depends on prices above: (E + B)^-1 B p = p - (E + B)^-1 E p."""
    groups = ease.shape[1]
    for p in range(start, stop):
        for c in range(inner[p], inner[p + 1]):
            felt = ease[c] * path[p]
            _solve(factors[c].reshape((groups, groups)), felt)
            found[c] += felt - path[p]
            path[c] = path[p] + found[c]
