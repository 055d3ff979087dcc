"""What is added to pages when the site is built: the navigation, and the references made from the code."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from scripts.docs.api_reference import write_api_reference
from scripts.docs.command_reference import write_command_reference

if TYPE_CHECKING:
    from sphinx.application import Sphinx

ROOT = Path(__file__).parents[2]
HOME = "docs/index"
MORE = "More"

MADE: dict[str, Callable[[], str]] = {
    "docs/command-line": write_command_reference,
    "docs/api": write_api_reference,
}
MARKER = "<!-- The site has it here. -->"

FOREIGN_NAMES = [("py:.*", r"(?!tallytree\.[A-Za-z_]+$).*")]
"""Types in signatures that have no page here: those of other libraries, and inner ones."""


def complete(app: Sphinx, name: str, text: list[str]) -> None:
    """Sphinx calls this with every page that it reads."""
    if name == HOME:
        text[0] += write_navigation(text[0], ROOT / "docs")
    elif name in MADE:
        text[0] = text[0].replace(MARKER, MADE[name]())


def write_navigation(home: str, docs: Path) -> str:
    """The tables of contents: the links of the home page's sections, then the pages that it leaves out."""
    sections = dict(list_sections(home))
    linked = {page for pages in sections.values() for page in pages}
    there = sorted(page.relative_to(docs).as_posix() for page in docs.rglob("*.md"))
    sections[MORE] = [page for page in there if page not in linked and page != "index.md"]
    return "".join(_write_contents(title, pages) for title, pages in sections.items() if pages)


def list_sections(home: str) -> list[tuple[str, list[str]]]:
    """The titles of the home page's sections, and which pages each links to in its list."""
    found = []
    for section in re.split(r"^## ", home, flags=re.MULTILINE)[1:]:
        pages = re.findall(r"^- \[[^]]+\]\(([^)#]+\.md)\)", section, re.MULTILINE)
        if pages:
            found.append((section.splitlines()[0], pages))
    return found


def _write_contents(title: str, pages: list[str]) -> str:
    lines = "\n".join(page.removesuffix(".md") for page in pages)
    return f"\n\n```{{toctree}}\n:hidden:\n:caption: {title}\n\n{lines}\n```\n"
