"""``tallytree plan``."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from tallytree.cli.console import Json, print_json, print_table, print_text, print_warning, show_progress
from tallytree.cli.options import (
    ClassEdges,
    GroupName,
    MaxQuantity,
    MaxRecords,
    MemberName,
    Title,
    parse_page,
)
from tallytree.errors import SpecError, show
from tallytree.files import write_whole
from tallytree.privacy.budget import show_exact

if TYPE_CHECKING:
    from tallytree.counts.group_counts import GroupCounts
    from tallytree.planning.advice import Advice
    from tallytree.planning.forecasts import Forecast
    from tallytree.privacy.neighbours import Bounds, Neighbours, Protected, TotalKind
    from tallytree.words import Words


def plan(
    stand_in: Annotated[
        str, typer.Argument(help="Public data: a release folder, or a table.", metavar="STAND_IN")
    ],
    epsilon: Annotated[
        str | None, typer.Option(help="The privacy budget, such as 1 or 0.1.", metavar="E")
    ] = None,
    risk: Annotated[
        str | None,
        typer.Option(
            help="In place of --epsilon, a risk in percent: with 50:75, a belief of 50 % that somebody is in "
            "the data may rise to 75 % at most (with --delta: but for that chance).",
            metavar="BEFORE:AFTER",
        ),
    ] = None,
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
    shape: Annotated[
        str | None,
        typer.Option(
            help="How sizes are invented for --totals: households, firms, zipf:1.06 (a law with its "
            "exponent), a release folder, or a table of shares with the columns size and share.",
            metavar="SHAPE",
            show_default="households; in classes beyond 10, firms",
        ),
    ] = None,
    goal: Annotated[
        str,
        typer.Option(
            help="What to make small: l1 (groups), emd (groups x sizes), relative (shares); or a limit on "
            "a level's errors, such as 'county<=5%' of a region's groups or 'county<=50000' groups in all.",
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
    title: Title = None,
    group_name: GroupName = None,
    member_name: MemberName = None,
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
    page: Annotated[
        Path | None,
        typer.Option(
            help="Where to write a page for choosing epsilon: what it buys beside what it gives away.",
            metavar="FILE.html",
            parser=parse_page,
        ),
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
    from tallytree.planning.advice import advise_within, draw_trade_off
    from tallytree.planning.forecasts import parse_goal
    from tallytree.planning.release_settings import list_settings, write_spec
    from tallytree.privacy.budget import Budget

    _check_data(stand_in, data, out)
    settled = _settle_epsilon(epsilon, risk, delta)
    columns = {"size": size, "groups": groups, "root": root, "root_level": root_level}
    public, known, usual, source = _read(stand_in, region, sizes, classes, shape, totals, columns)
    given = {"title": title, "group": group_name, "member": member_name}
    words = replace(usual, **{name: value for name, value in given.items() if value is not None})
    protected = cast("Protected", known.protect if protect is None else protect)
    budget = Budget(
        epsilon=settled,
        delta=delta,
        public_totals=public_totals,
        protect=protected,
        total=known.total if total is None else cast("TotalKind", total),
    )
    with show_progress(quiet=as_json) as progress:
        advice = advise_within(
            public,
            budget,
            goal=parse_goal(goal, public.hierarchy.levels),
            mechanism=mechanism,
            bounds=_find_bounds(known, protected, max_records, max_quantity),
            progress=progress,
        )
        # The columns of totals are those of the stand-in alone: the data to release have others.
        settings = list_settings(public, data=data, columns={} if totals else columns, words=words)
        if page is not None:
            advice.write_page(page, source=source, settings=settings, progress=progress)
    for path, text in ((out, write_spec(advice, settings)), (plot, draw_trade_off(advice).svg)):
        if path is not None:
            write_whole(path, text.encode())
    if as_json:
        print_json(advice.to_dict())
        return
    _print(advice, source, words)
    for path in (out, plot, page):
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


def _settle_epsilon(epsilon: str | None, risk: str | None, delta: str | None) -> str | Fraction:
    """Return the epsilon that was given, or that of a risk."""
    from tallytree.privacy.beliefs import parse_risk
    from tallytree.privacy.zcdp import parse_delta

    if (epsilon is None) == (risk is None):
        raise SpecError("Give either --epsilon or --risk, such as --risk 50:75.")
    if epsilon is not None:
        return epsilon
    return parse_risk(str(risk), None if delta is None else parse_delta(delta))


def _read(
    stand_in: str,
    region: list[str] | None,
    sizes: str | None,
    classes: str | None,
    shape: str | None,
    totals: bool,
    columns: dict[str, str],
) -> tuple[GroupCounts, Neighbours, Words, str]:
    """Read the stand-in, what a release of it promises unless told otherwise, its words, and its name."""
    from tallytree.cli.specs import settle_sizes
    from tallytree.planning.shapes import find_usual_shape, parse_shape
    from tallytree.planning.stand_ins import invent_from_totals, read_release, read_table
    from tallytree.privacy.neighbours import Neighbours
    from tallytree.words import PLAIN

    if shape is not None and not totals:
        raise SpecError("A --shape is for sizes that are invented: give --totals as well, or leave it out.")
    try:
        is_folder = Path(stand_in).is_dir()
    except OSError:  # reading it as a table says what is wrong
        is_folder = False
    name = Path(stand_in).name or stand_in
    if is_folder:
        if region or sizes is not None or classes is not None or totals:
            raise SpecError(
                "A release folder has regions and sizes of its own: leave --region, --sizes, --classes and "
                "--totals out."
            )
        return *read_release(Path(stand_in)), f"the release {name}"
    if not region or (sizes is None and classes is None):
        raise SpecError(
            "A table needs --region for each level, and --sizes or --classes; a release folder needs neither."
        )
    span = settle_sizes(sizes, classes)
    if totals:
        form = find_usual_shape(span) if shape is None else parse_shape(shape)
        known = {name: value for name, value in columns.items() if name != "size"}
        public = invent_from_totals(stand_in, regions=region, sizes=span, shape=form, **known)
        source = f"the numbers of groups in {name}, with invented sizes: {form.words}"
    else:
        public = read_table(stand_in, regions=region, sizes=span, **columns)
        source = f"the table {name}"
    return public, Neighbours(total=public.total_kind), PLAIN, source


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


def _print(advice: Advice, source: str, words: Words) -> None:
    planned = advice.planned
    split = ", ".join(f"{name} {share} %" for name, share in planned.budget.items())
    print_text(f"Recommended: {planned.mechanism}, epsilon {show_exact(advice.epsilon)} split as {split}.")
    print_text(
        f"Planned on {source}. This must be public: the data to release were not looked at, and no budget "
        "was spent."
    )
    print_text(words.name_people(words.say(_describe_promise(advice.neighbours))))
    for warning in advice.warnings:
        print_warning(words.say(warning))
    if not advice.is_met:
        enough = advice.enough
        more = f"epsilon {show_exact(enough)} would do" if enough else "no epsilon that was tried would do"
        print_text(f"The goal {advice.goal} is not met with epsilon {show_exact(advice.epsilon)}: {more}.")
    is_private = not advice.neighbours.has_public_total  # then their number is off as well
    groups = [words.say("groups off")] if is_private else []
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
