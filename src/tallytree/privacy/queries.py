"""The queries that are measured, each with its sensitivity and why that is so.

A query is asked at every level. Its *sensitivity* is the largest L1 distance between its answers, over
all regions of one level, on two neighbours (``neighbours.py``), with m = ``max_records`` and
z = ``max_quantity``. Removing a person is adding one the other way round, so adding is enough.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tallytree.errors import PrivacyError, name_choices
from tallytree.privacy.neighbours import Bounds

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Query:
    """What is asked of a level's group counts (regions x sizes)."""

    name: str
    answer: Callable[[Ints], Ints]
    """From group counts to the answer, of the same shape."""
    sensitivity: Callable[[Bounds], int]


def _sizes_sensitivity(bounds: Bounds) -> int:
    """2m: each of a person's m records moves one group from one cell of its region to another.

    That takes one from the first cell and adds one to the second: 2, or 0 if it does not move. A region
    holds all groups of its subregions, so at every level exactly one region sees the move.
    """
    return 2 * bounds.max_records


def _cumulative_sensitivity(bounds: Bounds) -> int:
    """zm: a group that moves from size s to s + z leaves c_s, ..., c_{s+z-1} one smaller.

    These are z cells for each of the m records; the others do not change. Clipping at the largest size
    only shortens a move, and two records in one group move it by at most 2z.
    """
    return bounds.max_quantity * bounds.max_records


SIZES = Query("sizes", lambda counts: counts, _sizes_sensitivity)
"""n: how many groups of each size."""

CUMULATIVE = Query(
    "cumulative", lambda counts: np.cumsum(counts, axis=1, dtype=np.int64), _cumulative_sensitivity
)
"""c = (+)(n): how many groups of at most each size."""

QUERIES = {query.name: query for query in (SIZES, CUMULATIVE)}


def find_query(name: str) -> Query:
    """The query of that name."""
    if name not in QUERIES:
        raise PrivacyError(f"There is no query {name!r}: {name_choices(name, QUERIES)}")
    return QUERIES[name]
