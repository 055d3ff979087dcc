"""The linear system of one Newton step on the joint model's dual, by preconditioned conjugate gradients.

The unknowns are changes d of the multipliers, inner nodes x sizes. A change raises the prices of all leaves
below; the leaves give way (``leaf_responses``), and each node's own fit by ``ease`` * d. Within a span the
leaves feel only the mean of d: so the system is solved for one value per span, and the rest of d is a matter
of the node alone. The preconditioner replaces each leaf's derivative by its diagonal: then the spans no
longer depend on each other, and each is solved exactly by elimination along the tree.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tallytree.postprocess.kernels import kernel
from tallytree.postprocess.leaf_responses import Responses, add_diagonals, add_responses

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

STIFF = 1e-12
"""A response below this is none: a fixed value then gets its node's ease, so that it can move at all."""


class System(NamedTuple):
    """(ease + the leaves' response) d = right."""

    parent: Ints
    """Per inner node: its parent (the root's is -1), which stands before it."""
    ease: Floats
    """Per inner node: 1 / weight."""
    fixed: Flags
    """Nodes whose last value is fixed: they have no ease there."""
    settled: Flags
    """Nodes whose last value follows from those below: no unknown there."""


@kernel
def solve_system(
    system: System, responses: Responses, right: Floats, accuracy: float, most: int, change: Floats
) -> int:
    """Fill ``change`` with d, to a residual of ``accuracy`` in the preconditioner's norm.

    Returns how many steps it took.
    """
    start, length = responses.span_start, responses.span_length
    means = _average(right, start, length)
    ease = np.empty_like(means)
    for v in range(len(means)):
        ease[v] = system.ease[v]
        if system.fixed[v]:
            ease[v, -1] = 0.0
    coarse = np.zeros_like(means)
    steps = _solve_spans(system, responses, ease, means, accuracy, most, coarse)
    for v in range(len(means)):
        for j in range(len(length)):
            for i in range(start[j], start[j] + length[j]):
                change[v, i] = coarse[v, j]
                if length[j] > 1:
                    change[v, i] += (right[v, i] - means[v, j]) / system.ease[v]
    return steps


@kernel
def _average(rows: Floats, start: Ints, length: Ints) -> Floats:
    means = np.zeros((len(rows), len(length)))
    for v in range(len(rows)):
        for j in range(len(length)):
            for i in range(start[j], start[j] + length[j]):
                means[v, j] += rows[v, i]
            means[v, j] /= length[j]
    return means


@kernel
def _solve_spans(
    system: System,
    responses: Responses,
    ease: Floats,
    right: Floats,
    accuracy: float,
    most: int,
    solved: Floats,
) -> int:
    """Conjugate gradients, in the inner product that counts every span by its length."""
    length_of = responses.span_length
    below, inverse = np.empty_like(right), np.empty_like(right)
    _eliminate(system, responses, ease, below, inverse)
    residual, better, product = right.copy(), np.empty_like(right), np.empty_like(right)
    path, running = np.empty_like(right), np.zeros((len(right), right.shape[1] + 1))
    _precondition(system, ease, below, inverse, residual, path, better)
    direction = better.copy()
    size = _dot(residual, better, length_of)
    goal = accuracy**2 * size
    for step in range(most):
        _apply(system, responses, ease, direction, path, running, product)
        curvature = _dot(direction, product, length_of)
        if not curvature > 0.0:
            return step
        length = size / curvature
        for v in range(len(right)):
            for j in range(right.shape[1]):
                solved[v, j] += length * direction[v, j]
                residual[v, j] -= length * product[v, j]
        _precondition(system, ease, below, inverse, residual, path, better)
        before, size = size, _dot(residual, better, length_of)
        if size <= goal:
            return step + 1
        for v in range(len(right)):
            for j in range(right.shape[1]):
                direction[v, j] = better[v, j] + size / before * direction[v, j]
    return most


@kernel
def _apply(
    system: System,
    responses: Responses,
    ease: Floats,
    d: Floats,
    path: Floats,
    running: Floats,
    product: Floats,
) -> None:
    """``product`` = (ease + the leaves' response) d."""
    add_along_paths(system.parent, d, path)
    for v in range(len(d)):
        for j in range(d.shape[1]):
            running[v, j + 1] = running[v, j] + responses.span_length[j] * path[v, j]
    add_responses(responses, running, product)
    add_from_below(system.parent, product)
    for v in range(len(d)):
        for j in range(d.shape[1]):
            product[v, j] += ease[v, j] * d[v, j]
        if system.settled[v]:
            product[v, -1] = 0.0


@kernel
def _eliminate(system: System, responses: Responses, ease: Floats, below: Floats, inverse: Floats) -> None:
    """The part of the elimination that does not depend on the right side.

    ``below`` is what the subtree of a node gives way when its price rises by one, its own multiplier
    held; the subtree of a child, its multiplier free, gives way by ease * below / (ease + below).
    """
    add_diagonals(responses, below)
    for v in range(len(below) - 1, -1, -1):
        p = system.parent[v]
        for j in range(below.shape[1]):
            response = below[v, j]
            if system.settled[v] and j == below.shape[1] - 1:
                inverse[v, j] = 0.0  # no unknown: what is below passes through
            else:
                if ease[v, j] + response < STIFF:
                    ease[v, j] = system.ease[v]
                inverse[v, j] = 1.0 / (ease[v, j] + response)
                response *= ease[v, j] * inverse[v, j]
            if p >= 0:
                below[p, j] += response


@kernel
def _precondition(
    system: System,
    ease: Floats,
    below: Floats,
    inverse: Floats,
    right: Floats,
    path: Floats,
    solved: Floats,
) -> None:
    """``solved`` = d of the system in which every leaf's response is its diagonal."""
    rest = path  # scratch: what the subtrees of the children give way by themselves
    rest[:] = 0.0
    for v in range(len(right) - 1, -1, -1):
        p = system.parent[v]
        for j in range(right.shape[1]):
            solved[v, j] = (right[v, j] - rest[v, j]) * inverse[v, j]
            if p >= 0:
                passed = right[v, j] - ease[v, j] * solved[v, j]
                rest[p, j] += passed if inverse[v, j] > 0.0 else rest[v, j]
    path[0] = solved[0]
    for v in range(1, len(right)):
        p = system.parent[v]
        for j in range(right.shape[1]):
            solved[v, j] -= below[v, j] * path[p, j] * inverse[v, j]
            path[v, j] = path[p, j] + solved[v, j]


@kernel
def add_along_paths(parent: Ints, values: Floats, path: Floats) -> None:
    """``path``: each node's values and those of all nodes above it, added up."""
    path[:] = values
    for v in range(1, len(parent)):
        path[v] += path[parent[v]]


@kernel
def add_from_below(parent: Ints, sums: Floats) -> None:
    """To each node's values, add those of all inner nodes below it."""
    for v in range(len(parent) - 1, 0, -1):
        sums[parent[v]] += sums[v]


@kernel
def _dot(a: Floats, b: Floats, lengths: Ints) -> float:
    total = 0.0
    for v in range(len(a)):
        row = 0.0
        for j in range(a.shape[1]):
            row += lengths[j] * a[v, j] * b[v, j]
        total += row
    return total
