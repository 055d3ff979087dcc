"""The relaxed optima that our mechanisms round, worked out anew: the points, and their objectives.

Of Model M_c the solver states a gap; here it is measured. The leaves' fits are monotone and not negative;
multiplied by total / their sum at the last size they meet the total too, and their sums are the other
regions' counts. The objective there is that of a feasible point of the relaxed model: no less than its
optimum.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from benchmarks.instances import PLAIN_JOINT, Instance, make_instance
from tallytree.hierarchy import Hierarchy
from tallytree.kernels import RowPool
from tallytree.sizes import count_sizes
from tallytree.solvers.joint.joint_model import lay_out
from tallytree.solvers.joint.joint_relaxation import JointProblem, relax_joint_model
from tallytree.solvers.joint.newton_system import add_from_below
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


def relax_tree(instance: Instance) -> TreePoint:
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


@dataclass(frozen=True)
class RelaxedPoint:
    """How good the relaxed solution of one instance is."""

    sizes: int
    epsilon: str
    objective: float
    """At the feasible point."""
    bound: float
    """The solver's lower bound on the optimum."""
    missed: float
    """By how many groups the leaves' fits missed the total before they were made to meet it."""

    @property
    def gap(self) -> float:
        """How far the objective is above the bound, relatively."""
        return self.objective / self.bound - 1


def find_point(sizes: int, epsilon: str) -> RelaxedPoint:
    """Relax the model of the invented nation, and look where that ended. To be called in a fresh process."""
    return relax_point(make_instance(sizes, epsilon, PLAIN_JOINT))


def relax_point(instance: Instance) -> RelaxedPoint:
    """The same for any instance."""
    plan = instance.measurements.plan
    problem = pose(instance)
    relaxed = relax_joint_model(problem)
    leaf = relaxed.leaf
    found = float(leaf[:, -1].sum())
    _, noisy = TreeLayout.of(plan.hierarchy).stack(instance.measurements.values)
    return RelaxedPoint(
        count_sizes(plan.sizes),
        f"{float(plan.epsilon):g}",
        objective=find_objective(problem, noisy, leaf * (instance.total / found)),
        bound=relaxed.accuracy.bound,
        missed=abs(found - instance.total),
    )


def pose(instance: Instance) -> JointProblem:
    """Model M_c for the noisy answers as they are, where only the root's number of groups is known."""
    plan = instance.measurements.plan
    layout = TreeLayout.of(plan.hierarchy)
    inner_totals = np.full(len(layout.tree.level), np.inf)
    inner_totals[0] = instance.total
    leaf_totals = np.full(int(layout.tree.family[-1]), np.inf)
    return lay_out(layout, instance.measurements.values, plan.scales, inner_totals, leaf_totals)


def find_objective(problem: JointProblem, noisy: Ints, leaf: Floats) -> float:
    """The model's objective, given the leaves' noisy and cumulative counts."""
    tree = problem.tree
    parent = np.repeat(np.arange(len(tree.level)), np.diff(tree.family))
    sums = np.zeros(problem.inner.shape)
    np.add.at(sums, parent, leaf)
    add_from_below(tree.parent, sums)
    own = ((leaf - noisy) ** 2).sum(axis=1) / problem.leaf_ease[parent]
    above = ((sums - problem.inner) ** 2).sum(axis=1) * problem.weights[tree.level]
    return float(own.sum() + above.sum())
