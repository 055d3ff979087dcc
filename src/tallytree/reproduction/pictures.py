"""The figures as files: SVG, and PNG where the library for that is there (the extra ``png``)."""

from collections.abc import Iterable
from pathlib import Path

from tallytree.folders import write_whole
from tallytree.pictures import draw_png
from tallytree.reproduction.document import Figure


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
