"""The page of a ledger: what was spent on each dataset, when, by whom and for what."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

from tallytree.drawing.pictures import COLOURS
from tallytree.drawing.stacks import draw_stacks
from tallytree.files import write_whole
from tallytree.ledger.entries import Balance, Entry, name_unit, show_amount
from tallytree.ledger.ledger import Record
from tallytree.ledger.spending import (
    MOST_PERIODS,
    add_amounts,
    list_charges,
    list_spending,
    sort_by_owner,
)
from tallytree.markup import Html, embed, join, name, tag
from tallytree.report.offline_page import build_page
from tallytree.report.report_sections import tabulate

NOBODY, OTHERS = "no owner", "all others"
MOST_ROWS = 1000
"""The most charges of a dataset in its table."""


def write_ledger_page(record: Record, title: str, target: Path) -> None:
    """Write the page of a ledger that was read, and so checked, to a file; it replaces an earlier one."""
    last = record.entries[-1]
    parts = {
        "title": tag("title", title[:100]),
        "heading": name(title, most=100),
        "made": last.time.replace("T", " ")[:16],
        "entries": f"{len(record.entries):,} entries",
        "lead": _write_lead(record),
        "datasets": join(*(_write_dataset(record, balance) for balance in record.balances.values())),
    }
    page = build_page("ledger.html", parts, styles=["style.css"], scripts=[])
    write_whole(target, page.encode())


def _write_lead(record: Record) -> Html:
    text = (
        "What releases have spent of the privacy budget of each dataset. As far as the chain of hashes "
        "shows, no entry was changed or removed. The hash of the last one stands for all of them: "
    )
    return tag("p", text, tag("code", record.entries[-1].hash), class_="lead")


def _write_dataset(record: Record, balance: Balance) -> Html:
    charges = list_charges(record.entries, balance.dataset)
    key = f"dataset-{list(record.balances).index(balance.dataset)}"
    return tag(
        "section",
        tag("h2", name(balance.dataset), id=key),
        _write_figures(balance),
        *([_draw(record, balance), _tabulate_owners(balance, charges)] if charges else []),
        *(
            [_tabulate_charges(balance.dataset, charges)]
            if charges
            else [tag("p", "Nothing was charged yet.")]
        ),
        aria_labelledby=key,
    )


def _write_figures(balance: Balance) -> Html:
    share = float(balance.spent / balance.total)
    figures = [
        ("Total budget", show_amount(balance.total), name_unit(balance.unit, balance.whom)),
        ("Spent", show_amount(balance.spent), f"{share:.0%} of the total"),
        ("Remaining", show_amount(balance.remaining), f"after {balance.charges:,} charges"),
    ]
    if balance.limit is not None:
        then = "nothing was spent yet"
        if balance.period is not None:
            then = f"{show_amount(balance.spent_in_period)} spent in {balance.period}"
        figures.append((f"Limit per {balance.limit.per}", show_amount(balance.limit.amount), then))
    return tag(
        "dl",
        *(
            tag("div", tag("dt", what), tag("dd", tag("b", value), tag("span", note)))
            for what, value, note in figures
        ),
        class_="figures",
    )


def _draw(record: Record, balance: Balance) -> Html:
    """Draw what was spent in each period, by owner: those with the most have colours of their own."""
    spending = list_spending(record.entries, balance)
    if not spending:
        return Html("")
    per, unit = spending[0].period.per, name_unit(balance.unit, balance.whom)
    owners = list(sort_by_owner([entry for each in spending for entry in each.charges]))
    own = owners if len(owners) <= len(COLOURS) else owners[: len(COLOURS) - 1]
    series = {owner or NOBODY: [0.0] * len(spending) for owner in own}
    for at, each in enumerate(spending):
        for owner, charges in sort_by_owner(each.charges).items():
            shown = (owner or NOBODY) if owner in own else OTHERS
            series.setdefault(shown, [0.0] * len(spending))[at] += float(add_amounts(charges))
    limit = None
    if balance.limit is not None:
        limit = float(balance.limit.amount), f"limit {show_amount(balance.limit.amount)}"
    recent = f", the last {MOST_PERIODS}" if len(spending) == MOST_PERIODS else ""
    title = f"{unit.capitalize()} spent by {per}{recent}"
    picture = draw_stacks(title, [str(each.period) for each in spending], series, limit=limit)
    told = f"{title}: {', '.join(f'{each.period} {show_amount(each.amount)}' for each in spending)}."
    return tag("figure", embed(picture.svg, told, 'class="drawn"'), class_="chart-figure")


def _tabulate_owners(balance: Balance, charges: list[Entry]) -> Html:
    rows = [
        [
            name(owner) if owner else NOBODY,
            f"{len(own):,}",
            show_amount(add_amounts(own)),
            f"{float(add_amounts(own) / balance.total):.1%}",
        ]
        for owner, own in sort_by_owner(charges).items()
    ]
    return tabulate(f"{balance.dataset}: spent by owner", ["Owner", "Charges", "Spent", "Of the total"], rows)


def _tabulate_charges(dataset: str, charges: list[Entry]) -> Html:
    rows, spent = [], Fraction(0)
    for entry in charges:
        spent += Fraction(entry.amount)
        words = entry.words
        told = [entry.time.replace("T", " ")[:16], words.label, words.owner, words.purpose, words.release]
        rows.append(
            [f"{entry.number}", *map(name, told), show_amount(Fraction(entry.amount)), show_amount(spent)]
        )
    recent = f" (the last {MOST_ROWS:,} of {len(rows):,})" if len(rows) > MOST_ROWS else ""
    columns = ["Entry", "Time (UTC)", "Label", "Owner", "Purpose", "Release", "Charged", "Spent in all"]
    return tabulate(f"{dataset}: charges{recent}", columns, rows[-MOST_ROWS:], left=6)
