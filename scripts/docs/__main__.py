"""Write what is made from the code and kept in docs/: ``python -m scripts.docs``."""

from scripts.docs.architecture_picture import draw_architecture
from scripts.docs.mechanism_facts import list_pages, renew_facts
from scripts.docs.sources import ROOT


def main() -> None:
    """Rewrite the picture, and the facts on the mechanisms' pages."""
    (ROOT / "docs" / "architecture.svg").write_text(draw_architecture(), encoding="utf-8")
    for page, kinds in list_pages():
        page.write_text(renew_facts(page.read_text(encoding="utf-8"), kinds), encoding="utf-8")


if __name__ == "__main__":
    main()
