"""How the leaves' fits follow a small change of prices: each block that can move, by its mean.

Between two neighbouring *edges*, places where some leaf's block ends, all leaves feel only the mean of a
change. So a change is given by one value for each *span* between edges.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tallytree.postprocess.kernels import kernel
from tallytree.postprocess.leaf_fits import Fits, Leaves, accumulate

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class Responses(NamedTuple):
    """The derivative of all fits: their movable blocks, one leaf after the other."""

    span_start: Ints
    """The first size of each span; the last size is a span by itself."""
    span_length: Ints
    parent: Ints
    """Per leaf: the inner node above it."""
    blocks: Ints
    """Leaves + 1 offsets: the blocks of leaf r are ``blocks[r] : blocks[r + 1]``."""
    first: Ints
    """Per leaf: the span in which its first block starts."""
    stop: Ints
    """Per block: the span after its last."""
    share: Floats
    """Per block: the leaf's ease over the block's number of sizes."""


@kernel
def find_responses(leaves: Leaves, fits: Fits) -> Responses:
    """The derivative at these fits."""
    rows, sizes = leaves.noisy.shape
    blocks = np.zeros(rows + 1, dtype=np.int64)
    edge = np.zeros(sizes + 1, dtype=np.bool_)
    edge[0] = edge[sizes - 1] = edge[sizes] = True
    for r in range(rows):
        blocks[r + 1] = blocks[r] + fits.stop[r] - fits.first[r]
        for b in range(max(0, fits.first[r] - 1), fits.stop[r]):
            edge[fits.ends[r, b]] = True
    place, edges = np.cumsum(edge) - 1, np.flatnonzero(edge)
    first, stop, share = np.empty(rows, np.int64), np.empty(blocks[-1], np.int64), np.empty(blocks[-1])
    for r in range(rows):
        begin = fits.ends[r, fits.first[r] - 1] if fits.first[r] > 0 else 0
        first[r] = place[begin]
        for at in range(blocks[r], blocks[r + 1]):
            end = fits.ends[r, fits.first[r] + at - blocks[r]]
            stop[at], share[at] = place[end], leaves.ease[r] / (end - begin)
            begin = end
    return Responses(edges[:-1], np.diff(edges), leaves.parent, blocks, first, stop, share)


@kernel
def add_responses(responses: Responses, running: Floats, sums: Floats) -> None:
    """How much each node's own leaf children give way.

    ``running`` (inner nodes x spans + 1) are the changes of prices summed up to each span, size by size, so
    that a block's mean is one difference; ``sums`` are inner nodes x spans.
    """
    sums[:] = 0.0
    spans = sums.shape[1]
    for r in range(len(responses.parent)):
        row, change = sums[responses.parent[r]], running[responses.parent[r]]
        here, before = responses.first[r], 0.0
        for b in range(responses.blocks[r], responses.blocks[r + 1]):
            there = responses.stop[b]
            mean = responses.share[b] * (change[there] - change[here])
            row[here] += mean - before
            here, before = there, mean
        if here < spans:
            row[here] -= before
    accumulate(sums)


@kernel
def add_diagonals(responses: Responses, sums: Floats) -> None:
    """The same for each span alone: the diagonal of the derivative, added up."""
    sums[:] = 0.0
    spans = sums.shape[1]
    for r in range(len(responses.parent)):
        row = sums[responses.parent[r]]
        here, before = responses.first[r], 0.0
        for b in range(responses.blocks[r], responses.blocks[r + 1]):
            row[here] += responses.share[b] - before
            here, before = responses.stop[b], responses.share[b]
        if here < spans:
            row[here] -= before
    accumulate(sums)
    sums *= responses.span_length
