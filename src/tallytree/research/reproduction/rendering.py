"""A page as one self-contained HTML file: readable in light and dark mode, on paper and on a phone."""

import re
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict

from tallytree.drawing.pictures import draw_png
from tallytree.errors import ViewError
from tallytree.files import write_whole
from tallytree.research.reproduction.document import (
    Block,
    Claim,
    Figure,
    Heading,
    Items,
    Note,
    Paragraph,
    Table,
)

# The figures as files: SVG, and PNG where it can be rendered (the extra ``png``, and a font).


def save_figures(figures: Iterable[Figure], folder: Path) -> str | None:
    """Write all figures; return why there are no PNGs, or None."""
    obstacle = None
    for figure in figures:
        write_whole(folder / f"{figure.name}.svg", figure.svg.encode())
        try:
            write_whole(folder / f"{figure.name}.png", draw_png(figure.svg))
        except ViewError as error:
            obstacle = str(error)
    return obstacle


# A page as Markdown, with its pictures in files.


def write_markdown(blocks: Sequence[Block], pictures: str) -> str:
    """Write the page as Markdown; ``pictures`` is the folder of the pictures, relative to the page."""
    parts: list[str] = []
    for block in blocks:
        text = _write_block(block, pictures)
        if isinstance(block, Claim) and parts and parts[-1].startswith("- **"):
            parts[-1] += "\n" + text  # one list
        else:
            parts.append(text)
    return "\n\n".join(parts) + "\n"


def _write_block(block: Block, pictures: str) -> str:
    match block:
        case Heading():
            return f"{'#' * block.level} {block.text}"
        case Paragraph():
            return block.text
        case Note():
            return f"> {block.text}"
        case Items():
            return "\n".join(f"- {text}" for text in block.texts)
        case Table():
            lines = [block.header, ["---"] * len(block.header), *block.rows]
            return "\n".join("| " + " | ".join(line) + " |" for line in lines)
        case Figure():
            plain = block.caption.replace("*", "")
            return f"![{plain}]({pictures}/{block.name}.svg)\n\n{block.caption}"
        case Claim():
            why = f" {block.why}" if block.why else ""
            return f"- **{block.verdict.value}** ({block.where}): {block.claim} {block.evidence}{why}"


# The style of the page: one column, muted colours, tables and pictures that scroll where they do not fit.

STYLE = """
:root{--ink:#1d2430;--soft:#5b6472;--paper:#fff;--tint:#f4f6f9;--line:#dde2ea;--link:#0b63ab;
--good:#1a7f4e;--half:#8a6100;--bad:#b3362c;--none:#5b6472}
@media(prefers-color-scheme:dark){:root{--ink:#e6e9ee;--soft:#a3acba;--paper:#14181f;--tint:#1d232d;
--line:#333c4a;--link:#7db8f0;--good:#5cc78f;--half:#e0b24a;--bad:#f08a80;--none:#a3acba}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.55 system-ui,sans-serif}
main{max-width:80rem;margin:0 auto;padding:2rem 1.25rem 5rem}
h1{font-size:2rem;line-height:1.2;margin:0 0 .75rem;letter-spacing:-.01em}
h2{font-size:1.4rem;line-height:1.25;margin:3rem 0 .75rem;padding-top:1rem;border-top:1px solid var(--line)}
h3{font-size:1.08rem;margin:2rem 0 .5rem}
p{margin:.6rem 0;max-width:46rem}
ul{margin:.6rem 0;padding-left:1.2rem;max-width:46rem}
li{margin:.4rem 0}
code{font:.88em ui-monospace,monospace;background:var(--tint);padding:.08em .3em;border-radius:3px;
overflow-wrap:anywhere}
sub,sup{font-size:.72em;line-height:0}
nav{display:flex;flex-wrap:wrap;gap:.35rem .9rem;margin:1rem 0 1.5rem;font-size:.9rem}
nav a,a{color:var(--link)}
.note{background:var(--tint);border-left:4px solid var(--half);padding:.7rem 1rem;border-radius:0 4px 4px 0}
.scroll{overflow-x:auto}
figure{margin:1.25rem 0}
figure svg{display:block;width:100%;height:auto}
figcaption{color:var(--soft);font-size:.9rem;max-width:46rem;margin-top:.4rem}
table{border-collapse:collapse;font-size:.84rem;font-variant-numeric:tabular-nums;margin:.8rem 0}
th,td{padding:.3rem .6rem;border-bottom:1px solid var(--line);text-align:left;vertical-align:top}
th{color:var(--soft);font-weight:600;vertical-align:bottom;border-bottom:2px solid var(--line)}
td.n,th.n{text-align:right}
td.n{white-space:nowrap}
td.p{color:var(--soft)}
.claim{max-width:64rem}
figure{max-width:64rem}
td:first-child,td code{white-space:nowrap}
tr.first td{border-top:2px solid var(--line)}
.claim{border:1px solid var(--line);border-left:4px solid var(--none);border-radius:4px;padding:.7rem 1rem;
margin:.8rem 0}
.claim p{margin:.35rem 0;max-width:none}
.claim .said{font-weight:600}
.claim .where{font-weight:400;color:var(--soft);font-size:.85rem}
.claim .why{color:var(--soft)}
.verdict{display:inline-block;font-size:.75rem;font-weight:700;text-transform:uppercase;letter-spacing:.04em;
color:var(--none);border:1px solid currentColor;border-radius:3px;padding:0 .4rem;margin-right:.35rem}
.holds{border-left-color:var(--good)}.holds .verdict{color:var(--good)}
.partly{border-left-color:var(--half)}.partly .verdict{color:var(--half)}
.fails{border-left-color:var(--bad)}.fails .verdict{color:var(--bad)}
@media(max-width:40rem){main{padding:1.25rem 1rem 3rem}h1{font-size:1.6rem}
table{font-size:.8rem}th,td{padding:.25rem .45rem}}
@media print{nav{display:none}.claim,figure{break-inside:avoid}}
"""


SYMBOL = re.compile(r"\bM_([A-Za-z]+)(?:\^([A-Za-z]+))?")
"""The paper's name of a mechanism, with its indices."""


class _Renderer(RendererHTML):
    """Markdown as HTML, with the paper's symbols."""

    def text(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return SYMBOL.sub(_write_symbol, super().text(tokens, idx, options, env))


_MARKDOWN = MarkdownIt("zero", renderer_cls=_Renderer).enable(["backticks", "emphasis"])
"""Code, bold and emphasized text; anything else, HTML included, is text."""


def write_html(blocks: Sequence[Block]) -> str:
    """Write the page as HTML, with a list of its sections."""
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
    """Escape a text and convert its markup."""
    return str(_MARKDOWN.renderInline(text))


def _write_symbol(match: re.Match[str]) -> str:
    index, power = match.groups()
    return f"<i>M</i><sub>{index}</sub>" + (f"<sup>{power}</sup>" if power else "")


def _name(text: str) -> str:
    return re.sub("[^a-z0-9]+", "-", text.lower()).strip("-")
