"""The relaxed optimum that ``direct-dp`` rounds, worked out anew: the point, and its objective."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from benchmarks.instances import Instance
from tallytree.hierarchy import Hierarchy
from tallytree.kernels import RowPool
from tallytree.solvers.layout import Tree, TreeLayout
from tallytree.solvers.solution import weigh_levels
from tallytree.solvers.tree.tree_relaxation import Relaxed, relax

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class TreePoint:
    """The nearest non-negative reals on a tree."""

    leaf: Floats
    """Sizes x leaves, in the layout's order."""
    objective: float
    price: float
    """What one more group in the total would cost; zero where the total asks for nothing."""


def relax_instance(instance: Instance) -> TreePoint:
    """Model M_H over real numbers."""
    plan = instance.measurements.plan
    weights = weigh_levels(plan.scales)
    return relax_values(plan.hierarchy, instance.measurements.values, weights, instance.total)


def relax_values(hierarchy: Hierarchy, values: Sequence[Ints], weights: Ints, total: int) -> TreePoint:
    """The same for any numbers and weights.

    No leaf is negative and all else is sums of leaves: but for the total, which is met to rounding, the
    point is feasible, and its objective no less than the optimum.
    """
    layout = TreeLayout.of(hierarchy)
    tree, noisy, reals = layout.tree, layout.gather(values), weights.astype(np.float64)
    pool = RowPool(len(noisy.inner))
    lines, price = relax(tree, noisy, reals, total, pool)
    leaf = _fill_leaves(tree, noisy.inner, noisy.leaf, reals, lines, price)
    own = reals[tree.level] * (_add_up(tree, leaf) - noisy.inner) ** 2
    below = np.repeat(reals[tree.level + 1], np.diff(tree.family)) * (leaf - noisy.leaf) ** 2
    return TreePoint(leaf, float(own.sum() + below.sum()), price)


def _fill_leaves(
    tree: Tree, inner: Ints, leaf: Ints, weights: Floats, lines: Relaxed, price: float
) -> Floats:
    """From the root down: what each family sees of the price, and what its leaves take for it."""
    prices, values = np.full(inner.shape, price), np.empty(leaf.shape)
    for node in range(len(tree.level)):
        own = lines.start[:, node] + lines.slope[:, node] * prices[:, node]
        seen = prices[:, node] - 2.0 * weights[tree.level[node]] * (own - inner[:, node])
        prices[:, tree.inner[node] : tree.inner[node + 1]] = seen[:, None]
        family = slice(tree.family[node], tree.family[node + 1])
        taken = leaf[:, family] + seen[:, None] / (2.0 * weights[tree.level[node] + 1])
        values[:, family] = np.maximum(0.0, taken)
    return values


def _add_up(tree: Tree, leaf: Floats) -> Floats:
    """The inner nodes' sums: sizes x inner nodes."""
    sums = np.zeros((len(leaf), len(tree.level)))
    for node in range(len(tree.level) - 1, -1, -1):
        sums[:, node] += leaf[:, tree.family[node] : tree.family[node + 1]].sum(axis=1)
        if node:
            sums[:, tree.parent[node]] += sums[:, node]
    return sums
