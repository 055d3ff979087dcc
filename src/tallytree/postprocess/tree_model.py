"""Model M_H on a hierarchy's arrays: lay out, solve, certify."""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from tallytree.errors import CheckError
from tallytree.hierarchy import Hierarchy
from tallytree.postprocess.certificate import certify
from tallytree.postprocess.cost_tables import Merger, merge_tables, solve_with_tables
from tallytree.postprocess.layout import TreeLayout
from tallytree.postprocess.objective import add_weighted_squares, weigh_levels
from tallytree.postprocess.solution import Evidence, Solution
from tallytree.postprocess.tree_projection import project_onto_tree

Ints = npt.NDArray[np.int64]


def solve_tree_model(
    hierarchy: Hierarchy,
    values: Sequence[Ints],
    *,
    total: int,
    scales: Sequence[Fraction],
    solver: str = "projection",
) -> Solution:
    """The whole, non-negative counts nearest to ``values`` that add up to ``total``: Model M_H.

    ``values`` are regions x sizes for each level, root first; a level weighs 1 / scale^2.
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
    certificate = certify(layout.tree, noisy, tree_weights, counts)
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
    hierarchy: Hierarchy, values: Sequence[Ints], counts: Sequence[Ints], *, scales: Sequence[Fraction]
) -> Evidence:
    """The objective of Model M_H at given counts, and whether they are an optimum of it."""
    weights = weigh_levels(scales)
    layout = TreeLayout.of(hierarchy)
    tree_weights, _ = layout.per_level(weights, scales)
    certificate = certify(layout.tree, layout.gather(values), tree_weights, layout.gather(counts))
    return Evidence(add_weighted_squares(counts, values, weights), certificate)


def _load_constraint_solver() -> Merger:
    from tallytree.postprocess.cp_tables import merge_by_constraints

    return merge_by_constraints
