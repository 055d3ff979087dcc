"""L1 errors by mechanism, level and epsilon, as an SVG written by hand."""

from collections.abc import Iterator, Sequence

from benchmarks.accuracy.results import Result
from benchmarks.axes import LogAxis
from benchmarks.plot import COLOURS

LABELS, PANEL, GAP, MARGIN = 215, 220, 40, 15
TOP, BOTTOM, ROW, STEP = 70, 30, 50, 13
"""Each mechanism has a row, and in it a line for each epsilon, ``STEP`` apart."""


def draw_dots(results: Sequence[Result], levels: Sequence[str], epsilons: Sequence[str]) -> str:
    """A panel for each level; a dot is our mean with a bar of one standard deviation, a diamond the paper."""
    labels = list(dict.fromkeys(result.label for result in results))
    width = LABELS + len(levels) * (PANEL + GAP)
    height = TOP + len(labels) * ROW + BOTTOM
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
            'font-family="sans-serif" font-size="12">',
            f'<rect width="{width}" height="{height}" fill="white"/>',
            *_draw_key(epsilons, paper=any(result.paper for result in results)),
            *_draw_labels(labels, width),
            *(
                part
                for place, level in enumerate(levels)
                for part in _draw_panel(results, labels, epsilons, place, level)
            ),
            "</svg>",
            "",
        ]
    )


def _draw_key(epsilons: Sequence[str], *, paper: bool) -> Iterator[str]:
    y = 20
    for place, (epsilon, colour) in enumerate(zip(epsilons, COLOURS, strict=False)):
        x = LABELS + 110 * place
        yield _dot(x, y, colour)
        yield f'<text x="{x + 10}" y="{y + 4}">epsilon {epsilon}</text>'
    if not paper:
        return
    x = LABELS + 110 * len(epsilons)
    yield _diamond(x, y, "#555")
    yield f'<text x="{x + 10}" y="{y + 4}">in the paper (nothing where it says 0.0)</text>'


def _draw_labels(labels: Sequence[str], width: int) -> Iterator[str]:
    for place, label in enumerate(labels):
        y = TOP + ROW * place
        yield f'<path d="M{MARGIN} {y}H{width - MARGIN}" stroke="#eee"/>'
        yield f'<text x="{MARGIN}" y="{y + ROW / 2 + 4}">{label}</text>'


def _draw_panel(
    results: Sequence[Result], labels: Sequence[str], epsilons: Sequence[str], place: int, level: str
) -> Iterator[str]:
    left = LABELS + place * (PANEL + GAP)
    bottom = TOP + ROW * len(labels)
    ours = [result.l1[place].mean for result in results]
    theirs = [result.paper.l1[place] for result in results if result.paper]
    axis = LogAxis("L1", [value for value in ours + theirs if value > 0], left, left + PANEL)
    yield f'<text x="{left}" y="{TOP - 15}" font-weight="bold">L1, {level}</text>'
    for value, _ in axis.ticks:
        x = axis.place(value)
        yield f'<path d="M{x:.1f} {TOP}V{bottom}" stroke="#ddd"/>'
        yield f'<text x="{x:.1f}" y="{bottom + 18}" text-anchor="middle">{_shorten(value)}</text>'
    for result in results:
        line = epsilons.index(result.epsilon)
        y = TOP + ROW * labels.index(result.label) + ROW / 2 + STEP * (line - (len(epsilons) - 1) / 2)
        yield from _draw_result(result, place, axis, y, COLOURS[line])


def _draw_result(result: Result, place: int, axis: LogAxis, y: float, colour: str) -> Iterator[str]:
    mean, deviation = result.l1[place].mean, result.l1[place].deviation
    least = axis.ticks[0][0]
    if mean > 0:
        low, high = axis.place(max(mean - deviation, least)), axis.place(mean + deviation)
        yield f'<path d="M{low:.1f} {y:.1f}H{high:.1f}" stroke="{colour}" stroke-width="2"/>'
        yield _dot(axis.place(mean), y, colour)
    if result.paper and result.paper.l1[place] > 0:
        yield _diamond(axis.place(result.paper.l1[place]), y, colour)


def _shorten(thousands: float) -> str:
    """1, 10, 100, 1k, 10k, ..."""
    value = round(1000 * thousands)
    for unit, name in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if value >= unit:
            return f"{value // unit}{name}"
    return str(value) if value else f"{1000 * thousands:g}"


def _dot(x: float, y: float, colour: str) -> str:
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{colour}"/>'


def _diamond(x: float, y: float, colour: str) -> str:
    return (
        f'<path d="M{x:.1f} {y:.1f}m0 -5l5 5l-5 5l-5 -5z" fill="none" stroke="{colour}" stroke-width="1.5"/>'
    )
