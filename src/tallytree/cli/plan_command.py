"""``tallytree plan``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tallytree.cli.console import Json, print_json, print_table, print_text, print_warning, show_progress
from tallytree.cli.options import MaxQuantity, MaxRecords
from tallytree.errors import SpecError, show
from tallytree.files import write_whole
from tallytree.privacy.budget import show_exact
from tallytree.sizes import state_sizes

if TYPE_CHECKING:
    from tallytree.counts.group_counts import GroupCounts
    from tallytree.planning.advice import Advice
    from tallytree.planning.forecasts import Forecast
    from tallytree.privacy.neighbours import Bounds


def plan(
    stand_in: Annotated[
        str, typer.Argument(help="Public data: a release folder, or a table.", metavar="STAND_IN")
    ],
    epsilon: Annotated[str, typer.Option(help="The privacy budget, such as 1 or 0.1.", metavar="E")],
    delta: Annotated[
        str | None, typer.Option(help="Plan for Gaussian noise, at this delta: such as 1e-10.", metavar="D")
    ] = None,
    region: Annotated[
        list[str] | None,
        typer.Option(
            "--region", help="A region column, from the top down; repeat for each level.", metavar="COLUMN"
        ),
    ] = None,
    sizes: Annotated[str | None, typer.Option(help="The public range of sizes.", metavar="LOW:HIGH")] = None,
    size: Annotated[str, typer.Option(help="The column of group sizes.", metavar="COLUMN")] = "size",
    groups: Annotated[
        str, typer.Option(help="The column of numbers of groups.", metavar="COLUMN")
    ] = "groups",
    totals: Annotated[
        bool,
        typer.Option("--totals", help="The table has no sizes, only each region's public number of groups."),
    ] = False,
    goal: Annotated[
        str,
        typer.Option(
            help="What to make small: l1 (groups), emd (groups x sizes), relative (shares); or a limit on a "
            "level's l1, such as 'county<=50000'.",
            metavar="GOAL",
        ),
    ] = "l1",
    mechanism: Annotated[
        str | None,
        typer.Option(help="The mechanism to plan for.", metavar="NAME", show_default="the best one"),
    ] = None,
    public_totals: Annotated[
        str | None,
        typer.Option(help="The release keeps public numbers of groups down to this level.", metavar="LEVEL"),
    ] = None,
    max_records: MaxRecords = None,
    max_quantity: MaxQuantity = None,
    root: Annotated[str, typer.Option(help="The name of the root region.", metavar="NAME")] = "all",
    root_level: Annotated[str, typer.Option(help="The name of the root's level.", metavar="NAME")] = "root",
    data: Annotated[
        str,
        typer.Option(
            help="What to release, counts or people; the name goes into the file, it is not opened.",
            metavar="FILE",
        ),
    ] = "counts.parquet",
    out: Annotated[
        Path | None, typer.Option(help="Where to write a release.toml with the plan.", metavar="FILE")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Where to draw accuracy against epsilon (SVG).", metavar="FILE")
    ] = None,
    as_json: Json = False,
) -> None:
    """Choose a mechanism and a split of the budget, on public data.

    STAND_IN is public data like the sensitive ones: an earlier release, an earlier census, or, with --totals,
    just how many groups each region has. It says what accuracy to expect at each level, and how that changes
    with epsilon. The sensitive data are never looked at, so planning costs no budget and may be repeated.

    Give the bounds on a person that the release will have, since noise grows with them. If left out, they are
    those of the release folder, or 1.
    """
    from tallytree.planning.advice import advise
    from tallytree.planning.forecasts import parse_goal

    _check_data(stand_in, data, out)
    columns = {"size": size, "groups": groups, "root": root, "root_level": root_level}
    public = _read(stand_in, region, sizes, totals, columns)
    with show_progress(quiet=as_json) as progress:
        advice = advise(
            public,
            epsilon=epsilon,
            delta=delta,
            goal=parse_goal(goal, public.hierarchy.levels),
            mechanism=mechanism,
            public_totals=public_totals,
            bounds=_find_bounds(public, max_records, max_quantity),
            progress=progress,
        )
    # The columns of totals are those of the stand-in alone: the data to release have others.
    _write_files(advice, public, {} if totals else columns, data, out, plot)
    if as_json:
        print_json(advice.to_dict())
        return
    _print(advice)
    for path in (out, plot):
        if path is not None:
            print_text(f"Written: {path}")


def _check_data(stand_in: str, data: str, out: Path | None) -> None:
    """Refuse the table to release as its own stand-in, and a name for it that no TOML file can hold.

    A plan made on the table to release would tell of it: its split and its errors are not private.
    """
    from tallytree.counts.arrow import is_same_file

    table = (out.parent if out else Path()) / data  # as release.toml will have it
    if is_same_file(table, stand_in):
        raise SpecError(
            "The stand-in is the table to release itself. A plan is made on public data in its place: an "
            "earlier table, an earlier release, or public totals."
        )
    try:
        data.encode()
    except UnicodeEncodeError:
        raise SpecError(f"A plan cannot name the file {show(data, most=150)}: it is not UTF-8.") from None


def _read(
    stand_in: str, region: list[str] | None, sizes: str | None, totals: bool, columns: dict[str, str]
) -> GroupCounts:
    from tallytree.cli.specs import parse_sizes
    from tallytree.planning.stand_ins import invent_from_totals, read_release, read_table

    try:
        is_folder = Path(stand_in).is_dir()
    except OSError:  # reading it as a table says what is wrong
        is_folder = False
    if is_folder:
        if region or sizes is not None or totals:
            raise SpecError(
                "A release folder has regions and sizes of its own: leave --region, --sizes and --totals out."
            )
        return read_release(Path(stand_in))
    if not region or sizes is None:
        raise SpecError("A table needs --region for each level and --sizes; a release folder needs neither.")
    span = parse_sizes(sizes)
    if totals:
        known = {name: value for name, value in columns.items() if name != "size"}
        return invent_from_totals(stand_in, regions=region, sizes=span, **known)
    return read_table(stand_in, regions=region, sizes=span, **columns)


def _find_bounds(public: GroupCounts, max_records: int | None, max_quantity: int | None) -> Bounds:
    """The bounds that were given; those that were not are the stand-in's."""
    from tallytree.privacy.neighbours import Bounds

    known = public.bounds
    return Bounds(
        max_records=known.max_records if max_records is None else max_records,
        max_quantity=known.max_quantity if max_quantity is None else max_quantity,
    )


def _write_files(
    advice: Advice,
    public: GroupCounts,
    columns: dict[str, str],
    data: str,
    out: Path | None,
    plot: Path | None,
) -> None:
    from tallytree.planning.advice import draw_trade_off, write_spec

    levels = public.hierarchy.levels
    settings: dict[str, Any] = {
        "source": data,
        "out": "release",
        "regions": list(levels[1:]),
        **state_sizes(public.sizes),
        # Records of people have no such columns, so those with the default names are left out.
        **{name: column for name, column in columns.items() if column != name},
        "root": public.hierarchy.regions(0)[0][0],
        "root_level": levels[0],
    }
    for path, text in ((out, write_spec(advice, settings)), (plot, draw_trade_off(advice).svg)):
        if path is not None:
            write_whole(path, text.encode())


def _print(advice: Advice) -> None:
    planned = advice.planned
    split = ", ".join(f"{name} {share} %" for name, share in planned.budget.items())
    print_text(f"Recommended: {planned.mechanism}, epsilon {show_exact(advice.epsilon)} split as {split}.")
    print_text(
        "Planned on the stand-in alone, which must be public: the data to release were not looked "
        "at, and no budget was spent."
    )
    m, z = advice.bounds.max_records, advice.bounds.max_quantity
    print_text(
        f"Planned for people with at most {m} record{'s'[: m > 1]} of quantity at most {z}: a release with "
        "other bounds (--max-records, --max-quantity) has other noise."
    )
    for warning in advice.warnings:
        print_warning(warning)
    if not advice.is_met:
        enough = advice.enough
        more = f"epsilon {show_exact(enough)} would do" if enough else "no epsilon that was tried would do"
        print_text(f"The goal {advice.goal} is not met with epsilon {show_exact(advice.epsilon)}: {more}.")
    columns = ["level", "regions", "L1", "+-", "EMD", "relative", "L1, even split"]
    rows = [
        [
            here.level,
            f"{here.regions:,}",
            f"{here.l1:,.0f}",
            f"{here.l1_deviation:,.0f}",
            f"{here.emd:,.1f}",
            f"{100 * here.relative:.2g} %",
            f"{even.l1:,.0f}",
        ]
        for here, even in zip(planned.levels, advice.even.levels, strict=True)
    ]
    print_table("Accuracy to expect", columns, rows)
    levels = [level.level for level in planned.levels]
    if advice.others:
        print_table(
            "Other mechanisms with this split: L1",
            ["mechanism", *levels],
            [[case.mechanism, *_list_errors(case)] for case in (planned, *advice.others)],
        )
    print_table(
        "L1 against epsilon, with this split",
        ["epsilon", *levels],
        [[f"{float(case.epsilon):g}", *_list_errors(case)] for case in advice.trade_off],
    )


def _list_errors(case: Forecast) -> list[str]:
    return [f"{level.l1:,.0f}" for level in case.levels]
