"""The data that the mechanisms are measured on, each with its page."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import tallytree as tt
from benchmarks.accuracy import census, taxi
from benchmarks.accuracy.county_words import CountyWords
from benchmarks.accuracy.facts import find_county_facts, find_facts
from benchmarks.accuracy.published import CENSUS, Published
from benchmarks.accuracy.report import Words
from benchmarks.accuracy.taxi_words import TaxiWords
from tallytree.datasets.census import LARGEST, make_census
from tallytree.datasets.county_tables import read_county_table


@dataclass(frozen=True)
class Dataset:
    """One of them."""

    name: str
    file: str
    """In the folder of the data."""
    load: Callable[[Path, int | None], tuple[tt.GroupCounts, Words]]
    """From the file and, if not its own, the largest size."""
    page: str
    picture: str
    published: Published
    """What the paper measured on the same data."""


def load_county(path: Path, largest: int | None) -> tuple[tt.GroupCounts, Words]:
    """The paper's Census data."""
    table = read_county_table(path)
    counts = make_census(table, largest=largest or LARGEST)
    return counts, CountyWords(find_county_facts(table, counts))


def load_taxi(path: Path, largest: int | None) -> tuple[tt.GroupCounts, Words]:
    """The data of Kuo et al."""
    counts = taxi.read_taxi_table(path, largest=largest)
    return counts, TaxiWords(find_facts(counts), counts)


DATASETS = {
    dataset.name: dataset
    for dataset in (
        Dataset("county", census.FILE, load_county, "ACCURACY.md", "accuracy.svg", CENSUS),
        Dataset("taxi", taxi.FILE, load_taxi, "ACCURACY-TAXI.md", "accuracy-taxi.svg", {}),
    )
}
