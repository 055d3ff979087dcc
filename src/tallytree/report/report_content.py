"""The data of the page's explorer: the regions, their counts, and what is known about them."""

from __future__ import annotations

import base64
import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from tallytree.privacy.accuracy import find_accuracy
from tallytree.privacy.plan import Plan
from tallytree.releases.released import Released
from tallytree.releases.statistics import Distributions, cut_distributions
from tallytree.report.key_figures import Figure, describe_figures, list_figures, list_numbers
from tallytree.sizes import SizeClasses, Sizes, get_ends, name_size

# A compact encoding of counts for the page: only cells that are not zero, as numbers of variable length.
#
# Each level is packed separately. It begins with :data:`FACTS` numbers for each region; the regions' cells
# follow, one after the other, so that the page can find the cells of a region without reading those of the
# others. A cell is the distance from the region's last cell (for its first cell: from one below the lowest
# size) and the groups, and, where there are intervals, the distances of their ends from the groups. The
# regions' key figures are packed separately. A number has seven bits in each byte, the lowest first; a set
# eighth bit says that more follow (LEB128). Everything is deflated, in base64.

Ints = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]

FACTS = 4
"""The numbers per region: its cells, their bytes, its groups, and the size that nearly all do not exceed."""
NEARLY_ALL = Fraction(999, 1000)
"""The share of the groups that the page shows at first."""
CHUNK = 2**18
"""Cells that are packed together."""


@dataclass(frozen=True)
class PackedLevel:
    """A level as the page reads it."""

    text: str
    groups: Ints
    """The number of groups of each region."""


def pack_level(counts: Ints, lowest: int, intervals: tuple[Ints, Ints] | None = None) -> PackedLevel:
    """Pack a level's counts, regions x sizes from ``lowest`` on, and the ends of their intervals, if any."""
    facts, cells = [], []
    for rows in _split(counts.shape):
        ends = None if intervals is None else (intervals[0][rows], intervals[1][rows])
        some_facts, some_cells = _pack_rows(np.asarray(counts[rows]), lowest, ends)
        facts.append(some_facts)
        cells.append(some_cells)
    all_facts = np.concatenate(facts)
    head, _ = encode(all_facts.ravel())
    return PackedLevel(write_bytes(np.concatenate([head, *cells])), all_facts[:, 2])


def pack_figures(figures: Sequence[Figure], release: Released, level: int) -> str:
    """Pack the key figures of a level's regions, with their intervals, if any."""
    bounds = None if release.intervals is None else release.intervals.summaries[level]
    parts = cut_distributions(release.counts[level], release.sizes)
    return write_bytes(encode(list_numbers(figures, parts, bounds).ravel())[0])


def _split(shape: tuple[int, ...]) -> Iterator[slice]:
    regions, sizes = shape
    step = max(1, CHUNK // max(1, sizes))
    return (slice(first, min(first + step, regions)) for first in range(0, regions, step))


def _pack_rows(counts: Ints, lowest: int, ends: tuple[Ints, Ints] | None) -> tuple[Ints, Bytes]:
    shown = counts != 0
    if ends is not None:
        shown |= (ends[0] != 0) | (ends[1] != 0)
    region, size = np.nonzero(shown)
    gap = np.diff(size, prepend=-1)
    first = np.flatnonzero(np.diff(region, prepend=-1))
    gap[first] = size[first] + 1
    values = counts[region, size]
    columns = [gap, fold(values)]
    if ends is not None:
        columns += [fold(values - ends[0][region, size]), fold(ends[1][region, size] - values)]
    packed, lengths = encode(np.column_stack(columns).ravel())
    per_cell = lengths.reshape(-1, len(columns)).sum(axis=1)
    regions = Distributions(counts, (lowest, lowest + counts.shape[1] - 1))
    facts = [
        shown.sum(axis=1),
        np.bincount(region, weights=per_cell, minlength=len(counts)).astype(np.int64),
        _as_count(regions.groups),
        np.nan_to_num(regions.quantile(NEARLY_ALL)).astype(np.int64),
    ]
    return np.column_stack(facts), packed


def _as_count(values: Ints) -> Ints:
    """Replace negative counts, which a damaged release may hold, by zero: the checks report them."""
    return np.maximum(values, 0)


def fold(values: Ints) -> Ints:
    """Map signed numbers to non-negative ones: 0, -1, 1, -2, 2 become 0, 1, 2, 3, 4 (zigzag encoding)."""
    folded: Ints = np.where(values < 0, -2 * values - 1, 2 * values)
    return folded


def encode(values: Ints) -> tuple[Bytes, Ints]:
    """Encode non-negative numbers in variable length; also return how many bytes each of them takes.

    >>> encode(np.array([1, 300]))[0].tolist()
    [1, 172, 2]
    """
    lengths = np.ones(len(values), dtype=np.int64)
    rest = values >> 7
    while rest.any():
        lengths += rest > 0
        rest = rest >> 7
    most = int(lengths.max(initial=1))
    place = np.arange(most)
    digits = (values[:, None] >> (7 * place)) & 127
    digits |= np.where(place < lengths[:, None] - 1, 128, 0)
    return digits[place < lengths[:, None]].astype(np.uint8), lengths


def write_bytes(data: Bytes) -> str:
    """Return the bytes deflated, in base64."""
    deflate = zlib.compressobj(6, zlib.DEFLATED, -15)
    return base64.b64encode(deflate.compress(data.tobytes()) + deflate.flush()).decode()


MOST_REGIONS = 100_000
"""The most regions in the explorer. Levels below are left out, and the page says so."""
MOST_TEXT = 8_000_000
"""The most characters of names, counts and intervals."""


@dataclass(frozen=True)
class Content:
    """The data of a page."""

    facts: dict[str, Any]
    """For JSON: names, parents, sizes, noise."""
    levels: tuple[PackedLevel, ...]
    """The counts of the levels that are shown, root first."""
    figures: tuple[str, ...]
    """The key figures of their regions."""


def gather(release: Released) -> Content:
    """Gather the levels from the root down, as many as fit on a page."""
    hierarchy, found = release.hierarchy, release.intervals
    classes = _list_classes(release.sizes)
    low, high = (0, len(classes) - 1) if classes else get_ends(release.sizes)
    levels: list[dict[str, Any]] = []
    packed: list[PackedLevel] = []
    packed_figures: list[str] = []
    figures = list_figures(release.sizes, None if found is None else found.summaries[0])
    regions = room = 0
    for index, name in enumerate(hierarchy.levels):
        regions += release.measurements.plan.shape(index)[0]
        if index and regions > MOST_REGIONS:
            break
        ends = None if found is None else (found.cells[index].low, found.cells[index].high)
        level = pack_level(release.counts[index], low, ends)
        told = pack_figures(figures, release, index)
        names = list(map(str, hierarchy.names(index).to_pylist()))
        room += sum(map(len, (level.text, told, *names)))
        if index and room > MOST_TEXT:
            break
        levels.append({"name": name, "names": names, "parents": hierarchy.parents(index).tolist()})
        packed.append(level)
        packed_figures.append(told)
    facts = {
        "sizes": [low, high],
        **({"classes": classes} if classes else {}),
        "total": release.total,
        "public": _find_public_level(release.measurements.plan),
        "levels": levels,
        "leftOut": list(hierarchy.levels[len(levels) :]),
        "noise": [
            {"answer": release.words.say(level.answer), "deviation": level.deviation, "reach": level.reach}
            for level in find_accuracy(release.measurements.plan)[: len(levels)]
        ],
        "figures": describe_figures(figures, release.words),
        "words": {
            "groups": release.words.say("groups"),
            "Groups": release.words.say("Groups"),
            "size": release.words.size_axis,
        },
        "coverage": None if found is None else f"{float(100 * found.coverage):g} %",
        "file": _name_files(levels[0]["names"][0]),
    }
    return Content(facts, tuple(packed), tuple(packed_figures))


def _find_public_level(plan: Plan) -> int:
    """Return the lowest level whose numbers of groups are public; -1 if there is none."""
    if not plan.has_public_total:
        return -1
    return 0 if plan.public_totals is None else plan.hierarchy.index(plan.public_totals)


def _list_classes(sizes: Sizes) -> list[dict[str, Any]]:
    """Return the name, the first and the last size of each class; nothing where every size is counted."""
    if not isinstance(sizes, SizeClasses):
        return []
    last = [*(edge - 1 for edge in sizes.edges[1:]), None]
    return [
        {"name": name_size(sizes, place), "first": first, "last": last[place]}
        for place, first in enumerate(sizes.edges)
    ]


def _name_files(root: str) -> str:
    """Return the prefix of downloaded files' names: plain letters, whatever the region's name is."""
    return re.sub(r"[^a-z0-9]+", "-", root.lower())[:40].strip("-") or "release"
