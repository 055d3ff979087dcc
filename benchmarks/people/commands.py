"""Whole commands, each in a process of its own: how long they take, and the most memory they have."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

MEMORY = "6GB"
"""What DuckDB may use in both, so that the whole stays below 8 GB."""

QUERY = """\
SELECT state, county, least(people, 1000) AS size, count(*) AS groups
FROM (SELECT household, state, county, count(*) AS people FROM read_parquet($file) GROUP BY ALL)
GROUP BY ALL"""
"""What a user would write; it checks nothing."""

BARE = """\
import sys, duckdb
file, memory, spill, query = sys.argv[1:]
settings = {"memory_limit": memory, "temp_directory": spill, "preserve_insertion_order": "false"}
duckdb.connect(config=settings).sql(query, params={"file": file}).to_arrow_table()"""

LAUNCH = """\
import json, os, sys, time
start, silent = time.perf_counter(), [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
process = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=silent)
_, status, usage = os.wait4(process, 0)
print(json.dumps([time.perf_counter() - start, usage.ru_maxrss * 1024, os.waitstatus_to_exitcode(status)]))"""
"""A small process that starts a command: what the system tells of a new one begins with the memory of the one
that started it, and a benchmark has more than many a command."""

COLUMNS = ("--group", "household", "--region", "state", "--region", "county", "--sizes", "1:1000")
RELEASE = (*COLUMNS, "--epsilon", "1", "--replicates", "0")
"""Intervals do not depend on the people any more: ``make report-bench`` measures them."""


@dataclass(frozen=True)
class Run:
    """What one command took."""

    seconds: float
    peak: int
    """Bytes."""


def run_bare(file: Path, scratch: Path) -> Run:
    """DuckDB's group-by alone."""
    return run_command([sys.executable, "-c", BARE, str(file), MEMORY, str(scratch / "spill"), QUERY])


def run_count(file: Path, scratch: Path, *more: str) -> Run:
    """``tallytree count``."""
    with tempfile.TemporaryDirectory(dir=scratch) as folder:
        words = ("count", str(file), *COLUMNS, *more, "--out", f"{folder}/counts.parquet")
        return run_command(_tallytree(*words, *_limits(scratch)))


def run_release(file: Path, scratch: Path, *more: str) -> Run:
    """``tallytree release`` without intervals, and ``tallytree verify`` on what it wrote."""
    with tempfile.TemporaryDirectory(dir=scratch) as folder:
        words = ("release", str(file), *RELEASE, *more, "--out", f"{folder}/release")
        release = run_command(_tallytree(*words, *_limits(scratch)))
        verify = run_command(_tallytree("verify", f"{folder}/release"))
    return Run(release.seconds + verify.seconds, max(release.peak, verify.peak))


def run_spark(file: Path, scratch: Path) -> Run:
    """The same release with Spark on all processors; the memory is without that of Spark's own process."""
    with tempfile.TemporaryDirectory(dir=scratch) as folder:
        words = ("release", str(file), *RELEASE, "--engine", "spark")
        settings = ("--memory-limit", "8GB", "--spill-folder", str(scratch), "--out", f"{folder}/release")
        return run_command(_tallytree(*words, *settings))


def take_turns(commands: Mapping[str, Callable[[], Run]], rounds: int) -> dict[str, Run]:
    """The best of several rounds of each, one after the other, so that all see the same machine."""
    runs: dict[str, list[Run]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            runs[name].append(command())
            print(f"  {name}: {runs[name][-1].seconds:.1f} s", flush=True)
    return {
        name: Run(min(run.seconds for run in found), max(run.peak for run in found))
        for name, found in runs.items()
    }


def _limits(scratch: Path) -> tuple[str, ...]:
    return ("--memory-limit", MEMORY, "--spill-folder", str(scratch))


def _tallytree(*words: str) -> list[str]:
    return [sys.executable, "-m", "tallytree", *words]


def run_command(words: list[str]) -> Run:
    """Any command: seconds on the clock, and the most memory that it had itself."""
    launched = [sys.executable, "-S", "-c", LAUNCH, *words]
    seconds, peak, code = json.loads(subprocess.run(launched, stdout=subprocess.PIPE, check=True).stdout)
    if code:
        raise RuntimeError(f"The command ended with exit code {code}.")
    return Run(seconds, peak)
