"""How sizes are invented where only numbers of groups are known: by a law, or by shares from elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tallytree.datasets.invented import FIRM_DECAY, invent_firms, invent_sizes
from tallytree.errors import SpecError, show
from tallytree.planning.stand_ins import read_public
from tallytree.releases.released import Released, read_folder
from tallytree.sizes import SizeClasses, Sizes, find_place, is_decimal_numeral, list_edges

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

LARGE_HOUSEHOLD = 10
"""Hardly a household is larger."""
LEAST_EXPONENT, MOST_EXPONENT = 0.1, 10.0
COLUMNS = ("size", "share")
LAW = "zipf:"


@dataclass(frozen=True)
class Shape:
    """A distribution of sizes."""

    words: str
    """What it is, as the end of a sentence."""
    invent: Callable[[Ints, Sizes, np.random.Generator], Ints]
    """Draw sizes for so many groups in each place: places x sizes."""


def _make_law(exponent: float) -> Shape:
    words = f"Zipf's law, groups of at least s being as frequent as 1 / s^{exponent:g}"
    return Shape(words, partial(invent_firms, decay=exponent))


HOUSEHOLDS = Shape("households, as in the 2010 Census of the United States", invent_sizes)
FIRMS = _make_law(FIRM_DECAY)
KNOWN = {"households": HOUSEHOLDS, "firms": FIRMS}


def find_usual_shape(sizes: Sizes) -> Shape:
    """Return households, or firms for classes that reach beyond them.

    Households would leave the upper classes empty. Cells that are invented as empty have hardly an error, so
    the plan would promise too much.
    """
    is_of_firms = isinstance(sizes, SizeClasses) and sizes.edges[-1] > LARGE_HOUSEHOLD
    return FIRMS if is_of_firms else HOUSEHOLDS


def parse_shape(text: str) -> Shape:
    """Parse a shape: ``households``, ``firms``, ``zipf:1.06``, or where an earlier release or a table is.

    >>> parse_shape("zipf:2").words
    "Zipf's law, groups of at least s being as frequent as 1 / s^2"
    """
    if text in KNOWN:
        return KNOWN[text]
    if text.startswith(LAW):
        exponent = text.removeprefix(LAW).strip()
        number = float(exponent) if is_decimal_numeral(exponent) else 0.0
        if not LEAST_EXPONENT <= number <= MOST_EXPONENT:
            raise SpecError(
                f"The exponent of the shape {show(text)} is not a number from {LEAST_EXPONENT:g} to "
                f"{MOST_EXPONENT:g}, such as zipf:1.06."
            )
        return _make_law(number)
    try:
        is_folder = Path(text).is_dir()
    except OSError:  # reading it as a table says what is wrong
        is_folder = False
    return _read_release(Path(text)) if is_folder else _read_shares(text)


def _read_release(folder: Path) -> Shape:
    release = read_folder(folder, Released)
    sizes, counts = list(list_edges(release.sizes)), release.counts[0][0].astype(np.float64)
    return _spread_shares(f"as in the release {folder.name}", sizes, counts)


def _read_shares(table: str) -> Shape:
    read = read_public(table, COLUMNS)
    try:
        sizes = read["size"].cast(pa.int64()).to_pylist()
        shares = read["share"].cast(pa.float64()).to_numpy()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise SpecError(f"The shares in {show(table, most=150)} are not all numbers.") from None
    return _spread_shares(f"by the shares in {Path(table).name}", sizes, shares)


def _spread_shares(words: str, sizes: list[Any], shares: Floats) -> Shape:
    if (
        not len(shares)
        or None in sizes
        or not np.isfinite(shares).all()
        or (shares < 0).any()
        or not shares.sum() > 0
    ):
        raise SpecError(
            f"Sizes cannot be invented {words}: shares must be numbers, not negative, and not all zero."
        )

    def invent(groups: Ints, span: Sizes, generator: np.random.Generator) -> Ints:
        parts = np.zeros(len(list_edges(span)))
        np.add.at(parts, [find_place(span, size) for size in sizes], shares / shares.sum())
        return generator.multinomial(groups, parts / parts.sum())

    return Shape(words, invent)
