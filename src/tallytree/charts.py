"""Line charts as SVG, readable on light and on dark: no plotting library is needed."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tallytree.ink import write_text

WIDTH, HEIGHT = 720, 400
LEFT, RIGHT, TOP, BOTTOM = 80, 150, 40, 50
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00")
STYLE = (
    "text{fill:#222}.grid{stroke:#ddd}svg{background:#fff}"
    "@media(prefers-color-scheme:dark){text{fill:#eee}.grid{stroke:#444}svg{background:#1b1b1b}}"
)
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


def draw_lines(title: str, lines: Sequence[Line], *, x: str, y: str) -> str:
    """The picture, both axes logarithmic; ``x`` and ``y`` are the axes' names."""
    xs = [point[0] for line in lines for point in line.points]
    ys = [point[1] for line in lines for point in line.points]
    across = _LogAxis(min(xs) / 1.1, max(xs) * 1.1, LEFT, WIDTH - RIGHT)
    up = _LogAxis(min(ys) / 1.5, max(ys) * 1.5, HEIGHT - BOTTOM, TOP)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        'font-family="sans-serif" font-size="13">',
        f"<title>{write_text(title)}</title><style>{STYLE}</style>",
        f'<text x="{LEFT}" y="20" font-weight="bold">{write_text(title)}</text>',
        _write((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10, x, "middle"),
        _write(14, TOP - 8, y, "start"),
    ]
    for value in sorted(set(xs)):
        parts.append(_draw_grid_line(across.place(value), HEIGHT - BOTTOM, across.place(value), TOP))
        parts.append(_write(across.place(value), HEIGHT - BOTTOM + 18, f"{value:g}", "middle"))
    for value in up.powers:
        parts.append(_draw_grid_line(LEFT, up.place(value), WIDTH - RIGHT, up.place(value)))
        parts.append(_write(LEFT - 8, up.place(value) + 4, f"{value:,.0f}", "end"))
    below = -math.inf
    for number, line in sorted(enumerate(lines), key=lambda each: up.place(each[1].points[-1][1])):
        colour = COLOURS[number % len(COLOURS)]
        places = [(across.place(a), up.place(b)) for a, b in line.points]
        path = " ".join(f"{a:.1f},{b:.1f}" for a, b in places)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3.5" fill="{colour}"/>' for a, b in places]
        below = max(below + LABEL_GAP, places[-1][1] + 4)  # names must not cover each other
        parts.append(_write(places[-1][0] + 10, below, line.name, "start"))
    return "\n".join([*parts, "</svg>", ""])


def _draw_grid_line(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line class="grid" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def _write(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{write_text(text)}</text>'
