"""Telling whoever waits how far the work is."""

from collections.abc import Callable

Progress = Callable[[str, int], Callable[[int], None]]
"""Called with what begins and how many steps it has; returns a function told of each few steps done."""


def no_progress(what: str, steps: int) -> Callable[[int], None]:
    """Tell nobody."""
    return lambda done: None
