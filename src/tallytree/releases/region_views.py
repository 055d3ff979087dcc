"""One region of a release, to look at."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tallytree.arrays import get_rows
from tallytree.drawing.histograms import draw_histogram
from tallytree.drawing.pictures import Picture
from tallytree.errors import ViewError, show
from tallytree.hierarchy import Path
from tallytree.markup import BOX, embed, shorten, tag, write_box, write_paragraph
from tallytree.releases.interval_bounds import tabulate_cell_rows
from tallytree.releases.release_columns import make_pandas, make_plain, make_polars, tabulate_rows
from tallytree.releases.statistics import find_quantiles
from tallytree.sizes import SizeClasses, Sizes, find_place, list_edges, name_size

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

    from tallytree.releases.released import Released

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class RegionView:
    """A region and its groups, made by :meth:`tallytree.Release.region`."""

    release: Released
    depth: int
    """The level, counted from the root."""
    index: int
    """The region's place among those of its level."""

    @property
    def path(self) -> Path:
        """The names from the root down to the region."""
        return self.release.hierarchy.path(self.depth, self.index)

    @property
    def level(self) -> str:
        """The name of the region's level."""
        return self.release.hierarchy.levels[self.depth]

    @property
    def sizes(self) -> Sizes:
        """The range of sizes."""
        return self.release.sizes

    @cached_property
    def groups(self) -> Ints:
        """How many groups there are of each size or class; read-only."""
        row: Ints = get_rows(self.release.counts, self.depth, self.index, self.index + 1)[0]
        row.flags.writeable = False
        return row

    @property
    def ends(self) -> tuple[Ints, Ints] | None:
        """For each size, the ends of the interval of the true number of groups, if the release has any."""
        found = self.release.intervals
        if found is None:
            return None
        cells = found.cells[self.depth]
        return cells.low[self.index], cells.high[self.index]

    @property
    def total(self) -> int:
        """How many groups there are."""
        return int(self.groups.sum())

    @property
    def mean(self) -> float | None:
        """The mean size of a group; None if there are no groups. Larger groups count at the largest size.

        Of classes it is the least that it can be: a group counts at the least size of its class.
        """
        if not self.total:
            return None
        return float((self.groups * np.array(list_edges(self.sizes))).sum() / self.total)

    def quantile(self, q: float) -> int | None:
        """Return the least size that at least a share ``q`` of the groups do not exceed; None without groups.

        ``quantile(0.5)`` is the median.
        """
        if not isinstance(q, (int, float, np.number)) or not 0 <= q <= 1:
            raise ViewError("q must be from 0 to 1, such as 0.5 for the median.")
        if not self.total:
            return None
        share = Fraction(str(float(q)))  # as it is written: 0.55 is 11 of 20
        return list_edges(self.sizes)[int(find_quantiles(np.cumsum(self.groups)[None], share)[0])]

    @property
    def children(self) -> tuple[RegionView, ...]:
        """The subregions."""
        below = self.release.hierarchy.children(self.depth, self.index)
        return tuple(RegionView(self.release, self.depth + 1, index) for index in below.tolist())

    def to_arrow(self) -> pa.Table:
        """Return the region's rows of the release's table."""
        release, some = self.release, (self.index, self.index + 1)
        where = release.hierarchy, release.sizes, release.counts, self.depth, some
        rows = (
            tabulate_rows(*where, value="groups", zeros=False)
            if release.intervals is None
            else tabulate_cell_rows(release.intervals, *where)
        )
        return rows.cast(make_plain(rows.schema))

    def to_pandas(self) -> pd.DataFrame:
        """Return the region's rows as a pandas data frame."""
        return make_pandas(self.to_arrow())

    def to_polars(self) -> pl.DataFrame:
        """Return the region's rows as a Polars data frame."""
        return make_polars(self.to_arrow())

    def plot(self) -> Picture:
        """Plot the distribution of group sizes: a notebook shows the picture, and it can be saved."""
        return draw_histogram(
            " > ".join(self.path), self.sizes, self.groups, self.ends, words=self.release.words
        )

    def _repr_html_(self) -> str:
        mean, median, most = self.mean, self.quantile(0.5), self.quantile(0.9)
        said = self.release.words
        facts = [said.say(f"{self.total:,} groups")]
        if mean is not None:
            least = "at least " if isinstance(self.sizes, SizeClasses) else ""
            facts += [
                f"{said.mean[:1].lower()}{said.mean[1:]} {least}{mean:,.2f}",
                f"median {self._name(median)}",
                f"nine of ten up to {self._name(most)}",
            ]
        below = len(self.release.hierarchy.children(self.depth, self.index))
        if below:
            facts.append(f"{below:,} subregion{'s'[: below > 1]}")
        words = write_paragraph("Level ", shorten(self.level), f": {', '.join(facts)}.")
        if self.total:
            picture = self.plot()
            about = f"{picture.title}: {said.say('groups by size')}"
            return tag("div", embed(picture.svg, about), words, style=BOX)
        path = [piece for own in self.path for piece in (" > ", shorten(own))][1:]
        return write_box(tag("span", *path), words)

    def _name(self, size: int | None) -> str:
        return name_size(self.sizes, find_place(self.sizes, size or 0))

    def __repr__(self) -> str:
        return f"RegionView({show(' > '.join(self.path))}, {self.total:,} groups)"
