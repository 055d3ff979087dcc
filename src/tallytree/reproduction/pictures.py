"""Pictures as files: SVG, and PNG where the library for that is there (the extra ``png``)."""

from collections.abc import Iterable
from pathlib import Path

from tallytree.folders import write_whole
from tallytree.reproduction.document import Figure

PNG_WIDTH = 1800


def save_figures(figures: Iterable[Figure], folder: Path) -> bool:
    """Write them all; whether there are PNGs too."""
    done = True
    for figure in figures:
        write_whole(folder / f"{figure.name}.svg", figure.svg.encode())
        image = draw_png(figure.svg)
        if image is None:
            done = False
        else:
            write_whole(folder / f"{figure.name}.png", image)
    return done


def draw_png(svg: str) -> bytes | None:
    """On a light ground; None without resvg."""
    try:
        import resvg_py
    except ImportError:
        return None
    return bytes(resvg_py.svg_to_bytes(svg_string=svg, width=PNG_WIDTH, background="white"))
