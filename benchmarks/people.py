"""From records of a nation's people to a verified release, beside DuckDB's bare group-by."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path

from benchmarks import records
from benchmarks.invented_data import SEED, write_people
from benchmarks.records import Data, Table, write_gigabytes, write_megabytes
from benchmarks.timing import GROWTH, find_growth, tell
from tallytree.research.reproduction.document import Goal

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


def run_in_turns(commands: Mapping[str, Callable[[], Run]], rounds: int) -> dict[str, Run]:
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


def measure_share(
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
    runs = run_in_turns(commands, rounds)
    if spark:
        runs |= run_in_turns({"spark": partial(run_spark, file, scratch)}, 1)
    size = file.stat().st_size
    file.unlink()
    return Measured(share, people, groups, size, written, runs)


MOST_RATIO, MOST_BYTES = 2.0, 8e9
RATIO_GOAL = f"Release from people: at most {MOST_RATIO:.0f} times DuckDB's bare group-by"
MEMORY_GOAL = f"Release from people: peak memory at most {MOST_BYTES / 1e9:.0f} GB"
GROWTH_GOAL = f"`tallytree count`: time grows linearly with the people, exponent at most {GROWTH}"


def judge(measured: Sequence[Measured]) -> list[Goal]:
    """All of it, by the largest file and by all of them."""
    return [*judge_largest(measured), _judge_growth(measured)]


def judge_largest(measured: Sequence[Measured]) -> list[Goal]:
    """Speed and memory."""
    if not measured:
        return [Goal.open(RATIO_GOAL), Goal.open(MEMORY_GOAL)]
    largest = measured[-1]
    peak = largest.runs["release"].peak
    return [
        Goal(
            f"{RATIO_GOAL}, at {largest.people:,} people",
            f"{largest.ratio:.2f} times; counting alone {largest.count_ratio:.2f} times",
            largest.ratio <= MOST_RATIO,
        ),
        Goal(f"{MEMORY_GOAL}, at {largest.people:,} people", f"{peak / 1e9:.1f} GB", peak <= MOST_BYTES),
    ]


def _judge_growth(measured: Sequence[Measured]) -> Goal:
    exponent = find_growth(
        [case.people for case in measured], [case.runs["count"].seconds for case in measured]
    )
    if exponent is None:
        return Goal.open(GROWTH_GOAL)
    return Goal(GROWTH_GOAL, f"{exponent:.2f}", exponent <= GROWTH)


NAMES = ("bare", "count", "release")


def _seconds(name: str) -> Callable[[Measured], float]:
    return lambda case: case.runs[name].seconds


def _peak(name: str) -> Callable[[Measured], int]:
    return lambda case: case.runs[name].peak


SHORT = Table[Measured](
    ("people", lambda case: case.people, "{:,}"),
    ("groups", lambda case: case.groups, "{:,}"),
    *((f"{name} s", _seconds(name), "{:.2f}") for name in NAMES),
    ("count / bare", lambda case: case.count_ratio, "**{:.2f}**"),
    ("release / bare", lambda case: case.ratio, "**{:.2f}**"),
    *((f"{name} MB", _peak(name), write_megabytes) for name in NAMES),
)
LONG = Table[Measured](
    ("people", lambda case: case.people, "{:,}"),
    ("groups", lambda case: case.groups, "{:,}"),
    (
        "file, written in",
        lambda case: [case.bytes, case.written],
        lambda pair: f"{pair[0] / 1e9:.2f} GB, {pair[1]:.0f} s",
    ),
    ("bare group-by", _seconds("bare"), "{:.1f} s"),
    ("count", _seconds("count"), "{:.1f} s"),
    ("count --person", _seconds("persons"), "{:.1f} s"),
    ("release", _seconds("release"), "{:.1f} s"),
    ("release / bare", lambda case: case.ratio, "{:.2f}"),
    ("memory: bare", _peak("bare"), write_gigabytes),
    ("memory: release", _peak("release"), write_gigabytes),
)


def record_section(measured: Sequence[Measured], rounds: int) -> Data:
    """The data of the section of RESULTS.md."""
    rows = SHORT.record(measured)
    growth = records.find_exponents(rows, "people", *(f"{name} s" for name in NAMES))
    return {"rounds": rounds, "shares": rows, "growth exponent": growth}


def write_section(data: Data) -> str:
    """The section of RESULTS.md; it may have a note of its own."""
    note = f"\n{data['note']}" if "note" in data else ""
    return f"""## From people, beside DuckDB's bare group-by

A Parquet file with a row for each person of a share of an invented nation. *Bare* is DuckDB's group-by as a
user would write it, which checks nothing; *count* is `tallytree count` (`count_groups`, with DuckDB), which
checks every bound and every key; *release* is `tallytree release` without intervals, which do not depend on
the number of people ([REPORT.md](REPORT.md) has their time), and `tallytree verify`. All are whole processes,
from start to end, with {MEMORY} for DuckDB; they took turns, and the best of {data["rounds"]} counts. The
fixed costs of a process, loading the package and its kernels, weigh less the more people there are: the whole
nation, 305 million people, is measured by `make people` ([PEOPLE.md](PEOPLE.md)).{note}

```sql
{QUERY}
```

{SHORT.write(data["shares"], data["growth exponent"])}"""


INTRODUCTION = f"""\
A Parquet file with a row for each person of an invented nation (person, household, state, county; 3,143
counties in 51 states), released with `tallytree release` (sizes 1 to 1,000, epsilon 1, the default mechanism,
no intervals: [REPORT.md](REPORT.md) has their time), and checked with `tallytree verify`, both from the start
of their processes to the end. Beside it, in the same run and with the same memory ({MEMORY}), what DuckDB
needs for the bare group-by, which checks nothing:

```sql
{QUERY}
```

Each command has a process of its own; they take turns, and the best time of each counts. Rows are in the
order of counties and households. The file is the same for everyone (seed {SEED}). This page is written by
the run that measured it."""
SHARES = (0.01, 0.1, 1.0)
ROUNDS = {0.01: 5, 0.1: 3, 1.0: 2}
SPARK_SHARE = 0.1


def main(arguments: Sequence[str] | None = None) -> None:
    """Generate, measure, write."""
    parser = records.make_parser("people", "PEOPLE.md", __doc__)
    parser.add_argument("--scratch", type=Path, help="where to put some 10 GB (default: temporary files)")
    parser.add_argument(
        "--largest", type=float, default=1.0, help="the largest share of the nation to measure"
    )
    options = parser.parse_args(arguments)
    facts = records.list_facts("make people")
    with tempfile.TemporaryDirectory(prefix="people-", dir=options.scratch) as folder:
        measured = [
            measure_share(share, Path(folder), ROUNDS[share], spark=share == SPARK_SHARE)
            for share in SHARES
            if share <= options.largest
        ]
    records.publish("people", {"facts": facts, **record(measured)}, write_page, options.out)


def record(measured: Sequence[Measured]) -> Data:
    """The data of the page."""
    goals = judge_largest(measured)
    for small, large in pairwise(measured):
        times = large.runs["count"].seconds / small.runs["count"].seconds
        exponent = math.log(times) / math.log(large.people / small.people)
        what = f"growth of `count` from {small.people:,} to {large.people:,} people (1 is linear)"
        goals.append(Goal(what, f"exponent {exponent:.2f}", exponent <= GROWTH))
    spark = [
        {"people": case.people, "s": case.runs["spark"].seconds, "DuckDB s": case.runs["release"].seconds}
        for case in measured
        if "spark" in case.runs
    ]
    return {"goals": records.GOALS.record(goals), "shares": LONG.record(measured), "spark": spark}


def write_page(data: Data) -> str:
    """The page."""
    return records.join_parts(
        "# From people to a verified release",
        INTRODUCTION,
        records.write_facts(data),
        "## Times",
        LONG.write(data["shares"]),
        "`count` is the first step alone (`tallytree count`): every bound and every key checked. With "
        "`--person`, at most one record of each person counts: one more group-by, over all people.",
        "## Goals",
        records.GOALS.write(data["goals"]),
        *(
            f"## Spark\n\nThe release of {run['people']:,} people with `--engine spark` on this one machine: "
            f"{run['s']:.0f} s, where DuckDB takes {run['DuckDB s']:.1f} s. Spark is for data that one "
            "machine cannot hold."
            for run in data["spark"]
        ),
    )


if __name__ == "__main__":
    main()
