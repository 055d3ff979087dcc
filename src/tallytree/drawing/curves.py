"""Seconds on a logarithmic axis, as an SVG written by hand: no plotting library is needed."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from tallytree.drawing.elements import COLOURS, draw_frame, spread_labels

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
