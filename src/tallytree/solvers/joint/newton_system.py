"""The linear system of one Newton step on the joint model's dual, by preconditioned conjugate gradients.

The unknowns are changes d of the multipliers, inner nodes x sizes. A change raises the prices of all leaves
below, and the leaves respond (``leaf_responses``); each node's own fit changes by ``ease`` * d. Within a span
the leaves depend only on the mean of d: so the system is solved for one value per span, and the rest of d
depends on the node alone.

The preconditioner combines a few groups of spans, solved exactly (``grouped_system``), with wavelets within
the groups (``leaf_responses``): ignoring the coupling between wavelets, each is solved exactly by elimination
along the tree, and so is the small system of the groups.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tallytree.kernels import RowPool, kernel
from tallytree.solvers.joint.grouped_system import GroupedSystem, choose_groups
from tallytree.solvers.joint.leaf_responses import Responses, list_wavelets, transform, transform_back
from tallytree.solvers.layout import Tree

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


class System(NamedTuple):
    """The system (ease + the leaves' response) d = right."""

    tree: Tree
    ease: Floats
    """Per inner node: 1 / weight."""
    fixed: Flags
    """Nodes whose last value is fixed: they have no ease there."""
    settled: Flags
    """Nodes whose last value follows from those below: no unknown there."""
    slack: float = 0.0
    """The ease of fixed values, where leaves at zero do not respond and the system would be singular."""


def solve_system(
    system: System, responses: Responses, right: Floats, accuracy: float, most: int
) -> tuple[Floats, int]:
    """Return d, to a residual of ``accuracy`` in the preconditioner's norm, and the number of steps."""
    start, length = responses.span_start, responses.span_length
    pool = RowPool(len(length), len(right) * len(length))
    if len(length) == right.shape[1]:
        return _ConjugateGradients(system, responses, pool).run(right, accuracy, most)
    means = np.empty((len(right), len(length)))
    pool.run(lambda some: _average(right, start, length, means, some.start, some.stop))
    coarse, steps = _ConjugateGradients(system, responses, pool).run(means, accuracy, most)
    change = np.empty_like(right)
    _spread(coarse, right, means, start, length, system.ease, change)
    return change, steps


class _ConjugateGradients:
    """Conjugate gradients, in the inner product that weights every span by its length.

    Work along the tree is independent for each span: the processors share the spans.
    """

    def __init__(self, system: System, responses: Responses, pool: RowPool) -> None:
        self.system, self.responses, self.pool = system, responses, pool
        self.length = responses.span_length
        self.last = np.where(system.fixed, system.slack, system.ease)
        groups = choose_groups(len(self.length))
        self.grouped = GroupedSystem(system.tree, responses, system.ease, self.last, system.settled, groups)
        self.wavelets = list_wavelets(np.append(responses.span_start, responses.leaves.sizes), groups)
        self.below = responses.add_wavelets(self.wavelets)
        self.inverse = np.empty_like(self.below)
        self._share(_eliminate, self.below, self.inverse)
        self.path = np.empty_like(self.below)
        self.coefficients = np.empty_like(self.below)
        self.dots = np.empty(len(self.length))

    def run(self, right: Floats, accuracy: float, most: int) -> tuple[Floats, int]:
        """Return the solution, and the number of steps."""
        residual, solved, better = right.copy(), np.zeros_like(right), np.empty_like(right)
        self._precondition(residual, better)
        direction = better.copy()
        size = self._dot(residual, better)
        goal = accuracy**2 * size
        for step in range(most):
            product = self._apply(direction)
            curvature = self._dot(direction, product)
            if not curvature > 0.0:
                return solved, step
            self._move(solved, residual, direction, product, size / curvature)
            self._precondition(residual, better)
            before, size = size, self._dot(residual, better)
            if size <= goal:
                return solved, step + 1
            self._turn(direction, better, size / before)
        return solved, most

    def _apply(self, d: Floats) -> Floats:
        """Return (ease + the leaves' response) d."""
        self.pool.run(
            lambda some: _add_along_paths(self.system.tree.parent, d, self.path, some.start, some.stop)
        )
        product = self.responses.add(self.path)
        self._share(_finish_product, self.last, d, product)
        return product

    def _precondition(self, right: Floats, solved: Floats) -> None:
        pool = RowPool(len(right), right.size)
        pool.run(lambda some: transform(self.wavelets, right[some], self.coefficients[some]))
        self._share(_precondition, self.below, self.inverse, self.coefficients, self.path)
        pool.run(lambda some: transform_back(self.wavelets, self.coefficients[some], solved[some]))
        self.grouped.add_solution(right, solved)

    def _dot(self, a: Floats, b: Floats) -> float:
        self.pool.run(lambda some: _dot_spans(a, b, self.dots, some.start, some.stop))
        return float((self.length * self.dots).sum())

    def _move(self, solved: Floats, residual: Floats, direction: Floats, product: Floats, far: float) -> None:
        self.pool.run(lambda some: _move(solved, residual, direction, product, far, some.start, some.stop))

    def _turn(self, direction: Floats, better: Floats, share: float) -> None:
        self.pool.run(lambda some: _turn(direction, better, share, some.start, some.stop))

    def _share(self, work: Any, *arrays: Floats) -> None:
        self.pool.run(lambda some: work(self.system, *arrays, some.start, some.stop))


@kernel
def _average(rows: Floats, start: Ints, length: Ints, means: Floats, some: int, stop: int) -> None:
    for v in range(len(rows)):
        for j in range(some, stop):
            total = 0.0
            for i in range(start[j], start[j] + length[j]):
                total += rows[v, i]
            means[v, j] = total / length[j]


@kernel
def _spread(
    coarse: Floats, right: Floats, means: Floats, start: Ints, length: Ints, ease: Floats, change: Floats
) -> None:
    """Compute the change at each size: that of its span, and the part that depends on the node alone."""
    for v in range(len(coarse)):
        for j in range(len(length)):
            for i in range(start[j], start[j] + length[j]):
                change[v, i] = coarse[v, j]
                if length[j] > 1:
                    change[v, i] += (right[v, i] - means[v, j]) / ease[v]


@kernel
def _eliminate(system: System, below: Floats, inverse: Floats, start: int, stop: int) -> None:
    """Do the part of the elimination that does not depend on the right side.

    ``below`` is the response of a node's subtree when its price rises by one, with its own multiplier held
    fixed; with its multiplier free, a child's subtree responds by ease * below / (ease + below).
    """
    for v in range(len(below) - 1, -1, -1):
        p, ease = system.tree.parent[v], system.ease[v]
        for j in range(start, stop):
            inverse[v, j] = 1.0 / (ease + below[v, j])
            if p >= 0:
                below[p, j] += below[v, j] * ease * inverse[v, j]


@kernel
def _precondition(
    system: System, below: Floats, inverse: Floats, right: Floats, path: Floats, start: int, stop: int
) -> None:
    """Replace ``right`` by the solution d of the system without coupling between wavelets."""
    solved, rest = right, path  # rest: the responses of the children's subtrees by themselves
    rest[:, start:stop] = 0.0
    for v in range(len(right) - 1, -1, -1):
        p, ease = system.tree.parent[v], system.ease[v]
        for j in range(start, stop):
            given = right[v, j]
            solved[v, j] = (given - rest[v, j]) * inverse[v, j]
            if p >= 0:
                rest[p, j] += given - ease * solved[v, j]
    path[0, start:stop] = solved[0, start:stop]
    for v in range(1, len(right)):
        p = system.tree.parent[v]
        for j in range(start, stop):
            solved[v, j] -= below[v, j] * path[p, j] * inverse[v, j]
            path[v, j] = path[p, j] + solved[v, j]


@kernel
def _finish_product(system: System, last: Floats, d: Floats, product: Floats, start: int, stop: int) -> None:
    """Add up the responses of the leaves along the tree, and add the nodes' own."""
    spans = d.shape[1]
    for v in range(len(d) - 1, -1, -1):
        p = system.tree.parent[v]
        for j in range(start, stop):
            if p >= 0:
                product[p, j] += product[v, j]
            product[v, j] += (last[v] if j == spans - 1 else system.ease[v]) * d[v, j]
            if j == spans - 1 and system.settled[v]:
                product[v, j] = 0.0


@kernel
def _add_along_paths(parent: Ints, values: Floats, path: Floats, start: int, stop: int) -> None:
    path[0, start:stop] = values[0, start:stop]
    for v in range(1, len(parent)):
        p = parent[v]
        for j in range(start, stop):
            path[v, j] = values[v, j] + path[p, j]


@kernel
def _dot_spans(a: Floats, b: Floats, dots: Floats, start: int, stop: int) -> None:
    dots[start:stop] = 0.0
    for v in range(len(a)):
        for j in range(start, stop):
            dots[j] += a[v, j] * b[v, j]


@kernel
def _move(
    solved: Floats, residual: Floats, direction: Floats, product: Floats, far: float, start: int, stop: int
) -> None:
    for v in range(len(solved)):
        for j in range(start, stop):
            solved[v, j] += far * direction[v, j]
            residual[v, j] -= far * product[v, j]


@kernel
def _turn(direction: Floats, better: Floats, share: float, start: int, stop: int) -> None:
    for v in range(len(direction)):
        for j in range(start, stop):
            direction[v, j] = better[v, j] + share * direction[v, j]


def add_along_paths(parent: Ints, values: Floats) -> Floats:
    """Add up each node's values and those of all nodes above it."""
    path = np.empty_like(values)
    pool = RowPool(values.shape[1], values.size)
    pool.run(lambda some: _add_along_paths(parent, values, path, some.start, some.stop))
    return path


@kernel
def add_from_below(parent: Ints, sums: Floats) -> None:
    """Add to each node's values those of all inner nodes below it."""
    for v in range(len(parent) - 1, 0, -1):
        sums[parent[v]] += sums[v]
