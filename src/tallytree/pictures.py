"""Pictures: SVG that notebooks show, saved as SVG, or as PNG where the library for that is there."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from tallytree.errors import ViewError, show
from tallytree.folders import write_whole

PNG_WIDTH = 1800


@dataclass(frozen=True)
class Picture:
    """A drawing, which a notebook shows by itself."""

    svg: str = field(repr=False)
    title: str

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to a file, as its ending says: ``.svg``, or ``.png`` (with the extra ``png``)."""
        target = Path(path)
        if target.suffix.lower() == ".svg":
            content: bytes | None = self.svg.encode()
        elif target.suffix.lower() == ".png":
            content = draw_png(self.svg)
        else:
            raise ViewError(f"A picture is saved as .svg or .png, but the file is {show(target, most=150)}.")
        if content is None:
            raise ViewError("A PNG needs resvg, which is not installed: pip install 'tallytree[png]'.")
        write_whole(target, content)

    def _repr_svg_(self) -> str:
        return self.svg


def draw_png(svg: str) -> bytes | None:
    """On a light ground; None without resvg."""
    try:
        import resvg_py
    except ImportError:
        return None
    return bytes(resvg_py.svg_to_bytes(svg_string=svg, width=PNG_WIDTH, background="white"))
