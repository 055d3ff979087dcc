"""Releases to export, small but with everything in them: hostile names, levels that end early, intervals."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import tallytree as tt
from tallytree.sizes import name_size

LEVELS = ["nation", "=state", "5-9"]
PATHS = [
    ("US", "GA", "=cmd|' /C calc'!A0"),
    ("US", "GA", "@SUM(1+1)*cmd"),
    ("US", "GA", "-1"),
    ("US", "GA", "'+1"),
    ("US", "N,Y", 'Quoted "Kings"'),
    ("US", "N,Y", "two\nlines <b>&amp;"),
    ("US", "N,Y", " spaces "),
    ("US", "DC"),
    ("US", "\tTab", "\rReturn _x0041_"),
    ("US", "Ünï", "東京\x1b[31m"),
]
WORDS = tt.Words(group="firm", member="employee", title="Firms & <employees>")


@cache
def make_release(*, classes: bool, intervals: bool, **options: Any) -> tt.Release:
    """A release on these paths; the last region has no groups."""
    hierarchy = tt.Hierarchy.from_paths(LEVELS, PATHS)
    sizes: Any = tt.SizeClasses([1, 5, 50]) if classes else (1, 3)
    leaf = [[90 + 10 * place, 20, 3] for place in range(len(PATHS) - 1)] + [[0, 0, 0]]
    counts = tt.GroupCounts(hierarchy, sizes, leaf)
    made = tt.release(counts, **{"epsilon": "20", "words": WORDS, **options})
    return tt.add_intervals(made, replicates=10) if intervals else made


def list_cells(release: tt.Release) -> Iterator[tuple[tuple[str, ...], str, int, int, int]]:
    """Every cell by a loop: its path, the name of its size, its count and its interval (or the count)."""
    for level in range(len(release.hierarchy.levels)):
        for region, path in enumerate(release.hierarchy.regions(level)):
            for place, groups in enumerate(release.counts[level][region]):
                low = high = int(groups)
                if release.intervals is not None:
                    cells = release.intervals.cells[level]
                    low, high = int(cells.low[region, place]), int(cells.high[region, place])
                yield path, name_size(release.sizes, place), int(groups), low, high


def list_rows(release: tt.Release) -> list[tuple[Any, ...]]:
    """The rows that a long table should have: path, level, size, count, low, high."""
    rows = []
    for path, size, groups, low, high in list_cells(release):
        if groups or high:
            padded = (*path, *[None] * (len(LEVELS) - len(path)))
            rows.append((*padded, LEVELS[len(path) - 1], size, groups, low, high))
    return rows


def strip_guard(text: str | None) -> str | None:
    """The text without the apostrophe that guards it."""
    bare = (text or "").lstrip("'")
    return text[1:] if text and text[0] == "'" and bare and bare[0] in "=+-@\t\r" else text
