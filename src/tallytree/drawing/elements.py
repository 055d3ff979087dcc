"""What all pictures share: colours that are told apart on light and on dark, text, and the frame."""

import re
from collections.abc import Sequence
from html import escape
from itertools import pairwise

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


def write_text(text: str) -> str:
    """Text for a picture, whatever it holds: one control character would spoil all of it."""
    return escape(_NOT_XML.sub("\ufffd", text))


def draw_frame(title: str, width: int, height: int, parts: Sequence[str], *, own_size: bool = False) -> str:
    """The whole picture, with its name for whoever does not see it.

    With ``own_size`` it is as large as it says, where there is room; else as wide as the page.
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


def spread_labels(wanted: Sequence[float], *, gap: float, lowest: float) -> list[float]:
    """Heights in the same order, each as near to the wanted one as labels can be read; none below ``lowest``.

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
