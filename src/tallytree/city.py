"""An invented city of taxis, with the shape of the paper's taxi data: for its figures.

As in the paper, a group is a taxi and its size its number of pickups, and regions are the city, its
boroughs and their zones. Only the shape is real: the number of zones of each borough, of taxis and of
pickups. Where the taxis are and how often each was taken is drawn at random.
"""

import numpy as np

from tallytree.counts import GroupCounts
from tallytree.hierarchy import Hierarchy
from tallytree.nation import INVENTED

ZONES = (43, 61, 1, 69, 69, 20)
"""Of the six boroughs: 263 in all."""
TAXIS = 13_282
MOST_PICKUPS = 13_282
"""N in the paper."""
DECAY = 0.91
"""Taxis with s pickups are as frequent as 1 / s^0.91: the mean is then the paper's, about 1,844."""
SPREAD = 2.0
"""How unequal zones are: the standard deviation of the logarithm of their share of the taxis."""


def generate_city(sizes: int, seed: int = 2014) -> GroupCounts:
    """Taxis by pickups, those with more than ``sizes`` pickups removed, as in the paper's synthetic data."""
    generator = np.random.default_rng(seed)
    shares = generator.lognormal(0.0, SPREAD, sum(ZONES))
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
