"""The page about the largest hierarchies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from benchmarks.goals import write_goals
from benchmarks.markdown import write_table
from tallytree.research.reproduction.document import Goal

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
