"""The options that several commands share."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tallytree.errors import IntervalsError, show
from tallytree.sizes import is_decimal_numeral, is_whole_numeral

if TYPE_CHECKING:
    from tallytree.releases.flags import FlagLimits

MOST_DIGITS = 40


def parse_whole(value: str | int) -> int:
    """Parse a whole number in plain digits; refuse any other text."""
    if not is_whole_numeral(str(value).strip()) or len(str(value)) > MOST_DIGITS:
        raise typer.BadParameter(f"{show(value)} is not a valid integer.")
    return int(value)


def parse_size_range(text: str | None) -> tuple[int | None, int | None] | None:
    """Parse a range of sizes: LOW:HIGH, of which either may be left out, or one size."""
    if text is None:
        return None
    low, colon, high = text.partition(":")
    if not colon:
        high = low
    ends = [end.strip() for end in (low, high)]
    if not any(ends) or not all(
        not end or (is_whole_numeral(end) and len(end) <= MOST_DIGITS) for end in ends
    ):
        raise IntervalsError(f"The sizes {show(text)} are not a range such as 3:5, 3: or :5.")
    first, last = (int(end) if end else None for end in ends)
    return first, last


def parse_flags(text: str) -> FlagLimits:
    """Parse the limits of flags: GOOD,CARE."""
    from tallytree.releases.flags import FlagLimits

    good, comma, care = text.partition(",")
    if not comma:
        raise IntervalsError(f"The limits of flags {show(text)} are not a pair such as 0.25,0.5.")
    return FlagLimits(good.strip(), care.strip())


def parse_seconds(value: str | float) -> float:
    """Parse a number of seconds in plain digits."""
    if not is_decimal_numeral(str(value).strip()):
        raise typer.BadParameter(f"{show(value)} is not a valid number.")
    return float(value)


Source = Annotated[
    str | None,
    typer.Argument(
        help="Files (CSV, Parquet; a glob or a folder), also s3://..., or a database as postgresql://...",
        metavar="SOURCE",
    ),
]
Regions = Annotated[
    list[str] | None,
    typer.Option(
        "--region", help="A region column, from the top down; repeat for each level.", metavar="COLUMN"
    ),
]
SizeRange = Annotated[
    str | None,
    typer.Option(
        "--sizes",
        help="The public range of sizes, inclusive; a larger group counts at HIGH.",
        metavar="LOW:HIGH",
    ),
]
ClassEdges = Annotated[
    str | None,
    typer.Option(
        "--classes",
        help="Classes of sizes in place of --sizes, by the least size of each, such as 1,5,10,20,50; or by "
        "name: us-cbp, eu-sbs.",
        metavar="EDGES",
    ),
]
Protect = Annotated[
    str | None,
    typer.Option(
        "--protect",
        help="Who is protected: a person, or a whole group (a firm, an account, a household).",
        metavar="person|group",
        show_default="person",
        rich_help_panel="Privacy and accuracy",
    ),
]
Root = Annotated[
    str | None,
    typer.Option("--root", help="The name of the root region.", metavar="NAME", show_default="all"),
]
RootLevel = Annotated[
    str | None,
    typer.Option("--root-level", help="The name of the root's level.", metavar="NAME", show_default="root"),
]
Spec = Annotated[
    Path | None,
    typer.Option("--spec", help="A TOML file with these settings; flags override it.", metavar="FILE"),
]

PEOPLE = "Records of people"
WORDS = "How it is called"
ENGINES = "Where the records are counted"

Group = Annotated[
    list[str] | None,
    typer.Option(
        "--group",
        help="The column that identifies the group; repeat it if several columns do.",
        metavar="COLUMN",
        rich_help_panel=PEOPLE,
    ),
]
Person = Annotated[
    str | None,
    typer.Option(
        "--person",
        help="The column that identifies the person.",
        metavar="COLUMN",
        show_default="each record is a different person",
        rich_help_panel=PEOPLE,
    ),
]
Quantity = Annotated[
    str | None,
    typer.Option(
        "--quantity",
        help="The column of quantities: the size of a group is their sum.",
        metavar="COLUMN",
        show_default="each record counts 1",
        rich_help_panel=PEOPLE,
    ),
]
MaxRecords = Annotated[
    int | None,
    typer.Option(
        "--max-records",
        help="The most records of one person that count.",
        metavar="N",
        parser=parse_whole,
        show_default="1",
        rich_help_panel=PEOPLE,
    ),
]
MaxQuantity = Annotated[
    int | None,
    typer.Option(
        "--max-quantity",
        help="The largest quantity of one record; larger ones are cut to it. Required with --quantity.",
        metavar="N",
        parser=parse_whole,
        rich_help_panel=PEOPLE,
    ),
]
Title = Annotated[
    str | None,
    typer.Option("--title", help="The title of the report.", metavar="TEXT", rich_help_panel=WORDS),
]
GroupName = Annotated[
    str | None,
    typer.Option(
        "--group-name",
        help="What a group is called, such as firm; company/companies with its plural.",
        metavar="NAME",
        show_default="group",
        rich_help_panel=WORDS,
    ),
]
MemberName = Annotated[
    str | None,
    typer.Option(
        "--member-name",
        help="What sizes count, such as employee; person/people with its plural.",
        metavar="NAME",
        rich_help_panel=WORDS,
    ),
]
Frame = Annotated[
    str | None,
    typer.Option(
        "--frame",
        help="A public table of all groups with their regions, made without the records: groups without "
        "people have size 0.",
        metavar="TABLE",
        rich_help_panel=PEOPLE,
    ),
]
Missing = Annotated[
    str | None,
    typer.Option(
        "--missing",
        help="drop: do not count records with a missing key or size, an unknown region or a group outside "
        "the frame.",
        metavar="refuse|drop",
        show_default="refuse",
        rich_help_panel=PEOPLE,
    ),
]
GroupSize = Annotated[
    str | None,
    typer.Option(
        "--size",
        help="The column of group sizes: of a table of counts, or where each row is a whole group (with "
        "--protect group).",
        metavar="COLUMN",
        show_default="size",
        rich_help_panel="Groups that are counted already",
    ),
]
RegionTable = Annotated[
    str | None,
    typer.Option(
        "--hierarchy",
        help="A public table of all regions, including those without groups.",
        metavar="TABLE",
    ),
]
DatabaseTable = Annotated[
    str | None,
    typer.Option("--table", help="The table of a database.", metavar="NAME", rich_help_panel=ENGINES),
]
EngineName = Annotated[
    str | None,
    typer.Option(
        "--engine",
        help="duckdb or spark, for files.",
        metavar="NAME",
        show_default="duckdb",
        rich_help_panel=ENGINES,
    ),
]
Master = Annotated[
    str | None, typer.Option("--master", help="Spark's master.", metavar="URL", rich_help_panel=ENGINES)
]
MemoryLimit = Annotated[
    str | None,
    typer.Option(
        "--memory-limit",
        help="Memory to use before spilling to disk, such as 8GB.",
        metavar="SIZE",
        rich_help_panel=ENGINES,
    ),
]
SpillFolder = Annotated[
    str | None,
    typer.Option(
        "--spill-folder",
        help="The folder for temporary files.",
        metavar="DIR",
        show_default="a temporary folder",
        rich_help_panel=ENGINES,
    ),
]
Threads = Annotated[
    int | None,
    typer.Option(
        "--threads",
        help="Threads to use.",
        metavar="N",
        parser=parse_whole,
        show_default="all",
        rich_help_panel=ENGINES,
    ),
]


KeepReplicates = Annotated[
    bool | None,
    typer.Option(
        "--keep-replicates/--no-keep-replicates",
        help="Keep the replicates in the folder, so that 'tallytree estimate' answers at once and the report "
        "adds up regions.",
        show_default="up to 10 million regions x sizes",
    ),
]
FlagShares = Annotated[
    str,
    typer.Option(
        "--flags",
        help="The largest relative errors of numbers that are good, and of those usable with care.",
        metavar="GOOD,CARE",
    ),
]
USUAL_FLAGS = "0.25,0.5"

NOT_SETTINGS = ("spec", "as_json")


def gather(given: Mapping[str, Any], spec: Path | None) -> dict[str, Any]:
    """Return the settings of a command: those of a file, overridden by the flags that were given."""
    from tallytree.cli.specs import read_spec

    flags = {name: value for name, value in given.items() if name not in NOT_SETTINGS and value is not None}
    if "region" in flags:
        flags["regions"] = flags.pop("region")
    return {**(read_spec(spec) if spec else {}), **flags}
