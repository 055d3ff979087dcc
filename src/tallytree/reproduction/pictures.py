"""The figures as files: SVG, and PNG where that can be drawn (the extra ``png``, and a font)."""

from collections.abc import Iterable
from pathlib import Path

from tallytree.errors import ViewError
from tallytree.folders import write_whole
from tallytree.pictures import draw_png
from tallytree.reproduction.document import Figure


def save_figures(figures: Iterable[Figure], folder: Path) -> str | None:
    """Write them all; why there are no PNGs, if so."""
    obstacle = None
    for figure in figures:
        write_whole(folder / f"{figure.name}.svg", figure.svg.encode())
        try:
            write_whole(folder / f"{figure.name}.png", draw_png(figure.svg))
        except ViewError as error:
            obstacle = str(error)
    return obstacle
