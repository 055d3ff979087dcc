"""The response of the leaves' fits to a small change of prices: each movable block follows its mean.

Between two neighbouring *edges*, places where some leaf's block ends, all leaves depend only on the mean of a
change. So a change is represented by one value for each *span* between edges.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tallytree.kernels import kernel
from tallytree.solvers.joint.leaf_fits import Fits, Leaves, Part, accumulate

# Haar wavelets within groups of spans: steps up and down that leave a group's mean unchanged.
#
# A group is halved, and its halves again, down to single spans; each cut has a wavelet, constant on either
# side of it, of mean zero, and of norm one where every span is weighted by its number of sizes. Together with
# the groups' constants they are an orthonormal basis. The leaves' responses are nearly diagonal in it,
# however long their blocks are: a block affects a wavelet only if one of its ends is inside.

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class Wavelets(NamedTuple):
    """A wavelet for each span that is not the first of a group: it is cut in front of this span."""

    edges: Ints
    """Where each span begins, in sizes; and the end."""
    start: Ints
    stop: Ints
    """The spans of each wavelet: ``start[m] : m`` and ``m : stop[m]``; both m for the first of a group."""
    left: Floats
    right: Floats
    """Its values on either side."""
    around: Ints
    """Spans + 1 offsets into ``members``."""
    members: Ints
    """For each place between spans, the wavelets whose support contains it."""


def list_wavelets(edges: Ints, group_ends: Ints) -> Wavelets:
    """Return the wavelets of groups of spans, given where spans begin (and the last one ends) in sizes."""
    start, stop, around, members = _halve(tuple(group_ends.tolist()))
    here = edges[:-1]
    before, after = here - edges[start], edges[stop] - here
    size = np.maximum(1.0, before * after * (before + after)) ** -0.5
    return Wavelets(edges, start, stop, after * size, -before * size, around, members)


@lru_cache(maxsize=64)
def _halve(ends: tuple[int, ...]) -> tuple[Ints, Ints, Ints, Ints]:
    """Return where wavelets start and stop, and what is around each place, for groups with these ends."""
    spans = ends[-1]
    start, stop = np.arange(spans), np.arange(spans)
    todo = list(pairwise((0, *ends)))
    for a, b in todo:
        if b - a > 1:
            middle = (a + b) // 2
            start[middle], stop[middle] = a, b
            todo += [(a, middle), (middle, b)]
    length = np.maximum(stop - start - 1, 0)
    first = np.cumsum(length) - length
    place = np.repeat(start + 1 - first, length) + np.arange(length.sum())
    around = np.concatenate([[0], np.cumsum(np.bincount(place, minlength=spans + 1))])
    return start, stop, around, np.repeat(np.arange(spans), length)[np.argsort(place, kind="stable")]


@kernel
def transform(wavelets: Wavelets, rows: Floats, found: Floats) -> None:
    """Compute the rows' wavelet coefficients; the groups' means have none."""
    spans = rows.shape[1]
    running = np.zeros(spans + 1)
    for v in range(len(rows)):
        for j in range(spans):
            running[j + 1] = running[j] + (wavelets.edges[j + 1] - wavelets.edges[j]) * rows[v, j]
        for m in range(spans):
            a, b = wavelets.start[m], wavelets.stop[m]
            found[v, m] = wavelets.left[m] * (running[m] - running[a]) + wavelets.right[m] * (
                running[b] - running[m]
            )


@kernel
def transform_back(wavelets: Wavelets, coefficients: Floats, rows: Floats) -> None:
    """Compute the rows with these wavelet coefficients."""
    spans = rows.shape[1]
    steps = np.empty(spans + 1)
    for v in range(len(rows)):
        steps[:] = 0.0
        for m in range(spans):
            value, a, b = coefficients[v, m], wavelets.start[m], wavelets.stop[m]
            if a < m:
                steps[a] += wavelets.left[m] * value
                steps[m] += (wavelets.right[m] - wavelets.left[m]) * value
                steps[b] -= wavelets.right[m] * value
        height = 0.0
        for j in range(spans):
            height += steps[j]
            rows[v, j] = height


@kernel
def add_wavelet_responses(part: Part, fits: Fits, wavelets: Wavelets, place: Ints) -> Floats:
    """Return the response of each node's leaf children to each wavelet alone: the diagonal, nodes x spans."""
    sums = np.zeros((part.stop - part.first, len(wavelets.start)))
    for r in range(len(part.parent)):
        row = sums[part.parent[r] - part.first]
        begin = fits.start[r]
        for b in range(fits.first[r], fits.first[r + 1]):
            end = fits.ends[b]
            first, last = place[begin], place[end]
            scale = part.ease[r] / (end - begin)
            for at in (first, last):
                for k in range(wavelets.around[at], wavelets.around[at + 1]):
                    m = wavelets.members[k]
                    if at == last and wavelets.start[m] < first < wavelets.stop[m]:
                        continue  # counted already, at the beginning
                    low, cut = wavelets.edges[wavelets.start[m]], wavelets.edges[m]
                    high = wavelets.edges[wavelets.stop[m]]
                    before = max(0, min(end, cut) - max(begin, low))
                    after = max(0, min(end, high) - max(begin, cut))
                    row[m] += scale * (wavelets.left[m] * before + wavelets.right[m] * after) ** 2
            begin = end
    return sums


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
    blocks: int
    """How many blocks the fits have."""

    @classmethod
    def of(cls, leaves: Leaves, fits: list[Fits]) -> Responses:
        """Return the derivative at these fits."""
        edge = np.zeros(leaves.sizes + 1, dtype=np.bool_)
        edge[0] = edge[leaves.sizes - 1] = edge[leaves.sizes] = True
        for found in fits:
            _mark_edges(found.start, found.ends, edge)
        edges = np.flatnonzero(edge)
        blocks = sum(len(found.ends) for found in fits)
        return cls(leaves, fits, edges[:-1], np.diff(edges), np.cumsum(edge) - 1, blocks)

    def add(self, path: Floats) -> Floats:
        """Return the response of each node's own leaf children to a change of prices, nodes x spans."""

        def work(number: int, part: Part) -> Floats:
            return _respond(part, self.fits[number], path, self.place, self.span_length)

        return self._sum_parts(work, path.shape[1])

    def add_wavelets(self, wavelets: Wavelets) -> Floats:
        """Return the response to each wavelet alone: the diagonal of the derivative in their basis."""

        def work(number: int, part: Part) -> Floats:
            return add_wavelet_responses(part, self.fits[number], wavelets, self.place)

        return self._sum_parts(work, len(self.span_length))

    def add_groups(self, group_ends: Ints) -> Floats:
        """Return the response between groups of sizes: for each node a matrix, groups x groups, as a row."""
        group = np.repeat(np.arange(len(group_ends)), np.diff(group_ends, prepend=0))

        def work(number: int, part: Part) -> Floats:
            return _add_groups(part, self.fits[number], group, group_ends)

        return self._sum_parts(work, len(group_ends) ** 2)

    def _sum_parts(self, work: Callable[[int, Part], Floats], width: int) -> Floats:
        return self.leaves.sum_parts(work, width, self.blocks + self.leaves.nodes * width)


@kernel
def _mark_edges(start: npt.NDArray[np.int32], ends: npt.NDArray[np.int32], edge: Flags) -> None:
    for size in start:
        edge[size] = True
    for size in ends:
        edge[size] = True


@kernel
def _respond(part: Part, fits: Fits, path: Floats, place: Ints, length: Ints) -> Floats:
    """Respond to ``path``, the changes of prices, nodes x spans, with block means from running sums."""
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
