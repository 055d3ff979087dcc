"""Pages with the package's source, for links to its files: a browser would only offer to save those."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from docutils import nodes
from sphinx.addnodes import download_reference

from scripts.docs.sources import ROOT

if TYPE_CHECKING:
    from sphinx.application import Sphinx

FOLDER = "src/tallytree"


def register(app: Sphinx) -> None:
    """Write the pages, and let links lead to them."""
    app.connect("doctree-resolved", _lead_links)
    app.connect("html-collect-pages", _write_pages)


def _lead_links(app: Sphinx, document: nodes.document, name: str) -> None:
    for link in list(document.findall(download_reference)):
        path = app.env.relfn2path(link["reftarget"], name)[0]
        if path.startswith(f"{FOLDER}/") and path.endswith(".py"):
            address = app.builder.get_relative_uri(name, _name_page(path))
            link.replace_self(nodes.reference("", "", *link.children, internal=True, refuri=address))


def _write_pages(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    builder: Any = app.builder
    for file in sorted((ROOT / FOLDER).rglob("*.py")):
        path = file.relative_to(ROOT).as_posix()
        text = file.read_text(encoding="utf-8")
        code = builder.highlighter.highlight_block(text, "python", linenos=False)
        title = PurePosixPath(path).relative_to(FOLDER).as_posix()
        yield _name_page(path), {"title": title, "body": f"<h1>{title}</h1>{code}"}, "page.html"


def _name_page(path: str) -> str:
    return f"source/{path.removeprefix('src/').removesuffix('.py')}"
