"""People in RESULTS.md: the count and the release beside DuckDB's bare group-by."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.markdown import write_exponent, write_megabytes, write_table
from benchmarks.people.commands import MEMORY, QUERY
from benchmarks.people.measuring import Measured
from benchmarks.timing import find_growth

NAMES = ("bare", "count", "release")


def write_people_section(measured: Sequence[Measured], rounds: int) -> str:
    """Seconds, ratios, growth and memory."""
    rows = [
        (
            f"{case.people:,}",
            f"{case.groups:,}",
            *(f"{case.runs[name].seconds:.2f}" for name in NAMES),
            f"**{case.count_ratio:.2f}**",
            f"**{case.ratio:.2f}**",
            *(write_megabytes(case.runs[name].peak) for name in NAMES),
        )
        for case in measured
    ]
    people = [case.people for case in measured]
    growth = [
        write_exponent(find_growth(people, [case.runs[name].seconds for case in measured])) for name in NAMES
    ]
    if any(growth):
        rows.append(("growth exponent", "", *growth, "", "", "", "", ""))
    header = (
        "people", "groups", "bare s", "count s", "release s", "count / bare", "release / bare",
        "bare MB", "count MB", "release MB",
    )  # fmt: skip
    return f"""## From people, beside DuckDB's bare group-by

A Parquet file with a row for each person of a share of an invented nation. *Bare* is DuckDB's group-by as a
user would write it, which checks nothing; *count* is `tallytree count` (`count_groups`, with DuckDB), which
checks every bound and every key; *release* is `tallytree release` without intervals, which do not depend on
the number of people ([REPORT.md](REPORT.md) has their time), and `tallytree verify`. All are whole processes,
from start to end, with {MEMORY} for DuckDB; they took turns, and the best of {rounds} counts. The
fixed costs of a process, loading the package and its kernels, weigh less the more people there are: the whole
nation, 305 million people, is measured by `make people` ([PEOPLE.md](PEOPLE.md)).

```sql
{QUERY}
```

{write_table(header, rows)}"""
