"""``tallytree export``."""

from pathlib import Path
from typing import Annotated

import typer

from tallytree.cli.console import Json, print_json, print_text


def export(
    folder: Annotated[Path, typer.Argument(help="A release folder.", metavar="DIR")],
    to: Annotated[
        str,
        typer.Option(
            help="The format: csv, xlsx, datapackage, csvw, sdmx-csv or registry.", metavar="FORMAT"
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(
            help="The file or folder to write, which must not exist. datapackage, csvw and sdmx-csv are "
            "folders, or zip files if it ends in .zip.",
            metavar="PATH",
        ),
    ],
    wide: Annotated[
        bool,
        typer.Option("--wide", help="A row per region and a column per size or class (csv and xlsx)."),
    ] = False,
    as_json: Json = False,
) -> None:
    """Write a release in a format that other software reads.

    csv and xlsx are tables to publish, with intervals; xlsx also has the regions' summaries and the privacy
    statement. datapackage (Frictionless), csvw (CSV on the Web) and sdmx-csv (SDMX, with its structure) come
    with a description for programs. registry is an entry for the public registry of deployments of
    differential privacy; what only you know is marked in it. A release that fails its checks is not exported.
    """
    from tallytree.exporting.exporter import export as export_release

    done = export_release(folder, to, out, wide=wide)
    if as_json:
        print_json({"out": str(done.path), "format": to, done.counted.replace(" ", "_"): done.count})
    else:
        print_text(f"Written to {done.path}: {done.count:,} {done.counted}.")
