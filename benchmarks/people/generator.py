"""Invented records of a whole nation: a Parquet file with a row for each person, the same for the same seed.

As many people and groups as the paper's Census dataset has. Rows are in the order of states, counties and
households, as such files come; the numbers of people and of households are scrambled, as identifiers are.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pa_parquet

from tallytree.datasets.invented import SPREAD, invent_sizes, make_hierarchy

Ints = npt.NDArray[np.int64]

GROUPS = 117_630_445
FACILITIES = 7_800
"""Dormitories, prisons and the like, from 10 to 600 people: they bring the people to 305 million."""
LARGEST = 1000
SEED = 2010

ROWS = 1_000_000
"""In a row group of the file."""
MULTIPLIER, MASK = 0x9E3779B97F4A7C15, 2**40 - 1
"""An odd multiplier is a permutation of the numbers below a power of two."""

SCHEMA = pa.schema(
    [
        ("person", pa.int64()),
        ("household", pa.int64()),
        ("state", pa.dictionary(pa.int32(), pa.string())),
        ("county", pa.dictionary(pa.int32(), pa.string())),
    ]
)


def draw_households(share: float, seed: int = SEED) -> Ints:
    """Households by county and size, for ``share`` of the nation: counties x sizes."""
    generator = np.random.default_rng(seed)
    counties = len(make_hierarchy().leaves)
    weights = generator.lognormal(0.0, SPREAD, counties)
    facilities = round(share * FACILITIES)
    households = generator.multinomial(round(share * GROUPS) - facilities, weights / weights.sum())
    counts = invent_sizes(households, (1, LARGEST), generator)
    place = generator.integers(0, counties, facilities)
    np.add.at(counts, (place, generator.integers(10, 601, facilities) - 1), 1)
    return counts


def write_people(path: Path, share: float, seed: int = SEED) -> tuple[int, int]:
    """Write the file; returns how many people and groups it holds."""
    counts = draw_households(share, seed)
    people = 0
    with pa_parquet.ParquetWriter(path, SCHEMA, compression="zstd") as writer:
        for table in _make_tables(counts, seed):
            writer.write_table(table, row_group_size=ROWS)
            people += table.num_rows
    return people, int(counts.sum())


def _make_tables(counts: Ints, seed: int) -> Iterator[pa.Table]:
    """The records, some counties at a time."""
    leaves = make_hierarchy().leaves
    states = list(dict.fromkeys(path[1] for path in leaves))
    state_of = np.array([states.index(path[1]) for path in leaves])
    names = pa.array(states), pa.array([path[2] for path in leaves])
    generator = np.random.default_rng(seed)
    pending: list[tuple[Ints, Ints]] = []
    person = household = rows = 0
    for county, by_size in enumerate(counts):
        size = np.repeat(np.arange(1, len(by_size) + 1), by_size)
        generator.shuffle(size)
        homes = np.repeat(np.arange(household, household + len(size)), size)
        household += len(size)
        pending.append((homes, np.full(len(homes), county)))
        rows += len(homes)
        if rows >= ROWS or county + 1 == len(counts):
            homes, counties = (np.concatenate(part) for part in zip(*pending, strict=True))
            yield _make_table(np.arange(person, person + rows), homes, counties, state_of, names)
            person, rows, pending = person + rows, 0, []


def _make_table(
    person: Ints, household: Ints, county: Ints, state_of: Ints, names: tuple[pa.StringArray, pa.StringArray]
) -> pa.Table:
    states, counties = names
    columns = [
        pa.array(_scramble(person)),
        pa.array(_scramble(household)),
        pa.DictionaryArray.from_arrays(state_of[county].astype(np.int32), states),
        pa.DictionaryArray.from_arrays(county.astype(np.int32), counties),
    ]
    return pa.table(columns, schema=SCHEMA)


def _scramble(number: Ints) -> Ints:
    with np.errstate(over="ignore"):
        mixed = number.astype(np.uint64) * np.uint64(MULTIPLIER)
    return (mixed & np.uint64(MASK)).astype(np.int64)
