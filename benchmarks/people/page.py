"""The page about releases from people."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import date
from itertools import pairwise

from benchmarks.goals import GROWTH, write_goals
from benchmarks.markdown import write_table
from benchmarks.people.commands import MEMORY, QUERY
from benchmarks.people.generator import SEED
from benchmarks.people.goals import judge_largest
from benchmarks.people.measuring import Measured
from tallytree.research.reproduction.document import Goal

INTRODUCTION = """\
A Parquet file with a row for each person of an invented nation (person, household, state, county; 3,143
counties in 51 states), released with `tallytree release` (sizes 1 to 1,000, epsilon 1, the default mechanism,
no intervals: [REPORT.md](REPORT.md) has their time), and checked with `tallytree verify`, both from the start
of their processes to the end. Beside it, in the same run and with the same memory ({memory}), what DuckDB
needs for the bare group-by, which checks nothing:

```sql
{query}
```

Each command has a process of its own; they take turns, and the best time of each counts. Rows are in the
order of counties and households. The file is the same for everyone (seed {seed}). This page is written by
the run that measured it."""


def write_page(measured: Sequence[Measured], machine: Mapping[str, str]) -> str:
    """The whole page."""
    facts = {"Date": str(date.today()), **machine, "Command": "`make people`"}
    parts = [
        "# From people to a verified release",
        INTRODUCTION.format(memory=MEMORY, query=QUERY, seed=SEED),
        write_table(["", ""], [[name, value] for name, value in facts.items()]),
        "## Times",
        _write_times(measured),
        "`count` is the first step alone (`tallytree count`): every bound and every key checked. With "
        "`--person`, at most one record of each person counts: one more group-by, over all people.",
        "## Goals",
        write_goals(_list_goals(measured)),
        *_write_spark(measured),
    ]
    return "\n\n".join(parts) + "\n"


def _write_times(measured: Sequence[Measured]) -> str:
    rows = [
        [
            f"{case.people:,}",
            f"{case.groups:,}",
            f"{case.bytes / 1e9:.2f} GB, {case.written:.0f} s",
            *(f"{case.runs[name].seconds:.1f} s" for name in ("bare", "count", "persons", "release")),
            f"{case.ratio:.2f}",
            f"{case.runs['bare'].peak / 1e9:.1f} GB",
            f"{case.runs['release'].peak / 1e9:.1f} GB",
        ]
        for case in measured
    ]
    header = ["people", "groups", "file, written in", "bare group-by", "count", "count --person", "release"]
    return write_table([*header, "release / bare", "memory: bare", "memory: release"], rows)


def _list_goals(measured: Sequence[Measured]) -> list[Goal]:
    goals = judge_largest(measured)
    for small, large in pairwise(measured):
        times = large.runs["count"].seconds / small.runs["count"].seconds
        exponent = math.log(times) / math.log(large.people / small.people)
        what = f"growth of `count` from {small.people:,} to {large.people:,} people (1 is linear)"
        goals.append(Goal(what, f"exponent {exponent:.2f}", exponent <= GROWTH))
    return goals


def _write_spark(measured: Sequence[Measured]) -> list[str]:
    return [
        f"## Spark\n\nThe release of {case.people:,} people with `--engine spark` on this one machine: "
        f"{case.runs['spark'].seconds:.0f} s, where DuckDB takes {case.runs['release'].seconds:.1f} s. Spark "
        "is for data that one machine cannot hold."
        for case in measured
        if "spark" in case.runs
    ]
