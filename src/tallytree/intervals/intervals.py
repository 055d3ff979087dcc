"""What comes with a release's numbers: how far they may be from the true ones."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from tallytree.intervals.pools import CellBounds
from tallytree.intervals.summaries import SummaryBounds
from tallytree.verification import Check

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Intervals:
    """Intervals of all counts of a release, and of the numbers that sum up its regions."""

    cells: tuple[CellBounds, ...]
    """Of each level, root first: the true count is from ``low`` to ``high`` in so many of 100 cells."""
    summaries: tuple[SummaryBounds, ...]
    coverage: Fraction
    replicates: int
    seed: int

    @property
    def low(self) -> list[Ints]:
        """The lower ends, regions x sizes for each level."""
        return [level.low for level in self.cells]

    @property
    def high(self) -> list[Ints]:
        """The upper ends."""
        return [level.high for level in self.cells]

    def to_dict(self) -> dict[str, object]:
        """What a manifest says of them."""
        return {"coverage": str(self.coverage), "replicates": self.replicates, "seed": self.seed}


def check_intervals(intervals: Intervals) -> Check:
    """Every interval begins at zero or above, and ends at or above its beginning.

    It need not hold the released count: where post-processing is known to err to one side, the true count is
    on the other.
    """
    wrong = sum(int(((cells.low < 0) | (cells.high < cells.low)).sum()) for cells in intervals.cells)
    for found in intervals.summaries:
        right = (found.low >= 0) & (found.low <= found.high) & np.isfinite(found.high)
        # A region without groups has neither a mean nor quantiles, and no intervals of them.
        wrong += int((np.isfinite(found.value) & ~right).sum())
    statement = "intervals begin at zero or above, and end after that; they are not computed again"
    return Check("intervals", statement, wrong, "one does not" if wrong else "")
