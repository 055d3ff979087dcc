"""Releases to make reports of: small ones, hostile ones, one with intervals, one with shapes."""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import tallytree as tt
from tallytree.releases.interval_bounds import CellBounds, Intervals, SummaryBounds
from tallytree.releases.released import MAKER
from tallytree.releases.statistics import EARLIEST, summarize
from tallytree.report.key_figures import GRIDS, Figure
from tallytree.report.report_content import FACTS

Ints = npt.NDArray[np.int64]

HOSTILE = (
    "<script>alert(1)</script>",
    "</script><script>document.title='broken'</script>",
    "long " * 2000,
    "quotes \" and ' and `",
    "two\nlines\r\nand a tab\t.",
    "مقاطعة \u202e reversed",
    "👩‍👩‍👧‍👦 family",
    "{{style}} {{data}} ${name}",
    "=1+1",
    "<!-- a comment & an entity &lt;",
    "line separators \u2028 \u2029",
    "null \x00 and bell \x07",
)


def make_release(counties: int = 4, *, sizes: tuple[int, int] = (1, 12), epsilon: str = "1") -> tt.Release:
    """Three states, each with some counties."""
    paths = [("Land", f"State {s}", f"County {s}-{c:02}") for s in "ABC" for c in range(counties)]
    return release_of(tt.Hierarchy.from_paths(["nation", "state", "county"], paths), sizes, epsilon=epsilon)


def make_hostile_release() -> tt.Release:
    """Names of regions and of levels that try to be something else."""
    paths = [(HOSTILE[0], name, f"in {name}") for name in HOSTILE]
    levels = ["<img src=x onerror=alert(1)>", "state' \"</script>", "county & " + "x" * 3000]
    return release_of(tt.Hierarchy.from_paths(levels, paths), (1, 6))


def release_of(hierarchy: tt.Hierarchy, sizes: tuple[int, int], *, epsilon: str = "1") -> tt.Release:
    """Some groups of each size, fewer of the large ones."""
    generator = np.random.default_rng(7)
    span = sizes[1] - sizes[0] + 1
    means = 900 * 0.6 ** np.arange(span)
    leaf = generator.poisson(means, (len(hierarchy.leaves), span))
    return tt.release(tt.GroupCounts(hierarchy, sizes, leaf), epsilon=epsilon)


SUMMARY_REACH = np.array([30, 90, 0.001, 0, 1, 1, 1, 1])
"""How far below each statistic of a region its invented interval begins; it ends twice as far above."""


def invent_intervals(release: tt.Release) -> tt.Release:
    """A release with intervals that are easy to tell."""
    cells, summaries = [], []
    for counts in release.counts:
        nothing = np.zeros(counts.shape, dtype=np.float32)
        cells.append(CellBounds(np.maximum(counts - 7, 0), counts + 9, nothing, nothing))
        value = summarize(counts, release.sizes)
        low, high = np.maximum(value - SUMMARY_REACH, 0), value + 2 * SUMMARY_REACH
        summaries.append(SummaryBounds(EARLIEST, value, 0 * value, 0 * value, low, high))
    intervals = Intervals(tuple(cells), tuple(summaries), Fraction(9, 10), replicates=10, seed=0)
    return replace(release, intervals=intervals, made_by=MAKER)


def move_intervals(release: tt.Release, low: float, high: float) -> tt.Release:
    """The same release with intervals so far from its numbers."""
    assert release.intervals is not None
    cells = [
        replace(each, low=np.maximum(counts + int(low), 0), high=counts + int(high))
        for each, counts in zip(release.intervals.cells, release.counts, strict=True)
    ]
    summaries = [
        replace(each, low=np.maximum(each.value + low / 1000, 0), high=each.value + high / 1000)
        for each in release.intervals.summaries
    ]
    intervals = replace(release.intervals, cells=tuple(cells), summaries=tuple(summaries))
    return replace(release, intervals=intervals, made_by=MAKER)


def write_shapes(path: Path, release: tt.Release, *, extra: bool = True) -> None:
    """A square for every county, in rows; one more square belongs to none."""
    names = [region[-1] for region in release.hierarchy.regions("county")]
    features = [make_square(name, index % 4, index // 4) for index, name in enumerate(names)]
    if extra:
        features.append(make_square("Elsewhere", 5, 0))
    path.write_text(json.dumps({"type": "FeatureCollection", "features": features}))


def make_square(name: str, x: float, y: float) -> dict[str, Any]:
    ring = [[x, 40 + y], [x + 0.9, 40 + y], [x + 0.9, 40.9 + y], [x, 40.9 + y], [x, 40 + y]]
    return {
        "type": "Feature",
        "properties": {"NAME": name},
        "geometry": {"type": "Polygon", "coordinates": [ring]},
    }


def read_element(page: str, key: str) -> str:
    """The text of a data element of the page."""
    (found,) = re.findall(rf'<script type="[^"]*" id="{key}">(.*?)</script>', page, re.DOTALL)
    return str(found)


def read_numbers(text: str) -> list[int]:
    """All numbers of variable length in packed text, by the book."""
    numbers, value, shift = [], 0, 0
    for byte in zlib.decompress(base64.b64decode(text), -15):
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            numbers.append(value)
            value = shift = 0
    return numbers


def unfold(value: int) -> int:
    return -(value + 1) // 2 if value % 2 else value // 2


def unpack(text: str, regions: int, sizes: tuple[int, int], *, intervals: bool = False) -> tuple[Ints, ...]:
    """What the page reads from a packed level: groups, or groups and both ends of the intervals."""
    numbers = read_numbers(text)
    facts, at = [numbers[FACTS * i : FACTS * (i + 1)] for i in range(regions)], FACTS * regions
    groups, low, high = (np.zeros((regions, sizes[1] - sizes[0] + 1), dtype=np.int64) for _ in range(3))
    for region, (cells, *_) in enumerate(facts):
        place = -1
        for _ in range(cells):
            place += numbers[at]
            groups[region, place] = unfold(numbers[at + 1])
            if intervals:
                low[region, place] = groups[region, place] - unfold(numbers[at + 2])
                high[region, place] = groups[region, place] + unfold(numbers[at + 3])
            at += 4 if intervals else 2
    assert at == len(numbers)
    return (groups, low, high) if intervals else (groups,)


def unpack_figures(text: str, figures: Sequence[Figure], *, ends: bool) -> npt.NDArray[np.float64]:
    """Regions x figures x (value, low, high), by the book; NaN where there is none."""
    numbers = iter(read_numbers(text))
    regions = []
    for first in numbers:
        row: list[list[float]] = []
        for figure in figures:
            value = (first if not row else next(numbers)) - 1
            found = [value, -1, -1]
            if ends and figure.statistic:
                low = next(numbers) - 1
                width = next(numbers)
                found[1:] = [low, low + width] if low >= 0 else [-1, -1]
            row.append([each / GRIDS[figure.show] if each >= 0 else np.nan for each in found])
        regions.append(row)
    return np.array(regions)


def read_shape_numbers(text: str) -> list[tuple[int, list[list[tuple[int, int]]]]]:
    """Each shape of a packed map: its region from 1 on, or 0, and its rings."""
    numbers = iter(read_numbers(text))
    shapes = []
    for _ in range(next(numbers)):
        region, rings = next(numbers), []
        for _ in range(next(numbers)):
            x = y = 0
            ring = []
            for _ in range(next(numbers)):
                x, y = x + unfold(next(numbers)), y + unfold(next(numbers))
                ring.append((x, y))
            rings.append(ring)
        shapes.append((region, rings))
    assert next(numbers, None) is None
    return shapes


def list_names(release: tt.Release) -> Sequence[str]:
    return [path[-1] for level in release.hierarchy.levels for path in release.hierarchy.regions(level)]
