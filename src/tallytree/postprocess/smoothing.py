"""Each region's noisy cumulative counts, smoothed by themselves before regions are reconciled.

Where cumulative counts do not rise, many noisy answers measure one number. The isotonic fit finds these
stretches; what it puts there is their mean, the best guess if the noise were Gaussian. It is two-sided
geometric, and then the median has half the variance, once a stretch is long.
"""

import numpy as np
import numpy.typing as npt

from tallytree.kernels import RowPool, kernel
from tallytree.postprocess.leaf_fits import make_scratch, pool_adjacent
from tallytree.postprocess.leaf_parts import StepRows

Ints = npt.NDArray[np.int64]

LONG = 20
"""Sizes in a stretch from which on its median is taken; the mean keeps short ones smoother."""


def smooth_rows(noisy: Ints, high: int) -> Ints:
    """For each row, whole numbers within [0, ``high``]: the mean or median of each stretch of the fit."""
    smoothed = np.empty(noisy.shape, dtype=np.int64)
    pool = RowPool(len(noisy))
    pool.run(lambda rows: _write_rows(smooth_steps(noisy[rows], high), smoothed[rows]))
    return smoothed


@kernel
def smooth_steps(noisy: npt.NDArray[np.signedinteger], high: int) -> StepRows:
    """The same as steps, which are few."""
    rows, sizes = noisy.shape
    scratch = make_scratch(sizes)
    first = np.zeros(rows + 1, dtype=np.int32)
    ends, heights = np.empty(rows * sizes, dtype=np.int32), np.empty(rows * sizes, dtype=np.int64)
    used = 0
    for r in range(rows):
        for i in range(sizes):
            scratch.wanted[i] = noisy[r, i]
        begin = 0
        for b in range(pool_adjacent(scratch.wanted, scratch.totals, scratch.ends, scratch.heights)):
            end = scratch.ends[b]
            value = np.median(noisy[r, begin:end]) if end - begin >= LONG else scratch.heights[b]
            height = min(max(np.int64(np.floor(value + 0.5)), 0), high)
            if used > first[r] and heights[used - 1] == height:
                ends[used - 1] = end
            else:
                ends[used], heights[used] = end, height
                used += 1
            begin = end
        first[r + 1] = used
    return StepRows(first, ends[:used].copy(), heights[:used].copy())


@kernel
def _write_rows(steps: StepRows, rows: Ints) -> None:
    for r in range(len(rows)):
        begin = 0
        for b in range(steps.first[r], steps.first[r + 1]):
            rows[r, begin : steps.ends[b]] = steps.heights[b]
            begin = steps.ends[b]
