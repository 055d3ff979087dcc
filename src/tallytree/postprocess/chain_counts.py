"""From the fitted chain back to group counts, and to the objective.

The chain comes as steps: there are few where there is much noise.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from tallytree.hierarchy import Hierarchy
from tallytree.kernels import RowPool, kernel
from tallytree.postprocess.blocks import Steps
from tallytree.postprocess.squares import DIGITS, add_digits, read_digits

Ints = npt.NDArray[np.int64]

SIZES_AT_A_TIME = 8


def take_sizes(part: slice) -> Iterator[slice]:
    """A few sizes at a time: what they need fits into a cache, and the answers are read in whole lines."""
    for start in range(part.start, part.stop, SIZES_AT_A_TIME):
        yield slice(start, min(start + SIZES_AT_A_TIME, part.stop))


def count_groups(hierarchy: Hierarchy, values: Sequence[Ints], steps: Steps) -> tuple[list[Ints], list[int]]:
    """The inverse of the chain query, and per level the sum of (c^ - c~)^2.

    There are groups where the chain rises: in the leaf at which a step begins, and in the regions above it.
    """
    leaves, sizes = hierarchy.leaf_count, values[0].shape[1]
    rows, parents = _number_regions(hierarchy)
    counts = np.zeros((len(parents), sizes), dtype=np.int64)
    squares: list[Ints] = []

    def count_part(part: slice) -> None:
        digits = np.zeros((len(values), DIGITS), dtype=np.int64)
        chain = np.empty((SIZES_AT_A_TIME, leaves), dtype=np.int64)
        step = int(np.searchsorted(steps.ends, part.start * leaves, side="right"))
        for some in take_sizes(part):
            here = chain[: some.stop - some.start]
            step = _climb(steps, step, rows, parents, here, counts, some.start)
            for level, noisy in enumerate(values):
                _add_squares(noisy, some.start, hierarchy.last_leaves(level), here, digits[level])
        squares.append(digits)

    processors = RowPool(sizes)
    processors.run(count_part)
    lengths = [len(level) for level in values]
    return (
        np.split(counts, np.cumsum(lengths)[:-1]),
        [sum(read_digits(part[level]) for part in squares) for level in range(len(values))],
    )


def _number_regions(hierarchy: Hierarchy) -> tuple[Ints, Ints]:
    """With all levels' regions one after the other: each leaf's place (in post-order), each parent's."""
    rows = np.empty(hierarchy.leaf_count, dtype=np.int64)
    parents = [np.array([-1])]
    start = above = 0
    for level in range(len(hierarchy.levels)):
        inner = hierarchy.has_children(level)
        rows[hierarchy.last_leaves(level)[~inner]] = start + np.flatnonzero(~inner)
        if level:
            parents.append(above + hierarchy.parents(level))
        start, above = start + len(inner), start
    return rows, np.concatenate(parents)


@kernel
def _climb(steps: Steps, step: int, rows: Ints, parents: Ints, chain: Ints, counts: Ints, first: int) -> int:
    """Write the chain of a few sizes, and count the groups where it rises; at which step it goes on."""
    leaves = chain.shape[1]
    flat = chain.reshape(-1)
    at, start = 0, first * leaves
    while at < len(flat):
        begin, below = (steps.ends[step - 1], steps.heights[step - 1]) if step > 0 else (0, 0)
        rise = steps.heights[step] - below
        if rise > 0 and begin == start + at:
            row = rows[at % leaves]
            while row >= 0:
                counts[row, first + at // leaves] += rise
                row = parents[row]
        end = min(steps.ends[step] - start, len(flat))
        flat[at:end] = steps.heights[step]
        at = end
        step += steps.ends[step] == start + end
    return step


@kernel
def _add_squares(noisy: Ints, first: int, ends: Ints, chain: Ints, digits: Ints) -> None:
    """Add a level's (c^ - c~)^2 of a few sizes, none above 2^80."""
    for r in range(len(ends)):
        low, mid, high = 0, 0, 0
        for s in range(len(chain)):
            d = abs(chain[s, ends[r]] - noisy[r, first + s])
            a, b = d >> 20, d & (2**20 - 1)
            low, mid, high = low + b * b, mid + 2 * a * b, high + a * a
        add_digits(digits, low, mid, high)
