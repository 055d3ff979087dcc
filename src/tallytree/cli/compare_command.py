"""``tallytree compare``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tallytree.cli.console import Json, print_json, print_table, print_text
from tallytree.cli.options import parse_whole
from tallytree.errors import show

if TYPE_CHECKING:
    from tallytree.comparison.differences import Comparison


def compare(
    a: Annotated[str, typer.Argument(help="A release folder, or a published table.", metavar="A")],
    b: Annotated[str, typer.Argument(help="Another release folder or published table.", metavar="B")],
    level: Annotated[
        str | None, typer.Option(help="Compare this level only.", metavar="LEVEL", show_default="all")
    ] = None,
    top: Annotated[
        int, typer.Option(help="Largest differences to show for each level.", metavar="N", parser=parse_whole)
    ] = 5,
    size: Annotated[
        str, typer.Option(help="The column of group sizes of a table.", metavar="COLUMN")
    ] = "size",
    groups: Annotated[
        str, typer.Option(help="The column of numbers of groups of a table.", metavar="COLUMN")
    ] = "groups",
    as_json: Json = False,
) -> None:
    """Put two releases, or one and a published table, side by side.

    Level by level: L1 and EMD, and the largest differences. For two releases it says whether noise alone
    explains them. A published table is CSV or Parquet; one of true counts is not for this: see 'tallytree
    evaluate'.
    """
    from tallytree.comparison.comparing import compare as find_differences

    comparison = find_differences(a, b, level=level, top=top, size=size, groups=groups)
    if as_json:
        print_json(comparison.to_dict())
    else:
        _print(comparison, a, b)


def _print(comparison: Comparison, a: str, b: str) -> None:
    from tallytree.comparison.differences import (
        DIFFERENCE_COLUMNS,
        LEVEL_COLUMNS,
        describe_alone,
        describe_noise,
        write_difference_figures,
        write_level_figures,
    )

    print_text(f"A: {show(a, most=150)}")
    print_text(f"B: {show(b, most=150)}")
    print_table(
        "Differences",
        LEVEL_COLUMNS,
        [[show(level.level), *write_level_figures(level)] for level in comparison.levels],
    )
    rows = [
        [show(level.level), show(" > ".join(each.path)), *write_difference_figures(each)]
        for level in comparison.levels
        for each in level.largest
    ]
    if rows:
        print_table("The largest differences", DIFFERENCE_COLUMNS, rows, left=2)
    if comparison.same:
        print_text("Nothing that was compared differs.")
    for level in comparison.levels:
        words = describe_noise(level)
        if words:
            print_text(words)
    for level in comparison.levels:
        for words in describe_alone(level):
            print_text(words)
    for note in comparison.notes:
        print_text(f"Note: {note}")
