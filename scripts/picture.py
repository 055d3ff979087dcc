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
from tallytree.drawing.elements import COLOURS, draw_frame, write_text

PICTURE = Path(__file__).parent.parent / "pictures" / "nation.svg"
SEED = 2010
SHOWN = 8
"""Sizes with a bar of their own; one more bar holds the larger ones."""
WIDTH, HEIGHT, MARGIN = 960, 330, 24
TOP, BOTTOM = 78, 56
TITLE = "How many households of each size: released at epsilon 1, and true"
TRUE = 'stroke="currentColor"'
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
        f'<rect x="{MARGIN}" y="12" width="14" height="12" fill="{COLOURS[0]}"/>',
        _write(MARGIN + 20, 23, "released", "start"),
        f'<line x1="{MARGIN + 90}" y1="18" x2="{MARGIN + 110}" y2="18" {TRUE} stroke-width="3"/>',
        _write(MARGIN + 116, 23, "true", "start"),
        _write(WIDTH - MARGIN, 23, "households by number of people, epsilon 1", "end"),
    ]


def _draw_panel(panel: Panel, left: float, width: float) -> list[str]:
    total, most = sum(panel.true), max(*panel.released, *panel.true)
    step, base = width / len(panel.true), HEIGHT - BOTTOM

    def place(count: int) -> float:
        return base - (base - TOP) * count / most

    title = write_text(panel.title)
    parts = [f'<text x="{left:.1f}" y="58" font-weight="bold" font-size="15">{title}</text>']
    parts.append(_write(left + width, 58, f"{total:,} households", "end"))
    for index, (released, true) in enumerate(zip(panel.released, panel.true, strict=True)):
        x = left + index * step
        parts.append(
            f'<rect x="{x + 3:.1f}" y="{place(released):.1f}" width="{step - 6:.1f}" '
            f'height="{base - place(released):.1f}" fill="{COLOURS[0]}"/>'
        )
        parts.append(
            f'<line x1="{x:.1f}" y1="{place(true):.1f}" x2="{x + step:.1f}" y2="{place(true):.1f}" '
            f'{TRUE} stroke-width="2"/>'
        )
        name = f"{index + 1}" if index < SHOWN else f"{SHOWN + 1}+"
        parts.append(_write(x + step / 2, base + 18, name, "middle"))
    error = f"all errors together: {panel.error:,}, or {100 * panel.error / total:.2g} %"
    return [*parts, _write(left, HEIGHT - 14, error, "start")]


def _write(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{write_text(text)}</text>'


if __name__ == "__main__":
    sys.exit(main())
