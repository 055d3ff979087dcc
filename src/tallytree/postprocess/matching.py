"""Two estimates of the same groups, a region's and its subregions', matched by size and merged.

A region's groups are kept as *runs*: so many groups with one estimated size, and how precise it is. The
precision of a size is taken as the number of groups that share it over the noise's squared scale: the
number of groups of a size is a difference of two noisy counts, and an error in it is spread over them.
A merged size is the mean of both by their precisions, and its precision is their sum.

Matching in order of size is the cheapest way to pair the groups of a region with those of all its
subregions. Where fewer of the region's groups are left at its smallest size than subregions have at
theirs, they go to the subregions in proportion, rounded one subregion after the other.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tallytree.kernels import kernel

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


class Runs(NamedTuple):
    """Groups of one region in order of size, as runs of the same size (counted from the least)."""

    groups: Ints
    weighted: Floats
    """Size times precision."""
    precision: Floats

    @property
    def size(self) -> Floats:
        """The estimated sizes: fractions, until they are rounded in the leaves."""
        sizes: Floats = self.weighted / self.precision
        return sizes

    def count_sizes(self, sizes: int) -> Ints:
        """Group counts by size, rounded half up."""
        counts = np.zeros(sizes, dtype=np.int64)
        np.add.at(counts, np.floor(self.size + 0.5).astype(np.int64), self.groups)
        return counts


def make_runs(counts: Ints, weight: int) -> Runs:
    """A region's own estimate: ``counts`` by size, measured with noise of that weight (inverse variance)."""
    (sizes,) = np.nonzero(counts)
    groups = counts[sizes]
    precision = (weight * groups).astype(np.float64)
    return Runs(groups, sizes * precision, precision)


def merge_children(parent: Runs, counts: Ints, weight: int) -> list[Runs]:
    """The children's runs (``counts``: children x sizes) after matching them with their parent's."""
    child, size, run, groups = _match(parent.groups, counts)
    own = (weight * counts[child, size]).astype(np.float64)
    weighted: Floats = parent.weighted[run] + own * size
    precision: Floats = parent.precision[run] + own
    order = np.lexsort((weighted / precision, child))
    ends = np.cumsum(np.bincount(child, minlength=len(counts)))
    return [Runs(groups[rows], weighted[rows], precision[rows]) for rows in np.split(order, ends[:-1])]


@kernel
def _match(parent: Ints, counts: Ints) -> tuple[Ints, Ints, Ints, Ints]:
    """Pairs of (child, size) and the parent's run, with the number of groups that each pair has.

    ``parent`` are the groups of its runs; the children have as many groups in all.
    """
    children, sizes = counts.shape
    most = np.count_nonzero(counts) + children * len(parent)  # each pair ends a cell or is of a run's end
    pairs = np.empty((4, most), dtype=np.int64)
    found = 0
    run, free = 0, 0
    if len(parent):
        free = parent[0]
    left = np.empty(children, dtype=np.int64)
    for s in range(sizes):
        left[:] = counts[:, s]
        wanted = left.sum()
        while wanted > 0:
            while free == 0:
                run += 1
                free = parent[run]
            given = min(free, wanted)
            free -= given
            todo, of = given, wanted  # groups still to hand out, among as many that still want one
            for c in range(children):
                if left[c] > 0 and todo > 0:
                    share = np.int64(np.floor(np.float64(todo) * np.float64(left[c]) / of + 0.5))
                    share = max(min(share, left[c], todo), todo - (of - left[c]))
                    of -= left[c]
                    if share > 0:
                        pairs[0, found], pairs[1, found] = c, s
                        pairs[2, found], pairs[3, found] = run, share
                        found += 1
                    left[c] -= share
                    todo -= share
            wanted -= given
    return pairs[0, :found], pairs[1, :found], pairs[2, :found], pairs[3, :found]
