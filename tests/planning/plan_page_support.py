"""Plans whose pages are quick to make."""

from __future__ import annotations

from functools import cache

import numpy as np

import tallytree as tt
from tallytree.planning.advice import Advice
from tallytree.planning.landscapes import Landscape, explore

LEVELS = ("nation", "state", "county")
SOURCE = "households by size of an earlier census"


def make_stand_in(levels: tuple[str, ...] = LEVELS, names: tuple[str, ...] = ()) -> tt.GroupCounts:
    """Regions of very different sizes; some may have names that try to be something else."""
    generator = np.random.default_rng(5)
    states = [*names, *(f"State {number}" for number in range(6 - len(names)))]
    paths = [
        (names[0] if names else "Land", state, f"County {number} of {state}")
        for state in states
        for number in range(8)
    ]
    means = generator.lognormal(4.5, 1.2, (len(paths), 1)) * np.exp(-np.arange(6) / 2)
    return tt.GroupCounts(tt.Hierarchy.from_paths(levels, paths), (1, 6), generator.poisson(means))


@cache
def make_advice() -> Advice:
    return tt.advise(make_stand_in(), epsilon="1", goal="county<=10%", mechanism="cumulative-joint")


def make_landscape(advice: Advice) -> Landscape:
    return explore(
        advice.stand_in,
        around=advice.epsilon,
        public_totals=advice.public_totals,
        planned=advice.neighbours,
        mechanism=advice.planned.mechanism,
        split=advice.planned.budget,
        delta=advice.delta,
    )


@cache
def make_known_landscape() -> Landscape:
    return make_landscape(make_advice())
