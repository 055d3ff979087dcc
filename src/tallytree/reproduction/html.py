"""A page as one HTML file that needs nothing else: readable on light and dark, on paper and on a phone."""

import re
from collections.abc import Sequence
from html import escape

from tallytree.reproduction.document import (
    Block,
    Claim,
    Figure,
    Heading,
    Items,
    Note,
    Paragraph,
    Table,
)
from tallytree.reproduction.style import STYLE

MARKUP = (
    (re.compile(r"\*\*([^*]+)\*\*"), r"<strong>\1</strong>"),
    (re.compile(r"\*([^*\s][^*]*)\*"), r"<em>\1</em>"),
)
SUPERSCRIPT = re.compile(r"\bM_([A-Za-z]+)(?:\^([A-Za-z]+))?")


def write_html(blocks: Sequence[Block]) -> str:
    """The page, with a list of its sections."""
    title = next((block.text for block in blocks if isinstance(block, Heading)), "")
    sections = [block.text for block in blocks if isinstance(block, Heading) and block.level == 2]
    links = "".join(f'<a href="#{_name(text)}">{_mark(text)}</a>' for text in sections)
    head, *rest = blocks
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark">',
            f"<title>{escape(title)}</title><style>{STYLE}</style></head><body><main>",
            _write(head),
            f"<nav>{links}</nav>",
            *map(_write, rest),
            "</main></body></html>",
            "",
        ]
    )


def _write(block: Block) -> str:
    match block:
        case Heading():
            name = f' id="{_name(block.text)}"' if block.level == 2 else ""
            return f"<h{block.level}{name}>{_mark(block.text)}</h{block.level}>"
        case Paragraph():
            return f"<p>{_mark(block.text)}</p>"
        case Note():
            return f'<p class="note">{_mark(block.text)}</p>'
        case Items():
            return "<ul>" + "".join(f"<li>{_mark(text)}</li>" for text in block.texts) + "</ul>"
        case Table():
            return _write_table(block)
        case Figure():
            return (
                f'<figure id="{escape(block.name)}"><div class="scroll">{block.svg}</div>'
                f"<figcaption>{_mark(block.caption)}</figcaption></figure>"
            )
        case Claim():
            return _write_claim(block)


def _write_claim(claim: Claim) -> str:
    kind = claim.verdict.name.lower()
    why = f'<p class="why">{_mark(claim.why)}</p>' if claim.why else ""
    return (
        f'<section class="claim {kind}"><p class="said"><span class="verdict">{claim.verdict.value}</span> '
        f'{_mark(claim.claim)} <span class="where">{_mark(claim.where)}</span></p>'
        f"<p>{_mark(claim.evidence)}</p>{why}</section>"
    )


def _write_table(table: Table) -> str:
    paper = {place for place, text in enumerate(table.header) if text.startswith("paper")}

    def write(tag: str, row: Sequence[str]) -> str:
        return "".join(
            _write_cell(tag, text, numeric=place >= table.left, paper=place in paper)
            for place, text in enumerate(row)
        )

    groups: list[str] = []
    before: str | None = None
    for row in table.rows:
        first = ' class="first"' if before is not None and table.left > 1 and row[0] != before else ""
        groups.append(f"<tr{first}>{write('td', row)}</tr>")
        before = row[0]
    head, body = write("th", table.header), "".join(groups)
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _write_cell(tag: str, text: str, *, numeric: bool, paper: bool) -> str:
    kinds = " ".join(kind for kind, is_so in (("n", numeric), ("p", paper)) if is_so)
    return f'<{tag} class="{kinds}">{_mark(text)}</{tag}>' if kinds else f"<{tag}>{_mark(text)}</{tag}>"


def _mark(text: str) -> str:
    """Escaped, with its markup; the paper's symbols with their indices."""
    pieces = escape(text).split("`")
    return "".join(
        f"<code>{piece}</code>" if place % 2 else _mark_plain(piece) for place, piece in enumerate(pieces)
    )


def _mark_plain(text: str) -> str:
    for pattern, written in MARKUP:
        text = pattern.sub(written, text)
    return SUPERSCRIPT.sub(_write_symbol, text)


def _write_symbol(match: re.Match[str]) -> str:
    index, power = match.groups()
    return f"<i>M</i><sub>{index}</sub>" + (f"<sup>{power}</sup>" if power else "")


def _name(text: str) -> str:
    return re.sub("[^a-z0-9]+", "-", text.lower()).strip("-")
