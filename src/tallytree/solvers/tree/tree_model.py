"""Model M_H on a hierarchy's arrays: lay out, solve, certify."""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from tallytree.arrays import FORBIDDEN
from tallytree.errors import CheckError
from tallytree.hierarchy import Hierarchy
from tallytree.kernels import RowPool, kernel
from tallytree.solvers.layout import Cells, Tree, TreeLayout
from tallytree.solvers.solution import Certificate, Evidence, Solution, add_weighted_squares, weigh_levels
from tallytree.solvers.tree.cost_tables import Merger, merge_tables, solve_with_tables
from tallytree.solvers.tree.tree_projection import project_onto_tree

# The evidence that a solution of Model M_H is optimal: no single exchange improves it.
#
# Model M_H is a separable convex problem on a tree, so its objective over the leaf cells is M-convex: a
# feasible point is optimal exactly when moving one group from any one leaf cell to any other does not lower
# the objective. An exchange changes the nodes on the two paths below the lowest common ancestor. With
# more(v) and less(v), the cheapest way to add a group below v or to take one away, it is enough to look at
# every node v (and, across sizes, at the total, if there is one) for
#
#     slack(v) = min of more over its children + min of less over its children.
#
# Negative slack means an exchange that improves the objective. If the two minima are in different children
# they are that exchange; if they are in one child, the exchange is further down and improves it even more,
# because the nodes that both paths share were counted twice and cost at least zero. Written independently of
# the solver, so that it does not share the solver's mistakes; O(cells).

Ints = npt.NDArray[np.int64]


def certify(tree: Tree, noisy: Cells, weights: Ints, counts: Cells, *, has_total: bool = True) -> Certificate:
    """Return the certificate of ``counts`` for Model M_H with the given noisy answers and level weights.

    Without a total, one group more or less at any size is an exchange as well.
    """
    sizes = len(noisy.inner)
    slack, more, less = (np.empty(sizes, dtype=np.int64) for _ in range(3))
    pool = RowPool(sizes)
    pool.run(
        lambda rows: _certify_sizes(
            tree, noisy.some(rows), weights, counts.some(rows), slack[rows], more[rows], less[rows]
        )
    )
    least = int(more.min()), int(less.min())
    return Certificate(slack=min(int(slack.min()), sum(least) if has_total else min(least)))


@kernel
def _certify_sizes(
    tree: Tree, noisy: Cells, weights: Ints, counts: Cells, slack: Ints, more: Ints, less: Ints
) -> None:
    nodes = len(tree.level)
    best_more = np.empty(nodes, dtype=np.int64)  # over the children of a node seen so far
    best_less = np.empty(nodes, dtype=np.int64)
    for s in range(len(noisy.inner)):
        best_more[:], best_less[:], slack[s] = FORBIDDEN, FORBIDDEN, FORBIDDEN
        for v in range(nodes - 1, -1, -1):
            w = weights[tree.level[v] + 1]
            for i in range(tree.family[v], tree.family[v + 1]):
                off = 2 * (counts.leaf[s, i] - noisy.leaf[s, i])
                best_more[v] = min(best_more[v], w * (1 + off))
                if counts.leaf[s, i] > 0:
                    best_less[v] = min(best_less[v], w * (1 - off))
            slack[s] = min(slack[s], best_more[v] + best_less[v])
            w = weights[tree.level[v]]
            off = 2 * (counts.inner[s, v] - noisy.inner[s, v])
            more[s] = w * (1 + off) + best_more[v]
            less[s] = w * (1 - off) + best_less[v] if best_less[v] < FORBIDDEN else FORBIDDEN
            if v > 0:
                p = tree.parent[v]
                best_more[p] = min(best_more[p], more[s])
                best_less[p] = min(best_less[p], less[s])


def solve_tree_model(
    hierarchy: Hierarchy,
    values: Sequence[Ints],
    *,
    total: int | None,
    scales: Sequence[Fraction],
    solver: str = "projection",
) -> Solution:
    """Find the whole, non-negative counts nearest to ``values`` that add up to ``total``: Model M_H.

    Without a ``total`` they add up over the regions alone, without (H2). ``values`` are regions x sizes for
    each level, root first; a level weighs 1 / scale^2.
    """
    weights = weigh_levels(scales)
    layout = TreeLayout.of(hierarchy)
    noisy = layout.gather(values)
    tree_weights, tree_scales = layout.per_level(weights, scales)
    if solver in ("tables", "constraints"):
        merge = merge_tables if solver == "tables" else _load_constraint_solver()
        counts, doublings = solve_with_tables(layout.tree, noisy, tree_weights, total, tree_scales, merge)
        effort = {"domain_doublings": doublings}
    else:
        counts, exchanges = project_onto_tree(layout.tree, noisy, tree_weights, total)
        effort = {"exchanges": exchanges}
    certificate = certify(layout.tree, noisy, tree_weights, counts, has_total=total is not None)
    if not certificate.optimal:
        raise CheckError("The solver's result is not optimal by its own certificate; it is withheld.")
    arrays = layout.scatter(counts)
    return Solution(
        counts=arrays,
        objective=add_weighted_squares(arrays, values, weights),
        certificate=certificate,
        solver=solver,
        effort=effort,
    )


def assess_tree_model(
    hierarchy: Hierarchy,
    values: Sequence[Ints],
    counts: Sequence[Ints],
    *,
    total: int | None,
    scales: Sequence[Fraction],
) -> Evidence:
    """Return the objective of Model M_H at given counts, and whether they are an optimum of it."""
    weights = weigh_levels(scales)
    layout = TreeLayout.of(hierarchy)
    tree_weights, _ = layout.per_level(weights, scales)
    noisy, found = layout.gather(values), layout.gather(counts)
    certificate = certify(layout.tree, noisy, tree_weights, found, has_total=total is not None)
    return Evidence(add_weighted_squares(counts, values, weights), certificate)


def _load_constraint_solver() -> Merger:
    from tallytree.solvers.tree.cp_tables import merge_by_constraints

    return merge_by_constraints
