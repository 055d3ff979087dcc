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

import numpy as np

from tallytree.counts import GroupCounts
from tallytree.datasets.columns import Ints
from tallytree.datasets.county_tables import LEAST_LARGE, CountyTable
from tallytree.errors import CountsError
from tallytree.numerals import find_whole
from tallytree.sizes import check_sizes

LARGEST = 1000
OUTLIERS = 50
LEAST_OUTLIER = 10
SEED = 2010

DRAWN = (
    f"Household sizes from {LEAST_LARGE} on and {OUTLIERS} outliers were drawn at random, as the published "
    "table does not hold them."
)


def make_census(table: CountyTable, *, largest: int = LARGEST, seed: int = SEED) -> GroupCounts:
    """The augmented dataset, the same for the same seed: sizes 1 to ``largest``."""
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
