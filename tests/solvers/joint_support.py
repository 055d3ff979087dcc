"""Random problems of the joint model, relaxed."""

import numpy as np

import tallytree as tt
from tallytree.solvers.joint.joint_model import find_totals, lay_out
from tallytree.solvers.joint.joint_relaxation import JointProblem, Relaxed, relax_joint_model
from tallytree.solvers.layout import TreeLayout
from tests.instances import random_hierarchy


def random_run(seed: int, *, levels: int = 5, sizes: int = 12) -> tuple[tt.GroupCounts, tt.Measurements, int]:
    """Counts on a random tree, noisy answers with any split of the budget, and a total near or far."""
    rng = np.random.default_rng(seed)
    hierarchy = random_hierarchy(rng, int(rng.integers(1, levels + 1)))
    width = int(rng.integers(1, sizes + 1))
    leaf = rng.integers(0, 10, (len(hierarchy.leaves), width))
    leaf[rng.random(leaf.shape) < 0.5] = 0
    leaf[rng.random(len(leaf)) < 0.2] = 0  # regions without groups
    counts = tt.GroupCounts(hierarchy, (1, width), leaf)
    budget = {name: int(rng.integers(1, 12)) for name in hierarchy.levels}
    epsilon = str(rng.choice(["0.1", "1", "10"]))
    run = tt.simulate(counts, epsilon=epsilon, mechanism="cumulative-dp", seed=seed, budget=budget)
    total = counts.total if rng.random() < 0.7 else int(rng.integers(0, 200))
    return counts, run.measurements, total


def relax(noisy: tt.Measurements, total: int | None, known: int = 1) -> tuple[JointProblem, Relaxed]:
    """The problem laid out and its relaxed optimum; totals are known on the first ``known`` levels."""
    plan = noisy.plan
    layout = TreeLayout.of(plan.hierarchy)
    totals = find_totals(plan.hierarchy, layout, noisy.values, total, plan.scales, known)
    problem = lay_out(layout, noisy.values, plan.scales, *totals)
    return problem, relax_joint_model(problem)
