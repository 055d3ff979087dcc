"""``tallytree unbiased``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tallytree.cli.console import Json, print_json, print_text


def unbiased(
    folder: Annotated[Path, typer.Argument(help="A release folder.", metavar="DIR")],
    out: Annotated[
        Path, typer.Option(help="The table to write: Parquet, or CSV by its name.", metavar="FILE")
    ],
    as_json: Json = False,
) -> None:
    """Write estimates without bias, with their exact variances.

    They are made from a release's measurements alone. Released counts are never negative, which makes them
    err upwards where there are few groups. These may be negative, and are right on average: for models and
    for sums over many cells.
    """
    from tallytree.intervals.files import write_estimates
    from tallytree.releases import load

    rows = write_estimates(load(folder).estimate_unbiased(), out)
    if as_json:
        print_json({"out": str(out), "rows": rows})
    else:
        print_text(f"Written to {out}: {rows:,} rows with 'estimate' and 'variance'.")
