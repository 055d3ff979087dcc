"""How the leaves' fits follow a small change of prices: each block that can move, by its mean.

Between two neighbouring *edges*, places where some leaf's block ends, all leaves feel only the mean of a
change. So a change is given by one value for each *span* between edges.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tallytree.kernels import kernel
from tallytree.postprocess.leaf_fits import Fits, accumulate
from tallytree.postprocess.leaf_parts import Leaves, Part
from tallytree.postprocess.wavelets import Wavelets, add_wavelet_responses

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Responses:
    """The derivative of all fits."""

    leaves: Leaves
    fits: list[Fits]
    span_start: Ints
    """The first size of each span; the last size is a span by itself."""
    span_length: Ints
    place: Ints
    """For each size that begins a span, and the one after the last: the number of the span."""

    @classmethod
    def of(cls, leaves: Leaves, fits: list[Fits]) -> Responses:
        """The derivative at these fits."""
        edge = np.zeros(leaves.sizes + 1, dtype=np.bool_)
        edge[0] = edge[leaves.sizes - 1] = edge[leaves.sizes] = True
        for found in fits:
            _mark_edges(found.start, found.ends, edge)
        edges = np.flatnonzero(edge)
        return cls(leaves, fits, edges[:-1], np.diff(edges), np.cumsum(edge) - 1)

    def add(self, path: Floats) -> Floats:
        """How much each node's own leaf children give way to a change of prices, nodes x spans."""

        def work(number: int, part: Part) -> Floats:
            return _respond(part, self.fits[number], path, self.place, self.span_length)

        return self.leaves.sum_parts(work, path.shape[1])

    def add_wavelets(self, wavelets: Wavelets) -> Floats:
        """The same for each wavelet alone: the diagonal of the derivative in their basis."""

        def work(number: int, part: Part) -> Floats:
            return add_wavelet_responses(part, self.fits[number], wavelets, self.place)

        return self.leaves.sum_parts(work, len(self.span_length))

    def add_groups(self, group_ends: Ints) -> Floats:
        """The same between groups of sizes: for each node a matrix, groups x groups, as one row."""
        group = np.repeat(np.arange(len(group_ends)), np.diff(group_ends, prepend=0))

        def work(number: int, part: Part) -> Floats:
            return _add_groups(part, self.fits[number], group, group_ends)

        return self.leaves.sum_parts(work, len(group_ends) ** 2)


@kernel
def _mark_edges(start: npt.NDArray[np.int32], ends: npt.NDArray[np.int32], edge: Flags) -> None:
    for size in start:
        edge[size] = True
    for size in ends:
        edge[size] = True


@kernel
def _respond(part: Part, fits: Fits, path: Floats, place: Ints, length: Ints) -> Floats:
    """``path`` are the changes of prices, nodes x spans; a block's mean is a difference of running sums."""
    spans = len(length)
    sums = np.zeros((part.stop - part.first, spans))
    running = np.zeros(spans + 1)
    above = -1
    for r in range(len(part.parent)):
        if part.parent[r] != above:
            above = part.parent[r]
            for j in range(spans):
                running[j + 1] = running[j] + length[j] * path[above, j]
        row = sums[above - part.first]
        begin, before = fits.start[r], 0.0
        here = place[begin]
        for b in range(fits.first[r], fits.first[r + 1]):
            end = fits.ends[b]
            there = place[end]
            mean = part.ease[r] / (end - begin) * (running[there] - running[here])
            row[here] += mean - before
            begin, here, before = end, there, mean
        if here < spans:
            row[here] -= before
    accumulate(sums)
    return sums


@kernel
def _add_groups(part: Part, fits: Fits, group: Ints, group_ends: Ints) -> Floats:
    """A block of n sizes, of which n_k are in group k, adds ease n_k n_l / n between groups k and l."""
    groups = len(group_ends)
    sums = np.zeros((part.stop - part.first, groups * groups))
    share = np.empty(groups)
    for r in range(len(part.parent)):
        row = sums[part.parent[r] - part.first]
        begin = fits.start[r]
        for b in range(fits.first[r], fits.first[r + 1]):
            end = fits.ends[b]
            first, last = group[begin], group[end - 1]
            for k in range(first, last + 1):
                bottom = max(begin, group_ends[k - 1]) if k > 0 else begin
                share[k] = min(end, group_ends[k]) - bottom
            scale = part.ease[r] / (end - begin)
            for k in range(first, last + 1):
                for m in range(first, last + 1):
                    row[k * groups + m] += scale * share[k] * share[m]
            begin = end
    return sums
