"""Command lines run by tests: how they end."""

from collections.abc import Callable
from typing import NamedTuple


class Outcome(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str


Run = Callable[..., Outcome]
"""The fixture ``run``: called with the words of a command line."""
