"""The picture of a distribution: how many groups there are of each size."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from tallytree.drawing.pictures import (
    COLOURS,
    Axis,
    Picture,
    draw_frame,
    element,
    round_step,
    spread,
    write,
    write_title,
)
from tallytree.sizes import SizeClasses, Sizes, get_ends, name_size
from tallytree.words import PLAIN, Words

# A distribution of groups over sizes, in few enough bars to look at.

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
    """Only for a bar of one size: the ends of single sizes do not tell how far off their sum is."""

    @property
    def height(self) -> float:
        """Groups per size, so that a wide bar does not look like many groups."""
        return self.groups / (self.last - self.first + 1)

    @property
    def top(self) -> float:
        """The highest point that is drawn."""
        return self.height if self.ends is None else max(self.height, self.ends[1])


def has_long_tail(groups: Ints) -> bool:
    """Return whether half of the groups are within the first tenth of the sizes."""
    running = np.cumsum(groups)
    return int(np.searchsorted(running, 0.5 * running[-1])) < len(groups) / 10


def make_bars(lowest: int, groups: Ints, ends: Ends | None = None) -> list[Bar]:
    """Return bars for the sizes from ``lowest`` up to the last that has groups; none if there are no groups.

    Many sizes are grouped into bars: by equal steps or, where there is a long tail, by equal ratios.
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


WIDTH, HEIGHT = 720, 360
LEFT, RIGHT, TOP, FLOOR = 92, 24, 66, 306
MOST_TITLE = 80
MOST_RATIO = 200
"""Of the highest bar to the lowest. Beyond it the scale is logarithmic: the lowest would be a pixel high."""
LABEL_ROOM = 40
"""Pixels from the middle of one label below the axis to the next."""


def draw_histogram(
    title: str, sizes: Sizes, groups: Ints, ends: Ends | None = None, *, words: Words = PLAIN
) -> Picture:
    """Draw groups by size; with ``ends``, a line for what each may truly be.

    Both axes depend on what there is to show: logarithmic where values span decades, and bars of several
    sizes where there are many. Classes are as wide as each other, and named.
    """
    short = title if len(title) <= MOST_TITLE else title[: MOST_TITLE - 1] + "…"
    names = _name_classes(sizes)
    low, high = (0, len(names) - 1) if names else get_ends(sizes)
    bars = make_bars(low, groups, ends)
    note = words.say(_describe(bars, high, groups, names))
    parts = [write_title(16, 26, short), write(16, 46, note, class_="soft", style="fill:currentColor")]
    if bars:
        parts += _draw_bars(bars, high, names, words)
    about = f"{short}: {words.say('groups by size')}"
    return Picture(draw_frame(about, WIDTH, HEIGHT, parts, own_size=True), short)


def _name_classes(sizes: Sizes) -> list[str]:
    """The names of the classes; none where every size is counted."""
    if not isinstance(sizes, SizeClasses):
        return []
    return [name_size(sizes, place) for place in range(len(sizes.edges))]


def _describe(bars: Sequence[Bar], high: int, groups: Ints, names: Sequence[str]) -> str:
    """What is shown, and what is not."""
    if not bars:
        return "No groups."
    words = [f"{int(groups.sum()):,} groups"]
    last = bars[-1].last
    if last < high:
        words.append(f"none above size {names[last] if names else f'{last:,}'}")
    if any(bar.last > bar.first for bar in bars):
        words.append("wide bars: the mean of their sizes")
    if any(bar.ends for bar in bars):
        words.append("thin lines: what the true number may be")
    return "; ".join(words)


def _draw_bars(bars: Sequence[Bar], high: int, names: Sequence[str], words: Words) -> list[str]:
    across, up = _lay_across(bars, high, names, words), _lay_up(bars, words)
    turned = f"translate(20 {(TOP + FLOOR) / 2}) rotate(-90)"
    return [
        write((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 14, across.name, text_anchor="middle"),
        element("text", up.name, transform=turned, text_anchor="middle"),
        *up.draw_rows(LEFT, WIDTH - RIGHT),
        *(_draw_bar(bar, across, up, words.say(_tell(bar, names))) for bar in bars if bar.groups > 0),
        *(_draw_ends(bar.ends, bar, across, up) for bar in bars if bar.ends),
        element("path", d=f"M{LEFT} {FLOOR}H{WIDTH - RIGHT}", class_="limit"),
        *(write(across.place(at + 0.5), FLOOR + 18, text, text_anchor="middle") for at, text in across.ticks),
    ]


def _draw_bar(bar: Bar, across: Axis, up: Axis, told: str) -> str:
    start, stop = across.place(bar.first), across.place(bar.last + 1)
    gap = min(4.0, 0.15 * (stop - start))
    top = min(up.place(bar.height), FLOOR - 1.5)  # high enough to be seen
    return element(
        "rect",
        element("title", told),
        x=start + gap / 2,
        y=top,
        width=stop - start - gap,
        height=FLOOR - top,
        fill=COLOURS[0],
    )


def _tell(bar: Bar, names: Sequence[str]) -> str:
    first, last = (names[place] if names else f"{place:,}" for place in (bar.first, bar.last))
    what = f"Size {first}" if bar.first == bar.last else f"Sizes {first} to {last}"
    ends = "" if bar.ends is None else f", truly {bar.ends[0]:,} to {bar.ends[1]:,}"
    return f"{what}: {bar.groups:,} groups{ends}"


def _draw_ends(ends: tuple[int, int], bar: Bar, across: Axis, up: Axis) -> str:
    start, stop = across.place(bar.first), across.place(bar.last + 1)
    middle, cap = (start + stop) / 2, min(4.0, (stop - start) / 4)
    low, high = (min(up.place(end), FLOOR) for end in ends)
    line = (
        f"M{middle - cap:.1f} {low:.1f}h{2 * cap:.1f}M{middle:.1f} {low:.1f}V{high:.1f}"
        f"M{middle - cap:.1f} {high:.1f}h{2 * cap:.1f}"
    )
    return element("path", class_="ends", d=line, fill="none", stroke="currentColor")


def _lay_up(bars: Sequence[Bar], words: Words) -> Axis:
    """The axis of numbers of groups."""
    single = all(bar.first == bar.last for bar in bars)
    name = words.say("Groups" if single else "Groups per size")
    heights = [bar.height for bar in bars if bar.groups > 0]
    most, least = max(bar.top for bar in bars), min(heights)
    if max(heights) < MOST_RATIO * least:
        step = round_step(max(most / 4, 1 if single else 0))
        count = math.ceil(most / step)
        ticks = [(step * at, _show(step * at)) for at in range(count + 1)]
        return Axis(name, spread(float, (0, step * count), (FLOOR, TOP)), ticks)
    low, high = math.log10(least) - 0.3, math.log10(most) + 0.1
    powers = range(math.ceil(low), math.floor(math.log10(most)) + 1)
    skip = math.ceil(len(powers) / 7)
    return Axis(
        f"{name} (log scale)",
        spread(lambda value: math.log10(max(value, 10**low)), (10**low, 10**high), (FLOOR, TOP)),
        [(10.0**power, _show(10.0**power)) for power in powers[::skip]],
    )


def _lay_across(bars: Sequence[Bar], highest: int, names: Sequence[str], words: Words) -> Axis:
    """The axis of sizes, which is logarithmic where bars were made by ratios."""
    start, stop = bars[0].first, bars[-1].last + 1
    pixels = LEFT, WIDTH - RIGHT
    if len({bar.last - bar.first for bar in bars[:-1]}) <= 1:
        place = spread(float, (start, stop), pixels)
        step = max(1, round(round_step((stop - start) * LABEL_ROOM / (WIDTH - LEFT - RIGHT))))
        marks = [start, *range(start - start % step + step, stop, step)]
    else:
        shift = 1 if start == 0 else 0
        place = spread(lambda size: math.log(size + shift), (start, stop), pixels)
        powers = range(len(str(stop)))
        marks = sorted({start} | {digit * 10**power for power in powers for digit in (1, 2, 5)})
    if stop - 1 == highest:
        marks.append(highest)
    ticks = _choose_labels([mark for mark in marks if start <= mark < stop], place, highest)
    if names:
        ticks = [(mark, names[int(mark)]) for mark, _ in ticks]
    return Axis(words.size_axis, place, ticks)


def _choose_labels(
    marks: Sequence[int], place: Callable[[float], float], highest: int
) -> list[tuple[float, str]]:
    """The labels that have room, from the largest down: larger groups may count at the largest size."""
    chosen: list[tuple[float, str]] = []
    left = math.inf
    for mark in sorted(set(marks), reverse=True):
        if left - place(mark + 0.5) >= LABEL_ROOM:
            chosen.append((mark, f"{mark:,}+" if mark == highest else f"{mark:,}"))
            left = place(mark + 0.5)
    return chosen[::-1]


def _show(number: float) -> str:
    """A label of the axis of groups, with few letters: 2,500, 2.5M, 0.01."""
    for size, letter in ((10**9, "B"), (10**6, "M")):
        if number >= size:
            return f"{number / size:,g}{letter}"
    return f"{number:,.10f}".rstrip("0").rstrip(".")
