"""Census tracts: the real hierarchy and numbers of households of 2010, with invented sizes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet

from tallytree.datasets.invented import invent_sizes

LEVELS = ("state", "county", "tract")
FILE = "tract_households_2010.csv.gz"


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
    names = dict(zip(LEVELS, (state, county, data["tract"].combine_chunks()), strict=True))
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
