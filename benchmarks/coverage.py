"""Do intervals cover what they promise? ``python -m benchmarks.coverage --data FOLDER [--study NAME]``.

Releases of public tables are simulated, each with noise of its own, and their intervals are compared with the
true counts. It takes hours: what is counted is kept in a folder, and a run that was stopped goes on there.
"""

import json
import sys
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field, replace
from datetime import date
from fractions import Fraction
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import tallytree as tt
from benchmarks import records
from benchmarks.accuracy import invent_register, load_kuo
from benchmarks.records import Data, Table
from tallytree.datasets import make_census, read_county_table
from tallytree.errors import InputError
from tallytree.files import write_whole
from tallytree.intervals.estimates import Estimate, estimate_selection
from tallytree.intervals.region_sets import locate
from tallytree.intervals.replicates import make_intervals
from tallytree.intervals.selections import Selection, select
from tallytree.privacy.accuracy import find_count_deviation
from tallytree.privacy.neighbours import TOTALS, Protected, TotalKind
from tallytree.progress import count_processors
from tallytree.releases.flags import LIMITS
from tallytree.releases.interval_bounds import Intervals
from tallytree.releases.kept_replicates import KeptReplicates, ReplicateKeeper
from tallytree.releases.statistics import list_statistics, summarize
from tallytree.research.reproduction.document import Goal
from tallytree.research.reproduction.study_data import COUNTY_FILE
from tallytree.sizes import SizeClasses, count_sizes, list_edges

KEPT = Path("tallytree-coverage")
EPSILON = "1"
WELL_ABOVE = 8
"""Standard deviations of the noise in a count."""
LEAST, MOST = 0.87, 0.94
KINDS = ("all", "not zero", "well above the noise")
COMBINED, DIFFERENCE, NAIVE = "combined ", "difference of two", "added up"
COMBINATIONS = (*(COMBINED + name for name in ("groups", "size_sum", "size_mean")), DIFFERENCE)
LEVELS = ("root", "middle", "leaves")
TIMES = 25
"""Combinations of each kind, for each release."""
MOST_REGIONS = 50
BATCH = 4

INTRODUCTION = f"""\
90 % intervals of simulated releases at epsilon {EPSILON}, compared with the true counts. The county table has
the tail that `tallytree reproduce` gives it. Well above the noise is a true count of more than {WELL_ABOVE}
standard deviations of the noise in a count. Bounds are whole numbers, so small counts are covered more
often than promised. Combinations are of 2 to {MOST_REGIONS} random regions of a level and a random range of
sizes; a difference is of the groups of two such. A study with few releases says little about the one region
at the root. A study that is made again replaces its rows; the others stay as they were measured."""


def load_counties(sizes: int, folder: Path) -> tt.GroupCounts:
    """The county table, its tail cut at this size."""
    return make_census(read_county_table(folder / COUNTY_FILE), largest=sizes)


def load_classes(folder: Path) -> tt.GroupCounts:
    """Firms in classes."""
    register = invent_register(300)(folder)
    classes = SizeClasses([1, 5, 10, 20, 50, 100, 250, 500, 1000])
    starts = np.searchsorted(np.arange(1, 5001), classes.edges)
    leaf = np.add.reduceat(np.array(register.leaf), starts, axis=1)
    return tt.GroupCounts(register.hierarchy, classes, leaf)


@dataclass(frozen=True)
class Study:
    """What is released, and how often."""

    name: str
    load: Callable[[Path], tt.GroupCounts]
    releases: int
    replicates: int
    mechanism: str = "cumulative-joint"
    total: TotalKind = "public"
    protect: Protected = "person"

    @property
    def title(self) -> str:
        """What it is, in a line."""
        unit = "" if self.protect == "person" else ", whole groups"
        return f"{self.name}{unit}, {self.total} total, `{self.mechanism}`"


FEW, MANY = "the county table, 20 sizes", "the county table, 1,000 sizes"
STUDIES = (
    *(Study(FEW, partial(load_counties, 20), 200, 20, name) for name in ("direct-dp", "cumulative-dp")),
    Study(FEW, partial(load_counties, 20), 200, 20),
    Study(FEW, partial(load_counties, 20), 200, 20, total="private"),
    *(Study(MANY, partial(load_counties, 1000), 200, 20, name) for name in ("direct-dp", "cumulative-dp")),
    Study(MANY, partial(load_counties, 1000), 200, 20),
    Study("Kuo's taxis", load_kuo, 100, 20),
    Study("Kuo's taxis", load_kuo, 100, 20, total="private"),
    Study("firms in classes", load_classes, 200, 20),
    Study("firms in classes", load_classes, 200, 20, total="private"),
    *(Study("firms in classes", load_classes, 400, 20, "direct-dp", kind, "group") for kind in TOTALS),
)


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


Row = Data
"""A level of a study: what it is of, and what shares are covered."""


def _column(
    name: str, show: str | Callable[[Any], str] = "{:.1%}"
) -> tuple[str, Callable[[Row], Any], str | Callable[[Any], str]]:
    return name, lambda row: row.get(name), show


STATISTICS = tuple(each.name for each in list_statistics((1, 20)))
WIDTHS = ("width, not zero", "width, well above")
STUDIED = Table[Row](
    *(_column(name, "{}") for name in ("study", "releases", "replicates", "date", "tallytree"))
)
FIRST = (_column("study", "{}"), _column("level", "{}"))
CELLS = Table[Row](*FIRST, *map(_column, KINDS), *(_column(name, "{:,.1f}") for name in WIDTHS))
SUMMARIES = Table[Row](*FIRST, *map(_column, STATISTICS))
TOGETHER = Table[Row](*FIRST, *map(_column, COMBINATIONS), _column("width", "{:.0%}"))


def main(arguments: Sequence[str] | None = None) -> int:
    """Simulate, compare, and write the page; returns the exit code."""
    parser = records.make_parser("coverage", "COVERAGE.md", __doc__)
    parser.add_argument("--data", type=Path, required=True, help="the folder of the public tables")
    parser.add_argument("--keep", type=Path, default=KEPT, help=f"where to go on from (default: {KEPT})")
    parser.add_argument("--study", action="append", help="only studies with these words in their titles")
    parser.add_argument("--releases", type=int, help="so many releases of each (default: as the study says)")
    options = parser.parse_args(arguments)
    words = options.study or [""]
    wanted = [each for each in STUDIES if any(word in each.title for word in words)]
    if options.releases:
        wanted = [replace(each, releases=options.releases) for each in wanted]
    try:
        for study in wanted:
            study.load(options.data)
    except (InputError, OSError) as error:
        print(f"Error: {error}", file=sys.stderr)
        return 2
    before = records.read_data("coverage", options.out.with_name(records.FILE)) if options.study else {}
    records.publish("coverage", measure(options.data, wanted, options.keep, before), write_page, options.out)
    return 0


def measure(folder: Path, studies: Sequence[Study], kept: Path, before: Data) -> Data:
    """The data of these studies, and of others that were made before."""
    facts = records.list_facts("make coverage DATA=FOLDER")
    made = {study.title: _describe(study, run(folder, study, kept)) for study in studies}
    others = [row for row in before.get("rows", []) if row["study"] not in made]
    rows = [*others, *(row for found in made.values() for row in found)]
    order = [study.title for study in STUDIES]
    rows.sort(key=lambda row: order.index(row["study"]) if row["study"] in order else len(order))
    return {"facts": facts, "goals": records.GOALS.record(_judge(rows)), "rows": rows}


def _describe(study: Study, tally: Tally) -> list[Row]:
    said = {
        "study": study.title,
        "releases": study.releases,
        "replicates": study.replicates,
        "date": str(date.today()),
        "tallytree": tt.__version__,
    }
    rows = []
    for level in sorted({level for level, _ in tally.seen}):
        row: Row = {**said, "level": LEVELS[level]}
        for name in (*KINDS, *STATISTICS, *COMBINATIONS):
            if tally.seen.get((level, name)):
                row[name] = tally.share(level, name)
        for name, kind in zip(WIDTHS, KINDS[1:], strict=True):
            row[name] = tally.mean_width(level, kind)
        if tally.width.get((level, NAIVE)):
            row["width"] = tally.width[level, DIFFERENCE] / tally.width[level, NAIVE]
        rows.append(row)
    return rows


def write_page(data: Data) -> str:
    """The page."""
    rows = data["rows"]
    return records.join_parts(
        "# Coverage of intervals",
        INTRODUCTION,
        records.write_facts(data),
        records.GOALS.write(data["goals"]),
        STUDIED.write(STUDIED.record({row["study"]: row for row in rows}.values())),
        "## Counts",
        CELLS.write(CELLS.record(rows)),
        "## The numbers that sum up a region",
        SUMMARIES.write(SUMMARIES.record(rows)),
        "## Combinations of regions and sizes",
        "The width is that of the interval of a difference, as a share of those of its two parts together.",
        TOGETHER.write(TOGETHER.record(row for row in rows if DIFFERENCE in row)),
    )


def run(folder: Path, study: Study, kept: Path) -> Tally:
    """All releases of a study, on all processors; those that ``kept`` has already are not made again."""
    tally, done = Tally(), 0
    own = kept / f"{study.title} {study.replicates}".replace("`", "").replace(",", "").replace(" ", "-")
    with ProcessPoolExecutor(count_processors(), mp_context=get_context("spawn")) as workers:
        jobs = []
        for start in range(0, study.releases, BATCH):
            seeds = range(start, min(start + BATCH, study.releases))
            if _name_file(own, seeds).exists():  # which needs no process
                tally.join(Tally.load(_name_file(own, seeds)))
            else:
                jobs.append(workers.submit(simulate_or_load, folder, study, seeds, own))
        for job in as_completed(jobs):
            tally.join(job.result())
            done += BATCH
            print(f"{study.title}: {done} releases", file=sys.stderr, flush=True)
    return tally


def simulate_or_load(folder: Path, study: Study, seeds: range, own: Path) -> Tally:
    """What :func:`simulate` finds, now or in an earlier run."""
    file = _name_file(own, seeds)
    if not file.exists():
        simulate(folder, study, seeds).save(file)
    return Tally.load(file)


def _name_file(own: Path, seeds: range) -> Path:
    return own / f"{seeds.start}-{seeds.stop}.json"


def simulate(folder: Path, study: Study, seeds: Iterable[int]) -> Tally:
    """Some releases, each with its intervals, and what these cover."""
    counts = study.load(folder)
    method, tally = tt.mechanism(study.mechanism), Tally()
    for seed in seeds:
        release = tt.simulate(
            counts, epsilon=EPSILON, mechanism=method, seed=seed, total=study.total, protect=study.protect
        )
        keeper = ReplicateKeeper(release.counts)
        found = make_intervals(
            method,
            release,
            replicates=study.replicates,
            seed=seed,
            keeper=keeper,
        )
        compare(tally, counts, release.measurements.plan, found)
        combine(tally, counts, release, keeper.finish(seed), np.random.default_rng(seed))
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
            inside = (low - off <= value) & (value <= high + off)
            tally.add(level, name.removesuffix("_least"), inside, high - low)


def combine(
    tally: Tally,
    counts: tt.GroupCounts,
    release: tt.Simulation,
    kept: KeptReplicates,
    rng: np.random.Generator,
) -> None:
    """Count what the intervals of random combinations cover."""
    plan = release.measurements.plan
    truth = [counts.array(level) for level in range(len(plan.levels))]

    def estimate(selection: Selection) -> tuple[Estimate, float]:
        origin = (release.total, kept.seed)
        found = estimate_selection(
            selection, release.counts, kept, origin=origin, coverage=Fraction(9, 10), flags=LIMITS
        )
        return found, float(selection.find(selection.add_up(truth))[0])

    def add(level: int, name: str, found: Estimate, value: float) -> None:
        off = 1e-9 * abs(value)
        inside = np.array([found.low - off <= value <= found.high + off])
        tally.add(level, name, inside, np.array([found.high - found.low]))

    for level in range(1, len(plan.levels)):
        for _ in range(TIMES):
            for name in COMBINATIONS[:3]:
                chosen = choose(plan, level, rng, name.removeprefix(COMBINED))
                found, value = estimate(chosen)
                if np.isfinite(value):
                    add(level, name, found, value)
            (one, first), (two, second) = (estimate(choose(plan, level, rng, "groups")) for _ in range(2))
            add(level, DIFFERENCE, one - two, first - second)
            added = one.high - one.low + two.high - two.low
            tally.add(level, NAIVE, np.array([True]), np.array([added]))


def choose(plan: tt.Plan, level: int, rng: np.random.Generator, statistic: str) -> Selection:
    """Some regions of a level and a range of sizes, at random."""
    hierarchy, sizes = plan.hierarchy, plan.sizes
    number = hierarchy.region_counts[level]
    some = rng.choice(number, size=min(number, int(rng.integers(2, MOST_REGIONS + 1))), replace=False)
    edges = list_edges(sizes)
    low, high = np.sort(rng.choice(count_sizes(sizes) + 1, size=2, replace=False)).tolist()
    last = None if high == len(edges) else edges[high] - 1
    located = locate(hierarchy, [hierarchy.path(level, index) for index in some.tolist()])
    return select(plan, located, sizes=(edges[low], last), statistic=statistic)


def _judge(rows: Sequence[Row]) -> list[Goal]:
    goals = []
    for what, names in (
        ("the true counts, all and those not zero", KINDS[:2]),
        ("the numbers that sum up a region", STATISTICS),
        ("combinations", COMBINATIONS),
    ):
        found = [(row[name], name, row) for row in rows for name in names if row.get(name) is not None]
        share, name, row = min(found, key=lambda each: each[0])
        goals.append(
            Goal(
                f"At least {LEAST:.0%} of {what} covered, at each level",
                f"{share:.1%} at least: {name}, {row['study']}, {row['level']}",
                share >= LEAST,
            )
        )
    above = [row[KINDS[2]] for row in rows if row.get(KINDS[2]) is not None]
    goals.append(
        Goal(
            f"Well above the noise, between {LEAST:.0%} and {MOST:.0%}",
            f"{min(above):.1%} to {max(above):.1%}",
            min(above) >= LEAST and max(above) <= MOST,
        )
    )
    return goals


if __name__ == "__main__":
    sys.exit(main())
