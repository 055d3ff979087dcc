"""An invented nation down to census blocks: 11 million leaves, 6 levels. Nothing in it is real but shapes.

Of the 2010 Census it has the number of states and counties, and, about, those of tracts, block groups and
blocks; the share of blocks where nobody lives, and the number of households. All else is drawn at random,
from a seed: how many blocks a block group has, how many households a block, and their sizes.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pa_parquet

from tallytree.datasets.invented import COUNTIES, HOUSEHOLDS, MEAN_OF_LARGE, SIZE_SHARES

Ints = npt.NDArray[np.int64]

LEVELS = ("state", "county", "tract", "block_group", "block")

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
    kinds: dict[str, pa.DataType] = {level: pa.string() for level in LEVELS}
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
        for level, code, width in zip(LEVELS, codes, (2, 5, 11, 12, 15), strict=True)
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
