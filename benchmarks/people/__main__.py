"""``python -m benchmarks.people [--scratch DIR] [--out FILE]``: measure, and write the page."""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from benchmarks.machine import describe_machine
from benchmarks.people.commands import run_bare, run_count, run_release, run_spark, take_turns
from benchmarks.people.generator import write_people
from benchmarks.people.page import Measured, write_page

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
        measured = [measure(share, Path(folder)) for share in SHARES if share <= options.largest]
    options.out.write_text(write_page(measured, machine), encoding="utf-8")


def measure(share: float, scratch: Path) -> Measured:
    """All commands on ``share`` of the nation."""
    file = scratch / "people.parquet"
    print(f"{share:g} of the nation", flush=True)
    start = time.perf_counter()
    people, groups = write_people(file, share)
    written = time.perf_counter() - start
    print(
        f"  {people:,} people in {groups:,} groups: {written:.0f} s, {file.stat().st_size:,} bytes",
        flush=True,
    )
    run_release(file, scratch)  # compiles the kernels and brings the file into the system's cache
    runs = take_turns(
        {
            "bare": partial(run_bare, file, scratch),
            "release": partial(run_release, file, scratch),
            "count": partial(run_count, file, scratch),
            "persons": partial(run_count, file, scratch, "--person", "person"),
        },
        ROUNDS[share],
    )
    spark = take_turns({"spark": partial(run_spark, file, scratch)}, 1) if share == SPARK_SHARE else {}
    size = file.stat().st_size
    file.unlink()
    return Measured(share, people, groups, size, written, {**runs, **spark})


if __name__ == "__main__":
    main()
