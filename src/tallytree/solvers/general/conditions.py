"""The conditions of Models M_H and M_c as sparse matrices, for general solvers.

Variables are the regions and sizes of all levels, level by level.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from tallytree.errors import MechanismError
from tallytree.hierarchy import Hierarchy

try:
    from scipy.sparse import csc_matrix
except ImportError:
    raise MechanismError(
        "This mechanism needs SciPy, which is not installed: pip install 'tallytree[solvers]'."
    ) from None

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Conditions:
    """Linear conditions on all variables: ``equalities @ x == right`` and ``steps @ x >= 0``."""

    equalities: csc_matrix
    right: Floats
    steps: csc_matrix | None = None


def write_sizes_conditions(hierarchy: Hierarchy, sizes: int, total: int) -> Conditions:
    """Write the conditions of Model M_H: (H2) and (H3)."""
    return write_sums(hierarchy, sizes, total, total_columns=range(sizes))


def write_cumulative_conditions(hierarchy: Hierarchy, sizes: int, total: int) -> Conditions:
    """Write the conditions of Model M_c: (C2) - (C4)."""
    sums = write_sums(hierarchy, sizes, total, total_columns=[sizes - 1])
    return replace(sums, steps=write_steps(hierarchy.region_count, sizes))


def write_sums(hierarchy: Hierarchy, sizes: int, total: int, *, total_columns: Sequence[int]) -> Conditions:
    """Write (H3) or (C4): children add up to their parent; (H2) or (C2): these root columns to the total."""
    rows, columns, signs = [], [], []
    first, row = 0, 0
    for level in range(len(hierarchy.levels) - 1):
        inner = np.flatnonzero(hierarchy.has_children(level))
        place = np.full(hierarchy.region_counts[level], -1)
        place[inner] = np.arange(len(inner))
        below = first + len(place) * sizes
        parents = place[hierarchy.parents(level + 1)]
        size = np.arange(sizes)
        rows += [row + (place[inner][:, None] * sizes + size).ravel()]
        columns += [first + (inner[:, None] * sizes + size).ravel()]
        signs += [np.ones(len(inner) * sizes)]
        rows += [row + (parents[:, None] * sizes + size).ravel()]
        columns += [below + np.arange(len(parents) * sizes)]
        signs += [-np.ones(len(parents) * sizes)]
        first, row = below, row + len(inner) * sizes
    rows += [np.full(len(total_columns), row)]
    columns += [np.array(total_columns)]
    signs += [np.ones(len(total_columns))]
    right = np.zeros(row + 1)
    right[-1] = total
    shape = (row + 1, hierarchy.region_count * sizes)
    entries = np.concatenate(signs), (np.concatenate(rows), np.concatenate(columns))
    return Conditions(csc_matrix(entries, shape=shape), right)


def write_steps(regions: int, sizes: int) -> csc_matrix | None:
    """Write (C3): in every region, each cumulative count minus the one before."""
    if sizes == 1:
        return None
    column = np.arange(regions * sizes).reshape(regions, sizes)
    count = regions * (sizes - 1)
    rows = np.tile(np.arange(count), 2)
    columns = np.concatenate([column[:, 1:].ravel(), column[:, :-1].ravel()])
    signs = np.repeat([1.0, -1.0], count)
    return csc_matrix((signs, (rows, columns)), shape=(count, regions * sizes))
