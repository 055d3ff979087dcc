"""What an estimate is of: some regions, a range of sizes, and a statistic of their groups together."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from tallytree.arrays import CHUNK_CELLS, get_shape, take_rows
from tallytree.errors import IntervalsError, name_choices, show
from tallytree.hierarchy import Hierarchy
from tallytree.intervals.region_sets import Located, are_public, group_by_level
from tallytree.privacy.plan import Plan
from tallytree.releases.kept_replicates import KeptReplicates
from tallytree.releases.statistics import Distributions, Kind, list_statistics
from tallytree.sizes import (
    SizeClasses,
    Sizes,
    count_sizes,
    find_whole,
    get_ends,
    is_decimal_numeral,
    list_edges,
    name_size,
    show_sizes,
)
from tallytree.words import PLAIN, Words

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

SizeRange = tuple[int | None, int | None]
"""The first and the last size; None: as far as there are sizes."""

SHARE, QUANTILE = "share", "quantile:"


@dataclass(frozen=True, eq=False)
class Measure:
    """A statistic of the groups of the selected sizes, or of these among all groups of the regions."""

    name: str
    title: str
    kind: Kind
    find: Callable[[Distributions, Distributions], Floats]
    """A number for each row, of the selected sizes and of all; NaN where rows without groups have none."""
    limits: tuple[float, float]
    """What no value goes beyond."""


TITLES: dict[str, Callable[[Words], str]] = {
    "groups": lambda words: words.say("Groups"),
    "size_sum": lambda words: "Sum of sizes",
    "size_mean": lambda words: words.mean,
    "size_sum_least": lambda words: "Sum of sizes, at least",
    "size_mean_least": lambda words: words.mean_least,
}


def find_measure(name: object, sizes: Sizes, words: Words = PLAIN) -> Measure:
    """Return the measure of that name, for groups of these sizes: those that are selected."""
    if name == SHARE:
        return Measure(SHARE, words.say("Share of groups"), "share", _find_shares, (0.0, 1.0))
    if isinstance(name, str) and name.startswith(QUANTILE):
        share = _read_share(name.removeprefix(QUANTILE))
        title = words.say(f"Size that {float(100 * share):g} % of groups do not exceed")
        return Measure(name, title, "size", lambda part, whole: part.quantile(share), _float_ends(sizes))
    told = {statistic.name: statistic for statistic in list_statistics(sizes)}
    if f"{name}_least" in told:
        name = f"{name}_least"  # of classes only the least is known
    if not isinstance(name, str) or name not in told:
        known = [*told, SHARE, f"{QUANTILE}0.9"]
        raise IntervalsError(f"There is no statistic {show(name)}: {name_choices(name, known)}")
    statistic = told[name]
    plain = f"{name[:1].upper()}{name[1:]}{' size' if statistic.kind == 'size' else ''}"
    return Measure(
        name,
        TITLES[name](words) if name in TITLES else plain,
        statistic.kind,
        lambda part, whole: np.asarray(statistic.find(part), dtype=np.float64),
        statistic.limits(sizes),
    )


def _float_ends(sizes: Sizes) -> tuple[float, float]:
    low, high = get_ends(sizes)
    return float(low), float(high)


def _find_shares(part: Distributions, whole: Distributions) -> Floats:
    return whole.share(part.groups)


def _read_share(text: str) -> Fraction:
    share = Fraction(text) if is_decimal_numeral(text) and len(text) <= 20 else Fraction(0)
    if not 0 < share < 1:
        raise IntervalsError(
            f"{show(QUANTILE + text)} is not a quantile: give a share between 0 and 1, as in 'quantile:0.9'."
        )
    return share


@dataclass(frozen=True, eq=False)
class Selection:
    """Some regions of one or several levels, none inside another, a range of sizes, and a measure."""

    name: str
    regions: tuple[Ints, ...]
    """For each level, the selected regions."""
    places: slice
    """The places of the selected sizes."""
    sizes: Sizes
    """All sizes of the release."""
    measure: Measure
    is_public: bool
    """Whether the number is a public fact, and released as it is."""

    @property
    def own_sizes(self) -> Sizes:
        """The selected sizes."""
        return cut_range(self.sizes, self.places)

    def add_up(self, counts: Sequence[Ints]) -> Ints:
        """Return the groups of all selected regions together, by size: 1 x sizes."""
        total = np.zeros((1, count_sizes(self.sizes)), dtype=np.int64)
        for level, regions in enumerate(self.regions):
            step = max(1, CHUNK_CELLS // get_shape(counts, level)[1])
            for start in range(0, len(regions), step):
                rows = take_rows(counts, level, regions[start : start + step])
                total += rows.sum(axis=0, dtype=np.int64)
        return total

    def find(self, rows: Ints) -> Floats:
        """Return the measure of each row of groups by size."""
        part = Distributions(np.ascontiguousarray(rows[:, self.places]), self.own_sizes)
        return self.measure.find(part, Distributions(rows, self.sizes))

    def replay(self, kept: KeptReplicates, released: Ints) -> tuple[Floats, Floats]:
        """Return the measure of the known counts and of those that were made, for each replicate."""
        known = np.repeat(released, kept.number, axis=0)
        apart = np.zeros_like(known)
        for level, regions in enumerate(self.regions):
            if len(regions):
                before, after = kept.add_up(level, regions, slice(0, known.shape[1]))
                known += before
                apart += after
        return self.find(known), self.find(known + apart)


def cut_range(sizes: Sizes, places: slice) -> Sizes:
    """Return the sizes or classes at these places."""
    if isinstance(sizes, SizeClasses):
        return SizeClasses(sizes.edges[places])
    return sizes[0] + places.start, sizes[0] + places.stop - 1


def select(
    plan: Plan,
    located: Located,
    *,
    sizes: SizeRange | None,
    statistic: object,
    words: Words = PLAIN,
    name: str = "",
) -> Selection:
    """Select located regions, a range of sizes (None: all) and a statistic, of the release of a plan."""
    places = find_places(plan.sizes, sizes)
    regions = group_by_level(plan.hierarchy, located)
    measure = find_measure(statistic, cut_range(plan.sizes, places), words)
    every = places == slice(0, count_sizes(plan.sizes))
    is_public = measure.name == "groups" and every and are_public(plan, regions)
    said = name or _name_regions(plan.hierarchy, regions)
    if not every:
        said += f", {_name_sizes(plan.sizes, places)}"
    return Selection(said, regions, places, plan.sizes, measure, is_public)


def _name_sizes(sizes: Sizes, places: slice) -> str:
    low, high = places.start, places.stop - 1
    if high == count_sizes(sizes) - 1:
        return f"size {list_edges(sizes)[low]} and more"
    if low == high:
        return f"size {name_size(sizes, low)}"
    first, last = list_edges(sizes)[low], list_edges(sizes)[high + 1] - 1
    return f"sizes {first} to {last}"


SHOWN_REGIONS = 3


def _name_regions(hierarchy: Hierarchy, regions: Sequence[Ints]) -> str:
    number = sum(map(len, regions))
    if number > SHOWN_REGIONS:
        return f"{number:,} regions"
    paths = [hierarchy.path(level, index) for level, some in enumerate(regions) for index in some.tolist()]
    return ", ".join("/".join(path) for path in paths)


def find_places(sizes: Sizes, asked: SizeRange | None) -> slice:
    """Return the places of a range of sizes; of classes it must begin and end with a class."""
    try:
        low, high = (None, None) if asked is None else asked
    except (TypeError, ValueError):
        raise IntervalsError(_NO_RANGE) from None
    first, last = (None if end is None else find_whole(end) for end in (low, high))
    if (low is None) != (first is None) or (high is None) != (last is None):
        raise IntervalsError(_NO_RANGE)
    if first is not None and last is not None and first > last:
        raise IntervalsError(f"There are no sizes from {first} to {last}.")
    edges = list_edges(sizes)
    start = 0 if first is None else _find_edge(edges, first, first, sizes)
    is_last = last is None or (last == edges[-1] and not isinstance(sizes, SizeClasses))
    stop = len(edges) if is_last or last is None else _find_edge(edges, last + 1, last, sizes)
    if stop <= start:
        raise IntervalsError(f"There are no sizes up to {last}: the release has {show_sizes(sizes)}.")
    return slice(start, stop)


_NO_RANGE = (
    "The sizes of an estimate are a pair of whole numbers, such as (3, 5); None in place of one leaves that "
    "end open."
)


def _find_edge(edges: Sequence[int], edge: int, asked: int, sizes: Sizes) -> int:
    """Return the place of the size or class that begins there."""
    place = bisect_left(edges, edge)
    if place == len(edges) or edges[place] != edge:
        what = "class" if isinstance(sizes, SizeClasses) else "size"
        raise IntervalsError(
            f"No {what} of the release begins or ends at {asked}: it has {show_sizes(sizes)}, and larger "
            "groups count at the last."
        )
    return place
