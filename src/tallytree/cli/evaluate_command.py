"""``tallytree evaluate``."""

from pathlib import Path
from typing import Annotated

import typer

from tallytree.cli.console import Json, print_json, print_table
from tallytree.errors import InputError


def evaluate(
    folder: Annotated[Path, typer.Argument(help="A release folder.", metavar="DIR")],
    truth: Annotated[
        str,
        typer.Option(
            help="The true counts: a table with the release's region columns below the root.",
            metavar="TABLE",
        ),
    ],
    size: Annotated[str, typer.Option(help="The table's column of group sizes.", metavar="COLUMN")] = "size",
    groups: Annotated[
        str, typer.Option(help="The table's column of numbers of groups.", metavar="COLUMN")
    ] = "groups",
    data_is_not_sensitive: Annotated[
        bool,
        typer.Option("--data-is-not-sensitive", help="Say that the true counts may be revealed."),
    ] = False,
    as_json: Json = False,
) -> None:
    """Compare a release with the truth: for data that may be revealed.

    For each level: L1, the sum of absolute differences over its regions and sizes; EMD, how far groups were
    moved along the sizes, a mean over its regions; and the violations of what must add up. Errors against the
    truth are not private, so this is for research on public data.
    """
    if not data_is_not_sensitive:
        raise InputError(
            "Errors against the truth are not private. If these data are not sensitive, say so with "
            "--data-is-not-sensitive."
        )
    from tallytree.counts.group_counts import GroupCounts
    from tallytree.publishing.publisher import load
    from tallytree.research.evaluation import evaluate as compare

    release = load(folder)
    counts = GroupCounts.from_table(
        truth,
        regions=release.hierarchy.levels[1:],
        size=size,
        groups=groups,
        sizes=release.sizes,
        root=release.hierarchy.regions(0)[0][0],
        hierarchy=release.hierarchy,
    )
    rows = compare(release, counts).to_pylist()
    if as_json:
        print_json(rows)
        return
    print_table(
        "Errors against the truth (not private)",
        ["level", "L1", "EMD", "violations"],
        [[row["level"], f"{row['l1']:,}", f"{row['emd']:,.1f}", f"{row['violations']:,}"] for row in rows],
    )
