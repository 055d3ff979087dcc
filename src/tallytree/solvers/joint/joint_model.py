"""Model M_c itself: relaxed, solved to a stated accuracy, and rounded in cumulative space."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from tallytree.arrays import (
    LevelArrays,
    SparseRows,
    Stored,
    get_column,
    get_shape,
    is_large,
    take_rows,
)
from tallytree.hierarchy import Hierarchy
from tallytree.kernels import share_work
from tallytree.solvers.joint.cumulative_rounding import Rises, round_joint_model
from tallytree.solvers.joint.curves import Draws, Model, draw_families, smooth_families
from tallytree.solvers.joint.joint_relaxation import GAP, JointProblem, relax_joint_model
from tallytree.solvers.joint.leaf_fits import StepRows, cut_nodes, find_steps
from tallytree.solvers.layout import Tree, TreeLayout
from tallytree.solvers.solution import Solution, sum_squares, weigh_levels
from tallytree.solvers.tree.tree_model import solve_tree_model

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

DRAWN_GAP = 1e-3
"""The relative gap to which drawn curves are reconciled: far less than what draws differ by."""
MOST_TRUST, TRUST_COST = 9.0, 0.1
"""The largest factor on the root's weight (more takes more steps and gains little), and the largest share by
which it may raise the root's variance."""


@dataclass(frozen=True)
class Smoothing:
    """How answers are smoothed before regions are reconciled."""

    reach: Ints
    """How far each size looks along the curve (``curves.find_reach``), in the order of the answers."""
    is_gaussian: bool = False
    """Whether the noise is Gaussian, or else geometric."""
    seed: int | None = None
    """With a seed, curves are drawn from their posterior; without one, their means are taken."""

    def make_model(self, scale: float) -> Model:
        """Return what is public about rows with this scale of the noise."""
        return Model(scale, self.reach, self.is_gaussian)

    def make_seed(self, part: int) -> int:
        """The seed of a part of the rows, each of which has draws of its own."""
        return int(np.random.SeedSequence([self.seed or 0, part]).generate_state(1)[0])


def solve_joint_model(
    hierarchy: Hierarchy,
    values: Sequence[Ints],
    *,
    total: int | None,
    scales: Sequence[Fraction],
    known_levels: int,
    smoothing: Smoothing | None,
) -> Solution:
    """Find whole counts near the relaxed optimum of Model M_c; the objective is that of the model.

    With ``smoothing``, the model is posed for the regions' smoothed answers instead of the noisy ones; the
    accuracy is then that of this model, and the objective still that of the noisy answers.
    The regions' numbers of groups are known on the first ``known_levels`` levels, and the root's if there is
    a ``total``: there they are the last entries of ``values``, or what is nearest to them and adds up to it.
    """
    layout = TreeLayout.of(hierarchy)
    totals = find_totals(hierarchy, layout, values, total, scales, known_levels)
    problem = lay_out(layout, values, scales, *totals, smoothing=smoothing)
    if smoothing is not None and total is None:
        problem.weights[0] *= find_root_trust(hierarchy, scales)
    is_drawn = smoothing is not None and smoothing.seed is not None
    relaxed = relax_joint_model(problem, DRAWN_GAP if is_drawn else GAP)
    inner, rises = round_joint_model(problem, relaxed, total)
    weights = weigh_levels(scales)
    return Solution(
        counts=_list_counts(layout, inner, rises),
        objective=_add_squares(layout, values, inner, rises, weights),
        certificate=None,
        solver="newton",
        effort=relaxed.effort,
        accuracy=relaxed.accuracy,
    )


def smooth_inner(
    tree: Tree, noisy: Ints, noise: Sequence[float], smoothing: Smoothing, totals: Floats
) -> tuple[Ints, Floats]:
    """Smooth the rows of inner nodes, each with its siblings; return also how far draws are off the mean."""
    smoothed = np.empty(noisy.shape, dtype=np.int64)
    off = np.zeros(noisy.shape if smoothing.seed is not None else (0, 0))
    scales = find_scales(tree, noise)
    for level, scale in enumerate(noise):
        rows = np.flatnonzero(tree.level == level)
        if len(rows) == 0:
            continue
        first, parents = rows[0], tree.parent[rows]
        cuts = np.concatenate([[0], np.flatnonzero(np.diff(parents)) + 1, [len(rows)]]).astype(np.int64)
        above = parents[cuts[:-1]]
        alone = (above >= 0) & (np.diff(tree.family)[above] == 0)
        family_ends = np.where(alone, totals[above], np.inf)
        model, here = smoothing.make_model(scale), slice(first, first + len(rows))
        if smoothing.seed is None:
            smoothed[here] = smooth_families(noisy[rows], cuts, model, totals[rows], family_ends)
            continue
        shifts = off[above] if level else np.empty((0, 0))
        draws = Draws(smoothing.make_seed(level), scales[rows], shifts)
        smoothed[here], off[here] = draw_families(noisy[rows], cuts, model, totals[rows], family_ends, draws)
    return smoothed, off


def find_scales(tree: Tree, noise: Sequence[float]) -> Floats:
    """Return for each inner node the scale of the noise that is left in what it and all below it tell."""
    nodes = len(tree.parent)
    leaf = np.array([noise[min(int(level) + 1, len(noise) - 1)] ** 2 for level in tree.level])
    below = np.diff(tree.family) * leaf
    variances = np.empty(nodes)
    for node in range(nodes - 1, -1, -1):
        own = noise[int(tree.level[node])] ** 2
        variances[node] = own * below[node] / (own + below[node])
        if tree.parent[node] >= 0:
            below[tree.parent[node]] += variances[node]
    return np.sqrt(variances)


def find_root_trust(hierarchy: Hierarchy, scales: Sequence[Fraction]) -> float:
    """Find the factor on the root's weight where its total is private and answers are smoothed.

    Leaves cannot go below zero, so where groups are few their fits lie above the truth, all of them, and
    their sum would pull the root's counts up with them. The root's own smoothed answers have no such bias.
    But where groups are many, its plain weight is the best one. With the variances v of the root's answer
    and u of the sum below it, the share a of the former gives a^2 v + (1 - a)^2 u: least at u / (u + v), and
    above that by (u + v) times the square of the distance from there.
    """
    own = [float(scale) ** 2 for scale in scales]
    below: Floats = np.zeros(0)
    for level in range(len(own) - 1, 0, -1):
        variance = np.full(hierarchy.region_counts[level], own[level])
        if len(below):
            inner = below > 0
            variance[inner] = own[level] * below[inner] / (own[level] + below[inner])
        parents, above = hierarchy.parents(level), hierarchy.region_counts[level - 1]
        below = np.bincount(parents, weights=variance, minlength=above).astype(np.float64)
    if not len(below):
        return 1.0
    v, u = own[0], float(below[0])
    share = (u + (TRUST_COST * u * v) ** 0.5) / (u + v)
    return MOST_TRUST if share >= 1 else min(MOST_TRUST, share / (1 - share) * v / u)


def lay_out(
    layout: TreeLayout,
    values: Sequence[Ints],
    scales: Sequence[Fraction],
    inner_totals: Floats,
    leaf_totals: Floats,
    *,
    smoothing: Smoothing | None = None,
) -> JointProblem:
    """Pose the model on the layout's arrays, for answers unchanged or smoothed."""
    weights = weigh_levels(scales)
    # A root without children appears twice in the layout, so each has half the weight.
    tree_weights = weights.astype(np.float64) if len(weights) > 1 else np.repeat(weights / 2, 2)
    inner = stack_inner(layout, values)
    tree, levels = layout.tree, len(scales)
    noise = [float(scale) for scale in scales]
    if smoothing is not None:
        inner, off = smooth_inner(tree, inner, noise, smoothing, inner_totals)

    def find_targets(part: int, nodes: tuple[int, int]) -> StepRows:
        rows = take_leaves(layout, values, *nodes)
        if smoothing is None:
            return find_steps(rows)
        families = tree.family[nodes[0] : nodes[1] + 1]
        ends = leaf_totals[families[0] : families[-1]]
        # A node with children of its own beside its leaves knows nothing of the leaves' sum.
        alone = np.diff(tree.inner)[nodes[0] : nodes[1]] == 0
        family_ends = np.where(alone, inner_totals[nodes[0] : nodes[1]], np.inf)
        model = smoothing.make_model(noise[min(int(tree.level[nodes[0]]) + 1, levels - 1)])
        families = families - families[0]
        if smoothing.seed is None:
            return find_steps(smooth_families(rows, families, model, ends, family_ends))
        scales = np.full(len(rows), model.scale)
        draws = Draws(smoothing.make_seed(levels + part), scales, off[nodes[0] : nodes[1]])
        return find_steps(draw_families(rows, families, model, ends, family_ends, draws)[0])

    targets = share_work(find_targets, cut_nodes(layout.tree, inner.shape[1]))
    return JointProblem(layout.tree, inner, targets, tree_weights, inner_totals, leaf_totals)


def stack_inner(layout: TreeLayout, values: Sequence[Ints]) -> Ints:
    """Return the inner nodes' rows, nodes x sizes."""
    parts = [take_rows(values, level, rows) for level, (rows, _) in enumerate(layout.inner_rows)]
    return np.concatenate(parts, dtype=np.int64)


def take_leaves(
    layout: TreeLayout, values: Sequence[Ints], first: int, stop: int
) -> npt.NDArray[np.signedinteger]:
    """Return the rows of the leaf children of inner nodes ``first`` to ``stop``, which are on one level."""
    level = min(int(layout.tree.level[first]) + 1, len(layout.leaf_rows) - 1)
    rows, places = layout.leaf_rows[level]
    if len(rows) == 0:
        return np.empty((0, get_shape(values, level)[1]), dtype=np.int64)
    start, end = layout.tree.family[first] - places[0], layout.tree.family[stop] - places[0]
    return take_rows(values, level, rows[start:end])


def _list_counts(layout: TreeLayout, inner: Ints, rises: Sequence[Rises]) -> Sequence[Ints]:
    """Return the group counts of each level; a large level is stored without its zeros."""
    sizes = inner.shape[1]
    found: list[Stored] = []
    leaf = SparseRows.from_parts(
        [part.counts for part in rises],
        [part.sizes for part in rises],
        [part.groups for part in rises],
        sizes,
    )
    counts = np.diff(inner, axis=1, prepend=0)
    for regions, (inner_at, inner_from), (leaf_at, leaf_from) in zip(
        layout.region_counts, layout.inner_rows, layout.leaf_rows, strict=True
    ):
        if is_large((regions, sizes)):
            found.append(_merge(leaf.take(leaf_from), leaf_at, counts[inner_from], inner_at))
            continue
        values = np.empty((regions, sizes), dtype=np.int64)
        values[inner_at], values[leaf_at] = counts[inner_from], leaf.take(leaf_from).dense()
        found.append(values)
    if any(isinstance(level, SparseRows) for level in found):
        return LevelArrays(found)
    return [level for level in found if not isinstance(level, SparseRows)]


def _merge(leaf: SparseRows, leaf_at: Ints, inner: Ints, inner_at: Ints) -> SparseRows:
    """Merge the rows of a level in which some regions are leaves and some are not."""
    if len(inner_at) == 0 and (np.diff(leaf_at) == 1).all():
        return leaf
    rows, columns, values = leaf.cells(0, len(leaf_at))
    region, size = np.nonzero(inner)
    return SparseRows.from_cells(
        np.concatenate([leaf_at[rows], inner_at[region]]),
        np.concatenate([columns.astype(np.int64), size]),
        np.concatenate([values, inner[region, size]]),
        (len(leaf_at) + len(inner_at), leaf.width),
    )


def _add_squares(
    layout: TreeLayout, values: Sequence[Ints], inner: Ints, rises: Sequence[Rises], weights: Ints
) -> int:
    """Return the model's exact objective at these counts; part by part, so that no level is expanded."""
    noisy, level = stack_inner(layout, values), layout.tree.level
    own = [
        int(weights[at]) * sum_squares(inner[level == at] - noisy[level == at])
        for at in range(int(level[-1]) + 1)
        if len(layout.region_counts) > 1
    ]

    def add(number: int, nodes: tuple[int, int]) -> int:
        part = rises[number]
        starts = np.concatenate([[0], np.cumsum(part.counts)])
        counts = SparseRows(starts, part.sizes, part.groups, inner.shape[1]).dense()
        below = min(int(level[nodes[0]]) + 1, len(weights) - 1)
        off = np.cumsum(counts, axis=1) - take_leaves(layout, values, *nodes)
        return int(weights[below]) * sum_squares(off)

    return sum(own) + sum(share_work(add, cut_nodes(layout.tree, inner.shape[1])))


def find_totals(
    hierarchy: Hierarchy,
    layout: TreeLayout,
    values: Sequence[Ints],
    total: int | None,
    scales: Sequence[Fraction],
    known_levels: int,
) -> tuple[Floats, Floats]:
    """For each inner node and leaf its number of groups, infinity where it is not known."""
    known = 0 if total is None else max(1, known_levels)
    found: Sequence[Ints] = [np.full((1, 1), total)][:known]
    if known > 1:
        ends = [get_column(values, level, -1)[:, None] for level in range(known)]
        found = solve_tree_model(hierarchy.cut(known), ends, total=total, scales=scales[:known]).counts
    unknown = [np.full((regions, 1), np.inf) for regions in layout.region_counts[known:]]
    inner, leaf = layout.stack([*found, *unknown])
    return inner[:, 0].astype(np.float64), leaf[:, 0].astype(np.float64)
