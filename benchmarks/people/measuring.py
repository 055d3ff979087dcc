"""What is measured on a share of the nation's people."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks.attempts import tell
from benchmarks.people.commands import Run, run_bare, run_count, run_release, run_spark, take_turns
from benchmarks.people.generator import write_people


@dataclass(frozen=True)
class Measured:
    """What was measured on a share of the nation."""

    share: float
    people: int
    groups: int
    bytes: int
    written: float
    """Seconds that writing the file took."""
    runs: Mapping[str, Run]

    @property
    def ratio(self) -> float:
        """The release as a multiple of the bare group-by."""
        return self.runs["release"].seconds / self.runs["bare"].seconds

    @property
    def count_ratio(self) -> float:
        """The count as a multiple of it."""
        return self.runs["count"].seconds / self.runs["bare"].seconds


def measure(
    share: float, scratch: Path, rounds: int, *, persons: bool = True, spark: bool = False
) -> Measured:
    """All commands on ``share`` of the nation; with ``persons`` also the count that looks at each of them."""
    file = scratch / "people.parquet"
    tell(f"{share:g} of the nation's people")
    start = time.perf_counter()
    people, groups = write_people(file, share)
    written = time.perf_counter() - start
    tell(f"  {people:,} people in {groups:,} groups: {written:.0f} s, {file.stat().st_size:,} bytes")
    run_release(file, scratch)  # compiles the kernels and brings the file into the system's cache
    commands = {
        "bare": partial(run_bare, file, scratch),
        "release": partial(run_release, file, scratch),
        "count": partial(run_count, file, scratch),
    }
    if persons:
        commands["persons"] = partial(run_count, file, scratch, "--person", "person")
    runs = take_turns(commands, rounds)
    if spark:
        runs |= take_turns({"spark": partial(run_spark, file, scratch)}, 1)
    size = file.stat().st_size
    file.unlink()
    return Measured(share, people, groups, size, written, runs)
