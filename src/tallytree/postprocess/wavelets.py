"""Haar wavelets within groups of spans: steps up and down that a group's mean does not see.

A group is halved, and its halves again, down to single spans; each cut has a wavelet, constant on either side
of it, of mean zero, and of length one where every span counts by its number of sizes. Together with the
groups' constants they are an orthonormal basis. The leaves' responses are nearly diagonal in it, however long
their blocks are: a block moves a wavelet only if one of its ends is inside.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tallytree.kernels import kernel
from tallytree.postprocess.leaf_fits import Fits
from tallytree.postprocess.leaf_parts import Part

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
    """For each place between spans, the wavelets that it is inside of."""


def list_wavelets(edges: Ints, group_ends: Ints) -> Wavelets:
    """The wavelets of groups of spans, given where spans begin (and the last one ends) in sizes."""
    spans = len(edges) - 1
    start, stop = np.arange(spans), np.arange(spans)
    todo = list(zip([0, *group_ends.tolist()], group_ends.tolist(), strict=False))
    inside: list[list[int]] = [[] for _ in range(spans + 1)]
    while todo:
        a, b = todo.pop()
        if b - a > 1:
            middle = (a + b) // 2
            start[middle], stop[middle] = a, b
            for place in range(a + 1, b):
                inside[place].append(middle)
            todo += [(a, middle), (middle, b)]
    before, after = edges[np.arange(spans)] - edges[start], edges[stop] - edges[np.arange(spans)]
    size = np.maximum(1.0, before * after * (before + after)) ** -0.5
    around = np.cumsum([0, *map(len, inside)])
    members = np.array([middle for place in inside for middle in place], dtype=np.int64)
    return Wavelets(edges, start, stop, after * size, -before * size, around, members)


@kernel
def transform(wavelets: Wavelets, rows: Floats, found: Floats) -> None:
    """The rows' coefficients; none for the groups' means."""
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
    """Rows with these coefficients."""
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
    """How much each node's own leaf children give way to each wavelet alone: the diagonal, nodes x spans."""
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
