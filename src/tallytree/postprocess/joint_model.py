"""Model M_c itself: relaxed, solved to a stated accuracy, and rounded in cumulative space."""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from tallytree.hierarchy import Hierarchy
from tallytree.postprocess.cumulative_rounding import round_joint_model
from tallytree.postprocess.joint_relaxation import JointProblem, relax_joint_model
from tallytree.postprocess.layout import TreeLayout
from tallytree.postprocess.objective import add_weighted_squares, weigh_levels
from tallytree.postprocess.smoothing import smooth_rows
from tallytree.postprocess.solution import Solution
from tallytree.postprocess.tree_model import solve_tree_model

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


def solve_joint_model(
    hierarchy: Hierarchy,
    values: Sequence[Ints],
    *,
    total: int,
    scales: Sequence[Fraction],
    known_levels: int,
    smooth: bool,
) -> Solution:
    """Whole counts near the relaxed optimum of Model M_c; the objective is that of the model.

    With ``smooth``, the model is posed for the regions' smoothed answers instead of the noisy ones; the
    accuracy is then that of this model, and the objective still that of the noisy answers.
    The regions' numbers of groups are known on the first ``known_levels`` levels, the root's always: there
    they are the last entries of ``values``, or what is nearest to them and adds up to ``total``.
    """
    layout = TreeLayout.of(hierarchy)
    targets = [smooth_rows(level, total) for level in values] if smooth else values
    problem = lay_out(
        layout, targets, scales, *find_totals(hierarchy, layout, values, total, scales, known_levels)
    )
    relaxed = relax_joint_model(problem)
    cumulative = layout.unstack(*round_joint_model(problem, relaxed, total))
    return Solution(
        counts=[np.diff(level, axis=1, prepend=0) for level in cumulative],
        objective=add_weighted_squares(cumulative, values, weigh_levels(scales)),
        certificate=None,
        solver="newton",
        effort=relaxed.effort,
        accuracy=relaxed.accuracy,
    )


def lay_out(
    layout: TreeLayout,
    values: Sequence[Ints],
    scales: Sequence[Fraction],
    inner_totals: Floats,
    leaf_totals: Floats,
) -> JointProblem:
    """The model on the layout's arrays."""
    weights = weigh_levels(scales)
    # A root alone stands twice in the layout, so each counts half.
    tree_weights = weights.astype(np.float64) if len(weights) > 1 else np.repeat(weights / 2, 2)
    inner, leaf = layout.stack(values)
    return JointProblem(layout.tree, inner, leaf, tree_weights, inner_totals, leaf_totals)


def find_totals(
    hierarchy: Hierarchy,
    layout: TreeLayout,
    values: Sequence[Ints],
    total: int,
    scales: Sequence[Fraction],
    known_levels: int,
) -> tuple[Floats, Floats]:
    """For each inner node and leaf its number of groups, infinity where it is not known."""
    known = max(1, known_levels)
    upper = hierarchy.cut(known)
    ends = [level[:, -1:] for level in values[:known]]
    found = solve_tree_model(upper, ends, total=total, scales=scales[:known]).counts
    unknown = [np.full((regions, 1), np.inf) for regions in layout.region_counts[known:]]
    inner, leaf = layout.stack([*found, *unknown])
    return inner[:, 0].astype(np.float64), leaf[:, 0].astype(np.float64)
