"""The relaxed joint model: Model M_c over real numbers, solved to a stated accuracy.

Minimise the sum of w |c - c~|^2 over all regions, where every leaf's cumulative counts are non-negative and
do not decrease, every other region's are the sum of its children's, and the root ends at the total.

By Newton's method on the dual. A multiplier for every inner region and size is the price of a group there;
at given prices every leaf is a small problem of its own, an isotonic regression (``leaf_fits``), and every
inner region a linear equation. The dual is concave, and quadratic as long as no leaf's blocks change; a
Newton step solves a linear system that depends on a leaf only by its blocks (``newton_system``). Steps are
damped where the quadratic model turns out wrong. The weights above the leaves are raised in stages from
nearly zero to their values, since prices that are good for one stage are near those of the next.

The leaves' fits x are always feasible, so with s for their sums and z for the sums that the multipliers
imply, the gap between primal and dual value is exactly the sum of w |s - z|^2, plus price times deficit
where a total is not met yet.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tallytree.kernels import RowPool, kernel
from tallytree.solvers.joint.leaf_fits import (
    Fits,
    Leaves,
    Part,
    StepRows,
    cut_nodes,
    fit_part,
    sum_slack,
    sum_targets,
    write_fits,
)
from tallytree.solvers.joint.leaf_responses import Responses
from tallytree.solvers.joint.newton_system import System, add_along_paths, add_from_below, solve_system
from tallytree.solvers.layout import Tree
from tallytree.solvers.solution import Accuracy

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

GAP = 5e-7
"""The relative duality gap to stop at."""
STAGE_GAP = 0.3
STAGE = 4.0
"""The factor by which the weights above the leaves are raised from stage to stage."""
FIRST_STAGE = 16.0
"""The factor by which they are smaller than the leaves' weights at first."""
LEAST_DAMPING = 1e-3
"""The least damping, relative to the leaves' own ease."""
MOST_STEPS = 200
"""Newton steps in one stage."""
MOST_INNER_STEPS = 300
"""Conjugate gradient steps in one Newton step."""
ROUNDING = 1e-9
"""The relative error of the dual value that rounding may cause."""


@dataclass(frozen=True, eq=False)
class JointProblem:
    """The model, laid out: inner regions and leaves separately, parents before children."""

    tree: Tree
    inner: Ints
    """c~ of the inner regions: inner nodes x sizes."""
    targets: list[StepRows]
    """c~ of the leaves, for each part of the tree (``cut_nodes``)."""
    weights: Floats
    """Per level of the tree."""
    inner_totals: Floats
    """Per inner node: its number of groups where that is known, else infinity."""
    leaf_totals: Floats
    """Per leaf: its number of groups where that is known, else infinity."""

    @property
    def settled(self) -> Flags:
        """Whether an inner node's total follows from known totals below it."""
        below = np.ones(len(self.inner), dtype=np.bool_)
        unknown = ~np.isfinite(self.inner_totals)
        below[self.tree.parent[1:][unknown[1:]]] = False
        below[self._leaf_parents[~np.isfinite(self.leaf_totals)]] = False
        return below & ~unknown

    @property
    def _leaf_parents(self) -> Ints:
        return np.repeat(np.arange(len(self.inner)), np.diff(self.tree.family))

    @property
    def leaf_ease(self) -> Floats:
        """Per inner node: 1 / weight of its leaf children."""
        return 1.0 / self.weights[self.tree.level + 1]

    def make_leaves(self) -> Leaves:
        """Return the leaves of the model, in parts."""
        sizes = self.inner.shape[1]
        parents, ease, family = self._leaf_parents, self.leaf_ease, self.tree.family
        parts = []
        for (first, stop), targets in zip(cut_nodes(self.tree, sizes), self.targets, strict=True):
            rows = slice(family[first], family[stop])
            parts.append(
                Part(first, stop, targets, parents[rows], ease[parents[rows]], self.leaf_totals[rows])
            )
        return Leaves(parts, sizes)


@dataclass(frozen=True, eq=False)
class Relaxed:
    """The relaxed optimum."""

    inner: Floats
    """The inner nodes' cumulative counts that the multipliers imply: near the leaves' sums."""
    prices: Floats
    """The price of a group below each inner node: the leaves are the fits at these prices."""
    leaves: Leaves
    accuracy: Accuracy
    effort: dict[str, int]

    @property
    def leaf(self) -> Floats:
        """The leaves' cumulative counts, leaves x sizes."""
        return np.concatenate([write_fits(part, self.prices) for part in self.leaves.parts])


def relax_joint_model(problem: JointProblem, goal: float = GAP) -> Relaxed:
    """Solve the relaxed model to this relative gap."""
    search = _Search(problem)
    least = float(problem.weights[problem.tree.level + 1][search.has_leaves].min())
    heaviest = float(problem.weights[problem.tree.level].max())
    cap = least / FIRST_STAGE
    while cap < heaviest:
        search.weigh(cap)
        search.run(STAGE_GAP)
        cap *= STAGE
    search.weigh(heaviest)
    search.run(goal)
    return search.finish()


class _Search:
    """The state of the search: multipliers, the leaves' fits at their prices, and the deficit."""

    def __init__(self, problem: JointProblem) -> None:
        self.problem = problem
        self.leaves = problem.make_leaves()
        self.has_leaves = np.diff(problem.tree.family) > 0
        self.leaf_ease = problem.leaf_ease[self.has_leaves]
        self.fits: list[Fits] = []
        self.settled = problem.settled
        self.fixed = np.isfinite(problem.inner_totals)
        self.effort = {"newton_steps": 0, "fits": 0, "inner_steps": 0}
        self.multipliers = np.empty((0, 0))
        self.deficit = np.empty(problem.inner.shape)
        self.started = False

    def weigh(self, cap: float) -> None:
        """Set the inner nodes' weights, none above ``cap``, and evaluate; the first time, find a start."""
        self.weights = np.minimum(self.problem.weights, cap)[self.problem.tree.level]
        if not self.started:
            self.multipliers = self._start()
            self.started = True
        self._go(self.multipliers)

    def _start(self) -> Floats:
        """Return the multipliers of the model without the order along sizes: least squares on a tree."""
        problem, sizes = self.problem, self.leaves.sizes
        sums = self.leaves.sum_parts(lambda _, part: sum_targets(part, sizes), sizes)
        slack = self.leaves.sum_parts(lambda _, part: sum_slack(part), 2)
        found = np.empty(sums.shape)
        pool = RowPool(sizes, problem.inner.size)
        pool.run(
            lambda some: _fit_tree(
                problem.tree.parent, problem.inner, 1.0 / self.weights, problem.inner_totals, sums, slack,
                found, (some.start, some.stop),
            )
        )  # fmt: skip
        return found

    def _evaluate(self, multipliers: Floats) -> tuple[float, float]:
        """Return the dual value and the gap; set ``deficit``: the implied sums minus the leaves' sums."""
        self.effort["fits"] += 1
        prices = add_along_paths(self.problem.tree.parent, multipliers)
        sums = np.empty(prices.shape)

        def fit(_: int, part: Part) -> Fits:
            return fit_part(part, prices, sums[part.first : part.stop])

        self.fits = self.leaves.map(fit)
        add_from_below(self.problem.tree.parent, sums)
        return _compare(
            self.problem.inner, multipliers, self.weights, self.problem.inner_totals, self.settled, sums,
            self.deficit, sum(found.squares for found in self.fits),
        )  # fmt: skip

    def _wanted(self, multipliers: Floats) -> Floats:
        wanted = multipliers / self.weights[:, None]
        wanted += self.problem.inner
        wanted[self.fixed, -1] = self.problem.inner_totals[self.fixed]
        return wanted

    def run(self, goal: float) -> None:
        """Take Newton steps until the relative gap is at most ``goal``, or nothing more is gained."""
        damping = slack = 0.0
        for _ in range(MOST_STEPS):
            gap = self.gap / max(self.value, 1.0)
            if gap <= goal:
                return
            ease = 1.0 / self.weights + damping * self.leaf_ease.max()
            self.effort["newton_steps"] += 1
            change, steps = solve_system(
                System(self.problem.tree, ease, self.fixed, self.settled, slack),
                Responses.of(self.leaves, self.fits),
                -self.deficit,
                min(0.1, gap**0.25),
                MOST_INNER_STEPS,
            )
            self.effort["inner_steps"] += steps
            agreement = self._step(change)
            if agreement is None:
                if slack > 0.0:
                    return
                slack = LEAST_DAMPING * self.leaf_ease.max()
            elif agreement < 0.4:
                damping = max(4.0 * damping, 2.0 * LEAST_DAMPING)
            elif agreement > 0.7:
                damping = damping / 4.0 if damping > LEAST_DAMPING else 0.0

    def _step(self, change: Floats) -> float | None:
        """Search along ``change``: return the gain over the predicted one, or None if there is no gain.

        For the full step the model predicts -deficit @ change, a property of conjugate gradients.
        """
        promised = -float((self.deficit * change).sum())  # without BLAS, whose sums depend on its threads
        if not promised > 0.0:
            return None
        start, value, gap, length = self.multipliers, self.value, self.gap, 1.0
        # Near the end, rounding errors hide the gain, and halving the gap suffices: but never with a loss,
        # which could make the search cycle.
        lost = ROUNDING * max(value, 1.0)
        while not (
            self._go(start + length * change) >= value + 1e-4 * length * promised
            or (self.gap <= gap / 2 and self.value >= value - lost)
        ):
            length /= 2.0
            if length < 1e-6:
                self._go(start)
                return None
        agreement = (self.value - value) / promised if length == 1.0 else 0.0
        # The fits respond less than the model predicted: go further, unless it is nearly done anyway.
        while agreement > 1.5 and self.gap > gap / 2:
            reached, length = self.value, 2.0 * length
            if not self._go(start + length * change) > reached:
                self._go(start + 0.5 * length * change)
                break
        return agreement

    def _go(self, multipliers: Floats) -> float:
        """Move to these multipliers; return the dual value."""
        self.multipliers = multipliers
        self.value, self.gap = self._evaluate(multipliers)
        return self.value

    def finish(self) -> Relaxed:
        """Return the point that was reached, and its accuracy."""
        parent = self.problem.tree.parent
        missing = self.deficit[self.fixed, -1]
        pull = self.weights[:, None] * self.deficit
        pull[self.fixed, -1] = 0.0
        pull = np.abs(add_along_paths(parent, pull)).max(axis=1)[self.has_leaves]
        accuracy = Accuracy(
            gap=self.gap / max(self.value, 1.0),
            primal_residual=float(np.abs(missing).max(initial=0.0)),
            dual_residual=float((pull * self.leaf_ease).max()),
            bound=self.value,
        )
        wanted, prices = self._wanted(self.multipliers), add_along_paths(parent, self.multipliers)
        return Relaxed(wanted, prices, self.leaves, accuracy, self.effort)


@kernel
def _compare(
    noisy: Ints,
    multipliers: Floats,
    weights: Floats,
    totals: Floats,
    settled: Flags,
    sums: Floats,
    deficit: Floats,
    squares: float,
) -> tuple[float, float]:
    """Fill ``deficit``, the implied sums minus the leaves' sums; return the dual value and the gap."""
    nodes, sizes = noisy.shape
    value, gap = squares, 0.0
    for v in range(nodes):
        own, priced, off = 0.0, 0.0, 0.0
        for i in range(sizes):
            fixed = i == sizes - 1 and totals[v] < np.inf
            wanted = totals[v] if fixed else noisy[v, i] + multipliers[v, i] / weights[v]
            missing = 0.0 if i == sizes - 1 and settled[v] else wanted - sums[v, i]
            deficit[v, i] = missing
            own += (wanted - noisy[v, i]) ** 2
            priced += multipliers[v, i] * missing
            if fixed:
                gap += 2.0 * abs(multipliers[v, i] * missing)
            else:
                off += missing**2
        value += weights[v] * own - 2.0 * priced
        gap += weights[v] * off
    return value, gap


@kernel
def _fit_tree(
    parent: Ints,
    noisy: Ints,
    ease: Floats,
    totals: Floats,
    sums: Floats,
    slacks: Floats,
    multipliers: Floats,
    some: tuple[int, int],
) -> None:
    """Find the multipliers of the least-squares fit on the tree, size by size, in two passes.

    Upwards, a node's own answer (variance: ease) and its children's sum (variance: slack) give its estimate
    by inverse variances. Downwards, the difference of a node from its children's sum is shared among them by
    their variances: that is their price. ``sums`` and ``slacks`` are those of the leaf children.
    """
    nodes, sizes = noisy.shape
    below, slack = np.empty(nodes), np.empty(nodes)
    estimate, variance, prices = np.empty(nodes), np.empty(nodes), np.empty(nodes)
    for i in range(some[0], some[1]):
        last = i == sizes - 1
        for v in range(nodes):
            below[v], slack[v] = sums[v, i], slacks[v, 1 if last else 0]
        for v in range(nodes - 1, -1, -1):
            fixed = last and totals[v] < np.inf
            own, free = (totals[v], 0.0) if fixed else (np.float64(noisy[v, i]), ease[v])
            both = free + slack[v]
            estimate[v] = (own * slack[v] + below[v] * free) / both if both > 0.0 else own
            variance[v] = free * slack[v] / both if both > 0.0 else 0.0
            if v > 0:
                below[parent[v]] += estimate[v]
                slack[parent[v]] += variance[v]
        for v in range(nodes):
            above = prices[parent[v]] if v > 0 else 0.0
            value = estimate[v] - above * variance[v]
            prices[v] = (below[v] - value) / slack[v] if slack[v] > 0.0 else above
            multipliers[v, i] = prices[v] - above
