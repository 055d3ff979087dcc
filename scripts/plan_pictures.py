"""Take the pictures of the page for choosing epsilon: ``python -m scripts.plan_pictures [--out FOLDER]``.

The page is made for an invented nation, opened in headless Chromium, and its slider moved.
"""

import argparse
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import tallytree as tt
from tallytree.datasets.invented import generate_nation
from tallytree.planning.release_settings import list_settings

FOLDER = Path(__file__).parent.parent / "pictures"
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
VIEW = {"width": 1180, "height": 1060}
EPSILONS = {"plan-private.png": "0.1", "plan-accurate.png": "2"}
"""The pictures, and where the slider stands on them."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Make the page and take the pictures; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m scripts.plan_pictures", description=__doc__)
    parser.add_argument("--out", type=Path, default=FOLDER, help="the folder to write (default: pictures)")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "plan.html"
        advice = tt.advise(generate_nation(sizes=(1, 10)), epsilon="1", goal="county<=1%")
        words = tt.Words(group="household", member="person/people")
        settings = list_settings(advice.stand_in, words=words)
        advice.write_page(page, source="an invented nation", settings=settings)
        take_pictures(page, options.out)
    return 0


def take_pictures(page: Path, folder: Path) -> None:
    """Open the page, and take a picture of what is seen first at each epsilon."""
    from playwright.sync_api import sync_playwright

    browser_path = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if browser_path is None:
        raise SystemExit("There is no Chromium: scripts/install-system-packages installs it.")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
        view = browser.new_page(viewport={"width": VIEW["width"], "height": VIEW["height"]})
        view.goto(page.as_uri())
        view.wait_for_selector("html[data-ready]")
        for name, epsilon in EPSILONS.items():
            view.focus("#epsilon")
            view.keyboard.press("Home")
            while view.inner_text("#epsilon-value") != epsilon:
                view.keyboard.press("ArrowRight")
            view.evaluate("document.activeElement.blur()")
            view.screenshot(path=folder / name)
        browser.close()


if __name__ == "__main__":
    sys.exit(main())
