"""HTML put together from pieces; text is always escaped."""

from __future__ import annotations

import json
from html import escape
from typing import Any


class Html(str):
    """Text that is HTML already."""


def tag(name: str, /, *children: str, **attributes: str | int | float) -> Html:
    """An element. Children that are not :class:`Html` are text; of attribute names a last ``_`` is left off.

    >>> tag("p", "1 < 2", class_="note")
    '<p class="note">1 &lt; 2</p>'
    """
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(str(value))}"' for key, value in attributes.items()
    )
    return Html(f"<{name}{given}>{join(*children)}</{name}>")


def join(*children: str) -> Html:
    """Pieces, one after the other."""
    return Html("".join(child if isinstance(child, Html) else escape(child) for child in children))


def name(text: str, most: int = 200) -> Html:
    """A name that somebody else chose: it stays in its own direction of writing, and is cut if it is long."""
    cut = text if len(text) <= most else text[: most - 1] + "…"
    return tag("bdi", cut)


def write_json(value: Any) -> Html:
    """JSON for a script element, which nothing in it can end."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Html(text)
