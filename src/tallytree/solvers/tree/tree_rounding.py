"""Round the relaxed solution to whole numbers that add up, by distributing every count to the children.

Top-down, the children of a node with the whole number X have targets that add up to X: their relaxed
values, moved along their slopes by the change that rounding made above. For inner children the running sum
of their targets is rounded, and its steps are their counts. A family of leaves gets the rest by water
filling: all rise by the same amount, which is the exact optimum for a family, since its weights are equal.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tallytree.hierarchy import Hierarchy
from tallytree.kernels import RowPool, kernel
from tallytree.solvers.layout import Cells, Tree, TreeLayout
from tallytree.solvers.solution import Evidence, Solution, add_weighted_squares
from tallytree.solvers.tree.tree_relaxation import Relaxed, price_below

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@kernel
def round_tree(
    tree: Tree,
    noisy: Cells,
    weights: Floats,
    price: float,
    line: Relaxed,
    turn: int,
    prices: Floats,
    counts: Cells,
) -> None:
    """Fill in one size's counts below the root, whose count is given.

    ``turn`` varies which leaves of a family get the units that cannot be split evenly, so that no
    region always comes first. ``prices`` is scratch, with one number for each inner node.
    """
    prices[0] = price
    inner = counts.inner
    for v in range(len(tree.level)):
        q = price_below(v, prices[v], tree, noisy.inner, weights, line)
        unit = 2.0 * weights[tree.level[v] + 1]
        wanted, slope = line.in_sum[v] + line.in_count[v] * q / unit, line.in_count[v] / unit
        for c in range(tree.inner[v], tree.inner[v + 1]):
            wanted += line.start[c] + line.slope[c] * q
            slope += line.slope[c]
        if slope > 0.0:
            q += (inner[v] - wanted) / slope
        running, given = 0.0, 0
        for c in range(tree.inner[v], tree.inner[v + 1]):
            prices[c] = q
            running += max(0.0, line.start[c] + line.slope[c] * q)
            upto = min(np.int64(running + 0.5), inner[v])
            inner[c] = upto - given
            given = upto
        first, stop = tree.family[v], tree.family[v + 1]
        if first < stop:
            fill(noisy.leaf[first:stop], inner[v] - given, q / unit, turn, counts.leaf[first:stop])
        else:
            inner[tree.inner[v + 1] - 1] += inner[v] - given


@kernel
def fill(noisy: Ints, total: int, guess: float, turn: int, counts: Ints) -> None:
    """Fill in the whole, non-negative ``counts`` nearest to ``noisy`` with the sum ``total``.

    They are max(0, noisy + rise) for one whole ``rise``, and one more for some: the largest rise that
    does not exceed the total. It is found by Newton's method on a convex function, from ``guess``.
    """
    if total == 0:
        counts[:] = 0
        return
    rise = np.int64(np.floor(guess))
    while True:
        filled, above, at = 0, 0, 0
        for t in noisy:
            filled += max(0, t + rise)
            above += t + rise > 0
            at += t + rise >= 0
        if filled > total:
            rise -= max(1, (filled - total) // above)
        elif at == 0:
            rise = -noisy.max()
        elif filled + at <= total:
            rise += max(1, (total - filled) // at)
        else:
            break
    counts[:] = np.maximum(noisy + rise, 0)
    left = total - filled
    i = turn % len(noisy)
    while left > 0:
        if noisy[i] + rise >= 0:
            counts[i] += 1
            left -= 1
        i = i + 1 if i + 1 < len(noisy) else 0


# Top-down post-processing: each level is fitted to its own measurements, within the counts above it.
#
# With the parent's counts fixed, the least-squares problem of one level separates into one for every parent
# and size: the children's non-negative counts nearest to their noisy answers that add up to the parent's.
# Its real solution raises all children by one amount and clips at zero; rounded so that the sum is kept, it
# is max(0, noisy + rise) for a whole rise, with one more for some (``tree_rounding.fill``), which is the
# integer optimum of that problem as well.


def solve_top_down(hierarchy: Hierarchy, values: Sequence[Ints], *, total: int | None) -> Solution:
    """Fix counts level by level from the root; the objective is the sum of (n^ - n~)^2 over all levels."""
    layout = TreeLayout.of(hierarchy)
    noisy = layout.gather(values)
    counts = Cells(np.empty_like(noisy.inner), np.empty_like(noisy.leaf))
    roots = np.maximum(noisy.inner[:, 0], 0)
    if total is not None:
        fill_evenly(noisy.inner[:, 0].copy(), total, 0, roots)
    counts.inner[:, 0] = roots
    pool = RowPool(len(roots))
    pool.run(lambda sizes: _hand_down(layout.tree, noisy.some(sizes), sizes.start, counts.some(sizes)))
    arrays = layout.scatter(counts)
    return Solution(
        counts=arrays,
        objective=assess_top_down(values, arrays).objective,
        certificate=None,
        solver="closed form",
        effort={},
    )


def assess_top_down(values: Sequence[Ints], counts: Sequence[Ints]) -> Evidence:
    """Return the sum of (n^ - n~)^2: all levels have equal weight."""
    return Evidence(add_weighted_squares(counts, values, np.ones(len(values), dtype=np.int64)))


@kernel
def _hand_down(tree: Tree, noisy: Cells, first_size: int, counts: Cells) -> None:
    """Fill each size's tree below its root, whose count is given."""
    for s in range(len(noisy.inner)):
        for v in range(len(tree.level)):
            inner = slice(tree.inner[v], tree.inner[v + 1])
            family = slice(tree.family[v], tree.family[v + 1])
            wanted = np.concatenate((noisy.inner[s, inner], noisy.leaf[s, family]))
            given = np.empty_like(wanted)
            fill_evenly(wanted, counts.inner[s, v], first_size + s, given)
            split = tree.inner[v + 1] - tree.inner[v]
            counts.inner[s, inner] = given[:split]
            counts.leaf[s, family] = given[split:]


@kernel
def fill_evenly(noisy: Ints, total: int, turn: int, counts: Ints) -> None:
    """Fill, starting from the rise that would be right if nothing were clipped at zero."""
    fill(noisy, total, (total - noisy.sum()) / len(noisy), turn, counts)
