"""``tallytree estimate``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tallytree.cli.console import (
    Json,
    print_error,
    print_json,
    print_plain_table,
    print_table,
    print_text,
    show_progress,
)
from tallytree.cli.options import USUAL_FLAGS, FlagShares, parse_flags, parse_size_range, parse_whole
from tallytree.errors import IntervalsError

if TYPE_CHECKING:
    from tallytree.intervals.estimates import Estimate
    from tallytree.publishing.area_tables import Areas
    from tallytree.publishing.publisher import Release

OTHER, SEVERAL = "A second selection", "Several areas at once"


def estimate(
    folder: Annotated[Path, typer.Argument(help="A release folder.", metavar="DIR")],
    region: Annotated[
        list[str] | None,
        typer.Option(
            help="A region, by the names from the root down; repeat it for several.",
            metavar="US/GA",
            show_default="the root",
        ),
    ] = None,
    sizes: Annotated[
        str | None,
        typer.Option(
            help="The range of sizes, inclusive; an end that is left out is open.",
            metavar="LOW:HIGH",
            show_default="all",
        ),
    ] = None,
    statistic: Annotated[
        str,
        typer.Option(
            help="groups, size_sum, size_mean, share (of the groups of these regions that have these sizes), "
            "median, or a quantile such as quantile:0.9.",
            metavar="NAME",
        ),
    ] = "groups",
    against: Annotated[
        list[str] | None,
        typer.Option(
            help="A region of a second selection, to be subtracted; repeat it for several.",
            metavar="US/NY",
            rich_help_panel=OTHER,
        ),
    ] = None,
    against_sizes: Annotated[
        str | None,
        typer.Option(
            help="The sizes of the second selection.",
            metavar="LOW:HIGH",
            show_default="those of the first",
            rich_help_panel=OTHER,
        ),
    ] = None,
    ratio: Annotated[
        bool, typer.Option("--ratio", help="The ratio, not the difference.", rich_help_panel=OTHER)
    ] = False,
    areas: Annotated[
        Path | None,
        typer.Option(
            help="A table with the columns 'area' and 'region' (US/GA), or 'area' and one for each level "
            "below the root: one estimate for each area.",
            metavar="FILE",
            rich_help_panel=SEVERAL,
        ),
    ] = None,
    each: Annotated[
        str | None,
        typer.Option(
            help="One estimate for each region of this level.", metavar="LEVEL", rich_help_panel=SEVERAL
        ),
    ] = None,
    margin: Annotated[
        list[str] | None,
        typer.Option(
            help="One estimate for each name at this level, over all regions that have it; repeat it for "
            "several levels, from the top down.",
            metavar="LEVEL",
            rich_help_panel=SEVERAL,
        ),
    ] = None,
    coverage: Annotated[
        str, typer.Option(help="The share of intervals that contain the true number.", metavar="C")
    ] = "0.9",
    flags: FlagShares = USUAL_FLAGS,
    replicates: Annotated[
        int | None,
        typer.Option(
            help="Replicates of the mechanism.",
            metavar="N",
            parser=parse_whole,
            show_default="those of the intervals, or 50",
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            help="The seed of the replicates' noise.",
            metavar="N",
            parser=parse_whole,
            show_default="that of the intervals, or 0",
        ),
    ] = None,
    table: Annotated[
        bool,
        typer.Option("--table", help="Print a plain table, with tabs, to paste into a document."),
    ] = False,
    as_json: Json = False,
) -> None:
    """Estimate a number of several regions together, with an interval.

    The number of groups, the sum or mean of sizes, a share or a quantile: for any regions, none inside
    another, and any range of sizes; or the difference of two such numbers. The interval takes into account
    how their errors are related, which adding up intervals of single numbers cannot. It costs no privacy.

    If the folder keeps its replicates, as it does unless they are large, the answer comes at once. Otherwise
    they are made anew, always the same for the same seed.
    """
    from tallytree.intervals.estimates import Estimates
    from tallytree.intervals.estimator import Estimator
    from tallytree.publishing.publisher import load

    has_second = bool(against) or against_sizes is not None
    if sum(map(bool, (region or has_second, areas, each, margin))) > 1:
        raise IntervalsError(
            "Give --region (and --against), or --areas, or --each, or --margin: only one of them."
        )
    if ratio and not has_second:
        raise IntervalsError("--ratio needs a second selection: --against or --against-sizes.")
    span, other_span = parse_size_range(sizes), parse_size_range(against_sizes)
    limits = parse_flags(flags)
    release = load(folder)
    with show_progress(quiet=as_json) as progress:
        estimator = Estimator.of(
            release, coverage=coverage, flags=limits, replicates=replicates, seed=seed, progress=progress
        )
        if areas or each or margin:
            found_areas = _find_areas(release, areas, each, margin)
            selections = estimator.select_areas(found_areas, span, statistic)
        else:
            selections = [estimator.select(region, span, statistic)]
        if has_second:
            other = span if against_sizes is None else other_span
            selections.append(estimator.select(against or region, other, statistic))
        if estimator.is_too_large:
            if not as_json:
                print_error(
                    "The release is too large for replicates: intervals are from the noise of the regions' "
                    "own answers alone, which is safe and wider."
                )
        elif estimator.kept is None and not as_json:
            print_error(
                f"The folder does not keep these replicates: {estimator.replicates} are made anew, with seed "
                f"{estimator.seed}. 'tallytree intervals DIR --keep-replicates' keeps them."
            )
        found = estimator.estimate(selections)
    if has_second:
        both = found[0] / found[1] if ratio else found[0] - found[1]
        found = Estimates((*found, both))
    told = {"replicates": estimator.replicates, "seed": estimator.seed}
    if as_json:
        _print_json(list(found), told, has_second=has_second, several=bool(areas or each or margin))
    elif table:
        print_plain_table(found.columns, found.rows)
    elif len(found) > 1:
        print_table("Estimates", found.columns, found.rows)
        print_text(f"{limits.describe()}.")
    else:
        print_text(found[0].describe())


def _find_areas(release: Release, areas: Path | None, each: str | None, margin: list[str] | None) -> Areas:
    from tallytree.publishing.area_tables import read_areas
    from tallytree.releases.margins import group_regions

    if areas is not None:
        return read_areas(areas, release.hierarchy)
    if margin:
        return group_regions(release.hierarchy, margin)
    assert each is not None
    return {"/".join(path): [path] for path in release.hierarchy.regions(each)}


def _print_json(found: list[Estimate], told: dict[str, int], *, has_second: bool, several: bool) -> None:
    facts: dict[str, Any] = {}
    if several:
        facts["estimates"] = [each.to_dict() for each in found]
    else:
        facts |= found[-1].to_dict()
    if has_second:
        facts |= {"first": found[0].to_dict(), "second": found[1].to_dict()}
    print_json({**facts, **told})
