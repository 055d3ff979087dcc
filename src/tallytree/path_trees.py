"""Trees from rows of names, with a column for each level and a path in each row, as arrays throughout."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]
Names: TypeAlias = "pa.Array[Any]"
"""Names of regions: a ``large_string`` array without nulls."""


class Column(NamedTuple):
    """One level's names in all rows, as codes: -1 where a row's path has ended above."""

    codes: Codes
    names: Names
    """What the codes stand for: each name once."""


class Leaves(NamedTuple):
    """Regions that rows are about, in order of appearance."""

    level: Ints
    place: Ints
    """For each region, its level and its index there."""
    row: Ints
    """For each row, which of the regions it is about."""


@dataclass(frozen=True, eq=False)
class PathTree:
    """Regions in a tree, and which of them each row is about.

    Within a level, regions are in the order in which the rows first mention them.
    """

    names: tuple[Names, ...]
    """Per level: each region's own name, the last of its path."""
    parents: tuple[Ints, ...]
    """Per level: each region's parent, as an index into the level above; the root's is -1."""
    row_level: Ints
    row_region: Ints
    """The region at the end of each row's path: its level, and its index there."""

    @cached_property
    def leaves(self) -> Leaves:
        """The different regions that rows are about."""
        row, keys = number_by_appearance(self.row_region * len(self.names) + self.row_level)
        place, level = np.divmod(keys, len(self.names))
        return Leaves(level, place, row)

    def is_inner(self) -> npt.NDArray[np.bool_]:
        """Return for each row whether its region has regions below it."""
        inner = np.zeros(len(self.row_level), dtype=np.bool_)
        for level, parents in enumerate(self.parents[1:]):
            has_children = np.zeros(len(self.names[level]), dtype=np.bool_)
            has_children[parents] = True
            here = self.row_level == level
            inner[here] = has_children[self.row_region[here]]
        return inner


def grow_tree(columns: Sequence[Column]) -> PathTree:
    """Return the tree of rows that all begin at one root: ``columns`` are those of the levels, root first.

    A path ends before the first missing name of its row. Rows about the same region are often adjacent: each
    run of them is processed once.
    """
    heads, run = find_runs([column.codes for column in columns])
    region = np.full(len(heads), -1, dtype=np.int64)
    level = np.zeros(len(heads), dtype=np.int64)
    active = np.arange(len(heads))
    above = np.zeros(len(heads), dtype=np.int64)
    names: list[Names] = []
    parents: list[Ints] = []
    for depth, column in enumerate(columns):
        codes = column.codes[heads[active]]
        goes_on = codes >= 0
        active, above, codes = active[goes_on], above[goes_on], codes[goes_on]
        found, keys = number_by_appearance(above * len(column.names) + codes)
        parent, name = np.divmod(keys, max(1, len(column.names)))
        names.append(column.names.take(name))
        parents.append(parent if depth else np.full(len(parent), -1, dtype=np.int64))
        region[active], level[active] = found, depth
        above = found
    return PathTree(tuple(names), tuple(parents), level[run], region[run])


def sort_regions(names: Sequence[Names], parents: Sequence[Ints]) -> list[Ints]:
    """Return for each level where its regions go when sorted by path, name by name in code-point order.

    The result depends on the set of paths alone, not on the order in which they came.
    """
    moves = [np.arange(len(names[0]))]
    for level in range(1, len(names)):
        above = moves[-1][parents[level]]
        before, after = above[:-1], above[1:]
        rises = pc.less(names[level][:-1], names[level][1:]).to_numpy(zero_copy_only=False)
        if ((before < after) | (before == after) & rises).all():  # as in most files
            moves.append(np.arange(len(above)))
            continue
        column = encode_column(names[level])
        rank = invert(pc.sort_indices(column.names).to_numpy())
        moves.append(invert(np.argsort(above * len(rank) + rank[column.codes], kind="stable")))
    return moves


def invert(order: npt.NDArray[np.integer]) -> Ints:
    """Return the inverse of a permutation."""
    places = np.empty(len(order), dtype=np.int64)
    places[order] = np.arange(len(order))
    return places


def number_by_appearance(keys: Ints) -> tuple[Ints, Ints]:
    """Number the keys by first appearance; return each key's number, and the different keys by number."""
    encoded = pa.array(keys, pa.int64()).dictionary_encode()
    numbers = encoded.indices.to_numpy().astype(np.int64)
    return numbers, encoded.dictionary.to_numpy()


def find_runs(columns: Sequence[Codes]) -> tuple[Ints, Ints]:
    """Return the rows that differ from the one before in any column, and for each row its run's number."""
    differs = np.zeros(len(columns[0]), dtype=np.bool_)
    differs[:1] = True
    for codes in columns:
        differs[1:] |= codes[1:] != codes[:-1]
    return np.flatnonzero(differs), np.cumsum(differs) - 1


def encode_names(names: Sequence[str | None]) -> Column:
    """Return a Python list of names as a column of codes."""
    return encode_column(pa.array(names, pa.large_string()))


def encode_column(column: pa.Array[Any] | pa.ChunkedArray[Any]) -> Column:
    """Return a column of text as codes; unlike Arrow's dictionaries, ours has no name twice and no null."""
    if isinstance(column, pa.ChunkedArray):
        # As codes first: all names together may be more than one Arrow array of text can hold.
        is_coded = pa.types.is_dictionary(column.type)
        coded = column if is_coded else column.cast(pa.large_string()).dictionary_encode()
        return encode_column(coded.unify_dictionaries().combine_chunks())
    if isinstance(column, pa.DictionaryArray):
        own = encode_column(column.dictionary)
        # Polars' categories have unsigned indices.
        index = column.indices.cast(pa.int32()).fill_null(-1).to_numpy(zero_copy_only=False)
        return Column(np.append(own.codes, np.int32(-1))[index], own.names)
    encoded = column.cast(pa.large_string()).dictionary_encode()
    codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return Column(codes.astype(np.int32, copy=False), encoded.dictionary)


def find_blank(names: Names) -> list[str]:
    """Return those of the names that are blank."""
    # Few names have no visible ASCII character: only these are looked at one by one.
    odd = names.filter(pc.match_substring_regex(names, "^[^!-~]*$")).to_pylist()
    return [str(name) for name in odd if not str(name).strip()]
