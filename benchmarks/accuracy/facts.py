"""What the data are like."""

from dataclasses import dataclass

import numpy as np

import tallytree as tt
from tallytree.datasets.county_tables import LEAST_LARGE, CountyTable


@dataclass(frozen=True)
class Facts:
    """Of any data."""

    levels: tuple[str, ...]
    regions: tuple[int, ...]
    """Level by level."""
    groups: int
    largest: int
    """The largest size."""


@dataclass(frozen=True)
class CountyFacts(Facts):
    """Of the data made from the county table."""

    mean_large: float
    tail_ratio: float
    sizes_above_seven: float
    """How many sizes above 7 have households at all, in the mean over the counties."""


def find_facts(counts: tt.GroupCounts) -> Facts:
    """From the counts alone."""
    levels = counts.hierarchy.levels
    regions = tuple(len(counts.hierarchy.regions(level)) for level in levels)
    return Facts(levels, regions, counts.total, counts.sizes[1])


def find_county_facts(table: CountyTable, counts: tt.GroupCounts) -> CountyFacts:
    """From the table that was published and the counts that were made of it."""
    above = counts.leaf[:, LEAST_LARGE - counts.sizes[0] + 1 :]
    return CountyFacts(
        **vars(find_facts(counts)),
        mean_large=table.mean_large,
        tail_ratio=table.tail_ratio,
        sizes_above_seven=float(np.count_nonzero(above, axis=1).mean()),
    )
