"""Invented records and counts of a whole nation, the same for the same seed: people, blocks, tracts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet

from tallytree.datasets.invented import (
    COUNTIES,
    HOUSEHOLDS,
    MEAN_OF_LARGE,
    SIZE_SHARES,
    SPREAD,
    invent_sizes,
    make_hierarchy,
)

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


BLOCK_LEVELS = ("state", "county", "tract", "block_group", "block")
EMPTY = 0.44
"""The share of blocks without households: 4.9 of 11.1 million in 2010."""
MOST_EXPECTED = 1000.0
"""Households in a block."""


@dataclass(frozen=True)
class Shape:
    """How many regions there are, about, below the counties."""

    counties: tuple[int, ...] = COUNTIES
    """Per state."""
    tracts: int = 73_000
    groups_per_tract: float = 3.0
    blocks_per_group: float = 51.0
    households: int = HOUSEHOLDS


def write_blocks(path: Path, *, high: int, seed: int = 2010, shape: Shape | None = None) -> None:
    """Write a table of counts: a row for each block and size, one for a block without households."""
    shape = shape or Shape()
    generator = np.random.default_rng(seed)
    counties = sum(shape.counties)
    share = generator.lognormal(0.0, 1.2, counties)
    tracts = 1 + generator.multinomial(max(0, shape.tracts - counties), share / share.sum())
    first = np.concatenate([[0], np.cumsum(shape.counties)])
    kinds: dict[str, pa.DataType] = {level: pa.string() for level in BLOCK_LEVELS}
    schema = pa.schema({**kinds, "size": pa.int64(), "groups": pa.int64()})
    with pa_parquet.ParquetWriter(path, schema, compression="zstd") as writer:
        for state in range(len(shape.counties)):
            here = tracts[first[state] : first[state + 1]]
            writer.write_table(_invent_state(generator, state, here, shape, high).cast(schema))


def _invent_state(
    generator: np.random.Generator, state: int, tracts: Ints, shape: Shape, high: int
) -> pa.Table:
    """A state's blocks."""
    county = np.repeat(np.arange(len(tracts)), tracts)
    tract = _number_within(tracts)
    groups = 1 + generator.binomial(6, (shape.groups_per_tract - 1) / 6, len(county))
    group_tract, group = np.repeat(np.arange(len(county)), groups), _number_within(groups)
    blocks = 1 + generator.negative_binomial(1.5, 1.5 / (0.5 + shape.blocks_per_group), len(group))
    block_group, block = np.repeat(np.arange(len(group)), blocks), _number_within(blocks)
    of_tract = group_tract[block_group]
    weights = generator.lognormal(0.0, 1.1, len(block))
    weights[generator.random(len(block)) < EMPTY] = 0.0
    # A tract has about as many households as another, however many blocks it is cut into.
    sums = np.bincount(of_tract, weights, minlength=len(county))
    size = shape.households / shape.tracts * generator.gamma(5.0, 0.2, len(county))
    expected = size[of_tract] * weights / np.maximum(sums[of_tract], 1e-9)
    households = generator.poisson(np.minimum(expected, MOST_EXPECTED))
    rows, sizes, counts = _invent_sizes(generator, households, high)
    # Codes are like official ones: digits of the region after those of the one above.
    codes = [np.full(len(block), state + 1)]
    codes.append(codes[0] * 1000 + 2 * county[of_tract] + 1)
    codes.append(codes[1] * 1_000_000 + 100 * (tract[of_tract] + 1))
    codes.append(codes[2] * 10 + group[block_group] + 1)
    codes.append(codes[3] * 1000 + block)
    names = {
        level: _write_codes(code, width).take(rows)
        for level, code, width in zip(BLOCK_LEVELS, codes, (2, 5, 11, 12, 15), strict=True)
    }
    return pa.table({**names, "size": pa.array(sizes), "groups": pa.array(counts)})


def _write_codes(codes: Ints, width: int) -> pa.DictionaryArray[Any, Any]:
    """Whole numbers with zeros in front."""
    different, index = np.unique(codes, return_inverse=True)
    digits = pa.array([str(code).zfill(width) for code in different.tolist()], pa.string())
    return pa.DictionaryArray.from_arrays(pa.array(index, pa.int32()), digits)


def _number_within(counts: Ints) -> Ints:
    """0, 1, 2, ... within each, one after the other."""
    starts = np.cumsum(counts) - counts
    numbers: Ints = np.arange(int(counts.sum())) - np.repeat(starts, counts)
    return numbers


def _invent_sizes(generator: np.random.Generator, households: Ints, high: int) -> tuple[Ints, Ints, Ints]:
    """The cells that are not zero, and one for each block without households: blocks, sizes, counts."""
    shares = np.array(SIZE_SHARES) / sum(SIZE_SHARES)
    by_size = generator.multinomial(households, shares)
    cells = np.zeros((len(households), high), dtype=np.int64)
    cells[:, : len(shares) - 1] = by_size[:, :-1]
    place = np.repeat(np.arange(len(households)), by_size[:, -1])
    above = MEAN_OF_LARGE - len(shares)
    large = len(shares) - 1 + generator.geometric(1.0 / (1.0 + above), len(place))
    np.add.at(cells, (place, np.minimum(large, high) - 1), 1)
    homes = generator.integers(0, len(households), 1 + len(households) // 2000)  # dormitories and the like
    np.add.at(cells, (homes, np.minimum(generator.integers(10, 1001, len(homes)), high) - 1), 1)
    shown = cells > 0
    shown[~shown.any(axis=1), 0] = True
    rows, sizes = np.nonzero(shown)
    return rows, sizes + 1, cells[rows, sizes]


TRACT_LEVELS = ("state", "county", "tract")
TRACT_FILE = "tract_households_2010.csv.gz"


def write_tracts(table: Path, path: Path, *, high: int, seed: int = 2010) -> None:
    """Write a table of counts for the tracts of ``table``: a row for each tract and size."""
    text = {"tract": pa.string(), "county_fips5": pa.string()}
    data = pa_csv.read_csv(table, convert_options=pa_csv.ConvertOptions(column_types=text))
    households = data["households"].to_numpy()
    cells = invent_sizes(households, (1, high), np.random.default_rng(seed))
    shown = cells > 0
    shown[~shown.any(axis=1), 0] = True
    rows, sizes = np.nonzero(shown)
    county = data["county_fips5"].combine_chunks()
    state = pa.array([str(code)[:2] for code in county.to_pylist()], pa.string())
    names = dict(zip(TRACT_LEVELS, (state, county, data["tract"].combine_chunks()), strict=True))
    pa_parquet.write_table(
        pa.table(
            {
                **{name: column.take(rows) for name, column in names.items()},
                "size": pa.array(sizes + 1),
                "groups": pa.array(cells[rows, sizes]),
            }
        ),
        path,
    )
