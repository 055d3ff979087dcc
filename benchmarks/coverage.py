"""Do intervals cover what they promise? ``python -m benchmarks.coverage --data FOLDER [--out FILE]``.

Releases of the county table are simulated, each with noise of its own, and their intervals are compared with
the true counts, which nobody else ever sees. It takes hours: what is counted is kept in a folder, and a run
that was stopped goes on from there.
"""

import json
import sys
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import numpy.typing as npt

import tallytree as tt
from benchmarks import records
from benchmarks.records import Data, Table
from tallytree.datasets import make_census, read_county_table
from tallytree.errors import InputError
from tallytree.files import write_whole
from tallytree.intervals.replicates import make_intervals
from tallytree.privacy.accuracy import find_count_deviation
from tallytree.progress import count_processors
from tallytree.releases.interval_bounds import Intervals
from tallytree.releases.statistics import list_statistics, summarize
from tallytree.research.reproduction.document import Goal
from tallytree.research.reproduction.study_data import COUNTY_FILE

KEPT = Path("tallytree-coverage")
MECHANISMS = ("direct-dp", "cumulative-dp", "cumulative-joint")
EPSILON = "1"
WELL_ABOVE = 8
"""Standard deviations of the noise in a count."""
LEAST, MOST = 0.87, 0.94
KINDS = ("all", "not zero", "well above the noise")
BATCH = 4

INTRODUCTION = f"""\
90 % intervals of simulated releases of the county table at epsilon {EPSILON}, with the tail that
`tallytree reproduce` gives it, compared with the true counts. Well above the noise is a true count of more
than {WELL_ABOVE} standard deviations of the noise in a count. Bounds are whole numbers, so small counts are
covered more often than is promised. This page is written by the run that measured it."""


@dataclass(frozen=True)
class Study:
    """How many releases, and how large."""

    sizes: int
    releases: int
    replicates: int


STUDIES = (Study(20, 200, 20), Study(1000, 160, 15))


@dataclass
class Tally:
    """How many of how many were covered, by level and kind, and how wide the intervals are."""

    covered: dict[tuple[int, str], int] = field(default_factory=dict)
    seen: dict[tuple[int, str], int] = field(default_factory=dict)
    width: dict[tuple[int, str], float] = field(default_factory=dict)

    def add(
        self, level: int, kind: str, inside: npt.NDArray[np.bool_], width: npt.NDArray[np.generic]
    ) -> None:
        """What one release had."""
        key = level, kind
        self.covered[key] = self.covered.get(key, 0) + int(inside.sum())
        self.seen[key] = self.seen.get(key, 0) + len(inside)
        self.width[key] = self.width.get(key, 0.0) + float(width.sum())

    def join(self, other: "Tally") -> None:
        """Those of other releases."""
        for name in ("covered", "seen", "width"):
            mine, theirs = getattr(self, name), getattr(other, name)
            for key, value in theirs.items():
                mine[key] = mine.get(key, 0) + value

    def save(self, file: Path) -> None:
        """For a run that goes on later."""
        rows = [[*key, self.covered[key], self.seen[key], self.width[key]] for key in self.seen]
        file.parent.mkdir(parents=True, exist_ok=True)
        write_whole(file, json.dumps(rows).encode())

    @classmethod
    def load(cls, file: Path) -> "Tally":
        """What :meth:`save` wrote."""
        tally = cls()
        for level, kind, covered, seen, width in json.loads(file.read_text(encoding="utf-8")):
            key = level, kind
            tally.covered[key], tally.seen[key], tally.width[key] = covered, seen, width
        return tally

    def share(self, level: int, kind: str) -> float:
        """Of those that were covered."""
        return self.covered[level, kind] / self.seen[level, kind] if self.seen[level, kind] else float("nan")

    def mean_width(self, level: int, kind: str) -> float:
        """Of the intervals, from end to end."""
        return self.width[level, kind] / self.seen[level, kind] if self.seen[level, kind] else float("nan")


def main(arguments: Sequence[str] | None = None) -> int:
    """Simulate, compare, and write the page; returns the exit code."""
    parser = records.make_parser("coverage", "COVERAGE.md", __doc__)
    parser.add_argument("--data", type=Path, required=True, help=f"the folder that holds {COUNTY_FILE}")
    parser.add_argument("--keep", type=Path, default=KEPT, help=f"where to go on from (default: {KEPT})")
    options = parser.parse_args(arguments)
    try:
        read_county_table(options.data / COUNTY_FILE)
    except InputError as error:
        print(f"Error: {error}", file=sys.stderr)
        return 2
    data = measure(options.data / COUNTY_FILE, STUDIES, options.keep)
    records.publish("coverage", data, write_page, options.out)
    return 0


def measure(table: Path, studies: Sequence[Study], kept: Path) -> Data:
    """The data of all studies."""
    facts = records.list_facts("make coverage DATA=FOLDER")
    tallies = {
        (study, mechanism): run(table, study, mechanism, kept)
        for study in studies
        for mechanism in MECHANISMS
    }
    found = []
    for study in studies:
        rows = [
            Row(mechanism, level, title, tallies[study, mechanism])
            for mechanism in MECHANISMS
            for level, title in enumerate(("nation", "state", "county"))
        ]
        found.append({**asdict(study), "cells": CELLS.record(rows), "summaries": SUMMARIES.record(rows)})
    return {"facts": facts, "goals": records.GOALS.record(_judge(tallies.values())), "studies": found}


def write_page(data: Data) -> str:
    """The page."""
    return records.join_parts(
        "# Coverage of intervals",
        INTRODUCTION,
        records.write_facts(data),
        records.GOALS.write(data["goals"]),
        *(
            f"## {study['sizes']:,} sizes: {study['releases']} releases, {study['replicates']} replicates "
            f"each\n\n{CELLS.write(study['cells'])}\n\nThe numbers that sum up a region, covered:"
            f"\n\n{SUMMARIES.write(study['summaries'])}"
            for study in data["studies"]
        ),
    )


@dataclass(frozen=True)
class Row:
    """A mechanism and a level of a study."""

    mechanism: str
    level: int
    title: str
    tally: Tally


def _share(kind: str) -> Callable[[Row], float]:
    return lambda row: row.tally.share(row.level, kind)


def _width(kind: str) -> Callable[[Row], float]:
    return lambda row: row.tally.mean_width(row.level, kind)


CELLS = Table[Row](
    ("mechanism", lambda row: row.mechanism, "`{}`"),
    ("level", lambda row: row.title, "{}"),
    *((kind, _share(kind), "{:.1%}") for kind in KINDS),
    ("width, not zero", _width(KINDS[1]), "{:,.1f}"),
    ("width, well above", _width(KINDS[2]), "{:,.1f}"),
)
SUMMARIES = Table[Row](
    ("mechanism", lambda row: row.mechanism, "`{}`"),
    ("level", lambda row: row.title, "{}"),
    *((f"`{each.name}`", _share(each.name), "{:.1%}") for each in list_statistics((1, 20))),
)


def run(table: Path, study: Study, mechanism: str, kept: Path) -> Tally:
    """All releases of a study, on all processors; those that ``kept`` has already are not made again."""
    tally, done = Tally(), 0
    folder = kept / f"{mechanism}-{study.sizes}-sizes-{study.replicates}-replicates"
    with ProcessPoolExecutor(count_processors(), mp_context=get_context("spawn")) as workers:
        jobs = []
        for start in range(0, study.releases, BATCH):
            seeds = range(start, min(start + BATCH, study.releases))
            if _name_file(folder, seeds).exists():  # which needs no process
                tally.join(Tally.load(_name_file(folder, seeds)))
            else:
                jobs.append(workers.submit(simulate_or_load, table, study, mechanism, seeds, folder))
        for job in as_completed(jobs):
            tally.join(job.result())
            done += BATCH
            print(f"{mechanism}, {study.sizes} sizes: {done} releases", file=sys.stderr, flush=True)
    return tally


def simulate_or_load(table: Path, study: Study, mechanism: str, seeds: range, folder: Path) -> Tally:
    """What :func:`simulate` finds, now or in an earlier run."""
    file = _name_file(folder, seeds)
    if not file.exists():
        simulate(table, study, mechanism, seeds).save(file)
    return Tally.load(file)


def _name_file(folder: Path, seeds: range) -> Path:
    return folder / f"{seeds.start}-{seeds.stop}.json"


def simulate(table: Path, study: Study, mechanism: str, seeds: Iterable[int]) -> Tally:
    """Some releases, each with its intervals, and what these cover."""
    counts = make_census(read_county_table(table), largest=study.sizes)
    method, tally = tt.mechanism(mechanism), Tally()
    for seed in seeds:
        release = tt.simulate(counts, epsilon=EPSILON, mechanism=mechanism, seed=seed)
        found = make_intervals(
            method,
            release.measurements,
            release.counts,
            total=release.total,
            replicates=study.replicates,
            seed=seed,
        )
        compare(tally, counts, release.measurements.plan, found)
    return tally


def compare(tally: Tally, counts: tt.GroupCounts, plan: tt.Plan, found: Intervals) -> None:
    """Count what the intervals of one release cover."""
    for level, cells in enumerate(found.cells):
        truth = counts.array(level)
        inside, width = (cells.low <= truth) & (truth <= cells.high), cells.high - cells.low
        well_above = truth > WELL_ABOVE * find_count_deviation(plan.levels[level])
        for kind, which in zip(KINDS, (truth >= 0, truth > 0, well_above), strict=True):
            tally.add(level, kind, inside[which], width[which])
        known, bounds = summarize(truth, counts.sizes), found.summaries[level]
        for place, name in enumerate(bounds.names):
            low, high, value = bounds.low[:, place], bounds.high[:, place], known[:, place]
            off = 1e-9 * np.abs(value)  # means are fractions
            tally.add(level, name, (low - off <= value) & (value <= high + off), high - low)


def _judge(tallies: Iterable[Tally]) -> list[Goal]:
    every = list(tallies)
    levels = range(3)
    least = min(tally.share(level, kind) for tally in every for level in levels for kind in KINDS)
    above = [tally.share(level, KINDS[2]) for tally in every for level in levels]
    return [
        Goal(
            f"At each level at least {LEAST:.0%} of the true counts covered: of all, and of those not zero",
            f"{least:.1%} at least",
            least >= LEAST,
        ),
        Goal(
            f"Well above the noise, between {LEAST:.0%} and {MOST:.0%}",
            f"{min(above):.1%} to {max(above):.1%}",
            min(above) >= LEAST and max(above) <= MOST,
        ),
    ]


if __name__ == "__main__":
    sys.exit(main())
