"""``tallytree count``."""

from pathlib import Path
from typing import Annotated

import typer

from tallytree.cli.console import Json, print_json, print_left_out, print_text, show_progress
from tallytree.cli.options import (
    ClassEdges,
    DatabaseTable,
    EngineName,
    Frame,
    Group,
    GroupSize,
    Master,
    MaxQuantity,
    MaxRecords,
    MemoryLimit,
    Missing,
    Person,
    Protect,
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
from tallytree.sizes import show_sizes, state_sizes


def count(
    source: Source = None,
    group: Group = None,
    region: Regions = None,
    sizes: SizeRange = None,
    classes: ClassEdges = None,
    protect: Protect = None,
    size: GroupSize = None,
    person: Person = None,
    quantity: Quantity = None,
    max_records: MaxRecords = None,
    max_quantity: MaxQuantity = None,
    frame: Frame = None,
    missing: Missing = None,
    hierarchy: RegionTable = None,
    root: Root = None,
    root_level: RootLevel = None,
    table: DatabaseTable = None,
    engine: EngineName = None,
    master: Master = None,
    memory_limit: MemoryLimit = None,
    spill_folder: SpillFolder = None,
    threads: Threads = None,
    out: Annotated[
        str | None,
        typer.Option(
            help="The file to write: .parquet, or .csv with the word sensitive in its name.", metavar="FILE"
        ),
    ] = None,
    spec: Spec = None,
    as_json: Json = False,
) -> None:
    """Count groups of people, without noise: the result is sensitive.

    SOURCE has a row for each record of a person: files (CSV, Parquet) or a table of a database,
    which does the counting itself. This is the first half of 'tallytree release', for when counting and
    releasing are done in different places. The file is for its owner alone to read, and remembers which
    bounds were enforced.
    """
    given = locals()
    from tallytree.cli.specs import CountSpec
    from tallytree.counts.count_files import WARNING, check_count_file, write_counts
    from tallytree.files import new_file
    from tallytree.privacy.neighbours import GROUPS_FROM_DATA

    settings = CountSpec.from_values(gather(given, spec))
    path = Path(settings.out)
    check_count_file(path, settings.regions)
    # The file is made first: a place that cannot be written to is found out before any work is done.
    with new_file(path, is_private=True) as file, show_progress(quiet=as_json) as progress:
        counts = settings.count(progress)
        print_left_out(counts)
        write_counts(counts, file, as_csv=path.name.lower().endswith(".csv"))
    leaves = counts.hierarchy.leaf_count
    # Whether the list of groups is public is decided when they are released.
    assumed = [note for note in counts.assumptions if note != GROUPS_FROM_DATA]
    if as_json:
        facts = {"file": settings.out, "sensitive": True, "leaves": leaves}
        print_json({**facts, **state_sizes(counts.sizes), "assumed": assumed})
        return
    print_text(f"Written to {settings.out}: {leaves:,} leaf regions, sizes {show_sizes(counts.sizes)}.")
    print_text(WARNING)
    for note in assumed:
        print_text(f"Note: {note}")
