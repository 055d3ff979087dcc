"""Reading tables: anything that speaks Arrow, or a path to a CSV or Parquet file."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet

from tallytree.errors import CountsError, name_choices, show

Table = Any
"""A pyarrow, pandas or Polars table, a DuckDB relation, an Ibis table, or a path."""

CSV_ENDINGS = (".csv", ".csv.gz", ".tsv", ".tsv.gz")


def read_columns(source: Table, names: Sequence[str], *, text: Sequence[str]) -> pa.Table:
    """The columns ``names`` of ``source``; those in ``text`` are read as text ("01" stays "01")."""
    if isinstance(source, (str, os.PathLike)):
        return _read_file(Path(source), names, text)
    try:
        table = pa.table(source)
    except (TypeError, ValueError, pa.ArrowException):
        raise CountsError(
            f"A {type(source).__name__} is not a table: give a pandas, Polars or Arrow table, or the "
            "path of a CSV or Parquet file."
        ) from None
    _check_columns(table.column_names, names)
    return table.select(list(names))


def _read_file(path: Path, names: Sequence[str], text: Sequence[str]) -> pa.Table:
    if path.is_dir():
        raise CountsError(f"{path} is a folder; give the path of a CSV or Parquet file.")
    try:
        if path.name.lower().endswith(CSV_ENDINGS):
            return _read_csv(path, names, text)
        if path.suffix.lower() in (".parquet", ".pq"):
            _check_columns(pa_parquet.read_schema(path).names, names)
            return pa_parquet.read_table(path, columns=list(names))
    except FileNotFoundError:
        raise CountsError(f"There is no file {path}.") from None
    except PermissionError:
        raise CountsError(f"The file {path} may not be read.") from None
    except (OSError, pa.ArrowException):
        # Arrow's own message may quote the data.
        raise CountsError(f"The file {path} cannot be read as a table: is it damaged or cut off?") from None
    raise CountsError(f"{path.name} is neither a CSV nor a Parquet file, by its ending.")


def _read_csv(path: Path, names: Sequence[str], text: Sequence[str]) -> pa.Table:
    delimiter = "\t" if ".tsv" in path.name.lower() else ","
    table = pa_csv.read_csv(
        path,
        parse_options=pa_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
        convert_options=pa_csv.ConvertOptions(
            column_types=dict.fromkeys(text, pa.string()),
            strings_can_be_null=True,
            null_values=[""],  # a region may well be called "NA"
            quoted_strings_can_be_null=False,
        ),
    )
    _check_columns(table.column_names, names)
    return table.select(list(names))


def _check_columns(found: Sequence[str], wanted: Sequence[str]) -> None:
    for name in wanted:
        if name not in found:
            raise CountsError(f"The table has no column {show(name)}: {name_choices(name, found)}")
        if list(found).count(name) > 1:
            raise CountsError(f"The table has two columns {show(name)}.")
