"""The facts on the mechanisms' pages, from their classes: a page cannot say something else than the code."""

from __future__ import annotations

import re
from dataclasses import MISSING, fields
from pathlib import Path

from scripts.docs.sources import ROOT
from tallytree.mechanisms.base import Mechanism
from tallytree.mechanisms.registry import DEFAULT, MECHANISMS

FOLDER = ROOT / "docs" / "mechanisms"
START, END = "<!-- facts from the code: python -m scripts.docs -->\n", "<!-- end of facts -->\n"

SENSITIVITIES = {
    "sizes": "2m",
    "cumulative": "m min(z, K - 1)",
    "chain": "m min(z, K - 1) times the regions of the level",
}
"""Of each query at a level, with m = max_records, z = max_quantity and K sizes."""

TOTALS = {
    "unused": "the number of all groups",
    "optional": "the number of all groups and, with `public_totals`, that of every region down to a level",
    "needed": "the number of groups of every region",
}

Kind = type[Mechanism]


def list_pages() -> list[tuple[Path, list[Kind]]]:
    """Every page that has facts, with the mechanisms that they are about."""
    pages = [(FOLDER / f"{kind.name}.md", [kind]) for kind in MECHANISMS]
    return [(FOLDER / "index.md", list(MECHANISMS)), *pages]


def renew_facts(page: str, kinds: list[Kind]) -> str:
    """The page with the facts as they are now."""
    before, rest = page.split(START)
    _, after = rest.split(END)
    facts = write_overview(kinds) if len(kinds) > 1 else write_facts(kinds[0])
    return f"{before}{START}\n{facts}\n{END}{after}"


def write_facts(kind: Kind) -> str:
    """What the class says of itself, as a table."""
    rows = {
        "in the paper": _quote_symbol(kind.symbol),
        "in short": _end(kind.summary),
        "measures": f"the `{kind.query.name}` query; its sensitivity at a level is "
        f"{SENSITIVITIES[kind.query.name]}",
        "result": _describe_result(kind),
        "told as public": TOTALS[kind.region_totals]
        + ("; with a private total, nothing" if kind.private_total else ""),
        "cost": _end(kind.cost) + ("; for small problems only" if kind.small else ""),
        "options": _list_options(kind),
        "source": f"[`{_name_file(kind)}`](../../src/tallytree/{_name_file(kind)})",
        "see": _end(kind.reference),
    }
    if kind.caveat:
        rows["beware"] = _end(kind.caveat)
    return "| fact | |\n| --- | --- |\n" + "".join(
        f"| {name} | {_escape(text)} |\n" for name, text in rows.items()
    )


def write_overview(kinds: list[Kind]) -> str:
    """All mechanisms, a row each."""
    lines = [
        "| mechanism | in the paper | query | exact | consistent | cost |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for kind in kinds:
        name = f"[{kind.name}]({kind.name}.md)" + (" (default)" if kind.name == DEFAULT else "")
        cells = [
            name,
            _quote_symbol(kind.symbol),
            kind.query.name,
            _say(kind.exact),
            _say(kind.consistent),
            kind.cost,
        ]
        lines.append("| " + " | ".join(map(_escape, cells)) + " |")
    return "\n".join(lines) + "\n"


def _describe_result(kind: Kind) -> str:
    optimum = (
        "the exact optimum of its model over whole numbers" if kind.exact else "not an exact integer optimum"
    )
    sums = (
        "all conditions of a release hold" if kind.consistent else "**not consistent**: cannot make a release"
    )
    return f"{optimum}; {sums}"


def _list_options(kind: Kind) -> str:
    found = []
    for field in fields(kind):
        default = "" if field.default is MISSING else f"={field.default!r}".replace("'", '"')
        found.append(f"`{field.name}{default}`")
    return ", ".join(found) or "none"


def _name_file(kind: Kind) -> str:
    return kind.__module__.removeprefix("tallytree.").replace(".", "/") + ".py"


def _quote_symbol(symbol: str) -> str:
    return re.sub(r"\bM_\S+", lambda found: f"`{found[0]}`", symbol)


def _say(fact: bool) -> str:
    return "yes" if fact else "no"


def _end(text: str) -> str:
    return text.rstrip(".")


def _escape(text: str) -> str:
    return text.replace("|", "\\|")
