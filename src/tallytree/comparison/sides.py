"""What is compared: a release, or a published table that is read with the levels of a release."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tallytree.comparison.published import PublishedTable, read_published
from tallytree.errors import CountsError, describe, show
from tallytree.hierarchy import Hierarchy
from tallytree.privacy.measurements import Measurements
from tallytree.releases import Release, load
from tallytree.sizes import Sizes
from tallytree.tables import CSV_ENDINGS, NOT_A_FILE, PARQUET_ENDINGS, Table, looks_like_address

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Side:
    """One of the two: its regions, sizes and counts, and what a release was made from."""

    hierarchy: Hierarchy
    sizes: Sizes
    counts: Sequence[Ints]
    measurements: Measurements | None
    notes: tuple[str, ...] = ()


def open_sides(a: Release | Table, b: Release | Table, *, size: str, groups: str) -> tuple[Side, Side]:
    """Both, each given by itself or by its path: a release's folder, or a table's file."""
    opened = [_load(a), _load(b)]
    releases = [each for each in opened if isinstance(each, Release)]
    if not releases:
        raise CountsError("Of the two, at least one must be a release: its levels name the table's columns.")
    first, second = (
        _from_release(each)
        if isinstance(each, Release)
        else _from_table(read_published(each, releases[0], size=size, groups=groups), name)
        for name, each in zip("AB", opened, strict=True)
    )
    return first, second


def _load(given: Release | Table) -> Release | Table:
    if not isinstance(given, (str, os.PathLike)):
        return given
    try:
        if _is_table(Path(given)):
            return given
        if looks_like_address(given) and not Path(given).exists():
            raise CountsError(NOT_A_FILE)
    except OSError as error:  # a name that is too long, a folder that is not ours
        raise CountsError(f"{show(Path(given), most=150)} cannot be read: {describe(error)}.") from None
    return load(given)


def _is_table(path: Path) -> bool:
    return path.name.lower().endswith(CSV_ENDINGS + PARQUET_ENDINGS) and not path.is_dir()


def _from_release(release: Release) -> Side:
    return Side(release.hierarchy, release.sizes, release.counts, release.measurements)


def _from_table(table: PublishedTable, name: str) -> Side:
    notes = []
    if table.clipped:
        low, high = table.sizes
        notes.append(
            f"{table.clipped:,} rows of {name} have sizes outside {low} to {high}: they count there."
        )
    return Side(table.hierarchy, table.sizes, table.counts, None, tuple(notes))
