"""The exact solver of Model M_H: relax, round, exchange."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tallytree.arrays import FORBIDDEN
from tallytree.kernels import RowPool, kernel
from tallytree.solvers.layout import Cells, Tree
from tallytree.solvers.tree.tree_relaxation import Relaxed, relax
from tallytree.solvers.tree.tree_rounding import round_tree

# The exact integer optimum of Model M_H, by single exchanges from any feasible point.
#
# Write more(v) for the least cost of one more group in the subtree of node v, and less(v) for the least cost
# of one group fewer (FORBIDDEN where there is none to remove):
#
#     more(v) = w (2 (x - t) + 1) + min of ``more`` over v's children
#     less(v) = w (1 - 2 (x - t)) + min of ``less`` over v's children
#
# If every child of v is optimal for its own value, v is optimal for its value exactly when no exchange
# between two children lowers the cost: min more + min less >= 0. That follows from the paper's lemma on phi:
# the optimum for x + 1 differs from the one for x by one more group in one child, its equation (special_v).
# So the tree is made optimal bottom-up, and each exchange keeps what it touches optimal. Every exchange
# lowers the cost by a whole number, and their number is half the L1 distance between start and optimum: few,
# when the start is a rounded relaxation.
#
# All numbers are 64-bit integers; the limits in ``arrays.py`` keep them in range.

Ints = npt.NDArray[np.int64]

# The rows of ``costs``: those of a node's subtree, and those of its family of leaves alone.
MORE, LESS, FAMILY_MORE, FAMILY_LESS = range(4)
FAMILY = -1
"""Denotes a node's family, in place of the number of an inner child."""


class Subtree(NamedTuple):
    """One size's tree with its noisy answers, its counts and their costs, which exchanges change."""

    tree: Tree
    weights: Ints
    noisy_inner: Ints
    noisy_leaf: Ints
    inner: Ints
    leaf: Ints
    costs: Ints
    """4 x inner nodes."""


@kernel
def balance_tree(sub: Subtree) -> int:
    """Make one size's tree optimal for its root count, and fill its costs; return the number of exchanges."""
    exchanges = 0
    for v in range(len(sub.tree.level) - 1, -1, -1):
        _set_family_costs(v, sub)
        while True:
            gain, more = _best_child(v, MORE, sub)
            lose, less = _best_child(v, LESS, sub)
            if more + less >= 0:
                break
            _move_in_child(v, gain, 1, sub)
            _move_in_child(v, lose, -1, sub)
            exchanges += 1
        _set_costs(v, sub)
    return exchanges


@kernel
def balance_sizes(tree: Tree, noisy: Cells, weights: Ints, counts: Cells, costs: Ints) -> int:
    """Exchange groups between the sizes' trees, children of the root of the paper's T^dp, until optimal."""
    exchanges = 0
    while True:
        gain, lose = np.argmin(costs[:, MORE, 0]), np.argmin(costs[:, LESS, 0])
        if costs[gain, MORE, 0] + costs[lose, LESS, 0] >= 0:
            return exchanges
        for s, step in ((gain, 1), (lose, -1)):
            sub = Subtree(
                tree, weights, noisy.inner[s], noisy.leaf[s], counts.inner[s], counts.leaf[s], costs[s]
            )
            _move(0, step, sub)
        exchanges += 1


@kernel
def balance_roots(tree: Tree, noisy: Cells, weights: Ints, counts: Cells, costs: Ints) -> int:
    """Make each size's tree optimal by itself, where the total is not known; count the groups moved."""
    steps = 0
    for s in range(len(noisy.inner)):
        sub = Subtree(tree, weights, noisy.inner[s], noisy.leaf[s], counts.inner[s], counts.leaf[s], costs[s])
        for kind, step in ((MORE, 1), (LESS, -1)):
            while costs[s, kind, 0] < 0:
                _move(0, step, sub)
                steps += 1
    return steps


@kernel
def _move(v: int, step: int, sub: Subtree) -> None:
    """Add a group to the subtree of v (step 1) or remove one (step -1), where it costs least."""
    top = v
    while True:
        sub.inner[v] += step
        child, _ = _best_child(v, MORE if step > 0 else LESS, sub)
        if child == FAMILY:
            break
        v = child
    _move_leaf(v, step, sub)
    while True:
        _set_costs(v, sub)
        if v == top:
            break
        v = sub.tree.parent[v]


@kernel
def _move_in_child(v: int, child: int, step: int, sub: Subtree) -> None:
    """Add or remove a group in one child of v, or in its family."""
    if child == FAMILY:
        _move_leaf(v, step, sub)
    else:
        _move(child, step, sub)


@kernel
def _best_child(v: int, kind: int, sub: Subtree) -> tuple[int, int]:
    """Return the child of v (or its family) with the least cost of that kind, and the cost."""
    best, least = FAMILY, sub.costs[kind + FAMILY_MORE, v]
    for c in range(sub.tree.inner[v], sub.tree.inner[v + 1]):
        if sub.costs[kind, c] < least:
            best, least = c, sub.costs[kind, c]
    return best, least


@kernel
def _move_leaf(v: int, step: int, sub: Subtree) -> None:
    """Add a group to the leaf furthest below its noisy value, or remove one from that furthest above."""
    best, furthest = -1, -FORBIDDEN
    for i in range(sub.tree.family[v], sub.tree.family[v + 1]):
        distance = step * (sub.noisy_leaf[i] - sub.leaf[i])
        if distance > furthest and (step > 0 or sub.leaf[i] > 0):
            best, furthest = i, distance
    sub.leaf[best] += step
    _set_family_costs(v, sub)


@kernel
def _set_family_costs(v: int, sub: Subtree) -> None:
    w = sub.weights[sub.tree.level[v] + 1]
    lowest, highest = FORBIDDEN, -FORBIDDEN
    for i in range(sub.tree.family[v], sub.tree.family[v + 1]):
        off = sub.leaf[i] - sub.noisy_leaf[i]
        lowest = min(lowest, off)
        highest = max(highest, off if sub.leaf[i] > 0 else highest)
    sub.costs[FAMILY_MORE, v] = w * (2 * lowest + 1) if lowest < FORBIDDEN else FORBIDDEN
    sub.costs[FAMILY_LESS, v] = w * (1 - 2 * highest) if highest > -FORBIDDEN else FORBIDDEN


@kernel
def _set_costs(v: int, sub: Subtree) -> None:
    w, off = sub.weights[sub.tree.level[v]], 2 * (sub.inner[v] - sub.noisy_inner[v])
    sub.costs[MORE, v] = w * (off + 1) + _best_child(v, MORE, sub)[1]
    sub.costs[LESS, v] = FORBIDDEN
    if sub.inner[v] > 0:
        sub.costs[LESS, v] = w * (1 - off) + _best_child(v, LESS, sub)[1]


Floats = npt.NDArray[np.float64]


def project_onto_tree(tree: Tree, noisy: Cells, weights: Ints, total: int | None) -> tuple[Cells, int]:
    """Return the whole, non-negative counts nearest to ``noisy`` that add up: Model M_H, exactly.

    Minimises the sum of w_level (n^ - n~)^2 over all nodes (H1) subject to (H2) - (H4), for any tree
    and any positive integer weights; without (H2) if there is no ``total``. Also returned is how many
    exchanges led from the rounded relaxation to the optimum: a measure of how good the start was.
    """
    reals = weights.astype(np.float64)
    counts = Cells(np.empty_like(noisy.inner), np.empty_like(noisy.leaf))
    costs = np.empty((len(noisy.inner), 4, len(tree.level)), dtype=np.int64)
    exchanges = np.zeros(len(noisy.inner), dtype=np.int64)  # per part of the sizes, at its first one
    pool = RowPool(len(noisy.inner))
    lines, price = relax(tree, noisy, reals, total, pool)
    counts.inner[:, 0] = _round_roots(lines.start[:, 0] + lines.slope[:, 0] * price, total)

    def solve(sizes: slice) -> None:
        exchanges[sizes.start] = _solve_trees(
            tree,
            noisy.some(sizes),
            weights,
            price,
            lines.some(sizes),
            sizes.start,
            counts.some(sizes),
            costs[sizes],
        )

    pool.run(solve)
    balance = balance_roots if total is None else balance_sizes
    between = balance(tree, noisy, weights, counts, costs)
    return counts, int(exchanges.sum()) + between


def _round_roots(wanted: Floats, total: int | None) -> Ints:
    """The sizes' root counts: running sums rounded, as below any other node."""
    if total is None:
        return np.floor(np.maximum(wanted, 0.0) + 0.5).astype(np.int64)
    running = np.floor(np.cumsum(np.maximum(wanted, 0.0)) + 0.5).astype(np.int64)
    running[-1] = total
    return np.diff(np.minimum(running, total), prepend=0)


@kernel
def _solve_trees(
    tree: Tree,
    noisy: Cells,
    weights: Ints,
    price: float,
    lines: Relaxed,
    first: int,
    counts: Cells,
    costs: Ints,
) -> int:
    """Solve each size's tree for its given root count; return the number of exchanges."""
    reals = weights.astype(np.float64)
    prices = np.empty(len(tree.level))
    exchanges = 0
    for s in range(len(noisy.inner)):
        t, u, x, y = noisy.inner[s], noisy.leaf[s], counts.inner[s], counts.leaf[s]
        line = Relaxed(lines.start[s], lines.slope[s], lines.in_count[s], lines.in_sum[s], lines.in_least[s])
        round_tree(tree, Cells(t, u), reals, price, line, first + s, prices, Cells(x, y))
        exchanges += balance_tree(Subtree(tree, weights, t, u, x, y, costs[s]))
    return exchanges
