"""``tallytree intervals``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tallytree.cli.console import (
    Json,
    describe_intervals,
    print_error,
    print_intervals,
    print_json,
    print_opening,
    print_text,
    print_usefulness,
    show_progress,
)
from tallytree.cli.options import USUAL_FLAGS, FlagShares, KeepReplicates, parse_flags, parse_whole

# ``tallytree unbiased``.


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
    for sums over many cells. In a CSV file, a name that a spreadsheet would take for a formula has an
    apostrophe before it.
    """
    from tallytree.exporting.published_tables import guard_table
    from tallytree.publishing.publisher import load
    from tallytree.releases.interval_bounds import write_estimates

    table = load(folder).estimate_unbiased()
    rows = write_estimates(guard_table(table) if out.suffix.lower() == ".csv" else table, out)
    if as_json:
        print_json({"out": str(out), "rows": rows})
    else:
        print_text(f"Written to {out}: {rows:,} rows with 'estimate' and 'variance'.")


def intervals(
    folder: Annotated[Path, typer.Argument(help="A release folder.", metavar="DIR")],
    replicates: Annotated[
        int,
        typer.Option(
            help="How often the mechanism is run on the released counts.", metavar="N", parser=parse_whole
        ),
    ] = 50,
    coverage: Annotated[
        str, typer.Option(help="The share of intervals that contain the true number.", metavar="C")
    ] = "0.9",
    seed: Annotated[
        int,
        typer.Option(help="The seed of the replicates' noise.", metavar="N", parser=parse_whole),
    ] = 0,
    flags: FlagShares = USUAL_FLAGS,
    keep_replicates: KeepReplicates = None,
    as_json: Json = False,
) -> None:
    """Add intervals to a release: how far its numbers may be off.

    For every count, and for sums, means and quantiles of group size. They include what post-processing does,
    and are made from the release alone: they cost no privacy. intervals.parquet has them for every region and
    size, summaries.parquet for every region; the report shows them. Both flag each number as good, care or
    noise; replicates.parquet has what 'tallytree estimate' needs.
    """
    from tallytree.errors import IntervalsError
    from tallytree.intervals.replicates import add_intervals
    from tallytree.publishing.publisher import load, try_report

    limits = parse_flags(flags)
    release = load(folder)
    failed = [check for check in release.verify().checks if check.failed]
    if failed:
        raise IntervalsError(f"The release fails its check of {failed[0].name}: no intervals can be trusted.")
    with show_progress(quiet=as_json) as progress:
        made = add_intervals(
            release,
            replicates=replicates,
            coverage=coverage,
            seed=seed,
            flags=limits,
            keep_replicates=keep_replicates,
            progress=progress,
        )
    made.write_intervals(folder)
    if problem := try_report(made, folder, made.verify()):
        print_error(problem)
    if as_json:
        print_json({"folder": str(folder), **describe_intervals(made)})
        return
    print_intervals(made)
    print_usefulness(made.usefulness, made.words)
    print_opening(folder)
