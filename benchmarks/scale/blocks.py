"""An invented nation down to census blocks: 11 million leaves, 6 levels. Nothing in it is real but shapes.

Of the 2010 Census it has the number of states and counties, and, about, those of tracts, block groups and
blocks; the share of blocks where nobody lives, and the number of households. All else is drawn at random, from
a seed: how many blocks a block group has, how many households a block, and their sizes.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pa_parquet

from tallytree.nation import COUNTIES, HOUSEHOLDS, MEAN_OF_LARGE, SIZE_SHARES

Ints = npt.NDArray[np.int64]

LEVELS = ("state", "county", "tract", "block_group", "block")

EMPTY = 0.44
"""The share of blocks without households: 4.9 of 11.1 million in 2010."""
LARGEST_BLOCK = 1000


@dataclass(frozen=True)
class Shape:
    """How many regions there are about, below the counties."""

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
    state_of = np.repeat(np.arange(len(shape.counties)), shape.counties)
    first = np.concatenate([[0], np.cumsum(shape.counties)])
    per_tract = shape.households / shape.tracts
    writer = None
    try:
        for state in range(len(shape.counties)):
            here = slice(first[state], first[state + 1])
            table = _invent_state(generator, state, tracts[here], shape, per_tract, high)
            writer = writer or pa_parquet.ParquetWriter(path, table.schema, compression="zstd")
            writer.write_table(table)
    finally:
        if writer is not None:
            writer.close()
    assert len(state_of) == counties


def _invent_state(
    generator: np.random.Generator, state: int, tracts: Ints, shape: Shape, per_tract: float, high: int
) -> pa.Table:
    """A state's blocks; codes grow as official ones do, each with that of the region above in front."""
    county = np.repeat(np.arange(len(tracts)), tracts)
    tract = _number_within(tracts)
    groups = 1 + generator.binomial(6, (shape.groups_per_tract - 1) / 6, len(county))
    group_tract = np.repeat(np.arange(len(county)), groups)
    group = _number_within(groups)
    blocks = 1 + generator.negative_binomial(1.5, 1.5 / (0.5 + shape.blocks_per_group), len(group))
    block_group = np.repeat(np.arange(len(group)), blocks)
    block = _number_within(blocks)
    weights = generator.lognormal(0.0, 1.1, len(block))
    weights[generator.random(len(block)) < EMPTY] = 0.0
    # A tract has about as many households as another, however many blocks it is cut into.
    of_tract = group_tract[block_group]
    sums = np.bincount(of_tract, weights, minlength=len(county))
    size = per_tract * generator.gamma(5.0, 0.2, len(county))
    expected = size[of_tract] * weights / np.maximum(sums[of_tract], 1e-9)
    households = generator.poisson(np.minimum(expected, LARGEST_BLOCK))
    rows, sizes, counts = _invent_sizes(generator, households, high)
    codes = [
        np.full(len(block), state + 1),
        (county[of_tract] * 2 + 1),
        (tract[of_tract] + 1) * 100,
        group[block_group] + 1,
        (group[block_group] + 1) * 1000 + block,
    ]
    widths = (2, 3, 6, 1, 4)
    columns: dict[str, pa.Array] = {}
    name = pa.array([""], pa.string()).take(pa.array(np.zeros(len(block), dtype=np.int64)))
    for level, code, width in zip(LEVELS, codes, widths, strict=True):
        digits = np.char.zfill(np.arange(int(code.max()) + 1).astype(str), width)
        own = pa.array(digits.tolist(), pa.string()).take(pa.array(code))
        # A block's number begins with that of its block group, so it stands in its place.
        above = name if level != "block" else columns_of_tract
        name = pa.compute.binary_join_element_wise(above, own, "")
        if level == "tract":
            columns_of_tract = name
        columns[level] = name.dictionary_encode()
    taken = {level: column.take(pa.array(rows)) for level, column in columns.items()}
    return pa.table({**taken, "size": pa.array(sizes), "groups": pa.array(counts)})


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
    large = len(shares) + generator.geometric(1.0 / (1.0 + above), len(place)) - 1
    np.add.at(cells, (place, np.minimum(large, high) - 1), 1)
    homes = generator.integers(0, len(households), 1 + len(households) // 2000)  # dormitories and the like
    np.add.at(cells, (homes, np.minimum(generator.integers(10, 1001, len(homes)), high) - 1), 1)
    shown = cells > 0
    shown[~shown.any(axis=1), 0] = True
    rows, sizes = np.nonzero(shown)
    return rows, sizes + 1, cells[rows, sizes]
