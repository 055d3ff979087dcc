"""``tallytree reproduce``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tallytree.cli.console import Json, print_json, print_table, print_text, show_jobs
from tallytree.cli.options import parse_seconds, parse_whole

if TYPE_CHECKING:
    from tallytree.research.reproduction.reproduction_page import Reproduction


def reproduce(
    part: Annotated[
        str,
        typer.Argument(
            help="scalability, runtime, accuracy, table or all. All but the first use the same runs.",
            metavar="PART",
        ),
    ] = "all",
    data: Annotated[
        Path | None,
        typer.Option(
            help="A folder of public tables: county_household_sizes_2010.csv and "
            "taxi/kuo_taxi_count_of_counts.csv.gz (or the TLC's trip records in taxi/). The results reveal "
            "them: never give sensitive data. Without it, all data are invented.",
            metavar="FOLDER",
        ),
    ] = None,
    instances: Annotated[
        int | None,
        typer.Option(
            help="Runs of each mechanism at each epsilon.",
            metavar="N",
            parser=parse_whole,
            show_default="30; 3 with --quick",
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="A look in minutes: few runs, short time limits.")
    ] = False,
    timeout: Annotated[
        float | None,
        typer.Option(
            help="How long a run may take before its mechanism is given up (the paper: 1800).",
            metavar="SECONDS",
            parser=parse_seconds,
            show_default="120; with --quick 40, or 5 for mechanisms for small problems",
        ),
    ] = None,
    out: Annotated[
        Path,
        typer.Option(
            help="The folder to write. It keeps what was measured: a run that was interrupted goes on.",
            metavar="DIR",
        ),
    ] = Path("tallytree-reproduction"),
    as_json: Json = False,
) -> None:
    """Run the paper's experiments again, on public or invented data.

    Writes page.html: which of the paper's findings hold, which do not, and why; its figures and its table,
    its own numbers beside ours, and the true epsilon of each mechanism. It compares with the truth, so it
    is for public data only.
    """
    from tallytree.research.reproduction.reproduction_page import choose_settings
    from tallytree.research.reproduction.reproduction_page import reproduce as run

    settings = choose_settings(quick=quick, instances=instances, timeout=timeout)
    with show_jobs(quiet=as_json) as tell:
        made = run(
            part,
            data=data,
            settings=settings,
            quick=quick,
            out=out,
            command=_describe_command(part, data, instances, quick, timeout),
            tell=tell,
        )
    if as_json:
        print_json(_to_dict(made))
    else:
        _print(made)


def _describe_command(
    part: str, data: Path | None, instances: int | None, quick: bool, timeout: float | None
) -> str:
    """The command as anybody would type it, without the name of the folder, which is private."""
    options = [
        "--data FOLDER" if data else "",
        f"--instances {instances}" if instances is not None else "",
        "--quick" if quick else "",
        f"--timeout {timeout:g}" if timeout is not None else "",
    ]
    return " ".join(["tallytree reproduce", part, *(option for option in options if option)])


def _to_dict(made: Reproduction) -> dict[str, object]:
    from tallytree.research.reproduction.document import Claim
    from tallytree.research.reproduction.reproduction_page import PAGE

    claims = [block for block in made.blocks if isinstance(block, Claim)]
    return {
        "page": str(made.folder / PAGE),
        "claims": [
            {
                "where": claim.where,
                "claim": claim.claim,
                "verdict": claim.verdict.value,
                "evidence": claim.evidence,
                "why": claim.why,
            }
            for claim in claims
        ],
    }


def _print(made: Reproduction) -> None:
    from tallytree.research.reproduction.document import Claim, Items
    from tallytree.research.reproduction.reproduction_page import PAGE

    claims = [block for block in made.blocks if isinstance(block, Claim)]
    print_table(
        "What the paper claims, and what is found",
        ["verdict", "claim", "section"],
        [[claim.verdict.value, claim.claim, claim.where] for claim in claims],
        left=3,
    )
    short = next(block for block in made.blocks if isinstance(block, Items))
    for text in short.texts:
        print_text(f"- {text.replace('**', '').replace('`', '')}")
    print_text(f"Written: {made.folder / PAGE}")
    if made.obstacle is not None:
        print_text(f"The figures are there as SVG only. {made.obstacle}")
