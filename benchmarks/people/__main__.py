"""``python -m benchmarks.people [--scratch DIR] [--out FILE]``: measure, and write the page."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.people.measuring import measure
from benchmarks.people.page import write_page
from tallytree.research.reproduction.measuring import describe_machine

PAGE = Path(__file__).parent.parent / "PEOPLE.md"
SHARES = (0.01, 0.1, 1.0)
ROUNDS = {0.01: 5, 0.1: 3, 1.0: 2}
SPARK_SHARE = 0.1


def main(arguments: Sequence[str] | None = None) -> None:
    """Generate, measure, write."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.people", description=__doc__)
    parser.add_argument("--scratch", type=Path, help="where to put some 10 GB (default: temporary files)")
    parser.add_argument("--out", type=Path, default=PAGE, help="where to write (default: PEOPLE.md)")
    parser.add_argument(
        "--largest", type=float, default=1.0, help="the largest share of the nation to measure"
    )
    options = parser.parse_args(arguments)
    machine = describe_machine()
    with tempfile.TemporaryDirectory(prefix="people-", dir=options.scratch) as folder:
        measured = [
            measure(share, Path(folder), ROUNDS[share], spark=share == SPARK_SHARE)
            for share in SHARES
            if share <= options.largest
        ]
    options.out.write_text(write_page(measured, machine), encoding="utf-8")


if __name__ == "__main__":
    main()
