"""``tallytree release``."""

from pathlib import Path
from typing import Annotated, Any

import typer

from tallytree.cli.console import Json, print_json, print_next_step, print_release, show_progress, summarize
from tallytree.cli.options import (
    DatabaseTable,
    EngineName,
    Frame,
    Group,
    Master,
    MaxQuantity,
    MaxRecords,
    MemoryLimit,
    Person,
    Quantity,
    Regions,
    RegionTable,
    Root,
    RootLevel,
    SizeRange,
    Source,
    Spec,
    SpillFolder,
    Threads,
    gather,
)

COUNTS = "A table of counts, in place of people"


def release(
    source: Source = None,
    group: Group = None,
    region: Regions = None,
    sizes: SizeRange = None,
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
    noise: Annotated[
        str | None, typer.Option(help="The exact sampler: digits or opendp.", show_default="digits")
    ] = None,
    root: Root = None,
    root_level: RootLevel = None,
    hierarchy: RegionTable = None,
    person: Person = None,
    quantity: Quantity = None,
    max_records: MaxRecords = None,
    max_quantity: MaxQuantity = None,
    frame: Frame = None,
    table: DatabaseTable = None,
    engine: EngineName = None,
    master: Master = None,
    memory_limit: MemoryLimit = None,
    spill_folder: SpillFolder = None,
    threads: Threads = None,
    size: Annotated[
        str | None,
        typer.Option(help="The column of group sizes.", show_default="size", rich_help_panel=COUNTS),
    ] = None,
    groups: Annotated[
        str | None,
        typer.Option(help="The column of numbers of groups.", show_default="groups", rich_help_panel=COUNTS),
    ] = None,
    out: Annotated[str | None, typer.Option(help="The folder to write.", metavar="DIR")] = None,
    spec: Spec = None,
    as_json: Json = False,
) -> None:
    """Release how many groups of each size there are, under differential privacy.

    SOURCE has a row for each record of a person:

        tallytree release people.parquet --group household --region state --region county \\
            --sizes 1:20 --epsilon 1 --out release

    Without --group it is a table of counts: a row for each leaf region and size, with the number of groups.

    The folder holds the counts, the noisy measurements and a manifest that says what is promised.
    """
    given = locals()
    from tallytree.folders import new_folder
    from tallytree.pipeline import release as make_release
    from tallytree.specs import ReleaseSpec, parse_budget

    parsed: dict[str, Any] = {"budget": parse_budget(budget) if budget is not None else None}
    settings = ReleaseSpec.from_values(gather({**given, **parsed}, spec))
    # The folder is made first: a place that cannot be written to must not cost any budget.
    with new_folder(Path(settings.out)) as stage, show_progress(quiet=as_json) as progress:
        made = make_release(
            settings.count(progress),
            epsilon=settings.epsilon,
            mechanism=settings.mechanism,
            budget=settings.budget,
            public_totals=settings.public_totals,
            noise=settings.noise,
            progress=progress,
        )
        made.write_into(stage)
    if as_json:
        print_json(summarize(made, settings.out))
        return
    print_release(made)
    print_next_step(settings.out)
