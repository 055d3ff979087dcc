"""Pictures: SVG that notebooks show, saved as SVG, or as PNG where the library for that is installed."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from tallytree.errors import ViewError, show
from tallytree.files import write_whole

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
