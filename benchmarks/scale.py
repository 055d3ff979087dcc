"""The largest hierarchies that people have: census tracts and census blocks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import records
from benchmarks.invented_data import BLOCK_LEVELS, TRACT_FILE, TRACT_LEVELS, write_blocks, write_tracts
from benchmarks.records import Data, Table, write_gigabytes, write_table
from benchmarks.scale_steps import SORTING, VECTORS
from tallytree.research.reproduction.document import Goal

MOST_BYTES = 16e9
MOST_SORTS = 10

INTRODUCTION = """\
Releases of the largest hierarchies that people have, on one machine, from a table of counts to a folder that
`tallytree verify` accepts (epsilon 1, split evenly over the levels; exact noise). **Tracts**: the 72,364
census tracts of 2010 in their counties and states, with their real numbers of households and invented sizes.
**Blocks**: an invented nation with the shape of the United States down to census blocks (seeded: the same for
everyone). Making a release is one process and verifying it another; the peak is the most memory that the
process had during the step. Sorting as many random numbers, in processes of their own, says how fast the
machine is. Beside the time on the clock stands the time that processors worked for the step: on a machine
with nothing else to do, the clock shows between half of it (on two processors) and all of it.
This page is written by the run that measured it."""


@dataclass(frozen=True)
class Step:
    """A step of a process."""

    name: str
    seconds: float
    worked: float
    """Processor time, of all threads together."""
    peak: int
    """Bytes."""
    facts: Mapping[str, Any]


@dataclass(frozen=True)
class Case:
    """One release, made and verified."""

    name: str
    high: int
    mechanism: str
    made: Sequence[Step]
    verified: Sequence[Step]
    sorted: Sequence[Step]
    """As many numbers as there are cells, without vector instructions and with them."""
    load: float
    """The machine's load average when it was done."""

    @property
    def steps(self) -> dict[str, Step]:
        """All steps by name."""
        verified = {f"verify: {step.name}": step for step in self.verified}
        return {step.name: step for step in self.made} | verified | {step.name: step for step in self.sorted}

    @property
    def peak(self) -> int:
        """The most memory of any step that users have too."""
        return max(step.peak for name, step in self.steps.items() if _is_of_users(name))


def _is_of_users(step: str) -> bool:
    return not step.startswith("compare") and step not in (SORTING, VECTORS)


WORKED = "processors' time"
STEPS = Table[tuple[str, Step]](
    ("step", lambda row: row[0], "{}"),
    ("time", lambda row: row[1].seconds, "{:,.1f} s"),
    (WORKED, lambda row: row[1].worked, "{:,.1f} s"),
    ("peak memory", lambda row: row[1].peak, write_gigabytes),
)
ERRORS = Table[Data](
    ("level", lambda row: row["level"], "{}"),
    ("L1", lambda row: row["l1"], "{:,}"),
    ("EMD", lambda row: row["emd"], "{:,.1f}"),
    ("violations", lambda row: row["violations"], "{}"),
)


def record_cases(cases: Sequence[Case]) -> Data:
    """The data."""
    return {
        "goals": records.GOALS.record(
            [*(_compare(case) for case in cases if _has_blocks(case)), *map(_judge, cases)]
        ),
        "blocks": [{**_record_case(case), **_record_facts(case)} for case in cases if _has_blocks(case)],
        "tracts": [_record_case(case) for case in cases if case.name.startswith("tracts")],
    }


def _has_blocks(case: Case) -> bool:
    return case.name.startswith("blocks")


def _record_case(case: Case) -> Data:
    steps = STEPS.record(case.steps.items())
    return {"sizes": case.high, "mechanism": case.mechanism, "peak memory": case.peak, "steps": steps}


def _record_facts(case: Case) -> Data:
    solved = case.steps["check"].facts["solution"]
    return {
        "regions": list(case.steps["read the table"].facts["regions"]),
        "gap": solved["accuracy"]["gap"],
        "effort": solved["effort"],
        "bytes": case.steps["write"].facts["bytes"],
        "load": case.load,
        "errors": ERRORS.record(case.steps["compare with the truth"].facts["errors"]),
    }


def _judge(case: Case) -> Goal:
    return Goal(
        f"{case.name}, `{case.mechanism}`: verified, below {MOST_BYTES / 1e9:.0f} GB",
        write_gigabytes(case.peak),
        case.peak < MOST_BYTES,
    )


def _compare(case: Case) -> Goal:
    solved = case.steps["make the counts add up"]
    times = [solved.worked / ordered.worked for ordered in case.sorted]
    return Goal(
        f"{case.name}, `{case.mechanism}`: making the counts add up takes at most {MOST_SORTS} times the "
        "processors' time of np.sort without vector instructions",
        f"{times[0]:.1f} times; {solved.seconds / case.sorted[0].seconds:.1f} times on the clock; "
        f"{times[1]:.0f} times with this processor's vector instructions",
        times[0] <= MOST_SORTS,
    )


def write_page(data: Data) -> str:
    """The page."""
    parts = ["# The largest hierarchies", INTRODUCTION, records.write_facts(data)]
    for case in data["blocks"]:
        errors = "How far off (the data are invented):\n\n" + ERRORS.write(case["errors"])
        parts += ["## Census blocks", _describe(case), _write_steps(case), errors]
    if data["tracts"]:
        parts += ["## Census tracts", _write_overview(data["tracts"])]
    return records.join_parts(*parts, "## Goals", records.GOALS.write(data["goals"]))


def _describe(case: Data) -> str:
    effort = [f"{value} {name.replace('_', ' ')}" for name, value in case["effort"].items()]
    files = [f"{name} {size / 1e6:,.1f} MB" for name, size in case["bytes"].items()]
    return (
        f"`{case['mechanism']}`, sizes 1 to {case['sizes']}: "
        f"{' + '.join(f'{count:,}' for count in case['regions'])} regions, "
        f"{sum(case['regions']) * case['sizes']:,} cells. The relaxed model was solved to a relative gap of "
        f"{case['gap']:.1e} ({', '.join(effort)}). Files: {', '.join(files)}. "
        f"Load average of the machine at the end: {case['load']:.1f}."
    )


def _list_steps(case: Data) -> list[Data]:
    """Those that users have too."""
    return [step for step in case["steps"] if _is_of_users(step["step"])]


def _write_steps(case: Data) -> str:
    sums = [sum(step[what] for step in _list_steps(case)) for what in ("time", WORKED)]
    cells = ["all, without comparing and sorting", *(f"{spent:,.0f} s" for spent in sums)]
    cells.append(write_gigabytes(case["peak memory"]))
    return STEPS.write(case["steps"]) + "\n| " + " | ".join(f"**{cell}**" for cell in cells) + " |"


def _write_overview(cases: Sequence[Data]) -> str:
    rows = [
        [
            f"1 to {case['sizes']}",
            f"`{case['mechanism']}`",
            *(f"{step['time']:.1f} ({step[WORKED]:.1f})" for step in _list_steps(case)),
            write_gigabytes(case["peak memory"]),
        ]
        for case in cases
    ]
    names = [step["step"] for step in _list_steps(cases[0])]
    note = "Seconds, with the processors' time in brackets.\n\n"
    return note + write_table(["sizes", "mechanism", *names, "peak memory"], rows)


TRACT_SIZES = (20, 100, 1000)
TRACT_MECHANISMS = ("cumulative-joint", "cumulative-dp", "direct-dp")
BLOCK_SIZES = 100


def main(arguments: Sequence[str] | None = None) -> None:
    """Generate, measure, write."""
    parser = records.make_parser("scale", "SCALE.md", __doc__)
    parser.add_argument("--scratch", type=Path, help="where to put some 5 GB (default: temporary files)")
    parser.add_argument("--data", type=Path, help="the folder of the table of census tracts, if it is there")
    parser.add_argument("--largest", type=int, default=max(TRACT_SIZES), help="of the sizes, for tracts")
    options = parser.parse_args(arguments)
    facts, cases = records.list_facts("make scale SCRATCH=... DATA=..."), []
    with tempfile.TemporaryDirectory(prefix="scale-", dir=options.scratch) as folder:
        for case in measure_all(options.data, options.largest, Path(folder)):
            cases.append(case)
            records.publish("scale", {"facts": facts, **record_cases(cases)}, write_page, options.out)


def measure_all(data: Path | None, largest: int, scratch: Path) -> Iterator[Case]:
    """Blocks first: they take the longest."""
    yield measure_blocks(BLOCK_SIZES, scratch)
    if data is not None:
        for high in TRACT_SIZES:
            if high <= largest:
                yield from measure_tracts(data / TRACT_FILE, high, scratch)


def measure_tracts(table: Path, high: int, scratch: Path) -> Iterator[Case]:
    """Each mechanism on the tracts."""
    source = scratch / "tracts.parquet"
    write_tracts(table, source, high=high)
    for mechanism in TRACT_MECHANISMS:
        yield measure(f"tracts, sizes 1 to {high}", source, TRACT_LEVELS, high, mechanism, scratch)


def measure_blocks(high: int, scratch: Path) -> Case:
    """The default mechanism on the blocks."""
    source = scratch / "blocks.parquet"
    start = time.perf_counter()
    write_blocks(source, high=high)
    print(f"blocks written: {time.perf_counter() - start:.0f} s", flush=True)
    return measure(f"blocks, sizes 1 to {high}", source, BLOCK_LEVELS, high, "cumulative-joint", scratch)


def measure(name: str, source: Path, levels: Sequence[str], high: int, mechanism: str, scratch: Path) -> Case:
    """Release in one process, verify in another."""
    print(f"{name}, {mechanism}", flush=True)
    with tempfile.TemporaryDirectory(dir=scratch) as folder:
        out = f"{folder}/release"
        words = ["--source", str(source), "--levels", ",".join(levels), "--high", str(high)]
        made = _run("release", "--out", out, *words, "--mechanism", mechanism)
        verified = _run("verify", "--out", out)
    cells = high * sum(made[0].facts["regions"])
    ordered = [
        *_run("sort", "--name", SORTING, "--cells", str(cells), NPY_DISABLE_CPU_FEATURES=_list_vectors()),
        *_run("sort", "--name", VECTORS, "--cells", str(cells)),
    ]
    return Case(name, high, mechanism, made, verified, ordered, os.getloadavg()[1])


def _list_vectors() -> str:
    """The vector instructions of this processor that NumPy knows of, as the variable that turns them off."""
    known: Any = np.show_config(mode="dicts")
    return " ".join(known["SIMD Extensions"].get("found", ()))


def _run(*words: str, **settings: str) -> list[Step]:
    command = [sys.executable, "-m", "benchmarks.scale_steps", *words]
    found = []
    environment = {**os.environ, **settings}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        for line in process.stdout:
            facts = json.loads(line)
            name, seconds, worked, peak = (facts.pop(key) for key in ("step", "seconds", "worked", "peak"))
            found.append(Step(name, seconds, worked, peak, facts))
            print(f"  {name}: {seconds:.1f} s, {peak / 1e9:.1f} GB", flush=True)
    if process.returncode:
        raise RuntimeError(f"The command ended with exit code {process.returncode}.")
    return found


if __name__ == "__main__":
    main()
