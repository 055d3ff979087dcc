"""The site: it builds without a warning, and is read and searched without a network."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from scripts.docs.sources import list_sections, write_navigation

import tallytree as tt
from tests.project.documents import DOCS, ROOT

if TYPE_CHECKING:
    from playwright.sync_api import Page

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
mathml = pytest.importorskip("scripts.docs.mathml", reason="Sphinx is not installed: tallytree[docs]")

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

pytestmark = [pytest.mark.xdist_group("site"), pytest.mark.slow]


def build(source: Path, site: Path) -> subprocess.CompletedProcess[str]:
    """As ``make docs`` does."""
    words = [
        "--quiet",
        "--fail-on-warning",
        "--keep-going",
        "-b",
        "html",
        "-c",
        str(ROOT / "scripts" / "docs"),
    ]
    return subprocess.run(
        [sys.executable, "-m", "sphinx", *words, "-d", str(site / ".trees"), str(source), str(site)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = build(ROOT, folder)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def browser_page() -> Iterator[Page]:
    with sync_api.sync_playwright() as driver:
        chromium = driver.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        yield chromium.new_page()
        chromium.close()


def test_every_page_is_there(site: Path) -> None:
    for page in DOCS.rglob("*.md"):
        assert (site / page.relative_to(ROOT)).with_suffix(".html").exists()
    for page in (ROOT / "benchmarks").glob("*.md"):
        assert (site / "benchmarks" / f"{page.stem}.html").exists()


def test_the_references_are_complete(site: Path) -> None:
    python = (site / "docs" / "api.html").read_text(encoding="utf-8")
    for name in tt.__all__:
        assert name == "__version__" or f'<span class="pre">{name}</span></code>' in python, name
    commands = (site / "docs" / "command-line.html").read_text(encoding="utf-8")
    for command in ("demo", "plan", "count", "release", "verify", "report", "audit", "ledger create"):
        assert f'id="tallytree-{command.replace(" ", "-")}"' in commands, command
    assert "--public-totals" in commands


def test_links_to_the_source_lead_to_pages(site: Path) -> None:
    text = (site / "docs" / "mechanisms" / "direct-dp.html").read_text(encoding="utf-8")
    (link,) = re.findall(r'href="([^"]*/mechanisms/direct_dp.html)"', text)
    source = (site / "docs" / "mechanisms" / link).read_text(encoding="utf-8")
    assert "DirectDP" in source
    assert "_downloads" not in text


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    """No script, style, picture or font; links that a reader may follow are fine."""
    for page in site.rglob("*.html"):
        for tag in re.findall(
            r"<(?:script|link|img|iframe|source)\b[^>]*>", page.read_text(encoding="utf-8")
        ):
            assert not re.search(r"""(?:src|href|srcset)=["']?(?:https?:)?//""", tag), (page, tag)
    for style in site.rglob("*.css"):
        assert not re.search(
            r"(?:@import|url\()\s*[\"']?(?:https?:)?//", style.read_text(encoding="utf-8")
        ), style


@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium: scripts/install-system-packages")
def test_it_reads_and_searches_from_the_disk(site: Path, browser_page: Page) -> None:
    asked: list[str] = []
    wrong: list[str] = []
    browser_page.on("request", lambda request: asked.append(request.url))
    browser_page.on("pageerror", lambda error: wrong.append(str(error)))
    browser_page.goto((site / "index.html").as_uri())
    browser_page.wait_for_url("**/docs/index.html")
    assert browser_page.title().startswith("Tallytree")
    browser_page.goto((site / "docs" / "mechanisms" / "direct-dp.html").as_uri())
    formula = browser_page.locator(".formula math").first.bounding_box()
    assert formula is not None
    assert formula["width"] > 200
    assert formula["height"] > 60
    browser_page.goto((site / "search.html").as_uri() + "?q=sensitivity")
    browser_page.locator("#search-results li a").first.wait_for(timeout=20_000)
    assert browser_page.locator("#search-results li").count() > 3
    assert asked
    assert all(url.startswith(("file:", "data:")) for url in asked), asked
    assert not wrong


def test_a_link_that_leads_nowhere_fails_the_build(tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "docs").mkdir(parents=True)
    (source / "docs" / "index.md").write_text("# Home\n\n[nowhere](nowhere.md) and [there](#nothing)\n")
    done = build(source, tmp_path / "site")
    assert done.returncode != 0
    assert "nowhere" in done.stderr
    assert "nothing" in done.stderr


def test_the_navigation_is_the_home_pages_list() -> None:
    home = (DOCS / "index.md").read_text(encoding="utf-8")
    sections = dict(list_sections(home))
    assert "start-here" in sections["Use it"]
    assert ":caption: Use it\n\nStart here <start-here>\n" in write_navigation(home)
    assert "start-here" in write_navigation("# Nothing is linked").partition(":caption: More")[2]


def test_formulas_are_mathml() -> None:
    found = mathml.write_formula(r"\hat c_i \le \tilde n^r_s")
    assert found.startswith("<math")
    assert "c\u0302" in found
    assert "n\u0303" in found
    assert "munderover" not in found
    assert "<munder" in mathml.write_formula(r"\sum_{i} x", block=True)
