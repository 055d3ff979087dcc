"""Write the README's table of mechanisms: ``python -m scripts.readme``.

Errors and true epsilons are those that the last reproduction kept as data, seconds those of the last
benchmark; what is promised is taken from the mechanisms themselves. So nothing in the table is typed by hand.
It is written anew after either was run, and a test checks that it was.
"""

from __future__ import annotations

import json
import sys
from fractions import Fraction
from pathlib import Path

from benchmarks.records import Data, read_data

from tallytree.mechanisms.base import Mechanism
from tallytree.mechanisms.registry import MECHANISMS
from tallytree.research.reproduction.document import with_deviation
from tallytree.research.reproduction.run_results import Spread

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
REPRODUCTION = ROOT / "docs" / "reproduction" / "results.json"
BEGIN, END = "<!-- mechanisms: make readme -->", "<!-- end of mechanisms -->"

EPSILON = "1"
CASE = "1,000 sizes, epsilon 1"
"""The benchmark's."""
SOUND, PUBLISHED = "cumulative-chain (sound)", "cumulative-chain (published)"
ROWS = (
    "cumulative-joint",
    "cumulative-dp",
    "count-of-counts",
    "cyclic-laplace",
    "topdown",
    "direct-dp",
    SOUND,
    PUBLISHED,
    "direct-qp",
    "cumulative-qp",
    "direct-qip",
    "cumulative-qip",
    "direct-cp",
)
HEADER = ["mechanism", "guarantee", "true epsilon", "L1, thousands", "EMD", "seconds"]


def main() -> int:
    """Write the table into the README; returns the exit code."""
    README.write_text(insert_table(README.read_text(encoding="utf-8")), encoding="utf-8")
    return 0


def insert_table(text: str) -> str:
    """The README with the table as the data have it now."""
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}\n\n{write_table()}\n\n{END}{after}"


def write_table() -> str:
    """The table, one row for each mechanism or calibration."""
    census = json.loads(REPRODUCTION.read_text(encoding="utf-8"))["census"]
    results = {row["mechanism"]: row for row in census if row["epsilon"] == EPSILON}
    seconds = {each["mechanism"]: each["s"].get(CASE) for each in read_data("bench")["nation"]["series"]}
    lines = [HEADER, ["---"] * len(HEADER)]
    for name in ROWS:
        kind, result = find_kind(name), results[name]
        # A mechanism without a result is as private as any other of its kind.
        epsilon = result.get("true epsilon", EPSILON)
        lines.append(
            [
                f"`{kind.name}`{', published' if name == PUBLISHED else ''} ({kind.symbol})",
                describe_guarantee(name),
                epsilon if epsilon == EPSILON else f"**{float(Fraction(epsilon)):,g}**",
                _join(result, "L1, thousands"),
                _join(result, "EMD"),
                find_seconds(seconds.get(kind.name), result),
            ]
        )
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def find_seconds(measured: float | None, result: Data) -> str:
    """At 1,000 sizes, or why there are none; nothing where the last benchmark did not know the mechanism."""
    if measured is not None:
        return f"{measured:.2g}"
    if result.get("runs"):
        return ""
    limit = result.get("given up after s")
    return "cannot" if limit is None else f"> {limit:.0f}"


def find_kind(name: str) -> type[Mechanism]:
    """The mechanism of a row, whatever its calibration."""
    (kind,) = (each for each in MECHANISMS if each.name == name.partition(" (")[0])
    return kind


def describe_guarantee(name: str) -> str:
    """Whether it is private, adds up, and is the best that fits."""
    kind = find_kind(name)
    private = "**not** epsilon-DP" if name == PUBLISHED else "epsilon-DP"
    sums = "adds up" if kind.consistent else "does **not** add up"
    return f"{private}; {sums}; {'exact optimum' if kind.exact else 'not exact'}"


def _join(result: Data, what: str) -> str:
    """The means at all levels, where there are any."""
    spreads = [Spread(mean, off, result["runs"]) for mean, off in result.get(what, {}).values()]
    return " / ".join(with_deviation(each).partition(" ±")[0] for each in spreads)


if __name__ == "__main__":
    sys.exit(main())
