"""From real cumulative counts to whole ones that add up, in cumulative space, from the root down.

The root's are rounded. Then, region by region, what the region gains from one size to the next is handed to
its children so that they come as near as possible to their targets in the sum of squares: like water, all
rise to one level above (or below) their targets, but none falls below what it had at the size before, and
none goes above its number of groups where that is known. Whole, non-negative, adding up and ending at the
total is what comes out by construction.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tallytree.postprocess.joint_relaxation import JointProblem, Relaxed
from tallytree.postprocess.kernels import RowPool, kernel
from tallytree.postprocess.layout import Tree
from tallytree.postprocess.leaf_fits import pool_adjacent

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class Targets(NamedTuple):
    """What children are raised towards, and how far at most."""

    inner: Floats
    """Inner nodes x sizes."""
    leaf: Floats
    """Leaves x sizes."""
    inner_most: Floats
    """Per inner node: its number of groups where that is known, else infinity."""
    leaf_most: Floats
    """The same for the leaves."""


def round_joint_model(problem: JointProblem, relaxed: Relaxed, total: int) -> tuple[Ints, Ints]:
    """Whole cumulative counts near the relaxed ones: inner nodes x sizes, and leaves x sizes."""
    monotone = np.empty_like(relaxed.inner)
    with RowPool(len(monotone)) as pool:
        pool.run(lambda rows: _make_monotone(relaxed.inner[rows], monotone[rows]))
    targets = Targets(monotone, relaxed.leaf, problem.inner_totals, problem.leaf_totals)
    inner, leaf = np.empty(monotone.shape, dtype=np.int64), np.empty(relaxed.leaf.shape, dtype=np.int64)
    inner[0] = np.clip(np.floor(monotone[0] + 0.5), 0, total)
    inner[0, -1] = total
    for level in range(int(problem.tree.level.max()) + 1):  # parents first
        _round_below(problem.tree, np.flatnonzero(problem.tree.level == level), targets, inner, leaf)
    return inner, leaf


def _round_below(tree: Tree, nodes: Ints, targets: Targets, inner: Ints, leaf: Ints) -> None:
    with RowPool(len(nodes)) as pool:
        pool.run(lambda rows: _hand_down(tree, nodes[rows], targets, inner, leaf))


@kernel
def _make_monotone(rows: Floats, fitted: Floats) -> None:
    sizes = rows.shape[1]
    totals, heights, ends = np.empty(sizes), np.empty(sizes), np.empty(sizes, dtype=np.int32)
    for v in range(len(rows)):
        begin = 0
        for b in range(pool_adjacent(rows[v], totals, ends, heights)):
            fitted[v, begin : ends[b]] = heights[b]
            begin = ends[b]


@kernel
def _hand_down(tree: Tree, nodes: Ints, targets: Targets, inner: Ints, leaf: Ints) -> None:
    """Fill the children of these nodes, which are filled themselves."""
    for v in nodes:
        inner_from, inner_to = tree.inner[v], tree.inner[v + 1]
        leaf_from, leaf_to = tree.family[v], tree.family[v + 1]
        split = inner_to - inner_from
        children = split + leaf_to - leaf_from
        wanted, most, counts = np.empty(children), np.empty(children), np.zeros(children, dtype=np.int64)
        most[:split], most[split:] = (
            targets.inner_most[inner_from:inner_to],
            targets.leaf_most[leaf_from:leaf_to],
        )
        handed = 0
        for i in range(inner.shape[1]):
            if inner[v, i] > handed:
                handed = inner[v, i]
                wanted[:split] = targets.inner[inner_from:inner_to, i]
                wanted[split:] = targets.leaf[leaf_from:leaf_to, i]
                raise_towards(wanted, most, handed, counts)
            inner[inner_from:inner_to, i] = counts[:split]
            leaf[leaf_from:leaf_to, i] = counts[split:]


@kernel
def raise_towards(targets: Floats, most: Floats, total: int, counts: Ints) -> None:
    """Raise ``counts`` to the sum ``total``, as near to ``targets`` as can be, each to ``most`` at most.

    The nearest real numbers are targets + rise, kept within what each had and its most; the rise is found by
    Newton's method between bounds. Rounded down, the rest goes to those that are furthest below.
    """
    children = len(counts)
    highest = np.empty(children)
    low, high = np.inf, -np.inf
    for c in range(children):
        highest[c] = min(most[c], np.float64(total))
        low, high = min(low, counts[c] - targets[c]), max(high, highest[c] - targets[c])
    rise = min(max(0.0, low), high)
    for _ in range(200):
        filled, free = 0.0, 0
        for c in range(children):
            value = targets[c] + rise
            filled += min(max(value, np.float64(counts[c])), highest[c])
            free += counts[c] < value < highest[c]
        if abs(filled - total) < 1e-6:
            break
        low, high = (rise, high) if filled < total else (low, rise)
        guess = rise + (total - filled) / free if free > 0 else np.inf
        rise = guess if low < guess < high else 0.5 * (low + high)
    left = total
    for c in range(children):
        counts[c] = min(max(np.int64(np.floor(targets[c] + rise)), counts[c]), np.int64(highest[c]))
        left -= counts[c]
    _settle(targets, highest, left, counts)


@kernel
def _settle(targets: Floats, highest: Floats, left: int, counts: Ints) -> None:
    """Hand out the few groups that are left, each to whoever is furthest below its target."""
    if left <= 0:
        return
    for c in np.argsort(counts - targets):
        if counts[c] < highest[c]:
            counts[c] += 1
            left -= 1
            if left == 0:
                return
    _settle(targets, highest, left, counts)
