"""Figures by mechanism and epsilon, in panels side by side, as an SVG written by hand."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tallytree.drawing.pictures import (
    COLOURS,
    Axis,
    draw_cross,
    draw_diamond,
    draw_dot,
    draw_frame,
    element,
    lay_powers,
    write,
)
from tallytree.mechanisms.count_of_counts import CountOfCounts
from tallytree.research.reproduction.paper_figures import CHAIN, CHAIN_TABLES, find_variants

LABELS, PANEL, GAP, MARGIN = 235, 230, 60, 15
TOP, BOTTOM, ROW, STEP = 78, 30, 42, 11
"""Each mechanism has a row, and in it a line for each epsilon, ``STEP`` apart."""

SIGNS = {CHAIN["published"].label: " †", CHAIN_TABLES.label: " †", CountOfCounts.name: " ¹"}
"""†: its epsilon is not the stated one; ¹: it knows every region's number of groups."""


@dataclass(frozen=True)
class Mark:
    """One mechanism at one epsilon."""

    label: str
    epsilon: str
    mean: float | None
    """None: the mechanism was given up."""
    deviation: float = 0.0
    paper: float | None = None
    limit: float | None = None
    """The time at which it was given up, if time was the reason."""


@dataclass(frozen=True)
class Panel:
    """The marks of one level, or one dataset."""

    title: str
    marks: Sequence[Mark]


def draw_dots(title: str, panels: Sequence[Panel], epsilons: Sequence[str], units: Sequence[str]) -> str:
    """Draw means as dots with bars of one standard deviation, the paper's as diamonds, given up as crosses.

    ``units`` are the names of a thousandth, one, a thousand, a million and a billion.
    """
    used = list(dict.fromkeys(mark.label for panel in panels for mark in panel.marks))
    labels = [variant.label for variant in find_variants(used)]
    width = LABELS + len(panels) * (PANEL + GAP)
    height = TOP + len(labels) * ROW + BOTTOM
    paper = any(mark.paper for panel in panels for mark in panel.marks)
    crosses = any(mark.limit for panel in panels for mark in panel.marks)
    return draw_frame(
        title,
        width,
        height,
        [
            *_draw_key(epsilons, paper=paper, crosses=crosses),
            *_draw_labels(labels, width),
            *(
                part
                for place, panel in enumerate(panels)
                for part in _draw_panel(panel, labels, epsilons, LABELS + place * (PANEL + GAP), units)
            ),
        ],
    )


def _draw_key(epsilons: Sequence[str], *, paper: bool, crosses: bool) -> Iterator[str]:
    y, x = 20.0, float(LABELS)
    for epsilon, colour in zip(epsilons, COLOURS, strict=False):
        yield draw_dot(x, y, colour)
        yield write(x + 10, y + 4, f"epsilon {epsilon}")
        x += 100
    if paper:
        yield element("g", draw_diamond(x, y, "currentColor"), class_="soft")
        yield write(x + 10, y + 4, "in the paper")
        x += 110
    if crosses:
        yield element("g", draw_cross(x, y, "currentColor", size=8), class_="soft")
        yield write(x + 10, y + 4, "given up there")


def _draw_labels(labels: Sequence[str], width: int) -> Iterator[str]:
    for place, label in enumerate(labels):
        y = TOP + ROW * place
        yield element("path", class_="grid", d=f"M{MARGIN} {y}H{width - MARGIN}")
        yield write(MARGIN, y + ROW / 2 + 4, label + SIGNS.get(label, ""))


def _draw_panel(
    panel: Panel, labels: Sequence[str], epsilons: Sequence[str], left: float, units: Sequence[str]
) -> Iterator[str]:
    bottom = TOP + ROW * len(labels)
    known = [value for mark in panel.marks for value in (mark.mean, mark.paper, mark.limit) if value]
    yield write(left, TOP - 20, panel.title, font_weight="bold")
    if not known:
        return
    axis = lay_powers("", known, left, left + PANEL)
    for place, (value, _) in enumerate(axis.ticks):
        x = axis.place(value)
        yield element("path", class_="grid", d=f"M{x:.1f} {TOP}V{bottom}")
        if len(axis.ticks) < 7 or place % 2 == 0:
            yield write(x, bottom + 18, _shorten(value, units), text_anchor="middle")
    for mark in panel.marks:
        line = epsilons.index(mark.epsilon)
        y = TOP + ROW * labels.index(mark.label) + ROW / 2 + STEP * (line - (len(epsilons) - 1) / 2)
        yield from _draw_mark(mark, axis, y, COLOURS[line % len(COLOURS)])


def _draw_mark(mark: Mark, axis: Axis, y: float, colour: str) -> Iterator[str]:
    least, most = axis.ticks[0][0], axis.ticks[-1][0]
    if mark.mean:
        low, high = max(mark.mean - mark.deviation, least), min(mark.mean + mark.deviation, most)
        bar = f"M{axis.place(low):.1f} {y:.1f}H{axis.place(high):.1f}"
        yield element("path", d=bar, stroke=colour, stroke_width=2)
        yield draw_dot(axis.place(mark.mean), y, colour)
    if mark.limit:
        yield draw_cross(axis.place(mark.limit), y, colour, size=8)
    if mark.paper:
        yield draw_diamond(axis.place(mark.paper), y, colour)


def _shorten(value: float, units: Sequence[str]) -> str:
    """Format a power of ten as 1, 10, 100, 1k, 10k, ..., by the names of the units."""
    thousandth, one, *large = units
    if value < 1:
        return f"{1000 * value:g}{thousandth}"
    power = min(len(f"{value:.0f}") - 1, 3 * len(large) + 2) // 3
    return f"{value / 1000**power:g}{[one, *large][power]}"
