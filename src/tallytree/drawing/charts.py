"""Line charts on logarithmic axes, as SVG: no plotting library is needed."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import cycle
from typing import Protocol

from tallytree.drawing.pictures import COLOURS, Picture, draw_frame, spread_labels, write_text
from tallytree.mechanisms.count_of_counts import CountOfCounts
from tallytree.research.reproduction.paper_figures import CHAIN, CHAIN_TABLES, find_variants

# The axes of a picture: where a value lies, in pixels, and which values are written beside it.


class Axis(Protocol):
    """From values to pixels."""

    @property
    def name(self) -> str:
        """What is counted along it."""
        ...

    @property
    def ticks(self) -> Sequence[tuple[float, str]]:
        """The values with a line across the picture, and how they are written."""
        ...

    def place(self, value: float) -> float:
        """The value's pixel."""
        ...


@dataclass(frozen=True)
class LogAxis:
    """Powers of ten from below the least value to above the largest, spread over pixels."""

    name: str
    values: Sequence[float]
    start: float
    stop: float

    @property
    def _powers(self) -> range:
        low = math.floor(math.log10(min(self.values)))
        return range(low, max(low + 1, math.ceil(math.log10(max(self.values)))) + 1)

    @property
    def ticks(self) -> Sequence[tuple[float, str]]:
        """The powers of ten."""
        return [
            (10.0**power, f"{10**power:,}" if power >= 0 else f"{10.0**power:.{-power}f}")
            for power in self._powers
        ]

    def place(self, value: float) -> float:
        """Equal ratios are equally far apart."""
        share = (math.log10(value) - self._powers[0]) / (self._powers[-1] - self._powers[0])
        return self.start + share * (self.stop - self.start)


@dataclass(frozen=True)
class LinearAxis:
    """The values themselves, from zero to the largest."""

    name: str
    values: Sequence[float]
    start: float
    stop: float

    @property
    def ticks(self) -> Sequence[tuple[float, str]]:
        """Every value."""
        return [(value, f"{value:,.0f}") for value in sorted(set(self.values))]

    def place(self, value: float) -> float:
        """Equal differences are equally far apart."""
        return self.start + value / max(self.values) * (self.stop - self.start)


# Figures by mechanism and epsilon, a panel beside the other, as an SVG written by hand.

LABELS, PANEL, GAP, MARGIN = 235, 230, 60, 15
TOP, BOTTOM, ROW, STEP = 78, 30, 42, 11
"""Each mechanism has a row, and in it a line for each epsilon, ``STEP`` apart."""

SIGNS = {CHAIN["published"].label: " †", CHAIN_TABLES.label: " †", CountOfCounts.name: " ¹"}
"""Its epsilon is not the stated one; it is told every region's number of groups."""


@dataclass(frozen=True)
class Mark:
    """One mechanism at one epsilon."""

    label: str
    epsilon: str
    mean: float | None
    """None: it was given up."""
    deviation: float = 0.0
    paper: float | None = None
    limit: float | None = None
    """Where it was given up, if that is a matter of time."""


@dataclass(frozen=True)
class Panel:
    """The marks of one level, or one dataset."""

    title: str
    marks: Sequence[Mark]


def draw_dots(title: str, panels: Sequence[Panel], epsilons: Sequence[str], units: Sequence[str]) -> str:
    """A dot is our mean with a bar of one standard deviation, a diamond the paper, a cross one given up.

    ``units`` are how a thousandth, one, a thousand, a million and a thousand million are written.
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
        yield _dot(x, y, colour)
        yield f'<text x="{x + 10}" y="{y + 4}">epsilon {epsilon}</text>'
        x += 100
    if paper:
        yield f'<g class="soft">{_diamond(x, y, "currentColor")}</g>'
        yield f'<text x="{x + 10}" y="{y + 4}">in the paper</text>'
        x += 110
    if crosses:
        yield f'<g class="soft">{_cross(x, y, "currentColor")}</g>'
        yield f'<text x="{x + 10}" y="{y + 4}">given up there</text>'


def _draw_labels(labels: Sequence[str], width: int) -> Iterator[str]:
    for place, label in enumerate(labels):
        y = TOP + ROW * place
        yield f'<path class="grid" d="M{MARGIN} {y}H{width - MARGIN}"/>'
        yield f'<text x="{MARGIN}" y="{y + ROW / 2 + 4}">{escape(label + SIGNS.get(label, ""))}</text>'


def _draw_panel(
    panel: Panel, labels: Sequence[str], epsilons: Sequence[str], left: float, units: Sequence[str]
) -> Iterator[str]:
    bottom = TOP + ROW * len(labels)
    known = [value for mark in panel.marks for value in (mark.mean, mark.paper, mark.limit) if value]
    yield f'<text x="{left}" y="{TOP - 20}" font-weight="bold">{escape(panel.title)}</text>'
    if not known:
        return
    axis = LogAxis("", known, left, left + PANEL)
    for place, (value, _) in enumerate(axis.ticks):
        x = axis.place(value)
        yield f'<path class="grid" d="M{x:.1f} {TOP}V{bottom}"/>'
        if len(axis.ticks) < 7 or place % 2 == 0:
            written = _shorten(value, units)
            yield f'<text x="{x:.1f}" y="{bottom + 18}" text-anchor="middle">{written}</text>'
    for mark in panel.marks:
        line = epsilons.index(mark.epsilon)
        y = TOP + ROW * labels.index(mark.label) + ROW / 2 + STEP * (line - (len(epsilons) - 1) / 2)
        yield from _draw_mark(mark, axis, y, COLOURS[line % len(COLOURS)])


def _draw_mark(mark: Mark, axis: LogAxis, y: float, colour: str) -> Iterator[str]:
    least, most = axis.ticks[0][0], axis.ticks[-1][0]
    if mark.mean:
        low, high = max(mark.mean - mark.deviation, least), min(mark.mean + mark.deviation, most)
        yield (
            f'<path d="M{axis.place(low):.1f} {y:.1f}H{axis.place(high):.1f}" stroke="{colour}" '
            'stroke-width="2"/>'
        )
        yield _dot(axis.place(mark.mean), y, colour)
    if mark.limit:
        yield _cross(axis.place(mark.limit), y, colour)
    if mark.paper:
        yield _diamond(axis.place(mark.paper), y, colour)


def _shorten(value: float, units: Sequence[str]) -> str:
    """1, 10, 100, 1k, 10k, ..., by the names of the units."""
    thousandth, one, *large = units
    if value < 1:
        return f"{1000 * value:g}{thousandth}"
    power = min(len(f"{value:.0f}") - 1, 3 * len(large) + 2) // 3
    return f"{value / 1000**power:g}{[one, *large][power]}"


def _dot(x: float, y: float, colour: str) -> str:
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{colour}"/>'


def _diamond(x: float, y: float, colour: str) -> str:
    return (
        f'<path d="M{x:.1f} {y:.1f}m0 -5l5 5l-5 5l-5 -5z" fill="none" stroke="{colour}" stroke-width="1.5"/>'
    )


def _cross(x: float, y: float, colour: str) -> str:
    return f'<path d="M{x:.1f} {y:.1f}m-4 -4l8 8m0 -8l-8 8" stroke="{colour}" stroke-width="2"/>'


# Seconds on a logarithmic axis, as an SVG written by hand: no plotting library is needed.

WIDTH, HEIGHT = 760, 420
LEFT, RIGHT, TOP, BOTTOM = 70, 300, 20, 50
LABEL_GAP = 17
CROSS_GAP = 13
MARKERS = (
    '<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{colour}"/>',
    '<path d="M{x:.1f} {y:.1f}m-3.5 -3.5h7v7h-7z" fill="{colour}"/>',
    '<path d="M{x:.1f} {y:.1f}m0 -4.5l4.5 7.5h-9z" class="paper" stroke="{colour}" stroke-width="1.5"/>',
)
CROSS = '<path d="M{x:.1f} {y:.1f}m-5 -5l10 10m0 -10l-10 10" stroke="{colour}" stroke-width="2"/>'


@dataclass(frozen=True)
class Curve:
    """Points (amount, seconds) under one name, which is written to the right of the last of them."""

    name: str
    points: Sequence[tuple[float, float]]
    given_up: tuple[float, float] | None = None
    """A cross, where it should have gone on."""

    @property
    def marks(self) -> Sequence[tuple[float, float]]:
        """All that is drawn of it, from left to right."""
        return sorted([*self.points, self.given_up] if self.given_up else self.points)


@dataclass(frozen=True)
class _Style:
    colour: str
    marker: str

    def mark(self, x: float, y: float) -> str:
        return self.marker.format(x=x, y=y, colour=self.colour)

    def cross(self, x: float, y: float) -> str:
        return CROSS.format(x=x, y=y, colour=self.colour)


def draw(curves: Sequence[Curve], amounts: str, *, linear: bool = False, limit: float | None = None) -> str:
    """The whole picture; ``amounts`` are along the other axis, and ``limit`` is a line across."""
    marks = [mark for curve in curves for mark in curve.marks]
    seconds = [y for _, y in marks] + ([] if limit is None else [limit])
    x_axis = (LinearAxis if linear else LogAxis)(amounts, [x for x, _ in marks], LEFT, WIDTH - RIGHT)
    y_axis = LogAxis("s", seconds, HEIGHT - BOTTOM, TOP)
    parts = [
        *_draw_grid(x_axis, y_axis),
        *([] if limit is None else _draw_limit(limit, y_axis.place(limit))),
    ]
    styles = [
        _Style(COLOURS[place % len(COLOURS)], MARKERS[place // len(COLOURS) % len(MARKERS)])
        for place in range(len(curves))
    ]
    ends = [(x_axis.place(curve.marks[-1][0]), y_axis.place(curve.marks[-1][1])) for curve in curves]
    labels = spread_labels([y for _, y in ends], gap=LABEL_GAP, lowest=HEIGHT - BOTTOM)
    crosses: Counter[tuple[float, float]] = Counter()
    for curve, style, end, label_y in zip(curves, styles, ends, labels, strict=True):
        parts += _draw_label(curve.name, style, end, label_y)
        parts += _draw_curve(curve, style, x_axis, y_axis)
        if curve.given_up:  # one beside the other, where there are several
            parts.append(style.cross(end[0] + CROSS_GAP * crosses[end], end[1]))
            crosses[end] += 1
    return draw_frame(f"Seconds against {amounts}", WIDTH, HEIGHT, parts)


def _draw_grid(x_axis: Axis, y_axis: Axis) -> list[str]:
    left, right, top, bottom = LEFT, WIDTH - RIGHT, TOP, HEIGHT - BOTTOM
    parts = []
    for value, text in x_axis.ticks:
        x = x_axis.place(value)
        parts.append(f'<path d="M{x:.1f} {top}V{bottom}" class="grid"/>')
        parts.append(f'<text x="{x:.1f}" y="{bottom + 18}" text-anchor="middle">{text}</text>')
    for value, text in y_axis.ticks:
        y = y_axis.place(value)
        parts.append(f'<path d="M{left} {y:.1f}H{right}" class="grid"/>')
        parts.append(f'<text x="{left - 8}" y="{y + 4:.1f}" text-anchor="end">{text}</text>')
    middle = (left + right) / 2
    parts.append(f'<text x="{middle}" y="{HEIGHT - 10}" text-anchor="middle">{x_axis.name}</text>')
    parts.append(f'<text x="16" y="{top + 4}" text-anchor="middle">{y_axis.name}</text>')
    return parts


def _draw_limit(seconds: float, y: float) -> list[str]:
    return [
        f'<path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}" class="limit" stroke-dasharray="5 4"/>',
        f'<text x="{WIDTH - RIGHT - 4}" y="{y - 7:.1f}" text-anchor="end" '
        'class="halo" stroke-width="4" paint-order="stroke">'
        f"given up after {seconds:g} s</text>",
    ]


def _draw_label(name: str, style: _Style, end: tuple[float, float], y: float) -> list[str]:
    """The name with its mark, and a thin line to the curve's end if that is at the right."""
    key = WIDTH - RIGHT + 35
    line = f"M{end[0]:.1f} {end[1]:.1f}L{key - 12} {y:.1f}H{key}"
    reaches = end[0] > WIDTH - RIGHT - 1
    return [
        *([f'<path d="{line}" fill="none" stroke="{style.colour}" opacity="0.5"/>'] if reaches else []),
        style.mark(key, y),
        f'<text x="{key + 10}" y="{y + 4:.1f}">{name}</text>',
    ]


def _draw_curve(curve: Curve, style: _Style, x_axis: Axis, y_axis: Axis) -> list[str]:
    """A line through the points, and a dotted one on to the cross."""
    places = [(x_axis.place(x), y_axis.place(y)) for x, y in curve.marks]
    reached = places[: len(curve.points)]
    return [
        _draw_line(reached, style.colour),
        _draw_line(places[len(curve.points) - 1 :], style.colour, dash="2 3"),
        *(style.mark(x, y) for x, y in reached),
    ]


def _draw_line(places: Sequence[tuple[float, float]], colour: str, dash: str = "none") -> str:
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    return (
        f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.5" '
        f'stroke-dasharray="{dash}"/>'
    )


WIDTH, HEIGHT = 720, 400
LEFT, RIGHT, TOP, BOTTOM = 80, 150, 60, 50
LINE_LABEL_GAP = 16


@dataclass(frozen=True)
class Line:
    """Points (x, y), both positive, under one name, which is written at the right end."""

    name: str
    points: Sequence[tuple[float, float]]


@dataclass(frozen=True)
class _LogAxis:
    low: float
    high: float
    start: float
    stop: float

    def place(self, value: float) -> float:
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return self.start + share * (self.stop - self.start)

    @property
    def powers(self) -> list[float]:
        first, last = math.ceil(math.log10(self.low) - 1e-9), math.floor(math.log10(self.high) + 1e-9)
        return [10.0**power for power in range(first, last + 1)]


def draw_lines(title: str, lines: Sequence[Line], *, x: str, y: str) -> Picture:
    """The picture, both axes logarithmic; ``x`` and ``y`` are the axes' names."""
    xs = [point[0] for line in lines for point in line.points]
    ys = [point[1] for line in lines for point in line.points]
    across = _LogAxis(min(xs) / 1.1, max(xs) * 1.1, LEFT, WIDTH - RIGHT)
    up = _LogAxis(min(ys) / 1.5, max(ys) * 1.5, HEIGHT - BOTTOM, TOP)
    parts = [
        f'<text x="14" y="24" font-size="15" font-weight="600">{write_text(title)}</text>',
        _write((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10, x, "middle"),
        _write(14, TOP - 12, y, "start"),
    ]
    for value in sorted(set(xs)):
        parts.append(_draw_grid_line(across.place(value), HEIGHT - BOTTOM, across.place(value), TOP))
        parts.append(_write(across.place(value), HEIGHT - BOTTOM + 18, f"{value:g}", "middle"))
    for value in up.powers:
        parts.append(_draw_grid_line(LEFT, up.place(value), WIDTH - RIGHT, up.place(value)))
        parts.append(_write(LEFT - 8, up.place(value) + 4, f"{value:,.0f}", "end"))
    parts += _draw_lines(lines, across, up)
    return Picture(draw_frame(title, WIDTH, HEIGHT, parts, own_size=True), title)


def _draw_lines(lines: Sequence[Line], across: _LogAxis, up: _LogAxis) -> Iterator[str]:
    """The lines with their names, which stand in the order of the ends, or of the points before."""
    drawn = sorted(
        (
            ([(across.place(a), up.place(b)) for a, b in line.points], line.name, colour)
            for line, colour in zip(lines, cycle(COLOURS), strict=False)
        ),
        key=lambda each: [y for _, y in reversed(each[0])],
    )
    heights = spread_labels(
        [places[-1][1] for places, _, _ in drawn],
        gap=LINE_LABEL_GAP,
        lowest=HEIGHT - BOTTOM - LINE_LABEL_GAP / 2,
    )
    for (places, name, colour), height in zip(drawn, heights, strict=True):
        path = " ".join(f"{a:.1f},{b:.1f}" for a, b in places)
        yield f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>'
        yield from (f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3.5" fill="{colour}"/>' for a, b in places)
        x, y = places[-1][0] + 10, height + 4
        yield f'<text x="{x:.1f}" y="{y:.1f}" style="fill:{colour}">{write_text(name)}</text>'


def _draw_grid_line(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line class="grid" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def _write(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{write_text(text)}</text>'
