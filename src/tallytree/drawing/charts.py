"""Charts: curves on logarithmic axes, each with its name at the right, and dots by row, in panels."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from tallytree.drawing.pictures import (
    COLOURS,
    Axis,
    Picture,
    draw_cross,
    draw_diamond,
    draw_dot,
    draw_frame,
    draw_square,
    draw_triangle,
    element,
    lay_linear,
    lay_powers,
    lay_ratios,
    spread_labels,
    write,
    write_title,
)

# Curves: how something grows or shrinks.

LABEL_GAP = 17
CROSS_GAP = 13
MARKS = (draw_dot, draw_square, draw_triangle)
"""The second and the third are for curves whose colour is used already."""


@dataclass(frozen=True)
class Curve:
    """Points (x, y) under one name, which is written to the right of the last of them."""

    name: str
    points: Sequence[tuple[float, float]]
    given_up: tuple[float, float] | None = None
    """The place of a cross, where the curve should have gone on."""

    @property
    def marks(self) -> Sequence[tuple[float, float]]:
        """All points that are drawn, from left to right."""
        return sorted([*self.points, self.given_up] if self.given_up else self.points)


@dataclass(frozen=True)
class _Room:
    """A picture's size, and the edges of the part of it that the axes span."""

    width: int
    height: int
    left: int
    right: int
    top: int
    bottom: int


WIDE_LABELS = _Room(760, 420, left=70, right=460, top=20, bottom=370)
TITLED = _Room(720, 400, left=80, right=520, top=60, bottom=350)


def draw(curves: Sequence[Curve], amounts: str, *, linear: bool = False, limit: float | None = None) -> str:
    """Draw seconds against ``amounts`` on the horizontal axis; ``limit`` is a horizontal line."""
    room = WIDE_LABELS
    marks = [mark for curve in curves for mark in curve.marks]
    seconds = [y for _, y in marks] + ([] if limit is None else [limit])
    lay = lay_linear if linear else lay_powers
    x_axis = lay(amounts, [x for x, _ in marks], room.left, room.right)
    y_axis = lay_powers("s", seconds, room.bottom, room.top)
    parts = [
        *_draw_grid(x_axis, y_axis, room),
        write(16, room.top + 4, y_axis.name, text_anchor="middle"),
        *([] if limit is None else _draw_limit(limit, y_axis.place(limit), room)),
        *_draw_curves(curves, x_axis, y_axis, room),
    ]
    return draw_frame(f"Seconds against {amounts}", room.width, room.height, parts)


def draw_titled(title: str, curves: Sequence[Curve], *, x: str, y: str) -> Picture:
    """Draw curves with a title; ``x`` and ``y``, both positive, are the names of the axes."""
    room = TITLED
    marks = [mark for curve in curves for mark in curve.marks]
    x_axis = lay_ratios(x, [x for x, _ in marks], room.left, room.right)
    y_axis = lay_powers(y, [y for _, y in marks], room.bottom, room.top)
    parts = [
        write_title(14, 24, title),
        write(14, room.top - 12, y),
        *_draw_grid(x_axis, y_axis, room),
        *_draw_curves(curves, x_axis, y_axis, room),
    ]
    return Picture(draw_frame(title, room.width, room.height, parts, own_size=True), title)


def _draw_grid(x_axis: Axis, y_axis: Axis, room: _Room) -> Iterator[str]:
    yield from x_axis.draw_columns(room.top, room.bottom)
    yield from y_axis.draw_rows(room.left, room.right)
    yield write((room.left + room.right) / 2, room.height - 10, x_axis.name, text_anchor="middle")


def _draw_limit(seconds: float, y: float, room: _Room) -> Iterator[str]:
    yield element("path", d=f"M{room.left} {y:.1f}H{room.right}", class_="limit", stroke_dasharray="5 4")
    yield write(
        room.right - 4,
        y - 7,
        f"given up after {seconds:g} s",
        text_anchor="end",
        class_="halo",
        stroke_width=4,
        paint_order="stroke",
    )


def _draw_curves(curves: Sequence[Curve], x_axis: Axis, y_axis: Axis, room: _Room) -> Iterator[str]:
    """Draw the curves with their names; crosses at one place stand side by side."""
    ends = [(x_axis.place(curve.marks[-1][0]), y_axis.place(curve.marks[-1][1])) for curve in curves]
    labels = spread_labels([y for _, y in ends], gap=LABEL_GAP, lowest=room.bottom)
    crosses: Counter[tuple[float, float]] = Counter()
    for place, (curve, end, label_y) in enumerate(zip(curves, ends, labels, strict=True)):
        turn, shade = divmod(place, len(COLOURS))
        colour = COLOURS[shade]
        mark = partial(MARKS[turn % len(MARKS)], colour=colour)
        if end[0] > room.right - 1:
            line = f"M{end[0]:.1f} {end[1]:.1f}L{room.right + 23} {label_y:.1f}H{room.right + 35}"
            yield element("path", d=line, fill="none", stroke=colour, opacity=0.5)
        yield mark(room.right + 35, label_y)
        yield write(room.right + 45, label_y + 4, curve.name)
        yield from _draw_curve(curve, colour, mark, x_axis, y_axis)
        if curve.given_up:
            yield draw_cross(end[0] + CROSS_GAP * crosses[end], end[1], colour)
            crosses[end] += 1


def _draw_curve(
    curve: Curve, colour: str, mark: Callable[[float, float], str], x_axis: Axis, y_axis: Axis
) -> Iterator[str]:
    """Draw a line through the points, and a dotted one on to the cross."""
    places = [(x_axis.place(x), y_axis.place(y)) for x, y in curve.marks]
    reached = places[: len(curve.points)]
    for part, dash in ((reached, "none"), (places[len(curve.points) - 1 :], "2 3")):
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in part)
        yield element(
            "polyline", points=points, fill="none", stroke=colour, stroke_width=1.5, stroke_dasharray=dash
        )
    yield from (mark(x, y) for x, y in reached)


# Dots: a row for each thing that is compared, and in it a line for each series, ``STEP`` apart.

LABELS, PANEL, GAP, MARGIN = 235, 230, 60, 15
TOP, BOTTOM, ROW, STEP = 78, 30, 42, 11


@dataclass(frozen=True)
class Mark:
    """One row in one series."""

    row: str
    series: str
    mean: float | None
    """None: it was given up."""
    deviation: float = 0.0
    reference: float | None = None
    """What others found."""
    limit: float | None = None
    """The time at which it was given up, if time was the reason."""


@dataclass(frozen=True)
class Panel:
    """The marks under one title."""

    title: str
    marks: Sequence[Mark]


@dataclass(frozen=True)
class Key:
    """What rows and series are called, in their order; what the references are; the names of the units."""

    rows: Mapping[str, str]
    series: Mapping[str, str]
    reference: str
    units: Sequence[str]
    """The names of a thousandth, one, a thousand, a million and a billion."""


def draw_dots(title: str, panels: Sequence[Panel], key: Key) -> str:
    """Draw means as dots with bars of one standard deviation, references as diamonds, given up as crosses."""
    width = LABELS + len(panels) * (PANEL + GAP)
    height = TOP + len(key.rows) * ROW + BOTTOM
    parts = [*_draw_key(key, panels), *_draw_rows(key, width)]
    for place, panel in enumerate(panels):
        parts += _draw_panel(panel, key, LABELS + place * (PANEL + GAP))
    return draw_frame(title, width, height, parts)


def _draw_key(key: Key, panels: Sequence[Panel]) -> Iterator[str]:
    marks = [mark for panel in panels for mark in panel.marks]
    y, x = 20.0, float(LABELS)
    for name, colour in zip(key.series.values(), COLOURS, strict=False):
        yield draw_dot(x, y, colour)
        yield write(x + 10, y + 4, name)
        x += 100
    if any(mark.reference for mark in marks):
        yield element("g", draw_diamond(x, y, "currentColor"), class_="soft")
        yield write(x + 10, y + 4, key.reference)
        x += 110
    if any(mark.limit for mark in marks):
        yield element("g", draw_cross(x, y, "currentColor", size=8), class_="soft")
        yield write(x + 10, y + 4, "given up there")


def _draw_rows(key: Key, width: int) -> Iterator[str]:
    for place, name in enumerate(key.rows.values()):
        y = TOP + ROW * place
        yield element("path", d=f"M{MARGIN} {y}H{width - MARGIN}", class_="grid")
        yield write(MARGIN, y + ROW / 2 + 4, name)


def _draw_panel(panel: Panel, key: Key, left: float) -> Iterator[str]:
    known = [value for mark in panel.marks for value in (mark.mean, mark.reference, mark.limit) if value]
    yield write(left, TOP - 20, panel.title, font_weight="bold")
    if not known:
        return
    axis = lay_powers("", known, left, left + PANEL)
    step = 1 if len(axis.ticks) < 7 else 2
    ticks = [
        (value, "" if place % step else _shorten(value, key.units))
        for place, (value, _) in enumerate(axis.ticks)
    ]
    yield from replace(axis, ticks=ticks).draw_columns(TOP, TOP + ROW * len(key.rows))
    rows, series = list(key.rows), list(key.series)
    for mark in panel.marks:
        line = series.index(mark.series)
        y = TOP + ROW * rows.index(mark.row) + ROW / 2 + STEP * (line - (len(series) - 1) / 2)
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
    if mark.reference:
        yield draw_diamond(axis.place(mark.reference), y, colour)


def _shorten(value: float, units: Sequence[str]) -> str:
    """Format a power of ten as 1, 10, 100, 1k, 10k, ..., by the names of the units."""
    thousandth, one, *large = units
    if value < 1:
        return f"{1000 * value:g}{thousandth}"
    power = min(len(f"{value:.0f}") - 1, 3 * len(large) + 2) // 3
    return f"{value / 1000**power:g}{[one, *large][power]}"
