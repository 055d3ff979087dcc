"""The paper's chain model (C6) - (C10), by isotonic regression.

Every count of the chain query says how many groups there are up to some leaf cell, in the order of the
chain: size by size, the tree in post-order. A region and its last child end at the same leaf, so their
counts are equal (C9); such nodes are merged into one point, weighted by their levels. What is left is
non-decreasing from leaf cell to leaf cell, with G at the end (C7): weighted isotonic regression, whose
fit rounded half up is the exact integer optimum.

(C8) leaves out the case lev(a_i) < lev(a_{i+1}); the paper's recurrence has it ("otherwise"), and it is
needed: it is the step from one region to the first leaf of the next.
"""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from tallytree.hierarchy import Hierarchy
from tallytree.limits import MAX_CHAIN_WEIGHT_SUM
from tallytree.postprocess.chain_tables import solve_chain_with_tables
from tallytree.postprocess.isotonic import fit_isotonic
from tallytree.postprocess.objective import add_weighted_squares, weigh_levels
from tallytree.postprocess.solution import Solution

Ints = npt.NDArray[np.int64]


def solve_chain_model(
    hierarchy: Hierarchy,
    values: Sequence[Ints],
    *,
    total: int,
    scales: Sequence[Fraction],
    solver: str = "isotonic",
) -> Solution:
    """The exact integer optimum of (C6) - (C10); a level weighs 1 / scale^2."""
    weights = weigh_levels(scales, most=MAX_CHAIN_WEIGHT_SUM)
    if solver == "tables":
        chain, doublings = solve_chain_with_tables(hierarchy, values, weights, total, scales)
        effort = {"domain_doublings": doublings}
    else:
        chain = _fit_chain(hierarchy, values, weights, total)
        effort = {}
    cumulative = [chain[hierarchy.last_leaves(level)] for level in range(len(values))]
    return Solution(
        counts=_count_groups(hierarchy, chain),
        objective=add_weighted_squares(cumulative, values, weights),
        certificate=None,
        solver=solver,
        effort=effort,
    )


def _fit_chain(hierarchy: Hierarchy, values: Sequence[Ints], weights: Ints, total: int) -> Ints:
    """The fitted chain: leaves (in post-order) x sizes."""
    shape = (len(hierarchy.leaves), values[0].shape[1])
    sums, weight = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    for level, measured in enumerate(values):
        ends = hierarchy.last_leaves(level)  # no two regions of a level end at the same leaf
        sums[ends] += weights[level] * measured
        weight[ends] += weights[level]
    # Size by size; the last point is the total.
    flat = fit_isotonic(sums.T.ravel()[:-1], weight.T.ravel()[:-1], 0, total)
    return np.append(flat, total).reshape(shape[::-1]).T


def _count_groups(hierarchy: Hierarchy, chain: Ints) -> list[Ints]:
    """The inverse of the chain query: differences along the chain, added up from the leaves."""
    flat = chain.T.ravel()
    leaf = np.diff(flat, prepend=0).reshape(chain.shape[::-1]).T
    counts: list[Ints] = []
    for level in reversed(range(len(hierarchy.levels))):
        here = np.where(hierarchy.has_children(level)[:, None], 0, leaf[hierarchy.last_leaves(level)])
        if counts:
            np.add.at(here, hierarchy.parents(level + 1), counts[-1])
        counts.append(here)
    return counts[::-1]
