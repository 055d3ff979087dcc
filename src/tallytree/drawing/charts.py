"""Line charts on logarithmic axes, as SVG: no plotting library is needed."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle

from tallytree.drawing.elements import COLOURS, draw_frame, spread_labels, write_text
from tallytree.drawing.pictures import Picture

WIDTH, HEIGHT = 720, 400
LEFT, RIGHT, TOP, BOTTOM = 80, 150, 60, 50
LABEL_GAP = 16


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
        gap=LABEL_GAP,
        lowest=HEIGHT - BOTTOM - LABEL_GAP / 2,
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
