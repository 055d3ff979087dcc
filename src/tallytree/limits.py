"""The largest numbers the software works with, chosen so that 64-bit integers never overflow.

The cost of a single exchange is at most the sum over levels of w (2 |n^ - n~| + 1), below
2^20 (2 (2^39 + 2^39) + 1) < 2^62, and two such costs are added. In the chain model the weights of all
points add up to at most MAX_CHAIN_WEIGHT_SUM x MAX_CELLS = 2^62; weighted values go beyond 64 bits, and are
never formed (``solvers/isotonic.py``).
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

# How many processors this process may use.

_MOST: ContextVar[int | None] = ContextVar("most", default=None)


def count_processors() -> int:
    """Return how many processors this process may use (fewer than the machine's under a CPU limit)."""
    most = _MOST.get()
    if most == 1:
        return 1
    found = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(found, most or found)


@contextmanager
def one_processor() -> Iterator[None]:
    """Use only one processor within the block.

    On a few rows, handing them to a thread takes longer than the work itself.
    """
    before = _MOST.set(1)
    try:
        yield
    finally:
        _MOST.reset(before)


MAX_GROUPS = 2**39
"""Groups in a dataset: 550 billion."""

MAX_MEASURED = 2**39
"""Noisy answers are clipped to plus or minus this: post-processing that costs no privacy."""

MAX_WEIGHT_SUM = 2**20
"""The sum of the levels' integer weights: enough for any split of the budget in thousandths."""

MAX_CHAIN_WEIGHT_SUM = 2**31
"""The sum of the weights in the chain model, whose levels differ in noise as much as in regions."""

MAX_SCALE = 2**32
"""The noise scale of a level: its noise stays below MAX_MEASURED with probability 1 - exp(-128)."""

MAX_CELLS = 2**31
"""Regions times sizes of one level."""

FORBIDDEN = 2**62
"""A cost above every real one, to which one real cost can be added without overflow."""
