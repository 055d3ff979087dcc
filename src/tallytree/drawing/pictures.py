"""Pictures: SVG of elements, marks and axes, which notebooks show, saved as SVG or as PNG.

A chart adds only what is particular to it. SVG is written by hand, so that no plotting library is needed, in
colours that are distinct on light and on dark; PNG needs the library for it.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from html import escape
from itertools import pairwise
from pathlib import Path

from tallytree.errors import ViewError, show
from tallytree.files import write_whole

COLOURS = ("#2a86c7", "#dd6b20", "#1a9e78", "#c06fa3", "#5fb0e0", "#d99a1c", "#8b93a1")
STYLE = (
    ".picture{background:#fff;color:#222}.picture text{fill:#222}.picture .grid{stroke:#dde2ea}"
    ".picture .soft{color:#666}.picture .limit{stroke:#888}"
    ".picture .halo{stroke:#fff}.picture .paper{fill:#fff}"
    "@media(prefers-color-scheme:dark){"
    ".picture{background:#14181f;color:#e6e9ee}.picture text{fill:#e6e9ee}.picture .grid{stroke:#333c4a}"
    ".picture .soft{color:#a3acba}.picture .halo{stroke:#14181f}.picture .paper{fill:#14181f}}"
)

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

# Elements: a shape or a text with its attributes, in the order in which they are given.


def element(name: str, *content: str, **attributes: str | float) -> str:
    """Return an element. Floats are rounded to a tenth; in names ``_`` becomes ``-``, or nothing at the end.

    >>> element("line", class_="grid", x1=0, x2=7.25)
    '<line class="grid" x1="0" x2="7.2"/>'
    """
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{f"{value:.1f}" if isinstance(value, float) else value}"'
        for key, value in attributes.items()
    )
    return f"<{name}{given}>{''.join(content)}</{name}>" if content else f"<{name}{given}/>"


def write_text(text: str) -> str:
    """Return text for a picture, whatever it contains: one control character would spoil all of it."""
    return escape(_NOT_XML.sub("\ufffd", text))


def write(x: float, y: float, text: str, **attributes: str | float) -> str:
    """Return a text that stands on ``y`` and starts at ``x``, unless ``text_anchor`` says otherwise."""
    return element("text", write_text(text), x=x, y=y, **attributes)


def write_title(x: float, y: float, text: str) -> str:
    """Return the title of a picture."""
    return write(x, y, text, font_size=15, font_weight=600)


# Marks: a point of a chart.


def draw_dot(x: float, y: float, colour: str) -> str:
    """Return a filled circle."""
    return element("circle", cx=float(x), cy=float(y), r=3.5, fill=colour)


def draw_square(x: float, y: float, colour: str) -> str:
    """Return a filled square."""
    return _draw_mark(x, y, "m-3.5 -3.5h7v7h-7z", fill=colour)


def draw_triangle(x: float, y: float, colour: str) -> str:
    """Return an empty triangle."""
    return _draw_mark(x, y, "m0 -4.5l4.5 7.5h-9z", class_="paper", stroke=colour, stroke_width=1.5)


def draw_diamond(x: float, y: float, colour: str) -> str:
    """Return an empty diamond."""
    return _draw_mark(x, y, "m0 -5l5 5l-5 5l-5 -5z", fill="none", stroke=colour, stroke_width=1.5)


def draw_cross(x: float, y: float, colour: str, size: int = 10) -> str:
    """Return a cross, for something that was given up."""
    half = size // 2
    steps = f"m-{half} -{half}l{size} {size}m0 -{size}l-{size} {size}"
    return _draw_mark(x, y, steps, stroke=colour, stroke_width=2)


def _draw_mark(x: float, y: float, steps: str, **attributes: str | float) -> str:
    return element("path", d=f"M{x:.1f} {y:.1f}{steps}", **attributes)


# Axes: from values to pixels.


@dataclass(frozen=True)
class Axis:
    """Where a value lies, in pixels, and which values are written beside it."""

    name: str
    place: Callable[[float], float]
    ticks: Sequence[tuple[float, str]]

    def draw_columns(self, top: float, bottom: float) -> Iterator[str]:
        """Yield a line for each tick of an axis along the bottom, with its label below."""
        for value, text in self.ticks:
            x = self.place(value)
            yield element("path", d=f"M{x:.1f} {top}V{bottom}", class_="grid")
            if text:
                yield write(x, bottom + 18, text, text_anchor="middle")

    def draw_rows(self, left: float, right: float) -> Iterator[str]:
        """Yield a line for each tick of an axis along the left side, with its label before it."""
        for value, text in self.ticks:
            y = self.place(value)
            yield element("path", d=f"M{left} {y:.1f}H{right}", class_="grid")
            yield write(left - 8, y + 4, text, text_anchor="end")


def spread(
    measure: Callable[[float], float], values: tuple[float, float], pixels: tuple[float, float]
) -> Callable[[float], float]:
    """Return a function from values to pixels, with values as far apart as ``measure`` says."""
    low, high = map(measure, values)
    start, stop = pixels
    return lambda value: start + (measure(value) - low) / (high - low) * (stop - start)


def lay_linear(name: str, values: Sequence[float], start: float, stop: float) -> Axis:
    """Return an axis from zero to the largest value, with a tick at every value."""
    ticks = [(value, f"{value:,.0f}") for value in sorted(set(values))]
    return Axis(name, spread(float, (0, max(values)), (start, stop)), ticks)


def lay_steps(name: str, most: float, start: float, stop: float) -> Axis:
    """Return an axis from zero to the largest value or above it, with a tick at each of some round steps."""
    step = round_step(most / 4)
    count = math.ceil(most / step - 1e-9)
    ticks = [(step * at, f"{step * at:,.10g}") for at in range(count + 1)]
    return Axis(name, spread(float, (0, step * count), (start, stop)), ticks)


def lay_ratios(name: str, values: Sequence[float], start: float, stop: float) -> Axis:
    """Return a logarithmic axis from below the least value to the largest, with a tick at every value."""
    ticks = [(value, f"{value:g}") for value in sorted(set(values))]
    return Axis(name, spread(math.log10, (min(values) / 1.1, max(values)), (start, stop)), ticks)


def lay_powers(name: str, values: Sequence[float], start: float, stop: float) -> Axis:
    """Return a logarithmic axis of all the powers of ten around the values."""
    low = math.floor(math.log10(min(values)))
    high = max(low + 1, math.ceil(math.log10(max(values))))
    ticks = [
        (10.0**power, f"{10**power:,}" if power >= 0 else f"{10.0**power:.{-power}f}")
        for power in range(low, high + 1)
    ]
    return Axis(name, spread(math.log10, (ticks[0][0], ticks[-1][0]), (start, stop)), ticks)


def round_step(least: float) -> float:
    """Return the next of 1, 2, 5, 10, 20, ..., or of such fractions."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(digit * power for digit in (1, 2, 5, 10) if digit * power >= 0.999 * least)


def spread_labels(wanted: Sequence[float], *, gap: float, lowest: float) -> list[float]:
    """Return heights in the same order, near the wanted ones but ``gap`` apart, and none below ``lowest``.

    Heights grow downwards.
    """
    order = sorted(range(len(wanted)), key=lambda place: wanted[place])
    heights = list(wanted)
    for above, below in pairwise(order):
        heights[below] = max(heights[below], heights[above] + gap)
    for place in reversed(order):
        heights[place] = min(heights[place], lowest)
        lowest = heights[place] - gap
    return heights


# The frame around all of it.


def draw_frame(title: str, width: int, height: int, parts: Sequence[str], *, own_size: bool = False) -> str:
    """Return the whole picture, with its title for those who cannot see it.

    With ``own_size`` it has its own size, where there is room; otherwise it is as wide as the page.
    """
    if own_size:
        room = f'width="{width}" height="{height}" style="max-width:100%;height:auto"'
    else:
        room = f'style="min-width:{0.85 * width:.0f}px"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" class="picture" viewBox="0 0 {width} {height}" '
            f'{room} role="img" '
            'font-family="system-ui, sans-serif" font-size="12">',
            f"<title>{write_text(title)}</title><style>{STYLE}</style>",
            f'<rect class="paper" width="{width}" height="{height}"/>',
            *parts,
            "</svg>",
            "",
        ]
    )


# A picture that shows and saves itself.

PNG_WIDTH = 1800

FAMILIES = (
    *("Arial", "Helvetica", "Segoe UI", "Liberation Sans", "DejaVu Sans", "Noto Sans", "Roboto"),
    *("Open Sans", "Ubuntu", "Cantarell", "Adwaita Sans", "Nimbus Sans", "FreeSans", "Verdana", "Lato"),
)
"""Fonts of common systems. For resvg, sans-serif means Arial, and without it text is left out."""


@dataclass(frozen=True)
class Picture:
    """A drawing, which a notebook shows by itself."""

    svg: str = field(repr=False)
    title: str

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the picture to a file, as its ending says: ``.svg``, or ``.png`` (with the extra ``png``)."""
        target = Path(path)
        if target.suffix.lower() == ".svg":
            content = self.svg.encode()
        elif target.suffix.lower() == ".png":
            content = draw_png(self.svg)
        else:
            raise ViewError(f"A picture is saved as .svg or .png, but the file is {show(target, most=150)}.")
        write_whole(target, content)

    def _repr_svg_(self) -> str:
        return self.svg


def draw_png(svg: str) -> bytes:
    """Draw a picture on a light background; refuse it without resvg, or without a font for its text."""
    if not _has_font():
        raise ViewError(
            "A PNG would have no text, as this system has no font for it: install DejaVu Sans, Noto Sans or "
            "Arial, or save the picture as .svg."
        )
    return _draw(svg, width=PNG_WIDTH)


@cache
def _has_font() -> bool:
    """Whether drawing a letter leaves any trace."""
    empty, letter = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="20" height="20"><text y="18">{text}</text></svg>'
        for text in ("", "A")
    )
    return _draw(empty) != _draw(letter)


def _draw(svg: str, width: int | None = None) -> bytes:
    try:
        import resvg_py
    except ImportError:
        raise ViewError("A PNG needs resvg, which is not installed: pip install 'tallytree[png]'.") from None
    families = ", ".join(f"'{name}'" for name in FAMILIES)
    style = f"svg {{ font-family: {families}, sans-serif }}"
    return bytes(resvg_py.svg_to_bytes(svg_string=svg, width=width, background="white", style_sheet=style))
