"""What is told of a region in one number: groups, people, the mean size, its quantiles."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from tallytree.arrays import CHUNK_CELLS
from tallytree.sizes import Sizes

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

QUANTILES = {
    "q10": Fraction(1, 10),
    "q25": Fraction(1, 4),
    "median": Fraction(1, 2),
    "q75": Fraction(3, 4),
    "q90": Fraction(9, 10),
}
"""Of the group sizes: the least size that so large a share of the groups does not exceed."""

WHOLE = ("groups", "size_sum")
"""The numbers of groups, and of people: their sizes added up."""

STATISTICS = (*WHOLE, "size_mean", *QUANTILES)


def summarize(counts: Ints, sizes: Sizes) -> Floats:
    """Regions x STATISTICS; what a region without groups does not have is NaN."""
    step = max(1, CHUNK_CELLS // counts.shape[1])
    parts = [_summarize(counts[start : start + step], sizes) for start in range(0, len(counts), step)]
    return np.concatenate(parts)


def _summarize(counts: Ints, sizes: Sizes) -> Floats:
    size = np.arange(sizes[0], sizes[1] + 1)
    running = np.cumsum(counts, axis=1)
    groups, people = running[:, -1], counts @ size
    found = np.full((len(counts), len(STATISTICS)), np.nan)
    found[:, 0], found[:, 1] = groups, people
    some = groups > 0
    found[some, 2] = people[some] / groups[some]
    running = running[some]
    for place, share in enumerate(QUANTILES.values(), 3):
        found[some, place] = size[find_quantiles(running, share)]
    return found


def find_quantiles(running: Ints, share: Fraction) -> Ints:
    """For each region, the place of the least size that at least ``share`` of its groups do not exceed.

    ``running`` are the groups up to each size, regions x sizes, and every region has some. All is done in
    whole numbers of any length: in floats, 0.55 of 100 groups are more than 55.
    """
    groups = running[:, -1:].astype(object)
    wanted = -(-groups * share.numerator // share.denominator)  # rounded up
    places: Ints = np.argmax(running >= np.maximum(wanted, 1).astype(np.int64), axis=1)
    return places
