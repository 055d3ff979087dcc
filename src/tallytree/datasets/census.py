"""The paper's Census dataset, made from the published table of household sizes by county.

The paper (Fioretto, Van Hentenryck, Zhu: section 11, after Kuo et al., VLDB 2018) starts from the 2010
Census, which lumps large households together, and gives them a heavy tail up to size 1,000: with r the
ratio of households of size 7 to those of size 6, what is lumped is spread over larger sizes "so that the
ratio between any two consecutive groups holds (in expectation)"; then "50 outliers were added, chosen
uniformly in the interval between 10 and 1,000". Done here, step by step:

1.  Sizes 1 to 6 are those of the table.
2.  The households of 7 or more get a geometric tail: as the paper says, one ratio r between any two
    consecutive sizes. The table lumps from 7 on (the paper says from 8 on), so it does not tell how many
    have size 7, and r cannot be taken from sizes 7 and 6. It is calibrated on the mean size of these
    households instead (people living in them / their number): the mean of the tail is 7 + r / (1 - r), so
    r = 1 - 1 / (mean - 6). Like the paper's, r is one number for all counties.
3.  Each of them has its size drawn independently (a multinomial for each county). So every county keeps
    its number of households, and the ratio holds in expectation. What would be above the largest size
    counts there.
4.  50 groups are added. Their sizes are uniform from 10 to the largest, both included. The paper does not
    say where they are: each is in a county drawn uniformly.

The paper has Puerto Rico as a 52nd state; here it is one if the table has it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tallytree.counts.arrow import Table, is_text, read_columns
from tallytree.counts.count_tables import read_numbers
from tallytree.counts.group_counts import GroupCounts
from tallytree.counts.region_tables import refuse_rows
from tallytree.errors import CountsError, show
from tallytree.hierarchy import Hierarchy
from tallytree.path_trees import invert
from tallytree.sizes import check_sizes, find_whole

# Reading the columns of a published table, with one clear error for what is wrong.

Ints = npt.NDArray[np.int64]


def read_names(column: pa.ChunkedArray[Any], name: str, *, optional: bool = False) -> list[str]:
    """Return the name or code of every row; "" where an optional one is missing."""
    if not is_text(column.type) or (column.null_count and not optional):
        where = "" if optional else ", in every row"
        raise CountsError(f"Column {show(name)} must hold a code, as text{where}.")
    return [str(code or "") for code in column.to_pylist()]


def read_whole_numbers(column: pa.ChunkedArray[Any], name: str) -> Ints:
    """Return the whole number, at least 0, of every row."""
    values = read_numbers(column, name)
    refuse_rows(values < 0, f"column {show(name)} is negative")
    return values


# Households by size in every county, the large ones lumped together.

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
    """Read a table with a row for each county, which also tells how many people live in large households.

    ``source`` is a pandas, Polars or Arrow table, or the path of a CSV or Parquet file. Its columns are
    ``state_fips``, ``fips``, ``households``, ``size_1`` to ``size_6``, ``size_7plus`` and
    ``persons_in_7plus``. The mean size of the large households is that over the counties which state the
    last; for the Census Bureau's own files, which do not, see
    :func:`~tallytree.datasets.households.read_household_sizes`.
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
    """Return the table from each county's state, code and counts, in any order."""
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


LARGEST = 1000
OUTLIERS = 50
LEAST_OUTLIER = 10
SEED = 2010

DRAWN = (
    f"Household sizes from {LEAST_LARGE} on and {OUTLIERS} outliers were drawn at random, as the published "
    "table does not hold them."
)


def make_census(table: CountyTable, *, largest: int = LARGEST, seed: int = SEED) -> GroupCounts:
    """Return the augmented dataset with sizes 1 to ``largest``, the same for the same seed."""
    sizes = check_sizes((1, largest))
    if largest < LEAST_OUTLIER:
        raise CountsError(f"The largest size must be at least {LEAST_OUTLIER}, where the outliers begin.")
    start = find_whole(seed)
    if start is None or start < 0:
        raise CountsError("The seed must be a whole number, 0 or above.")
    generator = np.random.default_rng(start)
    tail = _draw_tail(table, largest=largest, generator=generator)
    leaf = np.concatenate([table.small, tail], axis=1)
    county = generator.integers(0, len(leaf), OUTLIERS)
    size = generator.integers(LEAST_OUTLIER, largest + 1, OUTLIERS)
    np.add.at(leaf, (county, size - 1), 1)
    return GroupCounts(table.hierarchy, sizes, leaf, assumptions=[DRAWN])


def _draw_tail(table: CountyTable, *, largest: int, generator: np.random.Generator) -> Ints:
    """Each county's large households by size, from 7 to ``largest``."""
    ratio, steps = table.tail_ratio, np.arange(largest - LEAST_LARGE + 1)
    shares = (1.0 - ratio) * ratio**steps
    shares[-1] = ratio ** steps[-1]  # and all that would be larger
    return generator.multinomial(table.large, shares)
