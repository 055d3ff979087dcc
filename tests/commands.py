"""Command lines run by tests: their words, and how they end."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]


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


def run_workers(module: str, *words: str, inside: Sequence[str] = ()) -> Any:
    """Run a module of workers as a program, inside another one if it is given; what they found out."""
    done = subprocess.run(
        [*inside, sys.executable, "-m", module, *words],
        cwd=ROOT,
        env={**os.environ, "NUMBA_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
