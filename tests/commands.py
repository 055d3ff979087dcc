"""Command lines run by tests: their words, and how they end."""

from collections.abc import Callable, Mapping
from typing import NamedTuple


class Outcome(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str


Run = Callable[..., Outcome]
"""The fixture ``run``: called with the words of a command line."""


def make_words(command: str, options: Mapping[str, str], *more: str, without: str = "") -> list[str]:
    """The words of a command with these options, of which ``source`` is its argument."""
    given = {name.replace("_", "-"): value for name, value in options.items() if name != without}
    source = [given.pop("source")] if "source" in given else []
    return [command, *source, *(word for pair in given.items() for word in (f"--{pair[0]}", pair[1])), *more]
