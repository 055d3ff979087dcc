"""The objective of ``cumulative-joint`` before it rounds, worked out anew at a point that is feasible.

The solver states a gap; here it is measured. The leaves' fits are monotone and not negative; multiplied by
total / their sum at the last size they meet the total too, and their sums are the other regions' counts.
The objective there is that of a feasible point of the relaxed Model M_c: no less than its optimum.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from benchmarks.instances import Instance, make_instance
from benchmarks.variants import PLAIN_JOINT
from tallytree.sizes import count_sizes
from tallytree.solvers.joint.joint_model import lay_out
from tallytree.solvers.joint.joint_relaxation import JointProblem, relax_joint_model
from tallytree.solvers.joint.newton_system import add_from_below
from tallytree.solvers.layout import TreeLayout

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


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
    return relax_instance(make_instance(sizes, epsilon, PLAIN_JOINT))


def relax_instance(instance: Instance) -> RelaxedPoint:
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
        objective=add_up(problem, noisy, leaf * (instance.total / found)),
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


def add_up(problem: JointProblem, noisy: Ints, leaf: Floats) -> float:
    """The model's objective, given the leaves' noisy and cumulative counts."""
    tree = problem.tree
    parent = np.repeat(np.arange(len(tree.level)), np.diff(tree.family))
    sums = np.zeros(problem.inner.shape)
    np.add.at(sums, parent, leaf)
    add_from_below(tree.parent, sums)
    own = ((leaf - noisy) ** 2).sum(axis=1) / problem.leaf_ease[parent]
    above = ((sums - problem.inner) ** 2).sum(axis=1) * problem.weights[tree.level]
    return float(own.sum() + above.sum())
