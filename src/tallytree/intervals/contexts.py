"""What surrounds a cell: how many groups of nearly its size its region has.

A released zero among hundreds is another thing than a released zero among zeros.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]

REACH, LEAST_REACH = 0.25, 3
"""Nearly the size: a quarter of it away, or three."""

EDGES = np.concatenate([[0.0], np.sqrt(10.0) ** np.arange(-5, 7)])
"""Contexts are told apart by the mean of the cells around: zero, and two to each power of ten."""


def find_contexts(counts: Ints) -> npt.NDArray[np.uint8]:
    """The context of each cell, regions x sizes, by its number: 0 where all cells around are zero."""
    low, high = _find_windows(counts.shape[1])
    running = np.zeros((len(counts), counts.shape[1] + 1), dtype=np.int64)
    np.cumsum(counts, axis=1, out=running[:, 1:])
    around = running[:, high] - running[:, low] - counts
    contexts = np.zeros(counts.shape, dtype=np.uint8)
    some = np.nonzero(around)
    others = np.maximum(high - low - 1, 1)[some[1]]
    contexts[some] = np.searchsorted(EDGES, around[some] / others)
    return contexts


@lru_cache(maxsize=4)
def _find_windows(sizes: int) -> tuple[Ints, Ints]:
    """Where the sizes near each size begin and end."""
    place = np.arange(sizes)
    reach = np.maximum(LEAST_REACH, (REACH * place).astype(np.int64))
    return np.maximum(0, place - reach), np.minimum(sizes, place + reach + 1)
