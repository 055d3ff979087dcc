"""``tallytree plan``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from tallytree.cli.console import Json, print_json, print_table, print_text, print_warning, show_progress
from tallytree.cli.options import ClassEdges, MaxQuantity, MaxRecords
from tallytree.errors import SpecError, show
from tallytree.files import write_whole
from tallytree.privacy.budget import show_exact
from tallytree.sizes import state_sizes

if TYPE_CHECKING:
    from tallytree.counts.group_counts import GroupCounts
    from tallytree.planning.advice import Advice
    from tallytree.planning.forecasts import Forecast
    from tallytree.privacy.neighbours import Bounds, Neighbours, Protected, TotalKind


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
    classes: ClassEdges = None,
    size: Annotated[str, typer.Option(help="The column of group sizes.", metavar="COLUMN")] = "size",
    groups: Annotated[
        str, typer.Option(help="The column of numbers of groups.", metavar="COLUMN")
    ] = "groups",
    totals: Annotated[
        bool,
        typer.Option(
            "--totals",
            help="The table has no sizes, only each region's public number of groups; sizes are invented.",
        ),
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
    protect: Annotated[
        str | None,
        typer.Option(
            help="Who the release protects: a person, or a whole group (a firm, an account, a household).",
            metavar="person|group",
            show_default="that of the release folder, or person",
        ),
    ] = None,
    total: Annotated[
        str | None,
        typer.Option(
            help="Whether the release takes the list of groups as public. private: groups may appear and "
            "vanish with a person.",
            metavar="public|private",
            show_default="that of the release folder, or public",
        ),
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

    Say what the release will promise, since the noise depends on it: who is protected, whether the list of
    groups is public, and the bounds on a person. What is left out is as in the release folder; for a table,
    as a release of a table of counts has it. Records of people without a frame need --total private.
    """
    from tallytree.planning.advice import advise
    from tallytree.planning.forecasts import parse_goal
    from tallytree.privacy.budget import Budget

    _check_data(stand_in, data, out)
    columns = {"size": size, "groups": groups, "root": root, "root_level": root_level}
    public, known = _read(stand_in, region, sizes, classes, totals, columns)
    protected = cast("Protected", known.protect if protect is None else protect)
    budget = Budget(
        epsilon=epsilon,
        delta=delta,
        public_totals=public_totals,
        protect=protected,
        total=known.total if total is None else cast("TotalKind", total),
    )
    with show_progress(quiet=as_json) as progress:
        advice = advise(
            public,
            budget,
            goal=parse_goal(goal, public.hierarchy.levels),
            mechanism=mechanism,
            bounds=_find_bounds(known, protected, max_records, max_quantity),
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
    stand_in: str,
    region: list[str] | None,
    sizes: str | None,
    classes: str | None,
    totals: bool,
    columns: dict[str, str],
) -> tuple[GroupCounts, Neighbours]:
    """Read the stand-in, and what a release of it promises unless told otherwise."""
    from tallytree.cli.specs import settle_sizes
    from tallytree.planning.stand_ins import invent_from_totals, read_release, read_table
    from tallytree.privacy.neighbours import Neighbours

    try:
        is_folder = Path(stand_in).is_dir()
    except OSError:  # reading it as a table says what is wrong
        is_folder = False
    if is_folder:
        if region or sizes is not None or classes is not None or totals:
            raise SpecError(
                "A release folder has regions and sizes of its own: leave --region, --sizes, --classes and "
                "--totals out."
            )
        return read_release(Path(stand_in))
    if not region or (sizes is None and classes is None):
        raise SpecError(
            "A table needs --region for each level, and --sizes or --classes; a release folder needs neither."
        )
    span = settle_sizes(sizes, classes)
    if totals:
        known = {name: value for name, value in columns.items() if name != "size"}
        public = invent_from_totals(stand_in, regions=region, sizes=span, **known)
    else:
        public = read_table(stand_in, regions=region, sizes=span, **columns)
    return public, Neighbours(total=public.total_kind)


def _find_bounds(
    known: Neighbours, protect: Protected, max_records: int | None, max_quantity: int | None
) -> Bounds | None:
    """The bounds that were given; those that were not are the stand-in's."""
    from tallytree.privacy.neighbours import Bounds

    if max_records is None and max_quantity is None:
        return None
    usual = known.bounds if protect == "person" else Bounds()
    return Bounds(
        max_records=usual.max_records if max_records is None else max_records,
        max_quantity=usual.max_quantity if max_quantity is None else max_quantity,
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
    print_text(_describe_promise(advice.neighbours))
    for warning in advice.warnings:
        print_warning(warning)
    if not advice.is_met:
        enough = advice.enough
        more = f"epsilon {show_exact(enough)} would do" if enough else "no epsilon that was tried would do"
        print_text(f"The goal {advice.goal} is not met with epsilon {show_exact(advice.epsilon)}: {more}.")
    is_private = not advice.neighbours.has_public_total  # then their number is off as well
    groups = ["groups off"] if is_private else []
    columns = ["level", "regions", "L1", "+-", "EMD", "relative", *groups, "L1, even split"]
    rows = [
        [
            here.level,
            f"{here.regions:,}",
            f"{here.l1:,.0f}",
            f"{here.l1_deviation:,.0f}",
            f"{emd:,.1f}",
            f"{100 * here.relative:.2g} %",
            *([f"{here.groups_off:,.1f}"] if is_private else []),
            f"{even.l1:,.0f}",
        ]
        for here, emd, even in zip(planned.levels, planned.emds, advice.even.levels, strict=True)
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


def _describe_promise(neighbours: Neighbours) -> str:
    """What the planned release promises: another promise needs other noise."""
    m, z = neighbours.bounds.max_records, neighbours.bounds.max_quantity
    if neighbours.protect == "group":
        who, flags = "whole groups", "--protect, --total"
    else:
        who = f"people with at most {m} record{'s'[: m > 1]} of quantity at most {z}"
        flags = "--protect, --total, --max-records, --max-quantity"
    return (
        f"Planned to protect {who}, with a {neighbours.total} list of groups: a release that promises "
        f"something else ({flags}) has other noise."
    )


def _list_errors(case: Forecast) -> list[str]:
    return [f"{level.l1:,.0f}" for level in case.levels]
