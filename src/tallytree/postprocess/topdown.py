"""Top-down post-processing: each level is fitted to its own measurements, within the counts above it.

With the parent's counts fixed, the least-squares problem of one level falls apart into one for every
parent and size: the children's non-negative counts nearest to their noisy answers that add up to the
parent's. Its real solution raises all children by one amount and cuts at zero; rounded so that the sum
is kept, it is max(0, noisy + rise) for a whole rise, with one more for some (``tree_rounding.fill``),
which is the integer optimum of that problem as well.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tallytree.hierarchy import Hierarchy
from tallytree.kernels import RowPool, kernel
from tallytree.postprocess.layout import Cells, Tree, TreeLayout
from tallytree.postprocess.objective import add_weighted_squares
from tallytree.postprocess.solution import Evidence, Solution
from tallytree.postprocess.tree_rounding import fill

Ints = npt.NDArray[np.int64]


def solve_top_down(hierarchy: Hierarchy, values: Sequence[Ints], *, total: int) -> Solution:
    """Counts level by level from the root; the objective is the sum of (n^ - n~)^2 over all levels."""
    layout = TreeLayout.of(hierarchy)
    noisy = layout.gather(values)
    counts = Cells(np.empty_like(noisy.inner), np.empty_like(noisy.leaf))
    roots = np.empty(len(noisy.inner), dtype=np.int64)
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
    """The sum of (n^ - n~)^2: no level weighs more than another."""
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
    """``fill`` from the rise that would do if nothing were cut at zero."""
    fill(noisy, total, (total - noisy.sum()) / len(noisy), turn, counts)
