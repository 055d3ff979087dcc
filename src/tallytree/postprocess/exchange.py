"""The exact integer optimum of Model M_H, by single exchanges from any feasible point.

Write more(v) for the cost of one more group in the subtree of node v, best placed, and less(v) for the
cost of one group fewer (FORBIDDEN where there is none to take):

    more(v) = w (2 (x - t) + 1) + the least ``more`` of v's children
    less(v) = w (1 - 2 (x - t)) + the least ``less`` of v's children

If every child of v is optimal for its own value, v is optimal for its value exactly when no exchange
between two children pays: least more + least less >= 0. That follows from the paper's lemma on phi:
the optimum for x + 1 differs from the one for x by one more group in one child, its equation
(special_v). So the tree is made optimal bottom-up, and each exchange keeps what it touches optimal.
Every exchange lowers the cost by a whole number, and there are as many as half the L1 distance between
start and optimum: few, when the start is a rounded relaxation.

All numbers are 64-bit integers; the limits in ``limits.py`` keep them in range.
"""

import numpy as np
import numpy.typing as npt

from tallytree.limits import FORBIDDEN
from tallytree.postprocess.kernels import kernel
from tallytree.postprocess.layout import Cells, Tree

Ints = npt.NDArray[np.int64]

# The rows of ``costs``: of a node's subtree, and of its family of leaves alone.
MORE, LESS, FAMILY_MORE, FAMILY_LESS = range(4)
FAMILY = -1
"""Stands for a node's family where one of its inner children may stand as well."""


@kernel
def balance_tree(
    tree: Tree,
    noisy_inner: Ints,
    noisy_leaf: Ints,
    weights: Ints,
    inner: Ints,
    leaf: Ints,
    costs: Ints,
) -> int:
    """Make one size's tree optimal for its root count, fill its ``costs``, count the exchanges."""
    exchanges = 0
    for v in range(len(tree.level) - 1, -1, -1):
        _set_family_costs(v, tree, noisy_leaf, weights, leaf, costs)
        while True:
            gain, more = _best_child(v, MORE, tree, costs)
            lose, less = _best_child(v, LESS, tree, costs)
            if more + less >= 0:
                break
            _move(v, gain, 1, tree, noisy_inner, noisy_leaf, weights, inner, leaf, costs)
            _move(v, lose, -1, tree, noisy_inner, noisy_leaf, weights, inner, leaf, costs)
            exchanges += 1
        _set_costs(v, tree, noisy_inner, weights, inner, costs)
    return exchanges


@kernel
def balance_sizes(tree: Tree, noisy: Cells, weights: Ints, counts: Cells, costs: Ints) -> int:
    """The same between the sizes' trees: the children of the root of the paper's T^dp."""
    exchanges = 0
    while True:
        gain, lose = np.argmin(costs[:, MORE, 0]), np.argmin(costs[:, LESS, 0])
        if costs[gain, MORE, 0] + costs[lose, LESS, 0] >= 0:
            return exchanges
        for s, step in ((gain, 1), (lose, -1)):
            move_group(
                0, step, tree, noisy.inner[s], noisy.leaf[s], weights,
                counts.inner[s], counts.leaf[s], costs[s],
            )  # fmt: skip
        exchanges += 1


@kernel
def move_group(
    v: int,
    step: int,
    tree: Tree,
    noisy_inner: Ints,
    noisy_leaf: Ints,
    weights: Ints,
    inner: Ints,
    leaf: Ints,
    costs: Ints,
) -> None:
    """Put a group into the subtree of v (step 1) or take one out (step -1), where it is best."""
    top = v
    while True:
        inner[v] += step
        child, _ = _best_child(v, MORE if step > 0 else LESS, tree, costs)
        if child == FAMILY:
            break
        v = child
    _move_leaf(v, step, tree, noisy_leaf, leaf)
    _set_family_costs(v, tree, noisy_leaf, weights, leaf, costs)
    while True:
        _set_costs(v, tree, noisy_inner, weights, inner, costs)
        if v == top:
            break
        v = tree.parent[v]


@kernel
def _move(
    v: int,
    child: int,
    step: int,
    tree: Tree,
    noisy_inner: Ints,
    noisy_leaf: Ints,
    weights: Ints,
    inner: Ints,
    leaf: Ints,
    costs: Ints,
) -> None:
    """The same in one child of v, or in its family."""
    if child == FAMILY:
        _move_leaf(v, step, tree, noisy_leaf, leaf)
        _set_family_costs(v, tree, noisy_leaf, weights, leaf, costs)
    else:
        move_group(child, step, tree, noisy_inner, noisy_leaf, weights, inner, leaf, costs)


@kernel
def _best_child(v: int, kind: int, tree: Tree, costs: Ints) -> tuple[int, int]:
    """The child of v (or its family) with the least cost of that kind, and the cost."""
    best, least = FAMILY, costs[kind + 2, v]
    for c in range(tree.inner[v], tree.inner[v + 1]):
        if costs[kind, c] < least:
            best, least = c, costs[kind, c]
    return best, least


@kernel
def _move_leaf(v: int, step: int, tree: Tree, noisy_leaf: Ints, leaf: Ints) -> None:
    """One group more in the leaf furthest below its noisy value, or fewer in the one furthest above."""
    best, furthest = -1, -FORBIDDEN
    for i in range(tree.family[v], tree.family[v + 1]):
        distance = step * (noisy_leaf[i] - leaf[i])
        if distance > furthest and (step > 0 or leaf[i] > 0):
            best, furthest = i, distance
    leaf[best] += step


@kernel
def _set_family_costs(v: int, tree: Tree, noisy_leaf: Ints, weights: Ints, leaf: Ints, costs: Ints) -> None:
    w = weights[tree.level[v] + 1]
    lowest, highest = FORBIDDEN, -FORBIDDEN
    for i in range(tree.family[v], tree.family[v + 1]):
        off = leaf[i] - noisy_leaf[i]
        lowest = min(lowest, off)
        highest = max(highest, off if leaf[i] > 0 else highest)
    costs[FAMILY_MORE, v] = w * (2 * lowest + 1) if lowest < FORBIDDEN else FORBIDDEN
    costs[FAMILY_LESS, v] = w * (1 - 2 * highest) if highest > -FORBIDDEN else FORBIDDEN


@kernel
def _set_costs(v: int, tree: Tree, noisy_inner: Ints, weights: Ints, inner: Ints, costs: Ints) -> None:
    w, off = weights[tree.level[v]], 2 * (inner[v] - noisy_inner[v])
    costs[MORE, v] = w * (off + 1) + _best_child(v, MORE, tree, costs)[1]
    costs[LESS, v] = FORBIDDEN
    if inner[v] > 0:
        costs[LESS, v] = w * (1 - off) + _best_child(v, LESS, tree, costs)[1]
