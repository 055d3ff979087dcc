"""Write what is made from the code and kept in docs/: ``python -m scripts.docs``."""

import re

from scripts.docs.api_reference import write_api_reference
from scripts.docs.architecture_picture import draw_architecture
from scripts.docs.command_reference import write_command_reference
from scripts.docs.mechanism_facts import list_pages, renew_facts
from scripts.docs.sources import ROOT

MADE = "*The rest of this page is made from the code, by `python -m scripts.docs`.*\n\n"


def write_pages() -> dict[str, str]:
    """The text of every file below docs/ that is made from the code, in whole or in part."""
    docs = ROOT / "docs"
    references = {"api.md": write_api_reference, "command-line.md": write_command_reference}
    pages = {"architecture.svg": draw_architecture()}
    for name, write in references.items():
        own = (docs / name).read_text(encoding="utf-8").partition(MADE)[0]
        text = re.sub(r"\n{3,}", "\n\n", write()).strip()
        pages[name] = f"{own}{MADE}{text}\n"
    for page, kinds in list_pages():
        text = renew_facts(page.read_text(encoding="utf-8"), kinds)
        pages[page.relative_to(docs).as_posix()] = text
    return pages


def main() -> None:
    """Rewrite the references, the picture, and the facts on the mechanisms' pages."""
    for name, text in write_pages().items():
        (ROOT / "docs" / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
