"""How many processors there are for us."""

import os


def count_processors() -> int:
    """The processors this process may use (fewer than the machine's under a CPU limit)."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
