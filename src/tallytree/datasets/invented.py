"""An invented nation, like the United States: for the demonstration, for planning, for benchmarks.

Only shapes are real: the number of counties of each state and the national shares of household sizes
are the published figures of the 2010 Census (US Census Bureau). All counts are drawn at random.
"""

import numpy as np
import numpy.typing as npt

from tallytree.counts.group_counts import GroupCounts
from tallytree.hierarchy import Hierarchy
from tallytree.sizes import Sizes, list_edges

Ints = npt.NDArray[np.int64]

# Alabama to Wyoming with the District of Columbia: 51 states, 3,143 counties.
COUNTIES = (
    67, 29, 15, 75, 58, 64, 8, 3, 1, 67, 159, 5, 44, 102, 92, 99, 105, 120, 64, 16, 24, 14, 83, 87, 82,
    115, 56, 93, 17, 10, 21, 33, 62, 100, 53, 88, 77, 36, 67, 5, 46, 66, 95, 254, 29, 14, 134, 39, 55,
    72, 23,
)  # fmt: skip
HOUSEHOLDS = 116_716_292
SIZE_SHARES = (0.267, 0.328, 0.161, 0.134, 0.065, 0.026, 0.019)
"""Households of 1, 2, ..., 6 and 7 or more people."""
MEAN_OF_LARGE = 7.99
"""The mean size of a household of 7 or more; their sizes fall off geometrically, as in the paper."""
FACILITIES = 50
"""Dormitories, prisons and the like, between 10 and 1,000 people, as in the paper."""

INVENTED = "The data are invented: nobody needed protection."

SPREAD = 1.4
"""How unequal counties are: the standard deviation of the logarithm of their households."""
LIKENESS = 400.0
"""How alike counties' size shares are: the concentration of a Dirichlet around the national shares."""


def generate_nation(seed: int = 2010, *, sizes: Sizes = (1, 1000)) -> GroupCounts:
    """Draw households by size for 3,143 counties in 51 states, about 117 million in all."""
    generator = np.random.default_rng(seed)
    weights = generator.lognormal(0.0, SPREAD, sum(COUNTIES))
    households = generator.multinomial(HOUSEHOLDS, weights / weights.sum())
    return GroupCounts(
        make_hierarchy(), sizes, invent_sizes(households, sizes, generator), assumptions=[INVENTED]
    )


def invent_sizes(households: Ints, sizes: Sizes, generator: np.random.Generator) -> Ints:
    """Draw sizes for so many households in each place, like those of counties: places x sizes."""
    edges = np.array(list_edges(sizes))
    shares = generator.dirichlet(LIKENESS * np.array(SIZE_SHARES), len(households))
    by_size = generator.multinomial(households, shares / shares.sum(axis=1, keepdims=True))
    counts = np.zeros((len(households), len(edges)), dtype=np.int64)
    for size in range(1, len(SIZE_SHARES)):
        _add(counts, np.arange(len(households)), size, by_size[:, size - 1], edges)
    place = np.repeat(np.arange(len(households)), by_size[:, -1])
    above = MEAN_OF_LARGE - len(SIZE_SHARES)
    large = len(SIZE_SHARES) - 1 + generator.geometric(1.0 / (1.0 + above), len(place))
    _add(counts, place, large, 1, edges)
    homes = generator.integers(0, len(households), FACILITIES)
    _add(counts, homes, generator.integers(10, 1001, FACILITIES), 1, edges)
    return counts


FIRM_DECAY = 1.06
"""Firms of at least s employees are as frequent as 1 / s^1.06 (Axtell, 2001, "Zipf distribution of U.S. firm
sizes", Science 293)."""


def invent_firms(
    firms: Ints, sizes: Sizes, generator: np.random.Generator, *, decay: float = FIRM_DECAY
) -> Ints:
    """Draw sizes for so many firms in each place: places x sizes."""
    at_least = np.maximum(np.array(list_edges(sizes), dtype=np.float64), 1.0) ** -decay
    at_least[0] = 1.0  # a smaller firm counts at the first size
    return generator.multinomial(firms, -np.diff(at_least, append=0.0))


def make_hierarchy() -> Hierarchy:
    """Return 51 states and their counties, with names that belong to no real place."""
    return Hierarchy.from_paths(
        ["nation", "state", "county"],
        [
            ("Nation", f"State {state:02}", f"County {state:02}-{county:03}")
            for state, counties in enumerate(COUNTIES, start=1)
            for county in range(1, counties + 1)
        ],
    )


def _add(counts: Ints, county: Ints, size: int | Ints, groups: int | Ints, edges: Ints) -> None:
    place = np.searchsorted(edges, size, side="right") - 1  # of a class, or of a size that is one of its own
    np.add.at(counts, (county, np.maximum(place, 0)), groups)


# An invented city of taxis, with the shape of the paper's taxi data: for its figures.
#
# As in the paper, a group is a taxi and its size its number of pickups, and regions are the city, its
# boroughs and their zones. Only the shape is real: the number of zones of each borough, of taxis and of
# pickups. Where the taxis are and how often each was taken is drawn at random.

ZONES = (43, 61, 1, 69, 69, 20)
"""Of the six boroughs: 263 in all."""
TAXIS = 13_282
MOST_PICKUPS = 13_282
"""N in the paper."""
DECAY = 0.91
"""Taxis with s pickups are as frequent as 1 / s^0.91: the mean is then the paper's, about 1,844."""
CITY_SPREAD = 2.0
"""How unequal zones are: the standard deviation of the logarithm of their share of the taxis."""


def generate_city(sizes: int, seed: int = 2014) -> GroupCounts:
    """Draw taxis by pickups, without those of more than ``sizes``, as in the paper's synthetic data."""
    generator = np.random.default_rng(seed)
    shares = generator.lognormal(0.0, CITY_SPREAD, sum(ZONES))
    zone = generator.choice(sum(ZONES), TAXIS, p=shares / shares.sum())
    frequency = np.arange(1, MOST_PICKUPS + 1) ** -DECAY
    pickups = 1 + generator.choice(MOST_PICKUPS, TAXIS, p=frequency / frequency.sum())
    counts = np.zeros((sum(ZONES), sizes), dtype=np.int64)
    kept = pickups <= sizes
    np.add.at(counts, (zone[kept], pickups[kept] - 1), 1)
    return GroupCounts(_make_hierarchy(), (1, sizes), counts, assumptions=[INVENTED])


def _make_hierarchy() -> Hierarchy:
    return Hierarchy.from_paths(
        ["city", "borough", "zone"],
        [
            ("City", f"Borough {borough}", f"Zone {borough}-{zone:02}")
            for borough, zones in enumerate(ZONES, start=1)
            for zone in range(1, zones + 1)
        ],
    )
