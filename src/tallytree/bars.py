"""A distribution of groups over sizes as few enough bars to be looked at."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Ends = tuple[Ints, Ints]
"""For each size, the least and the most that the true number of groups may be."""

MOST_BARS = 60


@dataclass(frozen=True)
class Bar:
    """The groups of one size, or of several next to each other."""

    first: int
    last: int
    groups: int
    ends: tuple[int, int] | None = None
    """Of one size only: what is known of single sizes does not tell how far off their sum is."""

    @property
    def height(self) -> float:
        """Groups per size, so that a wide bar does not look like many groups."""
        return self.groups / (self.last - self.first + 1)

    @property
    def top(self) -> float:
        """The highest that is drawn."""
        return self.height if self.ends is None else max(self.height, self.ends[1])


def has_long_tail(groups: Ints) -> bool:
    """Whether half of the groups are within the first tenth of the sizes."""
    running = np.cumsum(groups)
    return int(np.searchsorted(running, 0.5 * running[-1])) < len(groups) / 10


def make_bars(lowest: int, groups: Ints, ends: Ends | None = None) -> list[Bar]:
    """Bars for the sizes from ``lowest`` up to the last that has groups; none if there are no groups.

    Many sizes are put together: by equal steps, or, where there is a long tail, by equal ratios.
    """
    groups = np.maximum(groups, 0)  # a release that fails its checks may hold anything
    used = np.flatnonzero(groups)
    if not len(used):
        return []
    shown = groups[: int(used[-1]) + 1]
    if len(shown) <= MOST_BARS:
        edges = list(range(lowest, lowest + len(shown) + 1))
    elif has_long_tail(shown):
        edges = _cut_by_ratio(lowest, lowest + len(shown))
    else:
        stop = lowest + len(shown)
        edges = [*range(lowest, stop, math.ceil(len(shown) / MOST_BARS)), stop]
    return [_make_bar(lowest, groups, ends, first, stop) for first, stop in pairwise(edges)]


def _make_bar(lowest: int, groups: Ints, ends: Ends | None, first: int, stop: int) -> Bar:
    at = first - lowest
    count = int(groups[at : stop - lowest].sum())
    if ends is None or stop - first > 1:
        return Bar(first, stop - 1, count)
    return Bar(first, first, count, (int(ends[0][at]), int(ends[1][at])))


def _cut_by_ratio(start: int, stop: int) -> list[int]:
    """Edges from ``start`` to ``stop``, each at least one above the last."""
    shift = 1 if start == 0 else 0  # sizes from 0 on have no ratios
    ratio = ((stop + shift) / (start + shift)) ** (1 / MOST_BARS)
    edges = [start]
    while edges[-1] < stop:
        edges.append(min(stop, math.ceil((edges[-1] + shift) * ratio) - shift))
    return edges
