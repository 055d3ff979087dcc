"""The exact solver of Model M_H: relax, round, exchange."""

import numpy as np
import numpy.typing as npt

from tallytree.kernels import RowPool, kernel
from tallytree.postprocess.exchange import Subtree, balance_sizes, balance_tree
from tallytree.postprocess.layout import Cells, Tree
from tallytree.postprocess.tree_relaxation import Relaxed, relax
from tallytree.postprocess.tree_rounding import round_tree

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


def project_onto_tree(tree: Tree, noisy: Cells, weights: Ints, total: int) -> tuple[Cells, int]:
    """The whole, non-negative counts nearest to ``noisy`` that add up: Model M_H, exactly.

    Minimises the sum of w_level (n^ - n~)^2 over all nodes (H1) subject to (H2) - (H4), for any tree
    and any positive integer weights. Also returned is how many exchanges led from the rounded
    relaxation to the optimum: a measure of how good the start was.
    """
    reals = weights.astype(np.float64)
    counts = Cells(np.empty_like(noisy.inner), np.empty_like(noisy.leaf))
    costs = np.empty((len(noisy.inner), 4, len(tree.level)), dtype=np.int64)
    exchanges = np.zeros(len(noisy.inner), dtype=np.int64)
    pool = RowPool(len(noisy.inner))
    lines, price = relax(tree, noisy, reals, total, pool)
    counts.inner[:, 0] = _round_roots(lines.start[:, 0] + lines.slope[:, 0] * price, total)

    def solve(sizes: slice) -> None:
        _solve_trees(
            tree,
            noisy.some(sizes),
            reals,
            weights,
            price,
            lines.some(sizes),
            sizes.start,
            counts.some(sizes),
            costs[sizes],
            exchanges[sizes],
        )

    pool.run(solve)
    between = balance_sizes(tree, noisy, weights, counts, costs)
    return counts, int(exchanges.sum()) + between


def _round_roots(wanted: Floats, total: int) -> Ints:
    """The sizes' root counts: running sums rounded, as below any other node."""
    running = np.floor(np.cumsum(np.maximum(wanted, 0.0)) + 0.5).astype(np.int64)
    running[-1] = total
    return np.diff(np.minimum(running, total), prepend=0)


@kernel
def _solve_trees(
    tree: Tree,
    noisy: Cells,
    reals: Floats,
    weights: Ints,
    price: float,
    lines: Relaxed,
    first: int,
    counts: Cells,
    costs: Ints,
    exchanges: Ints,
) -> None:
    """Each size's tree for the root count that it was given."""
    prices = np.empty(len(tree.level))
    for s in range(len(noisy.inner)):
        t, u, x, y = noisy.inner[s], noisy.leaf[s], counts.inner[s], counts.leaf[s]
        line = Relaxed(lines.start[s], lines.slope[s], lines.in_count[s], lines.in_sum[s], lines.in_least[s])
        round_tree(tree, t, u, reals, price, line, first + s, prices, x, y)
        exchanges[s] = balance_tree(Subtree(tree, weights, t, u, x, y, costs[s]))
