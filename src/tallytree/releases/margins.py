"""Margins: regions of a level put together by names in their paths, such as an industry over all counties."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tallytree.arrays import cut_rows, get_rows, get_shape
from tallytree.errors import HierarchyError, show
from tallytree.hierarchy import Hierarchy, Path
from tallytree.releases.release_columns import list_sizes, make_schema
from tallytree.sizes import Sizes, count_sizes

Ints = npt.NDArray[np.int64]


def group_regions(hierarchy: Hierarchy, by: Sequence[str]) -> dict[str, list[Path]]:
    """Return the regions of the lowest of some levels, put together by their names at these levels.

    The name of each group is those names with slashes between them. Give the groups to
    :meth:`tallytree.Release.estimate_areas` to learn how far off their numbers may be.

    >>> paths = [("US", "GA", "farms"), ("US", "GA", "shops"), ("US", "NY", "farms")]
    >>> regions = Hierarchy.from_paths(["nation", "state", "industry"], paths)
    >>> group_regions(regions, ["industry"])["farms"]
    [('US', 'GA', 'farms'), ('US', 'NY', 'farms')]
    """
    level, names, group = _group(hierarchy, by)
    found: dict[str, list[Path]] = {"/".join(each): [] for each in names}
    if len(found) < len(names):
        raise HierarchyError(
            "Two groups have the same name, because names have slashes in them: use Release.margin, which "
            "has a column for each level."
        )
    lists = list(found.values())
    for path, place in zip(hierarchy.regions(level), group.tolist(), strict=True):
        lists[place].append(path)
    return found


def tabulate_margin(
    hierarchy: Hierarchy, sizes: Sizes, counts: Sequence[Ints], by: Sequence[str]
) -> pa.Table:
    """Return the groups by size of each margin: a column for each level, size, groups; zeros are left out."""
    level, names, group = _group(hierarchy, by)
    sums = np.zeros((len(names), count_sizes(sizes)), dtype=np.int64)
    for start, stop in cut_rows(*get_shape(counts, level)):
        np.add.at(sums, group[start:stop], get_rows(counts, level, start, stop))
    row, place = np.nonzero(sums)
    columns = [pa.array([names[each][at] for each in row.tolist()], pa.string()) for at in range(len(by))]
    schema = make_schema(by, "groups", sizes=sizes)
    schema = schema.remove(schema.get_field_index("level"))
    parts = [*columns, *list_sizes(sizes, place), pa.array(sums[row, place])]
    return pa.table([part.cast(field.type) for part, field in zip(parts, schema, strict=True)], schema=schema)


def _group(hierarchy: Hierarchy, by: Sequence[str]) -> tuple[int, list[Path], Ints]:
    """Return the lowest of the levels, the groups' names at the levels, and the group of each region."""
    if isinstance(by, str) or not by or not all(isinstance(name, str) for name in by):
        raise HierarchyError("The levels of a margin must be a list of names, such as ['industry'].")
    levels = [hierarchy.index(name) for name in by]
    if sorted(set(levels)) != levels:
        raise HierarchyError(
            f"The levels of a margin must be in the order of the hierarchy, each once: {show(', '.join(by))}."
        )
    lowest = levels[-1]
    codes = np.empty((hierarchy.region_counts[lowest], len(levels)), dtype=np.int64)
    own = []
    for at, level in enumerate(levels):
        encoded = hierarchy.names(level).dictionary_encode()
        own.append(encoded.dictionary.to_pylist())
        codes[:, at] = encoded.indices.to_numpy()[hierarchy.ancestors(lowest, level)]
    rows, first, group = np.unique(codes, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)  # as they come in the hierarchy
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    names = [tuple(own[at][code] for at, code in enumerate(row)) for row in rows[order].tolist()]
    return lowest, names, place[group.reshape(-1)]
