"""The relaxed joint model: Model M_c over real numbers, to a stated accuracy.

Minimise the sum of w |c - c~|^2 over all regions, where every leaf's cumulative counts are non-negative and
do not decrease, every other region's are the sum of its children's, and the root ends at the total.

By Newton's method on the dual. A multiplier for every inner region and size is the price of a group there;
at given prices every leaf is a small problem of its own, an isotonic regression (``leaf_fits``), and every
inner region a linear equation. The dual is concave, and quadratic as long as no leaf's blocks change; a
Newton step solves a linear system in which a leaf counts only by its blocks (``newton_system``). Steps are
damped where the quadratic model turns out wrong. If the levels above weigh more than the leaves, the weights
are raised to what they are in stages, since prices that are good for one stage are near those of the next.

The leaves' fits x are always feasible, so with s for their sums and z for what the multipliers say the sums
should be, the gap between primal and dual value is exactly the sum of w |s - z|^2, plus price times deficit
where a total is not met yet.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tallytree.postprocess.kernels import RowPool, kernel
from tallytree.postprocess.layout import Tree
from tallytree.postprocess.leaf_fits import Fits, Leaves, add_fits, fit_leaves, write_fits
from tallytree.postprocess.leaf_responses import find_responses
from tallytree.postprocess.newton_system import System, add_along_paths, add_from_below, solve_system
from tallytree.postprocess.solution import Accuracy

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

GAP = 5e-7
"""The relative duality gap to stop at."""
STAGE_GAP = 1e-4
STAGE = 8.0
"""How much the weights above the leaves are raised from stage to stage."""
LEAST_DAMPING = 1e-3
"""In terms of the leaves' own ease."""
MOST_STEPS = 60
"""Newton steps in one stage."""
MOST_INNER_STEPS = 300
"""Conjugate gradient steps in one Newton step."""


@dataclass(frozen=True, eq=False)
class JointProblem:
    """The model, laid out: inner regions and leaves apart, parents before children."""

    tree: Tree
    inner: Ints
    """c~ of the inner regions: inner nodes x sizes."""
    leaf: Ints
    """c~ of the leaves: leaves x sizes."""
    weights: Floats
    """Per level of the tree."""
    inner_totals: Floats
    """Per inner node: its number of groups where that is known, else infinity."""
    leaf_totals: Floats
    """The same for the leaves."""

    @property
    def settled(self) -> npt.NDArray[np.bool_]:
        """Inner nodes whose total follows from totals that are known below them."""
        below = np.ones(len(self.inner), dtype=np.bool_)
        unknown = ~np.isfinite(self.inner_totals)
        below[self.tree.parent[1:][unknown[1:]]] = False
        below[self._leaf_parents[~np.isfinite(self.leaf_totals)]] = False
        return below & ~unknown

    @property
    def _leaf_parents(self) -> Ints:
        return np.repeat(np.arange(len(self.inner)), np.diff(self.tree.family))

    def make_leaves(self) -> Leaves:
        """The leaves' part."""
        parents = self._leaf_parents
        return Leaves(self.leaf, parents, 1.0 / self.weights[self.tree.level[parents] + 1], self.leaf_totals)


@dataclass(frozen=True, eq=False)
class Relaxed:
    """The relaxed optimum."""

    inner: Floats
    """What the multipliers say an inner node's cumulative counts should be: near the leaves' sums."""
    leaf: Floats
    accuracy: Accuracy
    effort: dict[str, int]


def relax_joint_model(problem: JointProblem) -> Relaxed:
    """Solve the relaxed model."""
    with RowPool(len(problem.leaf)) as pool:
        search = _Search(problem, pool)
        least = float(1.0 / search.leaves.ease.max())
        heaviest = float(problem.weights[problem.tree.level].max())
        cap = least
        while cap < heaviest:
            search.weigh(cap)
            search.run(STAGE_GAP)
            cap *= STAGE
        search.weigh(heaviest)
        search.run(GAP)
        return search.finish()


class _Search:
    """The state of the search: multipliers, the leaves' fits at their prices, and what is off."""

    def __init__(self, problem: JointProblem, pool: RowPool) -> None:
        self.problem, self.pool = problem, pool
        self.leaves = problem.make_leaves()
        self.fits = Fits.empty(self.leaves)
        self.settled = problem.settled
        self.fixed = np.isfinite(problem.inner_totals)
        self.noisy = problem.inner.astype(np.float64)
        self.effort = {"newton_steps": 0, "fits": 0, "inner_steps": 0}
        self.multipliers = np.zeros_like(self.noisy)
        self.started = False

    def weigh(self, cap: float) -> None:
        """Set the inner nodes' weights, none above ``cap``, and evaluate; at first, start."""
        self.weights = np.minimum(self.problem.weights, cap)[self.problem.tree.level]
        self.ease = np.repeat(1.0 / self.weights[:, None], self.noisy.shape[1], axis=1)
        self.ease[self.fixed, -1] = 0.0
        if not self.started:
            self.multipliers = self._start()
            self.started = True
        self._go(self.multipliers)

    def _start(self) -> Floats:
        """The multipliers of the same model without the order along sizes: least squares on a tree."""
        parent, totals = self.problem.tree.parent, self.problem.inner_totals
        return _fit_tree(parent, self.noisy, self.ease, totals, self.leaves)

    def _evaluate(self, multipliers: Floats) -> tuple[float, Floats]:
        """The dual value, and how far the leaves' sums are from what the multipliers say."""
        self.effort["fits"] += 1
        prices, sums = np.empty_like(multipliers), np.empty_like(multipliers)
        add_along_paths(self.problem.tree.parent, multipliers, prices)
        fit_leaves(self.leaves, prices, self.fits, self.pool)
        add_fits(self.leaves, self.fits, sums)
        add_from_below(self.problem.tree.parent, sums)
        wanted = self._wanted(multipliers)
        deficit = wanted - sums
        deficit[self.settled, -1] = 0.0
        own = (self.weights[:, None] * (wanted - self.noisy) ** 2).sum()
        value = float(self.fits.squares.sum() + own - 2.0 * (multipliers * deficit).sum())
        return value, deficit

    def _wanted(self, multipliers: Floats) -> Floats:
        wanted = self.noisy + self.ease * multipliers
        wanted[self.fixed, -1] = self.problem.inner_totals[self.fixed]
        return wanted

    def _gap(self) -> float:
        free = self.deficit.copy()
        free[self.fixed, -1] = 0.0
        priced = 2.0 * np.abs(self.multipliers[self.fixed, -1] * self.deficit[self.fixed, -1]).sum()
        return float((self.weights[:, None] * free**2).sum() + priced)

    def run(self, goal: float) -> None:
        """Newton steps until the relative gap is at most ``goal``, or nothing more is gained."""
        damping = 0.0
        change = np.empty_like(self.noisy)
        for _ in range(MOST_STEPS):
            gap = self._gap() / max(self.value, 1.0)
            if gap <= goal:
                return
            ease = 1.0 / self.weights + damping * self.leaves.ease.max()
            self.effort["newton_steps"] += 1
            self.effort["inner_steps"] += solve_system(
                System(self.problem.tree.parent, ease, self.fixed, self.settled),
                find_responses(self.leaves, self.fits),
                -self.deficit,
                min(0.1, gap**0.25),
                MOST_INNER_STEPS,
                change,
            )
            agreement = self._step(change)
            if agreement is None:
                return
            if agreement < 0.4:
                damping = max(4.0 * damping, 2.0 * LEAST_DAMPING)
            elif agreement > 0.7:
                damping = damping / 4.0 if damping > LEAST_DAMPING else 0.0

    def _step(self, change: Floats) -> float | None:
        """Go along ``change`` as far as it pays: the gain over what the model said; None if it does not pay.

        The model says -deficit @ change for the whole of it, by how conjugate gradients end.
        """
        promised = -float((self.deficit * change).sum())
        if not promised > 0.0:
            return None
        start, value, gap, length = self.multipliers, self.value, self._gap(), 1.0
        # At the end a gain is lost among rounding errors, and half the gap is reason enough.
        while self._go(start + length * change) < value + 1e-4 * length * promised and self._gap() > gap / 2:
            length /= 2.0
            if length < 1e-6:
                self._go(start)
                return None
        agreement = (self.value - value) / promised if length == 1.0 else 0.0
        while agreement > 1.5:  # nothing gives way yet where the model thought so: go on
            reached, length = self.value, 2.0 * length
            if self._go(start + length * change) <= reached:
                self._go(start + 0.5 * length * change)
                break
        return agreement

    def _go(self, multipliers: Floats) -> float:
        """Move there; the dual value."""
        self.multipliers = multipliers
        self.value, self.deficit = self._evaluate(multipliers)
        return self.value

    def finish(self) -> Relaxed:
        """The point that was reached, with how good it is."""
        leaf = np.empty(self.leaves.noisy.shape)
        write_fits(self.fits, leaf)
        pull = self.weights[:, None] * self.deficit
        pull[self.fixed, -1] = 0.0
        add_along_paths(self.problem.tree.parent, pull.copy(), pull)
        missing = self.deficit[self.fixed, -1]
        accuracy = Accuracy(
            gap=self._gap() / max(self.value, 1.0),
            primal_residual=float(np.abs(missing).max(initial=0.0)),
            dual_residual=float((np.abs(pull).max(axis=1)[self.leaves.parent] * self.leaves.ease).max()),
            bound=self.value,
        )
        return Relaxed(self._wanted(self.multipliers), leaf, accuracy, self.effort)


@kernel
def _fit_tree(parent: Ints, noisy: Floats, ease: Floats, totals: Floats, leaves: Leaves) -> Floats:
    """Multipliers of the least-squares fit on the tree, size by size: two passes.

    Upwards, a node's own answer (variance: ease) and its children's sum (variance: slack) give its estimate
    by inverse variances. Downwards, what a node differs from its children's sum is shared by their
    variances: that is their price.
    """
    nodes, sizes = noisy.shape
    below, slack = np.zeros((nodes, sizes)), np.zeros((nodes, sizes))
    for r in range(len(leaves.parent)):
        p, known = leaves.parent[r], leaves.cap[r] < np.inf
        for i in range(sizes):
            exact = known and i == sizes - 1
            below[p, i] += leaves.cap[r] if exact else leaves.noisy[r, i]
            slack[p, i] += 0.0 if exact else leaves.ease[r]
    estimate, variance = np.empty((nodes, sizes)), np.empty((nodes, sizes))
    for v in range(nodes - 1, -1, -1):
        for i in range(sizes):
            own = totals[v] if i == sizes - 1 and totals[v] < np.inf else noisy[v, i]
            both = ease[v, i] + slack[v, i]
            estimate[v, i] = (own * slack[v, i] + below[v, i] * ease[v, i]) / both if both > 0.0 else own
            variance[v, i] = ease[v, i] * slack[v, i] / both if both > 0.0 else 0.0
            if v > 0:
                below[parent[v], i] += estimate[v, i]
                slack[parent[v], i] += variance[v, i]
    prices, multipliers = np.empty((nodes, sizes)), np.empty((nodes, sizes))
    for v in range(nodes):
        for i in range(sizes):
            above = prices[parent[v], i] if v > 0 else 0.0
            value = estimate[v, i] - above * variance[v, i]
            prices[v, i] = (below[v, i] - value) / slack[v, i] if slack[v, i] > 0.0 else above
            multipliers[v, i] = prices[v, i] - above
    return multipliers
