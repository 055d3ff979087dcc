"""Stacked bars: amounts by period, each made of parts that belong to somebody."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from tallytree.drawing.pictures import (
    COLOURS,
    Axis,
    Picture,
    draw_frame,
    element,
    lay_steps,
    write,
    write_title,
)

WIDTH, HEIGHT = 720, 330
LEFT, RIGHT, TOP, FLOOR = 70, 110, 76, 290
LABEL_ROOM = 56
"""Pixels from the middle of one label below the axis to the next."""
MOST_NAME = 16


def draw_stacks(
    title: str,
    columns: Sequence[str],
    series: Mapping[str, Sequence[float]],
    *,
    limit: tuple[float, str] | None = None,
) -> Picture:
    """Draw a bar for each column, stacked of the series; a line at ``limit``, with what it is called.

    There may be as many series as colours; amounts are positive or zero.
    """
    tops = [sum(values) for values in zip(*series.values(), strict=True)]
    axis = lay_steps("", max([*tops, limit[0] if limit else 0]), FLOOR, TOP)
    parts = [
        write_title(16, 26, title),
        *_draw_key(list(series)),
        *axis.draw_rows(LEFT, WIDTH - RIGHT),
        *_draw_columns(columns, list(series.values()), axis),
        *([] if limit is None else _draw_limit(*limit, axis)),
    ]
    return Picture(draw_frame(title, WIDTH, HEIGHT, parts, own_size=True), title)


def _draw_key(names: Sequence[str]) -> Iterator[str]:
    """The names of the series, beside their colours."""
    room = (WIDTH - 32) / max(len(names), 4)
    for at, (name, colour) in enumerate(zip(names, COLOURS, strict=False)):
        x = 16 + at * room
        yield element("rect", x=x, y=42.0, width=10, height=10, fill=colour)
        most = min(MOST_NAME, int(room / 8))
        yield write(x + 15, 51, name if len(name) <= most else name[: most - 1] + "…")


def _draw_columns(columns: Sequence[str], series: Sequence[Sequence[float]], axis: Axis) -> Iterator[str]:
    step = (WIDTH - LEFT - RIGHT) / len(columns)
    skip = math.ceil(LABEL_ROOM / step)
    for at, name in enumerate(columns):
        x, below = LEFT + at * step, 0.0
        for values, colour in zip(series, COLOURS, strict=False):
            if values[at] > 0:
                top, bottom = axis.place(below + values[at]), axis.place(below)
                yield element(
                    "rect", x=x + step * 0.12, y=top, width=step * 0.76, height=bottom - top, fill=colour
                )
                below += values[at]
        if at % skip == 0:
            yield write(x + step / 2, FLOOR + 18, name, text_anchor="middle")


def _draw_limit(value: float, name: str, axis: Axis) -> Iterator[str]:
    y = axis.place(value)
    yield element(
        "path", d=f"M{LEFT} {y:.1f}H{WIDTH - RIGHT}", class_="limit", stroke_dasharray="5 4", stroke_width=1.5
    )
    yield write(WIDTH - RIGHT + 6, y + 4, name)
