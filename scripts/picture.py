"""Draw the README's picture: ``python -m scripts.picture [--out FILE]``.

The invented nation of ``tallytree demo`` at epsilon 1: the counts that come out beside the true ones, which
may be shown because nobody needed protection. The noise is seeded, so the picture is the same each time.
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

import tallytree as tt
from tallytree.datasets.invented import generate_nation
from tallytree.drawing.pictures import COLOURS, draw_frame, element, spread, write

PICTURE = Path(__file__).parent.parent / "pictures" / "nation.svg"
SEED = 2010
SHOWN = 8
"""Sizes with a bar of their own; one more bar holds the larger ones."""
WIDTH, HEIGHT, MARGIN = 960, 330, 24
TOP, BOTTOM = 78, 56
TITLE = "How many households of each size: released at epsilon 1, and true"
TRUE = "currentColor"
"""The colour of text: dark on light, and light on dark."""


@dataclass(frozen=True)
class Panel:
    """One region: how many groups there are of each size shown; the sum of the errors over all sizes."""

    title: str
    released: list[int]
    true: list[int]
    error: int


def main(arguments: Sequence[str] | None = None) -> int:
    """Draw and write; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m scripts.picture", description=__doc__)
    parser.add_argument("--out", type=Path, default=PICTURE, help="where to write (default: the README's)")
    options = parser.parse_args(arguments)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(draw(choose_panels(generate_nation())), encoding="utf-8")
    return 0


def choose_panels(counts: tt.GroupCounts) -> list[Panel]:
    """The nation, and by households its median county and its smallest, where noise matters most."""
    run = tt.simulate(counts, epsilon="1", seed=SEED)
    counties = counts.hierarchy.levels.index("county")
    by_households = np.argsort(counts.array(counties).sum(axis=1), kind="stable")
    panels = []
    for title, level, region in (
        ("The nation", 0, 0),
        ("The median county", counties, by_households[len(by_households) // 2]),
        ("The smallest county", counties, by_households[0]),
    ):
        released, true = run.counts[level][region], counts.array(level)[region]
        panels.append(Panel(title, _gather(released), _gather(true), int(np.abs(released - true).sum())))
    return panels


def _gather(row: npt.NDArray[np.int64]) -> list[int]:
    return [*row[:SHOWN].tolist(), int(row[SHOWN:].sum())]


def draw(panels: Sequence[Panel]) -> str:
    """The picture, readable on light and on dark."""
    width = (WIDTH - MARGIN) / len(panels)
    parts = _draw_legend()
    for number, panel in enumerate(panels):
        parts += _draw_panel(panel, MARGIN + number * width, width - MARGIN)
    return draw_frame(TITLE, WIDTH, HEIGHT, parts, own_size=True)


def _draw_legend() -> list[str]:
    return [
        element("rect", x=MARGIN, y=12, width=14, height=12, fill=COLOURS[0]),
        write(MARGIN + 20, 23, "released"),
        element("path", d=f"M{MARGIN + 90} 18h20", stroke=TRUE, stroke_width=3),
        write(MARGIN + 116, 23, "true"),
        write(WIDTH - MARGIN, 23, "households by number of people, epsilon 1", text_anchor="end"),
    ]


def _draw_panel(panel: Panel, left: float, width: float) -> list[str]:
    total, most = sum(panel.true), max(*panel.released, *panel.true)
    step, base = width / len(panel.true), HEIGHT - BOTTOM
    place = spread(float, (0, most), (base, TOP))
    parts = [
        write(left, 58, panel.title, font_weight="bold", font_size=15),
        write(left + width, 58, f"{total:,} households", text_anchor="end"),
    ]
    for index, (released, true) in enumerate(zip(panel.released, panel.true, strict=True)):
        x, y = left + index * step, place(released)
        name = f"{index + 1}" if index < SHOWN else f"{SHOWN + 1}+"
        parts += [
            element("rect", x=x + 3, y=y, width=step - 6, height=base - y, fill=COLOURS[0]),
            element("path", d=f"M{x:.1f} {place(true):.1f}h{step:.1f}", stroke=TRUE, stroke_width=2),
            write(x + step / 2, base + 18, name, text_anchor="middle"),
        ]
    error = f"all errors together: {panel.error:,}, or {100 * panel.error / total:.2g} %"
    return [*parts, write(left, HEIGHT - 14, error)]


if __name__ == "__main__":
    sys.exit(main())
