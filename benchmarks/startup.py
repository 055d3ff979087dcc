"""How long until something happens? ``python -m benchmarks.startup [--out FILE]``.

A new process imports the package, or shows the help; in turns with Python doing nothing, and with importing
NumPy, which is what the package would cost at least if it did not wait until it needs it.
"""

import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import partial

from benchmarks import records
from benchmarks.records import Data, write_ratio, write_seconds, write_table
from benchmarks.timing import Timing, best, time_call
from tallytree.research.reproduction.document import Goal

TURNS = 20
NOTHING, IMPORT, HELP, NUMPY = "python -c pass", "import tallytree", "tallytree --help", "import numpy"
CASES: Mapping[str, Sequence[str]] = {
    NOTHING: ("-c", "pass"),
    IMPORT: ("-c", "import tallytree"),
    HELP: ("-m", "tallytree", "--help"),
    "tallytree release --help": ("-m", "tallytree", "release", "--help"),
    NUMPY: ("-c", "import numpy"),
}
MOST_SECONDS = {IMPORT: 0.5, HELP: 1.0}
INTRODUCTION = """\
A new process each time, {turns} of each in turns, Python's own start included; the fastest counts. The
compiled files of Python are there already, as they are after the first time. This page is written by the run
that measured it."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and write the page; returns the exit code."""
    options = records.make_parser("startup", "STARTUP.md", __doc__).parse_args(arguments)
    facts = records.list_facts("make startup", ("typer", "rich"))
    records.publish("startup", {"facts": facts, **record(measure(TURNS), TURNS)}, write_page, options.out)
    return 0


def record(seconds: Mapping[str, float], turns: int) -> Data:
    """The data."""
    goals = [judge(what, seconds[what], most) for what, most in MOST_SECONDS.items()]
    return {"turns": turns, "goals": records.GOALS.record(goals), "s": dict(seconds)}


def write_page(data: Data) -> str:
    """The page."""
    rows = [
        (f"`{what}`", write_seconds(spent), write_ratio(spent / data["s"][NOTHING]))
        for what, spent in data["s"].items()
    ]
    return records.join_parts(
        "# Startup",
        INTRODUCTION.format(turns=data["turns"]),
        records.write_facts(data),
        records.GOALS.write(data["goals"]),
        write_table(["", "seconds", f"times `{NOTHING}`"], rows),
    )


def measure(turns: int) -> dict[str, float]:
    """The fastest turn of each case, after one that nobody counts."""
    timings: dict[str, list[Timing]] = {what: [] for what in CASES}
    for turn in range(turns + 1):
        for what, words in CASES.items():
            timing, _ = time_call(partial(_start, words))
            if turn > 0:
                timings[what].append(timing)
    return {what: best(each).seconds for what, each in timings.items()}


def _start(words: Sequence[str]) -> None:
    subprocess.run([sys.executable, *words], check=True, stdout=subprocess.DEVNULL)


def judge(what: str, seconds: float, most: float) -> Goal:
    """Within so many seconds."""
    return Goal(f"`{what}` within {most:g} s", f"{write_seconds(seconds)} s", seconds <= most)


if __name__ == "__main__":
    sys.exit(main())
