"""How many processors there are for us."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_MOST: ContextVar[int | None] = ContextVar("most", default=None)


def count_processors() -> int:
    """The processors this process may use (fewer than the machine's under a CPU limit)."""
    found = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(found, _MOST.get() or found)


@contextmanager
def one_processor() -> Iterator[None]:
    """Share no work among processors meanwhile.

    On a few rows, handing them to a thread takes longer than the work itself.
    """
    before = _MOST.set(1)
    try:
        yield
    finally:
        _MOST.reset(before)
