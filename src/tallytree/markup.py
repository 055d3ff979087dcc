"""HTML assembled from pieces; text is always escaped.

Notebooks show an object as a self-contained box, without scripts or style sheets. Its colours are the
notebook's, so that it is as readable on dark as on light; names are text, whatever they contain.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from html import escape
from typing import Any

MOST_NAME = 60

BOX = (
    "border:1px solid rgba(128,128,128,.4);border-radius:6px;padding:.7em 1em;max-width:46em;"
    "margin:.3em 0;line-height:1.45;overflow-wrap:break-word;overflow-x:auto"
)
TABLE = "border-collapse:collapse;font-size:inherit;margin:.5em 0;font-variant-numeric:tabular-nums"
LINE = "border-bottom:1px solid rgba(128,128,128,.3);padding:.2em .9em .2em 0;vertical-align:top;text-align:"
QUIET = "opacity:.75"
GOOD, BAD = "color:#1a8f5f", "color:#d43d3d"
"""Distinguishable on light and on dark; words say the same."""


class Html(str):
    """Text that is HTML already."""


def tag(name: str, /, *children: str, **attributes: str | int | float) -> Html:
    """Return an element. Children that are not :class:`Html` are text; a trailing ``_`` of a name is dropped.

    >>> tag("p", "1 < 2", class_="note")
    '<p class="note">1 &lt; 2</p>'
    """
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(str(value))}"' for key, value in attributes.items()
    )
    return Html(f"<{name}{given}>{join(*children)}</{name}>")


def join(*children: str) -> Html:
    """Join pieces, one after the other."""
    return Html("".join(child if isinstance(child, Html) else escape(child) for child in children))


def name(text: str, most: int = 200) -> Html:
    """Return a user's name, kept in its own direction of writing, and cut if it is long."""
    cut = text if len(text) <= most else text[: most - 1] + "…"
    return tag("bdi", cut)


def write_json(value: Any) -> Html:
    """Return JSON for a script element, escaped so that nothing in it can end the element."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Html(text)


def shorten(text: str) -> Html:
    """Return a user's name, cut to fit into a box."""
    return name(text, most=MOST_NAME)


def write_box(title: Html, *children: str) -> Html:
    """Return the box that a notebook shows for an object."""
    head = tag("div", title, style="font-weight:600;font-size:1.1em")
    return tag("div", head, *children, style=BOX)


def write_paragraph(*children: str) -> Html:
    """Return a paragraph of a box."""
    return tag("p", *children, style="margin:.3em 0")


def write_table(columns: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1) -> Html:
    """Return a table; the first ``left`` columns are text, aligned left, the rest numbers, aligned right."""

    def write_row(kind: str, cells: Sequence[str]) -> Html:
        sides = ["left" if place < left else "right" for place in range(len(cells))]
        return tag(
            "tr", *(tag(kind, cell, style=LINE + side) for cell, side in zip(cells, sides, strict=True))
        )

    return tag(
        "table",
        tag("thead", write_row("th", columns)),
        tag("tbody", *(write_row("td", row) for row in rows)),
        style=TABLE,
    )


PICTURE = 'style="max-width:100%;border-radius:4px"'


def embed(svg: str, alternative: str, attribute: str = PICTURE) -> Html:
    """Return a picture as an image: the style of an inline SVG would apply to all others in the page.

    A page that forbids styles in attributes gives it a class as its ``attribute``.
    """
    data = base64.b64encode(svg.encode()).decode()
    return Html(f'<img src="data:image/svg+xml;base64,{data}" alt="{escape(alternative)}" {attribute}>')
