"""Arrays of whole numbers by region and size, one for each level; some are too large to store as they are.

A level of ten million regions and a hundred sizes takes nine gigabytes of 64-bit numbers. Most of what is
measured there fits into 32 bits, and most counts are zero.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self, SupportsIndex, TypeAlias, overload

import numpy as np
import numpy.typing as npt

from tallytree.errors import CountsError
from tallytree.sizes import find_whole

# The largest numbers the software works with, chosen so that 64-bit integers never overflow.
#
# The cost of a single exchange is at most the sum over levels of w (2 |n^ - n~| + 1), below
# 2^20 (2 (2^39 + 2^39) + 1) < 2^62, and two such costs are added. In the chain model the weights of all
# points add up to at most MAX_CHAIN_WEIGHT_SUM x MAX_CELLS = 2^62; weighted values go beyond 64 bits, and are
# never formed (``solvers/isotonic.py``).

MAX_GROUPS = 2**39
"""Groups in a dataset: 550 billion."""

MAX_MEASURED = 2**39
"""Noisy answers are clipped to plus or minus this: post-processing that costs no privacy."""

MAX_WEIGHT_SUM = 2**20
"""The sum of the levels' integer weights: enough for any split of the budget in thousandths."""

MAX_CHAIN_WEIGHT_SUM = 2**31
"""The sum of the weights in the chain model, whose levels differ in noise as much as in regions."""

MAX_SCALE = 2**32
"""The noise scale of a level: its noise stays below MAX_MEASURED with probability 1 - exp(-128)."""

MAX_CELLS = 2**31
"""Regions times sizes of one level."""

FORBIDDEN = 2**62
"""A cost above every real one, to which one real cost can be added without overflow."""

# Rows of whole numbers of which most are zero: only the others are kept.

Ints = npt.NDArray[np.int64]
Places = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class SparseRows:
    """Compressed sparse rows: row r has ``values`` in ``columns``, from ``starts[r]`` to ``starts[r + 1]``.

    Within a row the columns are strictly increasing.
    """

    starts: Ints
    columns: Places
    values: npt.NDArray[np.signedinteger]
    width: int

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return len(self.starts) - 1, self.width

    @classmethod
    def from_cells(cls, rows: Ints, columns: Ints, values: Ints, shape: tuple[int, int]) -> SparseRows:
        """Return the rows of cells in any order; values of the same cell are added up, and zeros left out."""
        return cls.from_places(rows * shape[1] + columns, values, shape)

    @classmethod
    def from_places(cls, place: Ints, values: Ints, shape: tuple[int, int]) -> SparseRows:
        """Return the rows of cells, as :meth:`from_cells` does, but given by row * width + column."""
        if not (place[1:] > place[:-1]).all():
            order = np.argsort(place, kind="stable")
            place, values = place[order], values[order]
            first = np.flatnonzero(np.diff(place, prepend=-1))
            values = np.add.reduceat(values, first) if len(first) else values
            place = place[first]
        if not values.all():
            place, values = place[values != 0], values[values != 0]
        rows, columns = np.divmod(place, shape[1])
        starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=shape[0]))])
        return cls(starts, columns.astype(np.int32), _shrink(values), shape[1])

    @classmethod
    def from_dense(cls, rows: npt.NDArray[np.signedinteger]) -> SparseRows:
        """Return the sparse form of a dense array."""
        at, column = np.nonzero(rows)
        place = at.astype(np.int64) * rows.shape[1] + column
        return cls.from_places(place, rows[at, column].astype(np.int64), (len(rows), rows.shape[1]))

    @classmethod
    def from_parts(
        cls, counts: Sequence[Ints], columns: Sequence[Places], values: Sequence[Ints], width: int
    ) -> SparseRows:
        """Join rows one after the other: ``counts`` says how many cells each has."""
        starts = np.concatenate([[0], np.cumsum(np.concatenate(counts))])
        return cls(starts, np.concatenate(columns), _shrink(np.concatenate(values)), width)

    def take(self, rows: Ints) -> SparseRows:
        """Return these rows, in this order."""
        counts = np.diff(self.starts)[rows]
        starts = np.concatenate([[0], np.cumsum(counts)])
        cells = np.repeat(self.starts[rows] - starts[:-1], counts) + np.arange(int(starts[-1]))
        return SparseRows(starts, self.columns[cells], self.values[cells], self.width)

    def dense(self, start: int = 0, stop: int | None = None) -> Ints:
        """Return the rows from ``start`` to ``stop`` with all their zeros."""
        stop = self.shape[0] if stop is None else stop
        found = np.zeros((stop - start, self.width), dtype=np.int64)
        rows, columns, values = self.cells(start, stop)
        found[rows - start, columns] = values
        return found

    def cells(self, start: int, stop: int) -> tuple[Ints, Places, Ints]:
        """Return the non-zero cells of these rows: their rows, columns and values."""
        rows = np.repeat(np.arange(start, stop), np.diff(self.starts[start : stop + 1]))
        cells = slice(int(self.starts[start]), int(self.starts[stop]))
        return rows, self.columns[cells], self.values[cells].astype(np.int64)

    def reverse(self) -> SparseRows:
        """Return the rows with the last column first."""
        mirror = np.repeat(self.starts[:-1] + self.starts[1:] - 1, np.diff(self.starts))
        order = mirror - np.arange(len(self.columns))
        columns = (self.width - 1 - self.columns[order]).astype(np.int32)
        return SparseRows(self.starts, columns, self.values[order], self.width)

    def move(self, places: Ints, count: int) -> SparseRows:
        """Return ``count`` rows, of which row p is the sum of all rows r with ``places[r] == p``."""
        if len(places) == count and (places == np.arange(count)).all():
            return self
        rows, columns, values = self.cells(0, self.shape[0])
        return SparseRows.from_cells(places[rows], columns.astype(np.int64), values, (count, self.width))


def _shrink(values: Ints) -> npt.NDArray[np.signedinteger]:
    """Convert the values to 32 bits, if they fit."""
    largest = int(np.abs(values).max(initial=0))
    return values.astype(np.int32) if largest < 2**31 else values


Stored: TypeAlias = "npt.NDArray[np.signedinteger] | SparseRows"

LARGE = 2**27
"""Levels of more regions x sizes, a gigabyte of 64-bit numbers, are stored compactly."""

CHUNK_CELLS = 2**21
"""Regions x sizes that are processed at a time where a whole level would be too large."""

SPARSE_RATIO = 64
"""Cells per non-zero cell from which on zeros are not stored, whatever the size of the level."""


def is_large(shape: tuple[int, int]) -> bool:
    """Return whether a level of this shape (regions, sizes) is stored compactly."""
    return shape[0] * shape[1] > LARGE


def is_nearly_empty(shape: tuple[int, int], filled: int) -> bool:
    """Return whether a level has so few non-zero cells that only these are stored, though it is not large."""
    return shape[0] * shape[1] > CHUNK_CELLS + SPARSE_RATIO * filled


def store_cells(place: Ints, values: Ints, shape: tuple[int, int]) -> Ints | SparseRows:
    """Store a level by its non-zero cells, each given once by row * width + column."""
    if is_large(shape) or is_nearly_empty(shape, len(place)):
        return SparseRows.from_places(place, values, shape)
    level = np.zeros(shape, dtype=np.int64)
    level.reshape(-1)[place] = values
    return level


class LevelArrays(Sequence[Ints]):
    """One array (regions x sizes) for each level, root first; an array is made when it is asked for.

    To go through a large level, ask for it in chunks. Arrays of true counts are ``sensitive``: they refuse to
    be pickled.
    """

    def __init__(self, stored: Sequence[Stored], *, sensitive: bool = False) -> None:
        self._stored = tuple(map(_freeze, stored))
        self._sensitive = sensitive

    def __len__(self) -> int:
        return len(self._stored)

    @overload
    def __getitem__(self, level: int) -> Ints: ...
    @overload
    def __getitem__(self, level: slice) -> list[Ints]: ...
    def __getitem__(self, level: int | slice) -> Ints | list[Ints]:
        if isinstance(level, slice):
            return [self[at] for at in range(*level.indices(len(self)))]
        stored = self._stored[level]
        return stored.dense() if isinstance(stored, SparseRows) else stored.astype(np.int64, copy=False)

    def stored(self, level: int) -> Stored:
        """Return a level as it is stored."""
        return self._stored[level]

    def __copy__(self) -> Self:
        return self  # nothing in it can change

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __reduce_ex__(self, protocol: SupportsIndex) -> str | tuple[Any, ...]:
        if self._sensitive:
            raise TypeError(
                "The levels of GroupCounts cannot be pickled: they are true counts. A Release can be pickled."
            )
        return super().__reduce_ex__(protocol)

    def __repr__(self) -> str:
        return f"LevelArrays({', '.join(str(stored.shape) for stored in self._stored)})"


def has_mask(values: object) -> bool:
    """Return whether NumPy has masked any cells, which would be numbers in an ordinary array."""
    parts = values if isinstance(values, (list, tuple)) else [values]
    return any(np.ma.is_masked(part) for part in parts)


def get_shape(arrays: Sequence[Ints], level: int) -> tuple[int, int]:
    """Return the numbers of regions and of sizes of a level."""
    rows, columns = _get(arrays, level).shape
    return rows, columns


def get_rows(arrays: Sequence[Ints], level: int, start: int, stop: int) -> Ints:
    """Return the regions of a level from ``start`` to ``stop``."""
    stored = _get(arrays, level)
    if isinstance(stored, SparseRows):
        return stored.dense(start, stop)
    return stored[start:stop].astype(np.int64, copy=False)


def take_rows(arrays: Sequence[Ints], level: int, rows: Ints) -> npt.NDArray[np.signedinteger]:
    """Return these regions of a level, in the type in which they are stored."""
    stored = _get(arrays, level)
    if isinstance(stored, SparseRows):
        return stored.take(rows).dense()
    if len(rows) and rows[-1] - rows[0] + 1 == len(rows) and (np.diff(rows) == 1).all():
        return np.ascontiguousarray(stored[rows[0] : rows[-1] + 1])
    return np.ascontiguousarray(stored[rows])


def reverse_sizes(arrays: Sequence[Ints]) -> Sequence[Ints]:
    """Return all levels with the last size first."""
    if not isinstance(arrays, LevelArrays):
        return [np.ascontiguousarray(level[:, ::-1]) for level in arrays]
    stored = [arrays.stored(level) for level in range(len(arrays))]
    return LevelArrays(
        [level.reverse() if isinstance(level, SparseRows) else level[:, ::-1] for level in stored]
    )


def get_column(arrays: Sequence[Ints], level: int, column: int) -> Ints:
    """Return one size of all regions of a level."""
    stored = _get(arrays, level)
    if isinstance(stored, SparseRows):
        return np.concatenate([stored.dense(a, b)[:, column] for a, b in cut_rows(*stored.shape)])
    return stored[:, column].astype(np.int64)


def get_cells(arrays: Sequence[Ints], level: int, start: int, stop: int) -> tuple[Ints, Ints, Ints]:
    """Return the non-zero cells of some regions: regions, sizes and values, region by region."""
    stored = _get(arrays, level)
    if isinstance(stored, SparseRows):
        rows, columns, values = stored.cells(start, stop)
        return rows, columns.astype(np.int64), values
    part = stored[start:stop]
    at, size = np.nonzero(part)
    return (at + start).astype(np.int64), size.astype(np.int64), part[at, size].astype(np.int64)


def add_children(arrays: Sequence[Ints], level: int, parents: Ints, count: int) -> Ints:
    """Add up the rows of a level by parent: ``count`` x sizes."""
    width = get_shape(arrays, level)[1]
    sums = np.zeros(count * width, dtype=np.int64)
    for start, stop in cut_rows(len(parents), width):
        rows, columns, values = get_cells(arrays, level, start, stop)
        np.add.at(sums, parents[rows] * width + columns, values)
    return sums.reshape(count, width)


def get_total(arrays: Sequence[Ints], level: int) -> int:
    """Return the sum of all numbers of a level."""
    stored = _get(arrays, level)
    return int((stored.values if isinstance(stored, SparseRows) else stored).sum(dtype=np.int64))


def cut_rows(rows: int, columns: int) -> Iterator[tuple[int, int]]:
    """Yield where each chunk of so many rows starts and stops."""
    step = max(1, CHUNK_CELLS // max(1, columns))
    yield from pairwise([*range(0, rows, step), rows])


def _get(arrays: Sequence[Ints], level: int) -> Stored:
    return arrays.stored(level) if isinstance(arrays, LevelArrays) else arrays[level]


def _freeze(stored: Stored) -> Stored:
    if isinstance(stored, SparseRows):
        return stored
    frozen = stored.view()
    frozen.flags.writeable = False
    return frozen


def whole_numbers(values: npt.ArrayLike, what: str) -> Ints:
    """Return ``values`` as 64-bit integers; refuse anything that is not a whole number."""
    if has_mask(values):
        raise CountsError(f"{what} are a masked array: fill in or leave out what is masked first.")
    try:
        array = np.asarray(values)
    except ValueError:
        raise CountsError(f"{what} are not a rectangular array of numbers.") from None
    if array.dtype.kind in "iu":
        if array.dtype == np.uint64 and array.size and int(array.max()) > MAX_GROUPS:
            raise CountsError(f"{what} go beyond {MAX_GROUPS}.")
        return array.astype(np.int64)
    if array.dtype.kind == "O":
        if any(find_whole(value) is None for value in array.flat):
            raise CountsError(f"{what} must be whole numbers.")
        if any(abs(int(value)) > MAX_GROUPS for value in array.flat):
            raise CountsError(f"{what} go beyond {MAX_GROUPS}.")
        return array.astype(np.int64)
    if array.dtype.kind != "f":
        raise CountsError(f"{what} must be whole numbers.")
    array = array.astype(np.float64)
    if not np.isfinite(array).all():
        raise CountsError(f"{what} hold {int((~np.isfinite(array)).sum())} NaN or infinite values.")
    if (array != np.floor(array)).any():
        raise CountsError(f"{what} hold {int((array != np.floor(array)).sum())} fractions.")
    if array.size and np.abs(array).max() > MAX_GROUPS:
        raise CountsError(f"{what} go beyond {MAX_GROUPS}.")
    return array.astype(np.int64)
