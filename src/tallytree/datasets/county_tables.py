"""Households by size in every county, the large ones lumped together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from tallytree.datasets.columns import Ints, read_names, read_whole_numbers
from tallytree.errors import CountsError, show
from tallytree.hierarchy import Hierarchy
from tallytree.path_trees import invert
from tallytree.region_tables import refuse_rows
from tallytree.tables import Table, read_columns

LEVELS = ("nation", "state", "county")
ROOT = "US"

STATE, COUNTY, HOUSEHOLDS = "state_fips", "fips", "households"
SMALL = tuple(f"size_{size}" for size in range(1, 7))
LARGE, PEOPLE = "size_7plus", "persons_in_7plus"
LEAST_LARGE = len(SMALL) + 1


@dataclass(frozen=True, eq=False)
class CountyTable:
    """What the Census publishes about household sizes."""

    hierarchy: Hierarchy
    """Nation, states and counties by their FIPS codes, sorted; the arrays below are in their order."""
    small: Ints
    """Counties x sizes 1 to 6."""
    large: Ints
    """Households of 7 or more people."""
    mean_large: float
    """The mean size of those."""

    @property
    def tail_ratio(self) -> float:
        """r: how many households of size s + 1 there are for each of size s, from 7 on."""
        return 1.0 - 1.0 / (self.mean_large - len(SMALL))


def read_county_table(source: Table) -> CountyTable:
    """A table with a row for each county, which also tells how many people live in large households.

    ``source`` is a pandas, Polars or Arrow table, or the path of a CSV or Parquet file. Its columns are
    ``state_fips``, ``fips``, ``households``, ``size_1`` to ``size_6``, ``size_7plus`` and
    ``persons_in_7plus``. The mean size of the large households is that over the counties which state the
    last; for the Census Bureau's own files, which do not, see
    :func:`~tallytree.datasets.household_tables.read_household_sizes`.
    """
    data = read_columns(source, [STATE, COUNTY, HOUSEHOLDS, *SMALL, LARGE, PEOPLE], text=[STATE, COUNTY])
    if data.num_rows == 0:
        raise CountsError("The table of counties has no rows.")
    states, counties = read_names(data[STATE], STATE), read_names(data[COUNTY], COUNTY)
    small = np.stack([read_whole_numbers(data[name], name) for name in SMALL], axis=1)
    large = read_whole_numbers(data[LARGE], LARGE)
    uneven = small.sum(axis=1) + large != read_whole_numbers(data[HOUSEHOLDS], HOUSEHOLDS)
    refuse_rows(uneven, f"the sizes do not add up to column {show(HOUSEHOLDS)}")
    mean_large = _find_mean_large(large, data[PEOPLE])
    return make_county_table(states, counties, small, large, mean_large)


def make_county_table(
    states: Sequence[str], counties: Sequence[str], small: Ints, large: Ints, mean_large: float
) -> CountyTable:
    """The table from each county's state, code and counts, in any order."""
    paths = [(ROOT, state, county) for state, county in zip(states, counties, strict=True)]
    hierarchy, number = Hierarchy.from_paths(LEVELS, paths, unique_names=True).sort()
    order = invert(number)
    return CountyTable(hierarchy, small[order], large[order], mean_large)


def _find_mean_large(large: Ints, column: pa.ChunkedArray[Any]) -> float:
    stated = column.is_valid().to_numpy()
    if not large[stated].any():
        raise CountsError(f"No county states with {show(PEOPLE)} how many people live in large households.")
    people = np.zeros_like(large)
    people[stated] = read_whole_numbers(column.drop_null(), PEOPLE)
    few = stated & (people < LEAST_LARGE * large) | (large == 0) & (people > 0)
    refuse_rows(few, f"column {show(PEOPLE)} does not fit column {show(LARGE)}")
    return float(people.sum() / large[stated].sum())
