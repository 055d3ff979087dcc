"""Curves: how something grows or shrinks, on logarithmic axes, each curve with its name at the right."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from tallytree.drawing.pictures import (
    COLOURS,
    Axis,
    Picture,
    draw_cross,
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
