"""``tallytree release``."""

from pathlib import Path
from typing import Annotated, Any

import typer

from tallytree.cli.console import Json, print_json, print_next_step, print_release, show_progress, summarize


def release(
    source: Annotated[
        str | None, typer.Argument(help="A CSV or Parquet table of group counts.", metavar="SOURCE")
    ] = None,
    region: Annotated[
        list[str] | None,
        typer.Option("--region", help="A region column, from the top down; repeat for each level."),
    ] = None,
    size: Annotated[str | None, typer.Option(help="The column of group sizes.", show_default="size")] = None,
    groups: Annotated[
        str | None, typer.Option(help="The column of numbers of groups.", show_default="groups")
    ] = None,
    sizes: Annotated[str | None, typer.Option(help="The public range of sizes.", metavar="LOW:HIGH")] = None,
    epsilon: Annotated[str | None, typer.Option(help="The privacy budget, such as 1 or 0.1.")] = None,
    mechanism: Annotated[str | None, typer.Option(help="See 'tallytree mechanisms'.")] = None,
    budget: Annotated[
        str | None,
        typer.Option(help="Weights of the levels in the budget; even if left out.", metavar="LEVEL=W,..."),
    ] = None,
    public_totals: Annotated[
        str | None,
        typer.Option(
            help="Keep the public numbers of groups of regions down to this level.", metavar="LEVEL"
        ),
    ] = None,
    root: Annotated[str | None, typer.Option(help="The name of the root region.", show_default="all")] = None,
    root_level: Annotated[
        str | None, typer.Option(help="The name of the root's level.", show_default="root")
    ] = None,
    max_records: Annotated[
        int | None, typer.Option(help="Records that a person has at most.", show_default="1")
    ] = None,
    max_quantity: Annotated[
        int | None, typer.Option(help="The largest quantity of a record.", show_default="1")
    ] = None,
    out: Annotated[str | None, typer.Option(help="The folder to write.", metavar="DIR")] = None,
    spec: Annotated[
        Path | None,
        typer.Option(help="A TOML file with these settings; flags given as well win.", metavar="FILE"),
    ] = None,
    as_json: Json = False,
) -> None:
    """Release a table of counts under differential privacy.

    SOURCE has a row for each leaf region and size, with its number of groups:

        tallytree release counts.csv --region state --region county --sizes 1:20 --epsilon 1 --out release

    The folder holds the counts, the noisy measurements and a manifest that says what is promised.
    """
    from tallytree.folders import new_folder
    from tallytree.pipeline import release as make_release
    from tallytree.specs import ReleaseSpec, parse_budget, read_spec

    flags: dict[str, Any] = {
        "source": source,
        "regions": region,
        "size": size,
        "groups": groups,
        "sizes": sizes,
        "epsilon": epsilon,
        "mechanism": mechanism,
        "budget": parse_budget(budget) if budget is not None else None,
        "public_totals": public_totals,
        "root": root,
        "root_level": root_level,
        "max_records": max_records,
        "max_quantity": max_quantity,
        "out": out,
    }
    given = {name: value for name, value in flags.items() if value is not None}
    settings = ReleaseSpec.from_values({**(read_spec(spec) if spec else {}), **given})
    # The folder is made first: a place that cannot be written to must not cost any budget.
    with new_folder(Path(settings.out)) as stage, show_progress(quiet=as_json) as progress:
        made = make_release(
            settings.read_counts(),
            epsilon=settings.epsilon,
            mechanism=settings.mechanism,
            budget=settings.budget,
            public_totals=settings.public_totals,
            progress=progress,
        )
        made.write_into(stage)
    if as_json:
        print_json(summarize(made, settings.out))
        return
    print_release(made)
    print_next_step(settings.out)
