"""Reading the columns of a published table, with one clear error for what is wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tallytree.count_tables import read_numbers
from tallytree.errors import CountsError, show
from tallytree.region_tables import refuse_rows
from tallytree.tables import is_text

Ints = npt.NDArray[np.int64]


def read_names(column: pa.ChunkedArray[Any], name: str, *, optional: bool = False) -> list[str]:
    """A name or a code in every row; "" where an optional one is missing."""
    if not is_text(column.type) or (column.null_count and not optional):
        where = "" if optional else ", in every row"
        raise CountsError(f"Column {show(name)} must hold a code, as text{where}.")
    return [str(code or "") for code in column.to_pylist()]


def read_whole_numbers(column: pa.ChunkedArray[Any], name: str) -> Ints:
    """A whole number, at least 0, in every row."""
    values = read_numbers(column, name)
    refuse_rows(values < 0, f"column {show(name)} is negative")
    return values
