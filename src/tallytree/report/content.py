"""What the explorer of the page reads: the regions, their counts, and what is known about them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from tallytree.releases import Release
from tallytree.report.accuracy import find_accuracy
from tallytree.report.packing import PackedLevel, pack_level, pack_summaries

MOST_REGIONS = 50_000
"""In the explorer. Levels below are left out, and the page says so."""
MOST_TEXT = 8_000_000
"""Characters that names, counts and intervals may take."""


@dataclass(frozen=True)
class Content:
    """The data of a page."""

    facts: dict[str, Any]
    """For JSON: names, parents, sizes, noise."""
    levels: tuple[PackedLevel, ...]
    """The counts of the levels that are shown, root first."""
    summaries: tuple[str, ...]
    """The intervals of what sums up their regions; none for a release without intervals."""


def gather(release: Release) -> Content:
    """The levels from the root down, as many as a page can hold."""
    hierarchy, (low, high), found = release.hierarchy, release.sizes, release.intervals
    levels: list[dict[str, Any]] = []
    packed: list[PackedLevel] = []
    summaries: list[str] = []
    regions = room = 0
    for index, name in enumerate(hierarchy.levels):
        regions += release.measurements.plan.shape(index)[0]
        if index and regions > MOST_REGIONS:
            break
        ends = None if found is None else (found.cells[index].low, found.cells[index].high)
        level = pack_level(release.counts[index], low, ends)
        bounds = [] if found is None else [pack_summaries(found.summaries[index])]
        names = list(map(str, hierarchy.names(index).to_pylist()))
        room += sum(map(len, (level.text, *bounds, *names)))
        if index and room > MOST_TEXT:
            break
        levels.append({"name": name, "names": names, "parents": hierarchy.parents(index).tolist()})
        packed.append(level)
        summaries += bounds
    facts = {
        "sizes": [low, high],
        "total": release.total,
        "levels": levels,
        "leftOut": list(hierarchy.levels[len(levels) :]),
        "noise": [
            {"answer": level.answer, "deviation": level.deviation, "reach": level.reach}
            for level in find_accuracy(release.measurements.plan)[: len(levels)]
        ],
        "coverage": None if found is None else f"{float(100 * found.coverage):g} %",
        "file": _name_files(levels[0]["names"][0]),
    }
    return Content(facts, tuple(packed), tuple(summaries))


def _name_files(root: str) -> str:
    """How downloaded files begin: plain letters, whatever the region is called."""
    return re.sub(r"[^a-z0-9]+", "-", root.lower())[:40].strip("-") or "release"
