"""``tallytree release``."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tallytree.cli.console import (
    Json,
    describe_intervals,
    print_error,
    print_intervals,
    print_json,
    print_left_out,
    print_next_step,
    print_opening,
    print_release,
    print_text,
    print_usefulness,
    print_warning,
    publish_and_tell,
    summarize,
)
from tallytree.cli.options import (
    ClassEdges,
    DatabaseTable,
    EngineName,
    Frame,
    Group,
    GroupName,
    GroupSize,
    KeepReplicates,
    Master,
    MaxQuantity,
    MaxRecords,
    MemberName,
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
    Title,
    gather,
    parse_whole,
)
from tallytree.sizes import count_sizes

if TYPE_CHECKING:
    from tallytree.cli.specs import ReleaseSpec
    from tallytree.counts.group_counts import GroupCounts
    from tallytree.ledger.receipts import Receipt
    from tallytree.privacy.budget import Loss
    from tallytree.progress import Progress
    from tallytree.publishing.pipeline import Account, Order
    from tallytree.publishing.publisher import Release
    from tallytree.solvers.checks import Verification

PRIVACY = "Privacy and accuracy"
COUNTS = "Groups that are counted already"
LEDGER = "The ledger of budgets"

LONG_WORK = 2**26
"""Regions x sizes from which on users are told that the work will be long."""


def release(
    source: Source = None,
    group: Group = None,
    region: Regions = None,
    sizes: SizeRange = None,
    classes: ClassEdges = None,
    epsilon: Annotated[
        str | None,
        typer.Option(
            help="The privacy budget, such as 1 or 0.1; at most 1000.", metavar="E", rich_help_panel=PRIVACY
        ),
    ] = None,
    mechanism: Annotated[
        str | None,
        typer.Option(
            help="The mechanism: see 'tallytree mechanisms'.",
            metavar="NAME",
            show_default="cumulative-joint; direct-dp for whole groups and large quantities",
            rich_help_panel=PRIVACY,
        ),
    ] = None,
    budget: Annotated[
        str | None,
        typer.Option(
            help="Positive weights by which the levels share the budget.",
            metavar="LEVEL=W,...",
            show_default="evenly",
            rich_help_panel=PRIVACY,
        ),
    ] = None,
    public_totals: Annotated[
        str | None,
        typer.Option(
            help="Keep the public numbers of groups of all regions down to this level.",
            metavar="LEVEL",
            rich_help_panel=PRIVACY,
        ),
    ] = None,
    delta: Annotated[
        str | None,
        typer.Option(
            help="Draw Gaussian noise, for (epsilon, delta)-differential privacy: such as 1e-10, and at most "
            "1 / (10 x the number of groups). Needs the extra opendp.",
            metavar="D",
            rich_help_panel=PRIVACY,
        ),
    ] = None,
    rho: Annotated[
        str | None,
        typer.Option(
            help="The budget of Gaussian noise as a rho, in place of epsilon.",
            metavar="R",
            rich_help_panel=PRIVACY,
        ),
    ] = None,
    protect: Protect = None,
    total: Annotated[
        str | None,
        typer.Option(
            help="Whether the list of groups is public. private: groups may appear and vanish with a person.",
            metavar="public|private",
            show_default="private for records without a frame",
            rich_help_panel=PRIVACY,
        ),
    ] = None,
    noise: Annotated[
        str | None,
        typer.Option(
            help="The exact sampler: digits or opendp; gaussian with --delta.",
            metavar="NAME",
            show_default="digits",
            rich_help_panel=PRIVACY,
        ),
    ] = None,
    root: Root = None,
    root_level: RootLevel = None,
    hierarchy: RegionTable = None,
    person: Person = None,
    quantity: Quantity = None,
    max_records: MaxRecords = None,
    max_quantity: MaxQuantity = None,
    frame: Frame = None,
    missing: Missing = None,
    table: DatabaseTable = None,
    engine: EngineName = None,
    master: Master = None,
    memory_limit: MemoryLimit = None,
    spill_folder: SpillFolder = None,
    threads: Threads = None,
    size: GroupSize = None,
    groups: Annotated[
        str | None,
        typer.Option(
            help="The column of numbers of groups.",
            metavar="COLUMN",
            show_default="groups",
            rich_help_panel=COUNTS,
        ),
    ] = None,
    ledger: Annotated[
        str | None,
        typer.Option(
            help="The ledger to charge: see 'tallytree ledger'.", metavar="FILE|URL", rich_help_panel=LEDGER
        ),
    ] = None,
    dataset: Annotated[
        str | None,
        typer.Option(
            help="The ledger's dataset to charge.",
            metavar="NAME",
            show_default="the only one",
            rich_help_panel=LEDGER,
        ),
    ] = None,
    label: Annotated[
        str | None,
        typer.Option(
            help="What this release is, such as 2026-02. The dataset is charged once with it, so a job that "
            "runs again cannot pay twice. Public.",
            metavar="TEXT",
            rich_help_panel=LEDGER,
        ),
    ] = None,
    owner: Annotated[
        str | None,
        typer.Option(help="Whose release it is. Public.", metavar="NAME", rich_help_panel=LEDGER),
    ] = None,
    title: Title = None,
    group_name: GroupName = None,
    member_name: MemberName = None,
    replicates: Annotated[
        int | None,
        typer.Option(
            help="Replicates of the mechanism from which intervals are made; 0 for no intervals.",
            metavar="N",
            parser=parse_whole,
            show_default="50",
        ),
    ] = None,
    keep_replicates: KeepReplicates = None,
    out: Annotated[
        str | None, typer.Option(help="The folder to write, which must be new.", metavar="DIR")
    ] = None,
    spec: Spec = None,
    as_json: Json = False,
) -> None:
    """Release counts of groups by size, under differential privacy.

    With --group, SOURCE has a row for each record of a person or, with --protect group and --size, for each
    group. Without it, SOURCE is a table of counts: a row for each leaf region and size, with the number of
    groups.

    The folder holds the counts with intervals, the noisy measurements, a manifest that says what is promised,
    and a report to read and explore. Counts, measurements and manifest appear together or not at all;
    intervals and report follow. With --ledger, the loss is charged to a dataset's budget before any noise is
    drawn. Without one nothing remembers that epsilons of several releases add up.
    """
    given = locals()
    from tallytree.cli.specs import ReleaseSpec, parse_budget
    from tallytree.ledger.receipts import read_receipt
    from tallytree.releases.statement import warn_of_epsilon

    parsed: dict[str, Any] = {"budget": parse_budget(budget) if budget is not None else None}
    settings = ReleaseSpec.from_values(gather({**given, **parsed}, spec))
    order, draft = settings.settle()
    print_warning(warn_of_epsilon(draft.epsilon))  # while there is time to think again
    account = _find_account(settings, draft.loss)
    book = account.ledger
    # Until the last word is printed: whoever is interrupted is told what was spent.
    with book.tell_what_was_spent(is_used=_is_in(settings.out)) if book else nullcontext():
        make = partial(_make, settings, order, account)
        done = publish_and_tell(
            make,
            settings.out,
            replicates=settings.replicates,
            keep_replicates=settings.keep_replicates,
            quiet=as_json,
        )
        made, charged = done.release, done.release.manifest["privacy"]["ledger"]
        if as_json:
            summary = summarize(made, done.verification, settings.out)
            print_json({**summary, "ledger": charged, **describe_intervals(made)})
            return
        print_release(made, done.verification)
        print_intervals(made)
        print_usefulness(made.usefulness, made.words)
        receipt = read_receipt(made.manifest)
        print_text(charged if receipt is None else receipt.describe())
        print_next_step(settings.out)
        print_opening(Path(settings.out))


def _make(
    settings: ReleaseSpec, order: Order, account: Account, progress: Progress
) -> tuple[Release, Verification]:
    """Count, and make the release."""
    from tallytree.publishing.pipeline import release_within

    counts = settings.count(progress)
    print_left_out(counts)
    _tell_size(counts)
    return release_within(order, counts, account, warn=print_warning, progress=progress)


def _tell_size(counts: GroupCounts) -> None:
    """Say at once, and before anything is charged, that the work will be long."""
    regions, sizes = counts.hierarchy.region_count, count_sizes(counts.sizes)
    if regions * sizes > LONG_WORK:
        print_error(
            f"{regions:,} regions x {sizes:,} sizes make {regions * sizes:,} cells: expect minutes of work "
            "and gigabytes of memory. A smaller largest size makes fewer; larger groups count at it."
        )


def _find_account(settings: ReleaseSpec, loss: Loss) -> Account:
    """What to charge. It is asked before the counting, which may take long, and charged after it."""
    from tallytree.ledger.ledger import Ledger
    from tallytree.publishing.pipeline import Account

    ledger = None if settings.ledger is None else Ledger(settings.ledger)
    account = Account(ledger, settings.dataset, settings.label, settings.owner)
    account.require(loss)
    return account


def _is_in(folder: str) -> Callable[[Receipt], bool]:
    """Whether a folder holds the release that a charge paid for."""

    def look(receipt: Receipt) -> bool:
        from tallytree.errors import FolderError
        from tallytree.ledger.receipts import read_receipt
        from tallytree.releases.manifest import parse_manifest, read_manifest
        from tallytree.releases.released import MANIFEST

        try:
            manifest = parse_manifest(read_manifest(Path(folder) / MANIFEST).decode())
            return read_receipt(manifest) == receipt
        except (OSError, UnicodeDecodeError, FolderError):
            return False

    return look
