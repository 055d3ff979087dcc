"""``tallytree ledger``: create, show, verify."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from tallytree.cli.console import Json, print_bars, print_checks, print_json, print_table, print_text
from tallytree.cli.manuals import Group, add_command, join_lines
from tallytree.cli.options import parse_page

if TYPE_CHECKING:
    from tallytree.ledger.entries import Balance, Entry
    from tallytree.ledger.periods import Per
    from tallytree.privacy.neighbours import Protected, TotalKind

DESCRIPTION = """\
Record what was spent on each dataset, and keep it within its budget.

A ledger is a record that is only added to, and that shows tampering: a file, or a PostgreSQL database that
several people share. A release made with --ledger is charged before its noise is drawn, and refused if the
budget does not allow it.
"""

app = typer.Typer(
    name="ledger",
    cls=Group,
    help=join_lines(DESCRIPTION),
    epilog="Begin with 'tallytree ledger create --help'.",
    no_args_is_help=True,
)

Place = Annotated[
    str, typer.Argument(help="A file, or a database as postgresql://user@host/database.", metavar="FILE|URL")
]


def create(
    place: Place,
    dataset: Annotated[str, typer.Option(help="The dataset's name.", metavar="NAME")],
    epsilon: Annotated[
        str | None, typer.Option(help="Its total budget, such as 3, which can never be changed.", metavar="E")
    ] = None,
    delta: Annotated[
        str | None,
        typer.Option(
            help="For releases with Gaussian noise: the budget's delta, such as 1e-10.", metavar="D"
        ),
    ] = None,
    rho: Annotated[
        str | None, typer.Option(help="The total budget as a rho, in place of epsilon.", metavar="R")
    ] = None,
    protect: Annotated[
        str, typer.Option(help="Whose loss it bounds: a person's or a whole group's.", metavar="person|group")
    ] = "person",
    total: Annotated[
        str,
        typer.Option(
            help="With --protect group: whether the list of groups is public.", metavar="public|private"
        ),
    ] = "private",
    limit: Annotated[
        str | None,
        typer.Option(help="The most that may be spent in each period: needs --per.", metavar="E"),
    ] = None,
    per: Annotated[
        str | None,
        typer.Option(help="The period of --limit, in UTC.", metavar="month|quarter|year"),
    ] = None,
    as_json: Json = False,
) -> None:
    """Give a dataset its total budget, in a new or an existing ledger.

    Releases made with --ledger are charged to it, and refused when it is used up. With --delta the budget is
    kept as a rho of zero-concentrated differential privacy, which releases with Gaussian noise need; others
    may be charged to it too. With --limit and --per it renews: each month, quarter or year (UTC) allows so
    much of the total, and what is left of that is not carried over.
    """
    from tallytree.ledger.entries import name_unit
    from tallytree.ledger.ledger import Ledger
    from tallytree.privacy.budget import show_exact

    ledger = Ledger.create(
        place,
        dataset=dataset,
        epsilon=epsilon,
        delta=delta,
        rho=rho,
        protect=cast("Protected", protect),
        total=cast("TotalKind", total),
        limit=limit,
        per=cast("Per | None", per),
    )
    balance = ledger.balance(dataset)
    unit = name_unit(balance.unit, balance.whom)
    if as_json:
        told = {"dataset": balance.dataset, "unit": unit, "total": str(balance.total)}
        print_json({**told, **describe_limit(balance)})
        return
    each = balance.limit and f", of which at most {show_exact(balance.limit.amount)} per {balance.limit.per}"
    print_text(f"Dataset {balance.dataset} has the budget {unit} = {show_exact(balance.total)}{each or ''}.")


def describe_limit(balance: Balance) -> dict[str, str]:
    """Return the limit of a dataset for programs: nothing where there is none."""
    return {} if balance.limit is None else {"limit": str(balance.limit.amount), "per": balance.limit.per}


def show(
    place: Place,
    page: Annotated[
        Path | None,
        typer.Option(
            help="Write a page with charts, which opens offline.", metavar="FILE.html", parser=parse_page
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Show what was spent on each dataset, what is left, and every entry.

    Amounts are exact: fractions of epsilon or rho, never rounded. Bars show what was spent in each period: of
    its limit, if there is one, and else of the total. With --page, a page shows that by owner and label.
    """
    from tallytree.ledger.entries import name_unit
    from tallytree.ledger.ledger import Ledger

    ledger = Ledger(place)
    record = ledger.read()
    balances = record.balances.values()
    if page is not None:
        from tallytree.report.ledger_page import write_ledger_page

        write_ledger_page(record, ledger.title, page)
    if as_json:
        datasets: list[dict[str, Any]] = [
            {
                "dataset": balance.dataset,
                "unit": name_unit(balance.unit, balance.whom),
                "total": str(balance.total),
                "spent": str(balance.spent),
                "remaining": str(balance.remaining),
                **describe_limit(balance),
                "charges": balance.charges,
            }
            for balance in balances
        ]
        print_json({"datasets": datasets, "entries": [describe_entry(entry) for entry in record.entries]})
        return
    print_table(
        "Budgets",
        ["dataset", "unit", "total", "spent", "remaining", "charges"],
        [
            [
                b.dataset,
                name_unit(b.unit, b.whom),
                str(b.total),
                str(b.spent),
                str(b.remaining),
                f"{b.charges:,}",
            ]
            for b in balances
        ],
        left=2,
    )
    for balance in balances:
        print_spending(record.entries, balance)
    print_text("Entries (times in UTC)")
    for entry in record.entries:
        print_entry(entry)
    if page is not None:
        print_text(f"Written: {page}")


def print_entry(entry: Entry) -> None:
    """Print an entry: a line on the charge, and what it says of itself, indented, in lines that fit."""
    at, words = entry.time.replace("T", " ")[:19], entry.words
    print_text(f"{entry.number:>5}  {at}  {entry.dataset}  {entry.kind}  {entry.unit} {entry.amount}")
    named = {"label": words.label, "owner": words.owner, "release": words.release}
    told = ", ".join(f"{name} {text}" for name, text in named.items() if text)
    for text in filter(None, (told, words.purpose)):
        print_text(text, indent=7)


def print_spending(entries: Sequence[Entry], balance: Balance) -> None:
    """Print a bar for each period in which something was spent on a dataset, or between two such."""
    from tallytree.ledger.spending import list_spending
    from tallytree.privacy.budget import show_short

    spending = list_spending(entries, balance)
    if not spending:
        return
    whole, per = balance.total, spending[0].period.per
    of = f"{show_short(whole)} in all"
    if balance.limit is not None:
        whole = balance.limit.amount
        of = f"{show_short(whole)} per {per}"
    print_bars(
        f"Spent on {balance.dataset} by {per}, of {of}",
        [(str(each.period), float(each.amount / whole), show_short(each.amount)) for each in spending],
    )


def describe_entry(entry: Entry) -> dict[str, Any]:
    """Return an entry for programs: its fields as they are hashed, and what ``what`` says in parts."""
    from dataclasses import asdict

    return {**asdict(entry), **asdict(entry.words)}


def verify(
    place: Place,
    release: Annotated[
        list[Path] | None,
        typer.Option(
            help="A release folder that was charged to it; repeat for more. Without one, entries cut off at "
            "the end cannot be noticed.",
            metavar="DIR",
        ),
    ] = None,
    key: Annotated[
        Path | None,
        typer.Option(help="The public key (PEM) of --statement.", metavar="PUBLIC.pem"),
    ] = None,
    statement: Annotated[
        Path | None,
        typer.Option(
            help="A statement by 'tallytree ledger sign': the ledger must begin with what was signed.",
            metavar="FILE",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Check that no entry was changed or is missing, and that releases were paid.

    The hashes that tie the entries together are computed again, and so are the sums. The first entry that is
    wrong is named.
    """
    from tallytree.ledger.ledger import Ledger
    from tallytree.publishing.publisher import load

    ledger = Ledger(place)
    verification = ledger.verify([load(folder) for folder in release or ()], key=key, statement=statement)
    if as_json:
        print_json(verification.to_dict())
    else:
        print_checks(verification)
        print_text(
            verification.describe()
            if verification
            else "The ledger failed its checks: it was changed, or a release was not paid for."
        )
    if not verification:
        raise typer.Exit(1)


def sign(
    place: Place,
    key: Annotated[Path, typer.Option(help="Your private key (Ed25519, PEM).", metavar="KEY.pem")],
    out: Annotated[Path, typer.Option(help="The statement to write, which must be new.", metavar="FILE")],
    as_json: Json = False,
) -> None:
    """Sign what the ledger holds now, so that rewriting it later shows.

    The statement names the last entry with its hash, which stands for all entries before it. Keep it where
    those who can write to the ledger cannot reach it. 'tallytree ledger verify' with --statement and --key
    then finds entries that were cut off or written anew. Sign again from time to time: a statement says
    nothing about later entries.
    """
    from tallytree.ledger.ledger import Ledger

    Ledger(place).sign(key, out)
    if as_json:
        print_json({"statement": str(out)})
    else:
        print_text(f"Signed: {out}")


for command in (create, show, verify, sign):
    add_command(app, command)
