"""``tallytree report``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tallytree.cli.console import Json, print_json, print_opening, print_text

if TYPE_CHECKING:
    from tallytree.publishing.publisher import Release
    from tallytree.report.map_shapes import ShapeMap

EXAMPLES = 3
"""How many shapes without a region are named."""


def report(
    folder: Annotated[Path, typer.Argument(help="A release folder.", metavar="DIR")],
    shapes: Annotated[
        Path | None,
        typer.Option(help="Shapes of regions, for a map in the report.", metavar="FILE.geojson"),
    ] = None,
    shape_key: Annotated[
        str | None,
        typer.Option(
            help="The shapes' property that has the regions' names; several: STATE,COUNTY.", metavar="FIELD"
        ),
    ] = None,
    open_it: Annotated[bool, typer.Option("--open", help="Open the report in the browser.")] = False,
    as_json: Json = False,
) -> None:
    """Write the report of a release: one page, which opens offline.

    report.html in the release folder says what is promised, what was checked and how exact each level is, and
    lets its reader explore all regions. If a check of the release failed, it says so at its top.
    """
    from tallytree.errors import ReportError
    from tallytree.publishing.publisher import load
    from tallytree.releases.released import REPORT
    from tallytree.report.map_shapes import read_shapes
    from tallytree.report.report_page import write_report

    if (shapes is None) != (shape_key is None):
        raise ReportError("A map needs both: --shapes FILE.geojson and --shape-key FIELD.")
    release = load(folder)
    drawn = read_shapes(shapes, shape_key, release.hierarchy) if shapes and shape_key else None
    verification = release.verify()
    target = folder / REPORT
    write_report(release, target, verification=verification, shapes=drawn)
    if as_json:
        print_json({"report": str(target), "map": _summarize(drawn), "verification": verification.to_dict()})
    else:
        print_opening(folder)
        if drawn is not None:
            print_text(_describe(drawn, release))
        if not verification:
            print_text("The release failed its checks; the report says so.")
    if open_it:
        typer.launch(target.absolute().as_uri())
    if not verification:
        raise typer.Exit(1)


def _summarize(drawn: ShapeMap | None) -> dict[str, object] | None:
    if drawn is None:
        return None
    return {
        "matched": drawn.matched,
        "unmatched": list(drawn.unmatched),
        "regions_without_shape": drawn.missing,
    }


def _describe(drawn: ShapeMap, release: Release) -> str:
    from tallytree.errors import show

    level = show(release.hierarchy.levels[drawn.level])
    words = f"{drawn.matched:,} shapes are on the map, as regions of level {level}."
    if drawn.unmatched:
        some = ", ".join(show(key) for key in drawn.unmatched[:EXAMPLES])
        more = ", ..." if len(drawn.unmatched) > EXAMPLES else ""
        words += f" {len(drawn.unmatched):,} shapes belong to no region, and are grey: {some}{more}."
    if drawn.missing:
        words += f" {drawn.missing:,} regions of the level have no shape."
    return words
