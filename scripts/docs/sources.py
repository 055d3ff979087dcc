"""What is added to pages when the site is built: the navigation."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from posixpath import normpath
from typing import TYPE_CHECKING

from tallytree import list_mechanisms

if TYPE_CHECKING:
    from sphinx.application import Sphinx

ROOT = Path(__file__).parents[2]
HOME = "docs/index"
MORE = "More"


def complete(app: Sphinx, name: str, text: list[str]) -> None:
    """Sphinx calls this with every page that it reads."""
    if name == HOME:
        text[0] += write_navigation(text[0])
    elif below := list_pages_below().get(name):
        text[0] += _write_contents("", dict.fromkeys(below, ""))


def list_pages_below() -> dict[str, list[str]]:
    """The pages that stand below another one in the navigation, as paths from that one."""
    return {
        "docs/mechanisms/index": list_mechanisms(),
        "docs/audit": ["audit-results"],
        "docs/reproduction": ["reproduction/page"],
        "docs/performance": [
            f"../benchmarks/{page.stem}" for page in sorted((ROOT / "benchmarks").glob("*.md"))
        ],
    }


def write_navigation(home: str) -> str:
    """The tables of contents: the links of the home page's sections, then the pages that nothing leads to."""
    sections = dict(list_sections(home))
    known = {HOME} | {_resolve(HOME, page) for pages in sections.values() for page in pages}
    known |= {_resolve(upper, page) for upper, pages in list_pages_below().items() for page in pages}
    docs = ROOT / "docs"
    there = sorted(page.relative_to(docs).with_suffix("").as_posix() for page in docs.rglob("*.md"))
    sections[MORE] = {page: "" for page in there if _resolve(HOME, page) not in known}
    return "".join(_write_contents(title, pages) for title, pages in sections.items() if pages)


def list_sections(home: str) -> list[tuple[str, dict[str, str]]]:
    """The titles of the home page's sections, and the pages that each lists, with their short names."""
    found = []
    for section in re.split(r"^## ", home, flags=re.MULTILINE)[1:]:
        links = re.findall(r"^- \[([^]]+)\]\(([^)#]+)\.md\)", section, re.MULTILINE)
        if links:
            found.append((section.splitlines()[0], {page: name for name, page in links}))
    return found


def _resolve(page: str, link: str) -> str:
    return normpath(f"{page}/../{link}")


def _write_contents(title: str, pages: Mapping[str, str]) -> str:
    caption = f":caption: {title}\n" if title else ""
    lines = [f"{name} <{page}>" if name else page for page, name in pages.items()]
    return f"\n\n```{{toctree}}\n:hidden:\n{caption}\n" + "\n".join(lines) + "\n```\n"
