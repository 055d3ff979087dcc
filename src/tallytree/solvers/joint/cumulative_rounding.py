"""Round real cumulative counts to whole ones that add up, in cumulative space, from the root down.

The root's are rounded. Then, region by region, the increase of the region from one size to the next is
distributed to its children so that they come as near as possible to their targets in the sum of squares: as
in water filling, all rise to one level above (or below) their targets, but none falls below its value at the
size before, and none exceeds its number of groups where that is known. By construction, the results are
whole, non-negative, add up and end at the total.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tallytree.arrays import MAX_GROUPS
from tallytree.kernels import RowPool, kernel, share_work
from tallytree.solvers.joint.joint_relaxation import JointProblem, Relaxed
from tallytree.solvers.joint.leaf_fits import Part, Places, fit_leaf, make_scratch, pool_adjacent
from tallytree.solvers.layout import Tree

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class Rises(NamedTuple):
    """Where and by how much the cumulative counts of a part's leaves rise: their group counts."""

    counts: Ints
    """Per leaf: the number of sizes at which it rises."""
    sizes: Places
    """The sizes at which leaves rise, leaf by leaf."""
    groups: Ints
    """By how much they rise there."""


class Targets(NamedTuple):
    """The targets that children are raised towards, and their upper limits."""

    inner: Floats
    """Inner nodes x sizes."""
    inner_most: Floats
    """Per inner node: its number of groups where that is known, else infinity."""
    prices: Floats
    """The prices at which the leaves are fitted: these fits are their targets."""


def round_joint_model(problem: JointProblem, relaxed: Relaxed, total: int | None) -> tuple[Ints, list[Rises]]:
    """Whole counts near the relaxed ones: cumulative, inner nodes x sizes; and the leaves', part by part."""
    monotone = np.empty_like(relaxed.inner)
    pool = RowPool(len(monotone), monotone.size)
    pool.run(lambda rows: _make_monotone(relaxed.inner[rows], monotone[rows]))
    targets = Targets(monotone, problem.inner_totals, relaxed.prices)
    inner = np.empty(monotone.shape, dtype=np.int64)
    inner[0] = np.clip(np.floor(monotone[0] + 0.5), 0, MAX_GROUPS if total is None else total)
    if total is not None:
        inner[0, -1] = total
    parts, rises = relaxed.leaves.parts, []
    for level in range(int(problem.tree.level.max()) + 1):  # parents first
        here = [part for part in parts if problem.tree.level[part.first] == level]
        rises += share_work(lambda _, part: _round_below(problem.tree, part, targets, inner), here)
    return inner, rises


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
def _round_below(tree: Tree, part: Part, targets: Targets, inner: Ints) -> Rises:
    """Fill in the children of a part's nodes, which are filled in already."""
    sizes, leaves = inner.shape[1], len(part.parent)
    scratch = make_scratch(sizes)
    counts = np.zeros(leaves, dtype=np.int64)
    places, groups = np.empty(leaves * sizes, dtype=np.int32), np.empty(leaves * sizes, dtype=np.int64)
    used, leaf = 0, 0
    for v in range(part.first, part.stop):
        first, split = tree.inner[v], tree.inner[v + 1] - tree.inner[v]
        family = tree.family[v + 1] - tree.family[v]
        wanted, most = np.empty((sizes, split + family)), np.empty(split + family)
        for c in range(split):
            most[c] = targets.inner_most[first + c]
            wanted[:, c] = targets.inner[first + c]
        for c in range(family):
            most[split + c] = part.cap[leaf + c]
            blocks, _, _ = fit_leaf(part, leaf + c, targets.prices[v], scratch)
            begin = 0
            for b in range(blocks):
                wanted[begin : scratch.ends[b], split + c] = scratch.heights[b]
                begin = scratch.ends[b]
        handed = hand_down(inner[v], wanted, most)
        for c in range(split):
            total = 0
            for i in range(sizes):
                total += handed[i, c]
                inner[first + c, i] = total
        for c in range(split, split + family):
            for i in range(sizes):
                if handed[i, c] > 0:
                    places[used], groups[used] = i, handed[i, c]
                    used += 1
                    counts[leaf + c - split] += 1
        leaf += family
    return Rises(counts, places[:used].copy(), groups[:used].copy())


@kernel
def hand_down(parent: Ints, wanted: Floats, most: Floats) -> Ints:
    """Return the increase of each child at each size, sizes x children, so that they add up to ``parent``."""
    sizes, children = wanted.shape
    gained, counts = np.zeros((sizes, children), dtype=np.int64), np.zeros(children, dtype=np.int64)
    handed = 0
    for i in range(sizes):
        if parent[i] > handed:
            handed = parent[i]
            gained[i] = -counts
            raise_towards(wanted[i], most, handed, counts)
            gained[i] += counts
    return gained


@kernel
def raise_towards(targets: Floats, most: Floats, total: int, counts: Ints) -> None:
    """Raise ``counts`` to the sum ``total``, as near to ``targets`` as possible, each to at most ``most``.

    The nearest real numbers are targets + rise, clipped to [count, most]; Newton's method finds the rise
    between bounds. These are rounded down, and the rest goes to those that are furthest below their targets.
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
    """Assign the few groups that are left, each to the child that is furthest below its target."""
    if left <= 0:
        return
    for c in np.argsort(counts - targets):
        if counts[c] < highest[c]:
            counts[c] += 1
            left -= 1
            if left == 0:
                return
    _settle(targets, highest, left, counts)
