"""Each region's noisy cumulative counts, smoothed by themselves before regions are reconciled.

Where cumulative counts do not rise, many noisy answers measure one number. The isotonic fit finds these
stretches; what it puts there is their mean, the best guess if the noise were Gaussian. It is two-sided
geometric, and then the median has half the variance, once a stretch is long.
"""

import numpy as np
import numpy.typing as npt

from tallytree.postprocess.kernels import RowPool, kernel
from tallytree.postprocess.leaf_fits import pool_adjacent

Ints = npt.NDArray[np.int64]

LONG = 20
"""Sizes in a stretch from which on its median is taken; the mean keeps short ones smoother."""


def smooth_rows(noisy: Ints, high: int) -> Ints:
    """For each row, whole numbers within [0, ``high``]: the mean or median of each stretch of the fit."""
    smoothed = np.empty_like(noisy)
    with RowPool(len(noisy)) as pool:
        pool.run(lambda rows: _smooth(noisy[rows], high, smoothed[rows]))
    return smoothed


@kernel
def _smooth(noisy: Ints, high: int, smoothed: Ints) -> None:
    sizes = noisy.shape[1]
    totals, heights, ends = np.empty(sizes), np.empty(sizes), np.empty(sizes, dtype=np.int32)
    for r in range(len(noisy)):
        begin = 0
        for b in range(pool_adjacent(noisy[r].astype(np.float64), totals, ends, heights)):
            end = ends[b]
            value = np.median(noisy[r, begin:end]) if end - begin >= LONG else heights[b]
            smoothed[r, begin:end] = min(max(int(np.floor(value + 0.5)), 0), high)
            begin = end
