"""Group counts: how many groups of each size every region has. Sensitive: the truth is in here."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NoReturn, Self, SupportsIndex

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tallytree.arrays import (
    MAX_CELLS,
    MAX_GROUPS,
    LevelArrays,
    SparseRows,
    Stored,
    add_children,
    is_large,
    is_nearly_empty,
    whole_numbers,
)
from tallytree.counts.arrow import Table
from tallytree.counts.count_tables import read_cells
from tallytree.errors import CountsError
from tallytree.hierarchy import Hierarchy
from tallytree.privacy.neighbours import (
    EMPTY_GROUPS_ON_TRUST,
    Bounds,
    Protected,
    TotalKind,
    check_bounds,
    say_taken_on_trust,
)
from tallytree.sizes import Sizes, check_sizes, count_sizes, get_ends, show_sizes

Ints = npt.NDArray[np.int64]


class GroupCounts:
    """The true counts on a hierarchy: n^r_s for every region r and size s.

    ``leaf`` is leaves x sizes, its rows in the order of ``hierarchy.leaves``; the levels above are sums. With
    many leaves, most counts are zero: ``from_table`` then stores only the others (``SparseRows``).
    The ``repr`` shows no count, and pickling is refused.

    ``bounds`` on a person are taken on trust here, and a release says so: only :func:`tallytree.count_groups`
    enforces them. ``assumptions`` are further notes for the manifest. ``has_frame`` says whether a public
    frame lists the groups, which is taken on trust as well.

    >>> h = Hierarchy.from_paths(["nation", "state"], [("US", "GA"), ("US", "NY")])
    >>> counts = GroupCounts(h, sizes=(1, 3), leaf=[[2, 0, 1], [1, 1, 1]])
    >>> counts.array("nation").tolist()
    [[3, 1, 2]]
    """

    def __init__(
        self,
        hierarchy: Hierarchy,
        sizes: Sizes,
        leaf: npt.ArrayLike | SparseRows,
        *,
        bounds: Bounds | None = None,
        assumptions: Sequence[str] = (),
        has_frame: bool | None = None,
    ) -> None:
        if not isinstance(hierarchy, Hierarchy):
            raise CountsError("The hierarchy must be a tallytree.Hierarchy.")
        self._hierarchy = hierarchy
        self._sizes = check_sizes(sizes)
        self._bounds = check_bounds(bounds)
        if hierarchy.leaf_count * count_sizes(self._sizes) > MAX_CELLS:
            raise CountsError(f"There are more than {MAX_CELLS} leaves x sizes.")
        self._leaf = _check_leaf(leaf, (hierarchy.leaf_count, count_sizes(self._sizes)))
        self._total = int((self._leaf.values if isinstance(self._leaf, SparseRows) else self._leaf).sum())
        self._notes = _check_notes(assumptions)
        if has_frame is not None and not isinstance(has_frame, bool):
            raise CountsError("has_frame must be True, False or None.")
        self._has_frame = has_frame
        self._is_of_people = self._is_enforced = False  # see mark_as_counted
        self._only: Protected | None = None
        self._left_out = ""

    @classmethod
    def from_table(
        cls,
        table: Table,
        *,
        regions: Sequence[str],
        size: str = "size",
        groups: str = "groups",
        sizes: Sizes | None = None,
        root: str = "all",
        root_level: str = "root",
        hierarchy: Hierarchy | None = None,
        bounds: Bounds | None = None,
    ) -> GroupCounts:
        """Read counts from a tidy table: a row for each leaf region and size, with its number of groups.

        ``table`` is a pandas, Polars or Arrow table or the path of a CSV or Parquet file. ``regions``
        are its region columns from the level below the root on; where a leaf stands above the last
        level, the columns below it are null. Cells without a row are zero. ``root`` names the root
        region and ``root_level`` its level. Where ``sizes`` are classes, the column of sizes may hold their
        names, such as 5-9 or 50+.

        Regions and sizes are public. Give them with ``hierarchy`` and ``sizes``: what is left out is
        read from the table, and the release says so. Regions that are read from it are sorted by name, so
        that the order of its rows is not published; those of a ``hierarchy`` keep their order.

        A table that ``tallytree count`` wrote knows its sizes and the bounds that were enforced, and is
        refused if it was changed since.
        """
        promised = None if bounds is None else check_bounds(bounds)
        found = read_cells(
            table, regions=regions, size=size, groups=groups, sizes=sizes, root=root,
            root_level=root_level, hierarchy=hierarchy,
        )  # fmt: skip
        origin = found.origin
        counts = GroupCounts(
            found.hierarchy,
            found.sizes,
            found.leaf,
            bounds=promised if origin is None else origin.check_bounds(promised),
            assumptions=found.notes if origin is None else origin.assumptions,
            has_frame=None if origin is None else origin.has_frame,
        )
        pa.default_memory_pool().release_unused()  # the table may have been large, and is not needed any more
        return (
            counts
            if origin is None
            else mark_as_counted(
                counts, enforced=origin.digest is not None and origin.only != "group", only=origin.only
            )
        )

    @property
    def hierarchy(self) -> Hierarchy:
        """The regions, which are public."""
        return self._hierarchy

    @property
    def sizes(self) -> Sizes:
        """The range of sizes, which is public."""
        return self._sizes

    @property
    def bounds(self) -> Bounds:
        """What one person contributes at most."""
        return self._bounds

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What was taken on trust when the counts were made, in words; for the manifest."""
        trusted = []
        if not self._is_enforced and self._only != "group":
            trusted.append(say_taken_on_trust(self._bounds))
            if self._has_frame or (self._has_frame is None and get_ends(self._sizes)[0] == 0):
                trusted.append(EMPTY_GROUPS_ON_TRUST)
        return (*trusted, *(note for note in self._notes if note not in trusted))

    @property
    def has_frame(self) -> bool | None:
        """Whether a public frame lists the groups; False if the records do, None if nobody said."""
        return self._has_frame

    @property
    def total_kind(self) -> TotalKind:
        """How a release takes the number of groups unless told: private where no frame lists the groups.

        Sizes from 0 on say that groups without people are counted, which somebody must have listed.
        """
        is_listed = self._has_frame is not False or get_ends(self._sizes)[0] == 0
        return "public" if is_listed else "private"

    @property
    def only(self) -> Protected | None:
        """Whom a release of these counts can protect alone, if they were counted for that; None: either.

        Which record of a person is kept depends on his others, in other groups: with one group more or less,
        others change as well. And where records were not bounded, a person may change more than is promised.
        """
        return self._only

    @property
    def left_out(self) -> str:
        """What of the records was not counted, and how much of it, in a sentence. Sensitive.

        For the curator's eyes: it depends on the data, and no file of a release tells it.
        """
        return self._left_out

    @property
    def is_of_people(self) -> bool:
        """Whether the counts were made from records of people; also true if they were changed since."""
        return self._is_of_people

    @property
    def is_enforced(self) -> bool:
        """Whether ``bounds`` were enforced on all records of people, and nothing was changed since."""
        return self._is_enforced

    @property
    def leaf(self) -> Ints:
        """Leaves x sizes, in the order of ``hierarchy.leaves``; read-only."""
        return self._leaf.dense() if isinstance(self._leaf, SparseRows) else self._leaf

    def list_cells(self) -> tuple[Ints, Ints, Ints]:
        """Return the leaves' non-zero counts: leaf, index of the size, number of groups; leaf by leaf."""
        stored = self._leaf if isinstance(self._leaf, SparseRows) else SparseRows.from_dense(self._leaf)
        leaf, size, groups = stored.cells(0, stored.shape[0])
        return leaf, size.astype(np.int64), groups

    @property
    def total(self) -> int:
        """G: the number of groups, which is public."""
        return self._total

    def array(self, level: int | str) -> Ints:
        """Return the counts of one level, regions x sizes, in the order of ``hierarchy.regions``."""
        return self.levels[self._hierarchy.index(level)]

    def replace(self, leaf: npt.ArrayLike) -> GroupCounts:
        """Return other counts for the same regions, sizes and bounds: these are then taken on trust."""
        return self._rebuild(leaf, self._notes)

    def add_note(self, note: str) -> GroupCounts:
        """Return the same counts with a further assumption for the manifest."""
        noted = self._rebuild(self._leaf, [*self._notes, note])
        noted._is_enforced = self._is_enforced
        return noted

    def _rebuild(self, leaf: npt.ArrayLike | SparseRows, notes: Sequence[str]) -> GroupCounts:
        rebuilt = GroupCounts(
            self._hierarchy,
            self._sizes,
            leaf,
            bounds=self._bounds,
            assumptions=notes,
            has_frame=self._has_frame,
        )
        rebuilt._is_of_people, rebuilt._only = self._is_of_people, self._only
        return rebuilt

    @cached_property
    def levels(self) -> LevelArrays:
        """The counts of all levels, as they are stored."""
        levels: list[Stored] = []
        for level in reversed(range(len(self._hierarchy.levels))):
            shape = self._hierarchy.region_counts[level], count_sizes(self._sizes)
            sparse = isinstance(self._leaf, SparseRows) and (
                is_large(shape) or is_nearly_empty(shape, len(self._leaf.values))
            )
            add = self._add_sparse if sparse else self._add_dense
            levels.append(add(level, levels[-1] if levels else None))
        return LevelArrays(levels[::-1], sensitive=True)

    def _add_dense(self, level: int, below: Stored | None) -> Ints:
        """A level's counts: those of its leaves, and for other regions the sums over their children."""
        leaf_level, leaf_index = self._hierarchy.leaf_places
        regions = self._hierarchy.region_counts[level]
        values = np.zeros((regions, count_sizes(self._sizes)), dtype=np.int64)
        if below is not None:
            values += add_children(LevelArrays([below]), 0, self._hierarchy.parents(level + 1), regions)
        here = np.flatnonzero(leaf_level == level)
        leaf = self._leaf.take(here).dense() if isinstance(self._leaf, SparseRows) else self._leaf[here]
        values[leaf_index[here]] = leaf
        values.flags.writeable = False
        return values

    def _add_sparse(self, level: int, below: Stored | None) -> SparseRows:
        """A level's counts as of :meth:`_add_dense`, without zeros."""
        assert isinstance(self._leaf, SparseRows)
        leaf_level, leaf_index = self._hierarchy.leaf_places
        regions = self._hierarchy.region_counts[level]
        here = np.flatnonzero(leaf_level == level)
        leaf = self._leaf if len(here) == len(leaf_level) else self._leaf.take(here)
        if below is None:
            return leaf.move(leaf_index[here], regions)
        below = below if isinstance(below, SparseRows) else SparseRows.from_dense(below)
        both = SparseRows.from_parts(
            [np.diff(leaf.starts), np.diff(below.starts)],
            [leaf.columns, below.columns],
            [leaf.values, below.values],
            leaf.width,
        )
        return both.move(np.concatenate([leaf_index[here], self._hierarchy.parents(level + 1)]), regions)

    def __copy__(self) -> Self:
        return self  # nothing in it can change

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        # A pickle is a file or a message that nobody protects: caches and pools make them unasked.
        raise TypeError(
            "GroupCounts cannot be pickled: they are true counts. 'tallytree count' writes them to a private "
            "file; a Release can be pickled."
        )

    def __repr__(self) -> str:
        # The shape only: a notebook or a log must not show the truth.
        return f"GroupCounts({self._hierarchy!r}, sizes {show_sizes(self._sizes)})"


def mark_as_counted(
    counts: GroupCounts, *, enforced: bool, only: Protected | None, left_out: str = ""
) -> GroupCounts:
    """Mark counts as made from records of people and, with ``enforced``, their bounds as enforced.

    Only for code that has just counted the records, or has checked that a file holds what was counted.
    """
    counts._is_of_people, counts._is_enforced, counts._only = True, enforced, only
    counts._left_out = left_out
    return counts


def _check_notes(notes: Sequence[str]) -> tuple[str, ...]:
    if not isinstance(notes, (list, tuple)) or not all(isinstance(note, str) for note in notes):
        raise CountsError("The assumptions must be a list of texts.")
    return tuple(notes)


def _check_leaf(leaf: npt.ArrayLike | SparseRows, shape: tuple[int, int]) -> Ints | SparseRows:
    given = leaf.values if isinstance(leaf, SparseRows) else leaf
    array = whole_numbers(given, "The counts")
    found = leaf.shape if isinstance(leaf, SparseRows) else array.shape
    if found != shape:
        raise CountsError(
            f"The counts have the shape {found}; {shape[0]} leaves x {shape[1]} sizes are expected."
        )
    if (array < 0).any():
        raise CountsError(f"{int((array < 0).sum())} of the counts are negative.")
    # Bounded roughly first, so that the exact sum cannot overflow.
    rough = float(array.sum(dtype=np.float64))
    if (array > MAX_GROUPS).any() or rough > 2 * MAX_GROUPS or int(array.sum()) > MAX_GROUPS:
        raise CountsError(f"There are more than {MAX_GROUPS} groups.")
    if isinstance(leaf, SparseRows):
        return leaf
    array.flags.writeable = False
    return array.view()  # which cannot be made writable again
