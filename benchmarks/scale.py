"""The largest hierarchies that people have: census tracts and census blocks."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from benchmarks.invented_data import BLOCK_LEVELS, TRACT_FILE, TRACT_LEVELS, write_blocks, write_tracts
from benchmarks.markdown import write_goals, write_table
from tallytree.research.reproduction.document import Goal
from tallytree.research.reproduction.measuring import describe_machine

MOST_BYTES = 16e9

INTRODUCTION = """\
Releases of the largest hierarchies that people have, on one machine, from a table of counts to a folder that
`tallytree verify` accepts (epsilon 1, split evenly over the levels; exact noise). **Tracts**: the 72,364
census tracts of 2010 in their counties and states, with their real numbers of households and invented sizes.
**Blocks**: an invented nation with the shape of the United States down to census blocks (seeded: the same for
everyone). Making a release is one process and verifying it another; the peak is the most memory that the
process had during the step. Beside the time on the clock stands the time that processors worked for the step:
on a machine with nothing else to do, the clock shows between half of it (on two processors) and all of it.
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
    load: float
    """The machine's load average when it was done."""

    @property
    def steps(self) -> dict[str, Step]:
        """All steps by name."""
        verified = {f"verify: {step.name}": step for step in self.verified}
        return {**{step.name: step for step in self.made}, **verified}

    @property
    def peak(self) -> int:
        """The most memory of any step that users have too."""
        return max(step.peak for name, step in self.steps.items() if not name.startswith("compare"))


def write_page(cases: Sequence[Case], machine: Mapping[str, str]) -> str:
    """The whole page."""
    facts = {"Date": str(date.today()), **machine, "Command": "`make scale SCRATCH=... DATA=...`"}
    parts = [
        "# The largest hierarchies",
        INTRODUCTION,
        write_table(["", ""], [[name, value] for name, value in facts.items()]),
    ]
    tracts = [case for case in cases if case.name.startswith("tracts")]
    blocks = [case for case in cases if case.name.startswith("blocks")]
    for case in blocks:
        parts += ["## Census blocks", _describe(case), _write_steps(case), _write_errors(case)]
    if tracts:
        parts += ["## Census tracts", _write_overview(tracts)]
    parts += ["## Goals", write_goals([_judge(case) for case in cases])]
    return "\n\n".join(parts) + "\n"


def _describe(case: Case) -> str:
    regions = case.steps["read the table"].facts["regions"]
    solved, written = case.steps["check"].facts["solution"], case.steps["write"].facts
    effort = [f"{value} {name.replace('_', ' ')}" for name, value in solved["effort"].items()]
    files = [f"{name} {size / 1e6:,.1f} MB" for name, size in written["bytes"].items()]
    return (
        f"`{case.mechanism}`, sizes 1 to {case.high}: {' + '.join(f'{count:,}' for count in regions)} "
        f"regions, {sum(regions) * case.high:,} cells. The relaxed model was solved to a relative gap of "
        f"{solved['accuracy']['gap']:.1e} ({', '.join(effort)}). Files: {', '.join(files)}. "
        f"Load average of the machine at the end: {case.load:.1f}."
    )


def _write_steps(case: Case) -> str:
    rows = [
        [name, f"{step.seconds:,.1f} s", f"{step.worked:,.1f} s", f"{step.peak / 1e9:.1f} GB"]
        for name, step in case.steps.items()
    ]
    whole = [step for name, step in case.steps.items() if not name.startswith("compare")]
    rows.append(
        [
            "**all, without comparing**",
            f"**{sum(step.seconds for step in whole):,.0f} s**",
            f"**{sum(step.worked for step in whole):,.0f} s**",
            f"**{case.peak / 1e9:.1f} GB**",
        ]
    )
    return write_table(["step", "time", "processors' time", "peak memory"], rows)


def _write_errors(case: Case) -> str:
    rows = [
        [row["level"], f"{row['l1']:,}", f"{row['emd']:,.1f}", str(row["violations"])]
        for row in case.steps["compare with the truth"].facts["errors"]
    ]
    return "How far off (the data are invented):\n\n" + write_table(
        ["level", "L1", "EMD", "violations"], rows
    )


def _write_overview(cases: Sequence[Case]) -> str:
    names = list(cases[0].steps)
    names = [name for name in names if not name.startswith("compare")]
    rows = [
        [
            f"1 to {case.high}",
            f"`{case.mechanism}`",
            *(f"{case.steps[name].seconds:.1f} ({case.steps[name].worked:.1f})" for name in names),
            f"{case.peak / 1e9:.1f} GB",
        ]
        for case in cases
    ]
    note = "Seconds, with the processors' time in brackets.\n\n"
    return note + write_table(["sizes", "mechanism", *names, "peak memory"], rows)


def _judge(case: Case) -> Goal:
    return Goal(
        f"{case.name}, `{case.mechanism}`: verified, below {MOST_BYTES / 1e9:.0f} GB",
        f"{case.peak / 1e9:.1f} GB",
        case.peak < MOST_BYTES,
    )


PAGE = Path(__file__).parent / "SCALE.md"
TRACT_SIZES = (20, 100, 1000)
TRACT_MECHANISMS = ("cumulative-joint", "cumulative-dp", "direct-dp")
BLOCK_SIZES = 100


def main(arguments: Sequence[str] | None = None) -> None:
    """Generate, measure, write."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=__doc__)
    parser.add_argument("--scratch", type=Path, help="where to put some 5 GB (default: temporary files)")
    parser.add_argument("--data", type=Path, help="the folder of the table of census tracts, if it is there")
    parser.add_argument("--out", type=Path, default=PAGE, help="where to write (default: SCALE.md)")
    parser.add_argument("--largest", type=int, default=max(TRACT_SIZES), help="of the sizes, for tracts")
    options = parser.parse_args(arguments)
    machine = describe_machine()
    cases = []
    with tempfile.TemporaryDirectory(prefix="scale-", dir=options.scratch) as folder:
        for case in measure_all(options.data, options.largest, Path(folder)):
            cases.append(case)
            options.out.write_text(write_page(cases, machine), encoding="utf-8")


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
        made = _run("release", out, *words, "--mechanism", mechanism)
        verified = _run("verify", out)
    return Case(name, high, mechanism, made, verified, os.getloadavg()[1])


def _run(*words: str) -> list[Step]:
    command = [sys.executable, "-m", "benchmarks.scale_steps", *words]
    found = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
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
