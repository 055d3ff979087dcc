"""Time against cells on logarithmic axes, as an SVG written by hand: no plotting library is needed."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

WIDTH, HEIGHT = 640, 420
LEFT, RIGHT, TOP, BOTTOM = 70, 170, 20, 50


@dataclass(frozen=True)
class Curve:
    """Points (cells, seconds) under one name."""

    name: str
    colour: str
    points: Sequence[tuple[float, float]]


def draw(curves: Sequence[Curve]) -> str:
    """The whole picture."""
    points = [point for curve in curves for point in curve.points]
    x_axis = _Axis([x for x, _ in points], LEFT, WIDTH - RIGHT)
    y_axis = _Axis([y for _, y in points], HEIGHT - BOTTOM, TOP)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        *_draw_grid(x_axis, y_axis),
    ]
    for place, curve in enumerate(curves):
        parts += _draw_curve(curve, x_axis, y_axis, TOP + 15 + 20 * place)
    return "\n".join([*parts, "</svg>", ""])


class _Axis:
    """Powers of ten from below the least value to above the largest, spread over pixels."""

    def __init__(self, values: Sequence[float], start: int, stop: int) -> None:
        self.low = math.floor(math.log10(min(values)))
        self.high = max(self.low + 1, math.ceil(math.log10(max(values))))
        self._start, self._stop = start, stop

    def place(self, value: float) -> float:
        share = (math.log10(value) - self.low) / (self.high - self.low)
        return self._start + share * (self._stop - self._start)

    @property
    def ticks(self) -> list[int]:
        return list(range(self.low, self.high + 1))


def _draw_grid(x_axis: _Axis, y_axis: _Axis) -> list[str]:
    left, right, top, bottom = LEFT, WIDTH - RIGHT, TOP, HEIGHT - BOTTOM
    parts = []
    for power in x_axis.ticks:
        x = x_axis.place(10.0**power)
        parts.append(f'<path d="M{x:.1f} {top}V{bottom}" stroke="#ddd"/>')
        parts.append(f'<text x="{x:.1f}" y="{bottom + 18}" text-anchor="middle">{_label(power)}</text>')
    for power in y_axis.ticks:
        y = y_axis.place(10.0**power)
        parts.append(f'<path d="M{left} {y:.1f}H{right}" stroke="#ddd"/>')
        parts.append(f'<text x="{left - 8}" y="{y + 4:.1f}" text-anchor="end">{_label(power)}</text>')
    middle = (left + right) / 2
    parts.append(f'<text x="{middle}" y="{HEIGHT - 10}" text-anchor="middle">cells</text>')
    parts.append(f'<text x="16" y="{top + 4}" text-anchor="middle">s</text>')
    return parts


def _draw_curve(curve: Curve, x_axis: _Axis, y_axis: _Axis, legend_y: float) -> list[str]:
    places = [(x_axis.place(x), y_axis.place(y)) for x, y in sorted(curve.points)]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    key = WIDTH - RIGHT + 20
    return [
        f'<polyline points="{line}" fill="none" stroke="{curve.colour}" stroke-width="1.5"/>',
        *(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{curve.colour}"/>' for x, y in places),
        f'<circle cx="{key}" cy="{legend_y}" r="4" fill="{curve.colour}"/>',
        f'<text x="{key + 10}" y="{legend_y + 4}">{curve.name}</text>',
    ]


def _label(power: int) -> str:
    return f"{10**power:,}" if power >= 0 else f"{10.0**power:.{-power}f}"
