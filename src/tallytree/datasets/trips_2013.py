"""The trip records of 2013, which name the taxi and give the pickup by its coordinates.

They are CSV files, one a month (``trip_data_1.csv`` to ``trip_data_12.csv``), whose header has a blank after
each comma. A year is 173 million trips, so they are read in batches, and of each trip only small numbers are
kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv as pa_csv

from tallytree.datasets.zone_map import ZoneMap
from tallytree.errors import CountsError, show
from tallytree.progress import Progress

COLUMNS: dict[str, pa.DataType] = {
    "medallion": pa.dictionary(pa.int32(), pa.string()),
    "pickup_longitude": pa.float64(),
    "pickup_latitude": pa.float64(),
}
BATCH = 2**24
"""Bytes: about a hundred thousand trips."""

SmallInts = npt.NDArray[np.int32]


def read_trips(files: Sequence[str], zone_map: ZoneMap, progress: Progress) -> pa.Table:
    """Each pickup with its ``taxi``, numbered as they appear, and the ``number``, ``borough`` and ``zone``.

    Pickups without a taxi, or in no zone, are left out.
    """
    known: dict[str, int] = {}
    taxis, places = [np.empty(0, dtype=np.int32)], [np.empty(0, dtype=np.int32)]
    advance = progress("Placing pickups in zones", len(files))
    for file in files:
        for medallion, longitude, latitude in _read_batches(file):
            taxi = _number_taxis(medallion, known)
            place = zone_map.locate(longitude.to_numpy(False), latitude.to_numpy(False))
            kept = (taxi >= 0) & (place >= 0)
            taxis.append(taxi[kept])
            places.append(place[kept].astype(np.int32))
        advance(1)
    leaf = np.concatenate(places)
    names = zone_map.zones.tabulate()
    return pa.table(
        {
            "taxi": pa.array(np.concatenate(taxis)),
            "number": pa.array(names["number"].to_numpy()[leaf]),
            "borough": pa.DictionaryArray.from_arrays(leaf, names["borough"].combine_chunks()),
            "zone": pa.DictionaryArray.from_arrays(leaf, names["zone"].combine_chunks()),
        }
    )


def _read_batches(file: str) -> Iterator[list[Any]]:
    """Medallions, longitudes and latitudes."""
    shown = show(file, most=150)
    try:
        found = {name.strip().lower(): name for name in pa_csv.open_csv(file).schema.names}
        for name in COLUMNS:
            if name not in found:
                raise CountsError(f"The file {shown} has no column {show(name)}: is it one of 2013?")
        types = {found[name]: kind for name, kind in COLUMNS.items()}
        reader = pa_csv.open_csv(
            file,
            read_options=pa_csv.ReadOptions(block_size=BATCH),
            convert_options=pa_csv.ConvertOptions(include_columns=list(types), column_types=types),
        )
        for batch in reader:
            yield batch.columns
    except (OSError, UnicodeError, pa.ArrowException):
        # Arrow's own message may quote the data.
        raise CountsError(
            f"The file {shown} cannot be read as trip records of 2013: is it cut off or damaged?"
        ) from None


def _number_taxis(medallion: Any, known: dict[str, int]) -> SmallInts:
    """The number of each trip's taxi; -1 where none is named."""
    numbers = [
        known.setdefault(name, len(known)) if (name := str(text).strip()) else -1
        for text in medallion.dictionary.to_pylist()
    ]
    trips: SmallInts = np.array(numbers, dtype=np.int32)[medallion.indices.to_numpy()]
    return trips
