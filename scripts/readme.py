"""Write the README's table of mechanisms: ``python -m scripts.readme``.

Errors and true epsilons are those of the page of the last reproduction, seconds those that the last benchmark
kept as data; what is promised is taken from the mechanisms themselves. So nothing in the table is typed by
hand. It is written anew after either was run, and a test checks that it was.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from benchmarks.records import read_data

from tallytree.mechanisms.base import Mechanism
from tallytree.mechanisms.registry import MECHANISMS

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
REPRODUCTION = ROOT / "docs" / "reproduction" / "page.md"
BEGIN, END = "<!-- mechanisms: make readme -->", "<!-- end of mechanisms -->"

EPSILON = "1"
CASE = "1,000 sizes, epsilon 1"
"""The benchmark's."""
LEVELS = ("nation", "state", "county")
SOUND, PUBLISHED = "cumulative-chain (sound)", "cumulative-chain (published)"
ROWS = (
    "cumulative-joint",
    "cumulative-dp",
    "count-of-counts",
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

Row = dict[str, str]


def main() -> int:
    """Write the table into the README; returns the exit code."""
    README.write_text(insert_table(README.read_text(encoding="utf-8")), encoding="utf-8")
    return 0


def insert_table(text: str) -> str:
    """The README with the table as the pages have it now."""
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}\n\n{write_table()}\n\n{END}{after}"


def write_table() -> str:
    """The table, one row for each mechanism or calibration."""
    page = REPRODUCTION.read_text(encoding="utf-8")
    errors = read_table(page, "### Census")
    distances = read_table(page, "### EMD, and errors in small sizes: Census")
    limits = read_table(page, "### Census: 3,195 regions, 1,000 sizes")
    seconds = {each["mechanism"]: each["s"].get(CASE) for each in read_data("bench")["nation"]["series"]}
    lines = [HEADER, ["---"] * len(HEADER)]
    for name in ROWS:
        kind = find_kind(name)
        # A mechanism without a result is as private as any other of its kind.
        epsilon = errors.get(name, {}).get("true epsilon") or EPSILON
        lines.append(
            [
                f"`{kind.name}`{', published' if name == PUBLISHED else ''} ({kind.symbol})",
                describe_guarantee(name),
                re.sub(r"\.0\b", "", epsilon),
                _join(errors.get(name), "L1"),
                _join(distances.get(name), "EMD"),
                find_seconds(seconds.get(kind.name), limits[name]),
            ]
        )
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def read_table(page: str, heading: str) -> dict[str, Row]:
    """The table below a heading: the row of each mechanism, at epsilon 1 where it has several."""
    (section,) = re.findall(rf"^{re.escape(heading)}\n(.*?)(?=^#|\Z)", page, re.MULTILINE | re.DOTALL)
    lines = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("|")]
    header, rows = lines[0], lines[2:]
    found: dict[str, Row] = {}
    for cells in rows:
        row = dict(zip(header, [cell.strip() for cell in cells], strict=False))
        if row.get("epsilon", EPSILON) == EPSILON:
            found[row["mechanism"].strip("`¹")] = row
    return found


def find_seconds(measured: float | None, limit: Row) -> str:
    """At 1,000 sizes, or why there are none."""
    if measured is not None:
        return f"{measured:.2g}"
    return limit[f"epsilon {EPSILON}"].removesuffix(" s") if ">" in limit[f"epsilon {EPSILON}"] else "cannot"


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


def _join(row: Row | None, what: str) -> str:
    """The means at all levels, where there are any."""
    cells = [row[f"{what}, {level}"].partition(" ±")[0] for level in LEVELS] if row else []
    return "" if any(">" in cell for cell in cells) else " / ".join(cells)


if __name__ == "__main__":
    sys.exit(main())
