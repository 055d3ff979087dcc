"""The paper's datasets: from public files of known names, or invented where no files are given."""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from tallytree import __version__
from tallytree.counts.group_counts import GroupCounts, Ints
from tallytree.datasets.census import LEAST_LARGE, LEAST_OUTLIER, OUTLIERS, make_census, read_county_table
from tallytree.datasets.invented import generate_city, generate_nation
from tallytree.datasets.kuo_taxis import read_taxi_table
from tallytree.datasets.taxi import count_taxis, count_trips
from tallytree.errors import CountsError, InputError, describe, show
from tallytree.hierarchy import Hierarchy
from tallytree.privacy.neighbours import Bounds
from tallytree.research.reproduction import paper_figures
from tallytree.research.reproduction.paper_figures import Published
from tallytree.sizes import Sizes, get_ends

# Facts about the data.


@dataclass(frozen=True)
class Facts:
    """Facts about any data."""

    levels: tuple[str, ...]
    regions: tuple[int, ...]
    """The number of regions of each level."""
    groups: int
    largest: int
    """The largest size, N."""
    small: int
    """The largest of the sizes that count as small."""
    small_groups: float
    """The share of the groups that have a small size."""
    mean_large: float
    """The mean size of the groups of 7 or more."""
    sizes_above_seven: float
    """How many sizes above 7 have any groups, on average over the leaves."""

    @property
    def most_l1(self) -> int:
        """The largest L1 error possible at a level if counts are not negative and add up: 2 G."""
        return 2 * self.groups

    @property
    def chain_factor(self) -> float:
        """The published chain's real epsilon as a multiple of the stated one."""
        return sum(self.regions) / len(self.regions)


def find_facts(counts: GroupCounts, small: int) -> Facts:
    """Compute the facts from the counts alone."""
    levels = counts.hierarchy.levels
    root, low = counts.array(0)[0], get_ends(counts.sizes)[0]
    first = LEAST_LARGE - low
    large, sizes = root[first:], np.arange(LEAST_LARGE, _most(counts) + 1)
    return Facts(
        levels=levels,
        regions=tuple(len(counts.hierarchy.regions(level)) for level in levels),
        groups=counts.total,
        largest=_most(counts),
        small=small,
        small_groups=float(root[: small - low + 1].sum() / max(counts.total, 1)),
        mean_large=float(large @ sizes / large.sum()) if large.any() else float("nan"),
        sizes_above_seven=float(np.count_nonzero(counts.leaf[:, first + 1 :], axis=1).mean()),
    )


def find_half(counts: GroupCounts) -> int:
    """Return the least size such that half of the groups are not larger."""
    below = np.cumsum(counts.array(0)[0])
    return get_ends(counts.sizes)[0] + int(np.searchsorted(below, counts.total / 2))


CENSUS, TAXI, KUO, TLC, SYNTHETIC = "census", "taxi", "kuo", "tlc", "synthetic"

COUNTY_FILE = "county_household_sizes_2010.csv"
KUO_FILE = "taxi/kuo_taxi_count_of_counts.csv.gz"
TRIPS_2013, ZONE_MAP = "taxi/trip_data_*.csv", "taxi/taxi_zones.geojson"
MONTHLY_TRIPS, ZONE_TABLE = "taxi/*_tripdata_*.parquet", "taxi/taxi_zone_lookup.csv"

FORMAT = 1
"""The format of the results: with another one, earlier results are ignored."""


@dataclass(frozen=True, eq=False)
class Public:
    """Counts that can be passed to another process: GroupCounts cannot be pickled, but these are public."""

    hierarchy: Hierarchy
    sizes: Sizes
    leaf: Ints
    bounds: Bounds
    small: int

    def load(self, sizes: int) -> GroupCounts:
        """Return the counts unchanged."""
        return GroupCounts(self.hierarchy, self.sizes, self.leaf, bounds=self.bounds)


@dataclass(frozen=True)
class Cut:
    """The invented city, without taxis of more than a number of pickups, as in the paper."""

    small: int = LEAST_LARGE

    def load(self, sizes: int) -> GroupCounts:
        """Generate the city again."""
        return generate_city(sizes)


@dataclass(frozen=True)
class Dataset:
    """One of the datasets."""

    name: str
    title: str
    counts: GroupCounts
    small: int
    """The largest of the sizes that count as small."""
    published: Published
    """What the paper measured on data that it describes like these."""
    invented: bool
    description: str
    """A description in a few sentences."""

    @cached_property
    def facts(self) -> Facts:
        """The facts about the data."""
        return find_facts(self.counts, self.small)

    @property
    def source(self) -> Public:
        """The counts, for another process."""
        counts = self.counts
        return Public(counts.hierarchy, counts.sizes, counts.leaf, counts.bounds, self.small)

    @property
    def sizes(self) -> int:
        """The largest size, N."""
        return _most(self.counts)

    @cached_property
    def key(self) -> str:
        """The key of its results, which differs for other data or another version."""
        return f"{self.name}-{fingerprint(self.counts, self.small)}"


def fingerprint(counts: GroupCounts, small: int) -> str:
    """Hash all that results depend on, besides the mechanism, epsilon and the seed."""
    known = (FORMAT, __version__, counts.hierarchy.levels, counts.sizes, small)
    digest = hashlib.sha256(repr(known).encode())
    for level in range(len(counts.hierarchy.levels)):
        digest.update(counts.array(level).tobytes())
    return digest.hexdigest()[:12]


def load_datasets(folder: Path | None) -> list[Dataset]:
    """Load the paper's two, and with ``folder`` one of real taxis; all are read before measuring begins."""
    if folder is None:
        return [invent_census(), invent_taxis()]
    try:
        if not folder.is_dir():
            raise CountsError(f"There is no folder {show(folder, most=150)}.")
        with _naming(COUNTY_FILE):
            census = load_census(folder)
        with _naming(KUO_FILE if (folder / KUO_FILE).exists() else "taxi"):
            taxis = load_taxis(folder)
        return [census, invent_taxis(), taxis]
    except OSError as error:
        raise CountsError(f"{show(folder, most=150)} cannot be read: {describe(error)}.") from None


@contextmanager
def _naming(what: str) -> Iterator[None]:
    """Add the name of the table to an error about it."""
    try:
        yield
    except InputError as error:
        raise CountsError(f"{what}: {error}") from None


def load_census(folder: Path) -> Dataset:
    """Load the Census data from the county table, with the paper's augmentation."""
    table = read_county_table(folder / COUNTY_FILE)
    counts = make_census(table)
    return Dataset(
        name=CENSUS,
        title="Census",
        counts=counts,
        small=LEAST_LARGE,
        published=paper_figures.CENSUS_TABLE,
        invented=False,
        description=(
            f"Made from the 2010 Census table of household sizes by county (`{COUNTY_FILE}`, which is not "
            f"part of this project) by the paper's recipe: sizes 1 to {LEAST_LARGE - 1} as published; the "
            f"households of {LEAST_LARGE} or more spread over a geometric tail with ratio "
            f"{table.tail_ratio:.4f}, which gives them their published mean size of {table.mean_large:.2f}; "
            f"{OUTLIERS} outliers of size {LEAST_OUTLIER} to {_most(counts):,}. How exactly, and what "
            f"the paper leaves open, is said in `tallytree.datasets.census`. {_compare_with_paper(counts)}"
        ),
    )


def invent_census() -> Dataset:
    """Invent Census data: the nation of the demonstration, which has the shape of the paper's data."""
    counts = generate_nation()
    return Dataset(
        name=CENSUS,
        title="Census",
        counts=counts,
        small=LEAST_LARGE,
        published=paper_figures.CENSUS_TABLE,
        invented=True,
        description=(
            "**Invented**: no data were given. A nation with the numbers of states, counties and households "
            "of the 2010 Census, its national shares of household sizes, a geometric tail, and outliers as "
            f"in the paper (`tallytree.datasets.invented`). {_compare_with_paper(counts)}"
        ),
    )


def _most(counts: GroupCounts) -> int:
    return get_ends(counts.sizes)[1]


def _compare_with_paper(counts: GroupCounts) -> str:
    _, states, counties = (len(counts.hierarchy.regions(level)) for level in range(3))
    return (
        f"These are {counts.total:,} groups in {counties:,} counties of {states:,} states; the paper has "
        f"{paper_figures.GROUPS:,} groups in {paper_figures.COUNTIES:,} counties of {paper_figures.STATES} "
        "states, with Puerto Rico."
    )


def invent_taxis() -> Dataset:
    """Invent taxis of the paper's shape.

    Its own data are unavailable, and could not give its table: see the findings.
    """
    counts = generate_city(paper_figures.TAXIS)
    half = find_half(counts)
    return Dataset(
        name=TAXI,
        title="Taxi",
        counts=counts,
        small=half,
        published=paper_figures.TAXI_TABLE,
        invented=True,
        description=(
            f"**Invented**, with the shape that the paper describes: {paper_figures.ZONES} zones in "
            f"{paper_figures.BOROUGHS} boroughs, {counts.total:,} taxis as groups, the size of a group its "
            f"pickups, N = {_most(counts):,} (`tallytree.datasets.invented`). The files that the paper "
            f"used name no taxis any more. *Small* sizes are those up to {half:,}, which half of the "
            "groups have."
        ),
    )


def load_taxis(folder: Path) -> Dataset:
    """Load real taxis: the table of Kuo et al. or, if that is missing, records of the TLC."""
    if (folder / KUO_FILE).exists():
        return load_kuo(folder)
    count, trips, zones = _find_trips(folder)
    counts = count(str(folder / trips), folder / zones)
    half = find_half(counts)
    return Dataset(
        name=TLC,
        title="TLC's taxis",
        counts=counts,
        small=half,
        published=paper_figures.NOTHING,
        invented=False,
        description=(
            f"Trip records of New York's TLC (`{trips}`, `{zones}`), counted by `tallytree.datasets.taxi`: "
            f"{counts.total:,} groups of size 1 to {_most(counts):,} (a larger one counts there) in "
            f"{len(counts.hierarchy.leaves)} zones. *Small* sizes are those up to {half:,}. The paper has no "
            "figures on these data."
        ),
    )


def _find_trips(folder: Path) -> tuple[Callable[[str, Path], GroupCounts], str, str]:
    if any(folder.glob(TRIPS_2013)):
        return count_taxis, TRIPS_2013, ZONE_MAP
    if any(folder.glob(MONTHLY_TRIPS)):
        return count_trips, MONTHLY_TRIPS, ZONE_TABLE
    raise CountsError(
        f"The folder {show(folder, most=150)} holds no table of taxis: {KUO_FILE}, or the TLC's records as "
        f"{TRIPS_2013} with {ZONE_MAP}, or as {MONTHLY_TRIPS} with {ZONE_TABLE}."
    )


def load_kuo(folder: Path) -> Dataset:
    """Load the taxis of Kuo et al. as they published them."""
    counts = read_taxi_table(folder / KUO_FILE)
    half = find_half(counts)
    _, halves, leaves = (len(counts.hierarchy.regions(level)) for level in range(3))
    return Dataset(
        name=KUO,
        title="Kuo's taxis",
        counts=counts,
        small=half,
        published=paper_figures.NOTHING,
        invented=False,
        description=(
            f"The taxi data of Kuo et al. (VLDB 2018; `{KUO_FILE}`, which are not part of this project), as "
            f"published: {counts.total:,} groups of size 1 to {_most(counts):,} in {leaves} neighbourhoods "
            f"of {halves} halves of Manhattan. A group is a taxi in a neighbourhood, its size the number of "
            f"its pickups there in 2013. *Small* sizes are those up to {half:,}, which half of the groups "
            "have. The paper's own Taxi figures say nothing about these data, and are not shown beside them."
        ),
    )
