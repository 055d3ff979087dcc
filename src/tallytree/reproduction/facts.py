"""What the data are like."""

from dataclasses import dataclass

import numpy as np

from tallytree.counts import GroupCounts
from tallytree.datasets.county_tables import LEAST_LARGE


@dataclass(frozen=True)
class Facts:
    """Of any data."""

    levels: tuple[str, ...]
    regions: tuple[int, ...]
    """Level by level."""
    groups: int
    largest: int
    """The largest size, N."""
    small: int
    """The largest of the sizes that count as small."""
    small_groups: float
    """The share of the groups that are of such a size."""
    mean_large: float
    """The mean size of the groups of 7 or more."""
    sizes_above_seven: float
    """How many sizes above 7 have groups at all, in the mean over the leaves."""

    @property
    def most_l1(self) -> int:
        """The most that the L1 error at a level can be, if counts are not negative and add up: 2 G."""
        return 2 * self.groups

    @property
    def chain_factor(self) -> float:
        """How many times the stated epsilon the published chain's real one is."""
        return sum(self.regions) / len(self.regions)


def find_facts(counts: GroupCounts, small: int) -> Facts:
    """From the counts alone."""
    levels = counts.hierarchy.levels
    root, low = counts.array(0)[0], counts.sizes[0]
    first = LEAST_LARGE - low
    large, sizes = root[first:], np.arange(LEAST_LARGE, counts.sizes[1] + 1)
    return Facts(
        levels=levels,
        regions=tuple(len(counts.hierarchy.regions(level)) for level in levels),
        groups=counts.total,
        largest=counts.sizes[1],
        small=small,
        small_groups=float(root[: small - low + 1].sum() / max(counts.total, 1)),
        mean_large=float(large @ sizes / large.sum()) if large.any() else float("nan"),
        sizes_above_seven=float(np.count_nonzero(counts.leaf[:, first + 1 :], axis=1).mean()),
    )


def find_half(counts: GroupCounts) -> int:
    """The least size such that half of the groups are not larger."""
    below = np.cumsum(counts.array(0)[0])
    return counts.sizes[0] + int(np.searchsorted(below, counts.total / 2))
