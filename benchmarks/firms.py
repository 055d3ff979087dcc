"""A business register at scale: ``python -m benchmarks.firms [--scratch FOLDER] [--out FILE]``.

An invented register of firms goes from records to the folder with its report, and what comes out is compared
with the truth, and with what the suppression of small cells would leave of it.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet

import tallytree as tt
from benchmarks import records
from benchmarks.people import Run, run_command
from benchmarks.records import Data, Table, write_gigabytes, write_megabytes
from benchmarks.suppression import LEAST, Hidden, suppress
from benchmarks.timing import tell
from tallytree.research.reproduction.document import Goal

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
SEED = 2026
CLASSES = "us-cbp"
REGIONS = ("state", "county", "industry")
NEAR, FAR = 5, 10
"""Groups by which a released cell may be off and still be called near."""
MOST_SECONDS, MOST_BYTES, MOST_PAGE, LEAST_WITHIN = 300.0, 4e9, 10e6, 0.9


@dataclass(frozen=True)
class Shape:
    """How large the register is."""

    firms: int = 6_000_000
    states: int = 51
    counties: int = 3_000
    industries: int = 20
    largest: int = 50_000


def write_register(folder: Path, shape: Shape, seed: int = SEED) -> tt.GroupCounts:
    """Write ``firms.parquet`` and the public ``regions.csv``; return the true counts.

    Sizes follow Zipf's law, P(size >= s) ~ 1 / s, as those of US firms do (Axtell, Science 2001). Counties
    and industries differ in size by a log-normal law.
    """
    rng = np.random.default_rng(seed)
    leaves = shape.counties * shape.industries
    weights = np.outer(rng.lognormal(0.0, 1.4, shape.counties), rng.lognormal(0.0, 1.0, shape.industries))
    weights *= rng.lognormal(0.0, 0.6, weights.shape)
    leaf = rng.choice(leaves, shape.firms, p=weights.ravel() / weights.sum())
    sizes = np.arange(1, shape.largest + 1)
    chances = 1.0 / sizes - 1.0 / (sizes + 1)
    employees = rng.choice(sizes, shape.firms, p=chances / chances.sum())
    county, industry = np.divmod(np.arange(leaves), shape.industries)
    codes = (county * shape.states // shape.counties, county, industry)
    kinds = (shape.states, shape.counties, shape.industries)
    names = {
        name: pa.DictionaryArray.from_arrays(
            pa.array(code, pa.int32()), pa.array([f"{name} {number:04}" for number in range(kind)])
        )
        for name, code, kind in zip(REGIONS, codes, kinds, strict=True)
    }
    regions = pa.table({name: column.cast(pa.string()) for name, column in names.items()})
    pa_csv.write_csv(regions, folder / "regions.csv")
    firms = pa.table(
        {
            "firm": pa.array(rng.permutation(shape.firms)),
            **{name: column.take(leaf) for name, column in names.items()},
            "employees": pa.array(employees),
        }
    )
    pa_parquet.write_table(firms, folder / "firms.parquet", compression="zstd")
    classes = tt.SizeClasses(CLASSES)
    place = np.searchsorted(classes.edges, employees, side="right") - 1
    cells = np.bincount(leaf * len(classes.edges) + place, minlength=leaves * len(classes.edges))
    hierarchy = tt.read_hierarchy(regions, regions=REGIONS, root="US", root_level="nation")
    return tt.GroupCounts(hierarchy, classes, cells.reshape(leaves, -1))


def run_release(folder: Path) -> Run:
    """``tallytree release`` with intervals and report, whole firms protected, at epsilon 1."""
    columns = [word for name in REGIONS for word in ("--region", name)]
    size = ("--group", "firm", "--size", "employees", "--classes", CLASSES, "--protect", "group")
    root = ("--hierarchy", str(folder / "regions.csv"), "--root", "US", "--root-level", "nation")
    words = ("release", str(folder / "firms.parquet"), *columns, *size, *root, "--epsilon", "1")
    return run_command([sys.executable, "-m", "tallytree", *words, "--out", str(folder / "release")])


@dataclass(frozen=True)
class LevelErrors:
    """How far a release is off at one level, and what suppression would hide of it."""

    name: str
    regions: int
    l1: int
    groups_off: float
    truth: Ints
    error: Ints
    """|released - true|, cell by cell."""
    primary: Flags
    hidden: Flags

    def find_share(self, cells: Flags) -> float:
        """The share of the cells that are not empty."""
        return float(cells.sum() / (self.truth > 0).sum())

    def find_share_of_firms(self, cells: Flags) -> float:
        """The share of the firms."""
        return float(self.truth[cells].sum() / self.truth.sum())

    def find_share_within(self, cells: Flags, most: int) -> float | None:
        """The share of some cells that are off by at most ``most`` firms."""
        return float((self.error[cells] <= most).mean()) if cells.any() else None

    @property
    def shown(self) -> Flags:
        """The cells with firms that suppression would show."""
        return (self.truth > 0) & ~self.hidden


def _find_mean(values: Ints) -> float | None:
    return float(values.mean()) if len(values) else None


def compare(release: tt.Release, truth: tt.GroupCounts, hidden: Hidden) -> list[LevelErrors]:
    """Compare a release with the truth, level by level, root first."""
    table = tt.evaluate(release, truth)
    return [
        LevelErrors(
            name=level,
            regions=len(truth.array(index)),
            l1=table["l1"][index].as_py(),
            groups_off=table["groups_off"][index].as_py(),
            truth=truth.array(index),
            error=np.abs(release.counts[index] - truth.array(index)),
            primary=hidden.primary[index],
            hidden=hidden.every[index],
        )
        for index, level in enumerate(truth.hierarchy.levels)
    ]


def measure(shape: Shape, scratch: Path) -> Data:
    """Invent the register, release it, and compare."""
    facts = records.list_facts("make firms")
    with tempfile.TemporaryDirectory(dir=scratch) as name:
        folder = Path(name)
        tell(f"{shape.firms:,} firms in {shape.counties * shape.industries:,} leaf regions")
        truth = write_register(folder, shape)
        size = (folder / "firms.parquet").stat().st_size
        run = run_release(folder)
        tell(f"  released: {run.seconds:.0f} s")
        release = tt.load(folder / "release")
        page = (folder / "release" / "report.html").stat().st_size
        whole = sum(file.stat().st_size for file in (folder / "release").iterdir())
        levels = compare(release, truth, suppress(truth))
    costs = {
        "firms": shape.firms,
        "leaves": shape.counties * shape.industries,
        "records": size,
        "seconds": run.seconds,
        "memory": run.peak,
        "page": page,
        "folder": whole,
    }
    return {
        "facts": facts,
        "goals": records.GOALS.record(judge(run, page, levels[-1])),
        "costs": COSTS.record([costs]),
        "accuracy": ACCURACY.record(levels),
        "suppression": SUPPRESSION.record(levels),
    }


def judge(run: Run, page: int, leaves: LevelErrors) -> list[Goal]:
    """Time, memory, the size of the page, and the cells that suppression would hide."""
    within = leaves.find_share_within(leaves.hidden, FAR) or 0.0
    seconds, memory = f"{run.seconds:.0f} s", write_gigabytes(run.peak)
    return [
        Goal(f"Records to report within {MOST_SECONDS:.0f} s", seconds, run.seconds <= MOST_SECONDS),
        Goal(f"Peak memory at most {MOST_BYTES / 1e9:.0f} GB", memory, run.peak <= MOST_BYTES),
        Goal(f"Report at most {MOST_PAGE / 1e6:.0f} MB", f"{page / 1e6:.2f} MB", page <= MOST_PAGE),
        Goal(
            f"Within {FAR} firms in {LEAST_WITHIN:.0%} of the leaves' cells that suppression would hide",
            f"{within:.1%}",
            within >= LEAST_WITHIN,
        ),
    ]


COSTS = Table[Data](
    ("firms", lambda row: row["firms"], "{:,}"),
    ("leaf regions", lambda row: row["leaves"], "{:,}"),
    ("records, MB", lambda row: row["records"], write_megabytes),
    ("records to report, s", lambda row: row["seconds"], "{:.0f}"),
    ("peak memory", lambda row: row["memory"], write_gigabytes),
    ("report, MB", lambda row: row["page"], lambda value: f"{value / 1e6:.2f}"),
    ("whole folder, MB", lambda row: row["folder"], lambda value: f"{value / 1e6:.1f}"),
)
ACCURACY = Table[LevelErrors](
    ("level", lambda level: level.name, "{}"),
    ("regions", lambda level: level.regions, "{:,}"),
    ("firms in a region, mean", lambda level: float(level.truth.sum() / level.regions), "{:,.0f}"),
    ("L1", lambda level: level.l1, "{:,}"),
    ("firms of a region, off by", lambda level: level.groups_off, "{:,.1f}"),
    (f"cells within {NEAR}", lambda level: level.find_share_within(level.truth >= 0, NEAR), "{:.1%}"),
    (f"cells within {FAR}", lambda level: level.find_share_within(level.truth >= 0, FAR), "{:.1%}"),
    (
        f"cells with firms within {NEAR}",
        lambda level: level.find_share_within(level.truth > 0, NEAR),
        "{:.1%}",
    ),
    (f"cells with firms within {FAR}", lambda level: level.find_share_within(level.truth > 0, FAR), "{:.1%}"),
)
SUPPRESSION = Table[LevelErrors](
    ("level", lambda level: level.name, "{}"),
    ("cells hidden, primary", lambda level: level.find_share(level.primary), "{:.1%}"),
    ("cells hidden, all", lambda level: level.find_share(level.hidden), "{:.1%}"),
    ("firms hidden, primary", lambda level: level.find_share_of_firms(level.primary), "{:.2%}"),
    ("firms hidden, all", lambda level: level.find_share_of_firms(level.hidden), "{:.2%}"),
    ("firms in a hidden cell, mean", lambda level: _find_mean(level.truth[level.hidden]), "{:,.1f}"),
    ("released: off by, mean", lambda level: _find_mean(level.error[level.hidden]), "{:.1f}"),
    (f"within {NEAR}", lambda level: level.find_share_within(level.hidden, NEAR), "{:.1%}"),
    (f"within {FAR}", lambda level: level.find_share_within(level.hidden, FAR), "{:.1%}"),
    ("firms in a shown cell, mean", lambda level: _find_mean(level.truth[level.shown]), "{:,.1f}"),
    ("released: off by, mean ", lambda level: _find_mean(level.error[level.shown]), "{:.1f}"),
)

INTRODUCTION = """\
An invented business register, in the manner of the US County Business Patterns: firms by employment class
(`us-cbp`, nine classes), for the nation, states, counties, and the industries of each county. Sizes follow
Zipf's law. Whole firms are protected at epsilon 1, an even split over four levels, and no number of firms is
public. The time is that of `tallytree release`, from a Parquet file of records to the folder with 90 %
intervals and report. This page is written by the run that measured it."""
COMPARED = f"""\
A cell is the number of firms of one class in one region. Most offices add no noise. They hide cells with
one or two firms, and further cells so that these cannot be computed from sums. Here, a cell with fewer
than {LEAST} firms is hidden (primary suppression), and wherever a published sum has exactly one hidden
cell, the smallest other cell of it as well, again and again (complementary suppression); zeros are shown.
Offices hide more than this simple rule, which only keeps a hidden cell from being computed exactly from a
single sum. Shares are of the cells that are not empty, and of the firms.

Suppression shows the other cells exactly, and gives no number for the hidden ones; a reader may guess
that they are small. It promises nothing against somebody who knows more than the table, such as one of
the two firms in a cell. The release gives a number for every cell, with noise of one size for all, and
its promise holds whatever else somebody knows. The right half of the table says how far it is off in the
cells that suppression would hide, beside the number of firms in them, and in those that it would show. In
cells of a few firms the error is as large as the cell itself, which is what protects them: such cells are
no more use than hidden ones. Cells with many firms are off by a few firms, where suppression would show
them exactly, unless it needs them to hide others."""


def write_page(data: Data) -> str:
    """The page."""
    return records.join_parts(
        "# A business register at scale",
        INTRODUCTION,
        records.write_facts(data),
        records.GOALS.write(data["goals"]),
        "## Cost",
        COSTS.write(data["costs"]),
        "## Accuracy",
        ACCURACY.write(data["accuracy"]),
        "## Beside suppression",
        COMPARED,
        SUPPRESSION.write(data["suppression"]),
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and write the page; returns the exit code."""
    parser = records.make_parser("firms", "FIRMS.md", __doc__)
    parser.add_argument("--scratch", type=Path, help="a folder with 1 GB free (default: the system's)")
    options = parser.parse_args(arguments)
    scratch = options.scratch or Path(tempfile.gettempdir())
    records.publish("firms", measure(Shape(), scratch), write_page, options.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
