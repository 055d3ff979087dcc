"""Rows of whole numbers of which most are zero: only the others are kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Places = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class SparseRows:
    """Rows x columns: row r has ``values`` in ``columns``, both from ``starts[r]`` to ``starts[r + 1]``.

    Within a row the columns go up, and none comes twice.
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
        """Cells in any order; what is in one cell is added up, and zeros are left out."""
        return cls.from_places(rows * shape[1] + columns, values, shape)

    @classmethod
    def from_places(cls, place: Ints, values: Ints, shape: tuple[int, int]) -> SparseRows:
        """The same with a cell given by row * width + column."""
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
        """Rows that are written out."""
        at, column = np.nonzero(rows)
        place = at.astype(np.int64) * rows.shape[1] + column
        return cls.from_places(place, rows[at, column].astype(np.int64), (len(rows), rows.shape[1]))

    @classmethod
    def from_parts(
        cls, counts: Sequence[Ints], columns: Sequence[Places], values: Sequence[Ints], width: int
    ) -> SparseRows:
        """Rows one after the other: how many cells each has, and these."""
        starts = np.concatenate([[0], np.cumsum(np.concatenate(counts))])
        return cls(starts, np.concatenate(columns), _shrink(np.concatenate(values)), width)

    def take(self, rows: Ints) -> SparseRows:
        """These rows, in this order."""
        counts = np.diff(self.starts)[rows]
        starts = np.concatenate([[0], np.cumsum(counts)])
        cells = np.repeat(self.starts[rows] - starts[:-1], counts) + np.arange(int(starts[-1]))
        return SparseRows(starts, self.columns[cells], self.values[cells], self.width)

    def dense(self, start: int = 0, stop: int | None = None) -> Ints:
        """The rows from ``start`` to ``stop`` with all their zeros."""
        stop = self.shape[0] if stop is None else stop
        found = np.zeros((stop - start, self.width), dtype=np.int64)
        rows, columns, values = self.cells(start, stop)
        found[rows - start, columns] = values
        return found

    def cells(self, start: int, stop: int) -> tuple[Ints, Places, Ints]:
        """The cells of these rows that are not zero: their rows, columns and values."""
        rows = np.repeat(np.arange(start, stop), np.diff(self.starts[start : stop + 1]))
        cells = slice(int(self.starts[start]), int(self.starts[stop]))
        return rows, self.columns[cells], self.values[cells].astype(np.int64)

    def move(self, places: Ints, count: int) -> SparseRows:
        """``count`` rows, of which row ``places[r]`` is the sum of all rows r with this place."""
        if len(places) == count and (places == np.arange(count)).all():
            return self
        rows, columns, values = self.cells(0, self.shape[0])
        return SparseRows.from_cells(places[rows], columns.astype(np.int64), values, (count, self.width))


def _shrink(values: Ints) -> npt.NDArray[np.signedinteger]:
    """In half the room, if they fit."""
    largest = int(np.abs(values).max(initial=0))
    return values.astype(np.int32) if largest < 2**31 else values
