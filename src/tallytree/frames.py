"""Arrow tables as data frames of pandas and Polars, which are optional."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from tallytree.errors import ViewError

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl


def make_pandas(table: pa.Table) -> pd.DataFrame:
    """The table as a pandas data frame."""
    try:
        frame: pd.DataFrame = table.to_pandas()
    except ImportError:
        raise ViewError("to_pandas needs pandas, which is not installed: pip install pandas.") from None
    return frame


def make_polars(table: pa.Table) -> pl.DataFrame:
    """The table as a Polars data frame."""
    try:
        import polars as pl
    except ImportError:
        raise ViewError("to_polars needs Polars, which is not installed: pip install polars.") from None
    return pl.DataFrame(table)
