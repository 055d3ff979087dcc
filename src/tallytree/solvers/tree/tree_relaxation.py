"""Model M_H without integrality: the nearest non-negative reals on a tree, by shrinking the support.

Fix which leaf cells may be positive. The optimum is then linear in *prices*: let p be the price of one
more group at node v, seen from above. A leaf with noisy value t and weight w takes x = t + p/2w
(or 0, if it is out). The children of v see v's price minus the derivative of v's own term w (x - t)^2,
q = p - 2w (x - t), and together they take A + B q, so that

    x = a + b p    with    a = (A + 2wBt) / (1 + 2wB),    b = B / (1 + 2wB).

One pass up the tree gives every inner node its (a, b); the sizes' roots share the price at which they
add up to the total (H2), which is zero if there is no total; one pass down gives every price. A leaf that
comes out negative is zero in the optimum too: the Hessian of the objective over the leaves is an
ultrametric matrix, hence the inverse of an M-matrix, for which Chandrasekaran's argument holds (on a single
simplex this is Michelot's algorithm). So it is put out for good, and the passes are repeated until none is
negative.

The leaves of a family share w and p: those still in are the ones with a noisy value of at least some
*cut*, and only their number, their sum and the least of them are needed. A pass costs O(inner nodes),
plus the leaves of the families whose cut rises, whatever the noise: no cost tables, no domains, no
sorting. About ten passes suffice at Census size; there can never be more passes than leaf cells.
"""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tallytree.arrays import FORBIDDEN
from tallytree.kernels import RowPool, kernel
from tallytree.solvers.layout import Cells, Tree

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

SLACK = 1e-3
"""A leaf is removed when it is below -SLACK, so that rounding errors remove nothing."""


class Relaxed(NamedTuple):
    """The relaxed solution, as lines: sizes x inner nodes each."""

    start: Floats
    """a: the value of a node at price zero."""
    slope: Floats
    """b: the slope of its value in its price."""
    in_count: Ints
    """How many leaves of its family are in."""
    in_sum: Ints
    """Their noisy values added up."""
    in_least: Ints
    """The least of these values."""

    def some(self, sizes: slice) -> "Relaxed":
        """Return the lines of some of the sizes."""
        return Relaxed(
            self.start[sizes],
            self.slope[sizes],
            self.in_count[sizes],
            self.in_sum[sizes],
            self.in_least[sizes],
        )


def relax(
    tree: Tree, noisy: Cells, weights: Floats, total: int | None, pool: RowPool
) -> tuple[Relaxed, float]:
    """Solve the relaxed model: the lines of all nodes and the price that the roots share."""
    shape = noisy.inner.shape
    lines = Relaxed(np.empty(shape), np.empty(shape), *(np.zeros(shape, dtype=np.int64) for _ in range(3)))
    dropped = np.zeros(len(noisy.inner), dtype=np.int64)

    def sweep(sizes: slice) -> None:
        _sweep(tree, noisy.some(sizes), weights, first, price, lines.some(sizes), dropped[sizes])

    first, price = True, 0.0
    pool.run(sweep)
    first = False
    while True:
        slope = float(lines.slope[:, 0].sum())
        if total is not None and slope:  # nothing is in only if the total is zero and so is everything
            price = (total - float(lines.start[:, 0].sum())) / slope
        pool.run(sweep)
        if not dropped.any():
            return lines, price


@kernel
def _sweep(
    tree: Tree,
    noisy: Cells,
    weights: Floats,
    first: bool,
    price: float,
    lines: Relaxed,
    dropped: Ints,
) -> None:
    """Pass down, removing leaves (the first time: admitting all), and up where anything changed."""
    prices = np.empty(len(tree.level))
    for s in range(len(noisy.inner)):
        line = Relaxed(lines.start[s], lines.slope[s], lines.in_count[s], lines.in_sum[s], lines.in_least[s])
        if first:
            dropped[s] = 1
            for v in range(len(tree.level)):
                _let_in(v, np.iinfo(np.int64).min, tree, noisy.leaf[s], line)
        else:
            dropped[s] = _pass_down(tree, noisy.inner[s], noisy.leaf[s], weights, price, prices, line)
        if dropped[s]:
            _pass_up(tree, noisy.inner[s], weights, line)


@kernel
def _let_in(v: int, cut: int, tree: Tree, noisy_leaf: Ints, line: Relaxed) -> None:
    """Keep only the leaves of v's family with a noisy value of at least ``cut``."""
    count, total, least = 0, 0, FORBIDDEN
    for leaf in range(tree.family[v], tree.family[v + 1]):
        t = noisy_leaf[leaf]
        count += t >= cut
        total += t if t >= cut else 0
        least = min(least, t if t >= cut else FORBIDDEN)
    line.in_count[v], line.in_sum[v], line.in_least[v] = count, total, least


@kernel
def _pass_down(
    tree: Tree,
    noisy_inner: Ints,
    noisy_leaf: Ints,
    weights: Floats,
    price: float,
    prices: Floats,
    line: Relaxed,
) -> int:
    dropped = 0
    prices[0] = price
    for v in range(len(tree.level)):
        q = price_below(v, prices[v], tree, noisy_inner, weights, line)
        prices[tree.inner[v] : tree.inner[v + 1]] = q
        if line.in_count[v] > 0:
            cut = math.ceil(-q / (2.0 * weights[tree.level[v] + 1]) - SLACK)
            if line.in_least[v] < cut:
                _let_in(v, cut, tree, noisy_leaf, line)
                dropped += 1
    return dropped


@kernel
def price_below(v: int, price: float, tree: Tree, noisy_inner: Ints, weights: Floats, line: Relaxed) -> float:
    """Return the price that the children of v see."""
    value = line.start[v] + line.slope[v] * price
    below: float = price - 2.0 * weights[tree.level[v]] * (value - noisy_inner[v])
    return below


@kernel
def _pass_up(tree: Tree, noisy_inner: Ints, weights: Floats, line: Relaxed) -> None:
    for v in range(len(tree.level)):
        line.start[v] = line.in_sum[v]
        line.slope[v] = line.in_count[v] / (2.0 * weights[tree.level[v] + 1])
    for v in range(len(tree.level) - 1, -1, -1):
        own = 2.0 * weights[tree.level[v]] * line.slope[v]
        line.start[v] = (line.start[v] + own * noisy_inner[v]) / (1.0 + own)
        line.slope[v] /= 1.0 + own
        if v > 0:
            line.start[tree.parent[v]] += line.start[v]
            line.slope[tree.parent[v]] += line.slope[v]
