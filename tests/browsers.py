"""Offline pages in a real browser: opened, listened to, and checked for accessibility."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Dialog, Page

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
axe_core = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed")

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

IN_BROWSER = [
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium: scripts/install-system-packages"),
    pytest.mark.xdist_group("browser"),
]

DESK, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}


class Visit:
    """A page that is open, with what it said and asked for."""

    def __init__(self, page: Page, file: Path) -> None:
        self.page = page
        self.said: list[str] = []
        self.asked: list[str] = []
        page.on("console", lambda message: self.said.append(message.text))
        page.on("pageerror", lambda error: self.said.append(str(error)))
        page.on("dialog", self._close)
        page.on("request", lambda request: self.asked.append(request.url))
        page.goto(file.as_uri())
        page.wait_for_selector("html[data-ready]", timeout=30_000)

    def _close(self, dialog: Dialog) -> None:
        self.said.append(dialog.message)
        dialog.dismiss()

    def text(self, selector: str) -> str:
        return self.page.inner_text(selector)

    def download(self, button: str) -> str:
        """The file that a button downloads; its name is ``file_name`` then."""
        with self.page.expect_download() as waiting:
            self.page.click(button)
        self.file_name = waiting.value.suggested_filename
        return Path(waiting.value.path()).read_bytes().decode()


@contextmanager
def launch() -> Iterator[Browser]:
    with sync_api.sync_playwright() as driver:
        chromium = driver.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        yield chromium
        chromium.close()


Kind = TypeVar("Kind", bound=Visit)


class Visits(Generic[Kind]):
    """Opens pages; at the end, nothing was said on the console and nothing was asked for."""

    def __init__(
        self, kind: Callable[[Page, Path], Kind], browser: Browser, files: Mapping[str, Path]
    ) -> None:
        self.kind, self.browser, self.files = kind, browser, files
        self.made: list[Kind] = []

    def __call__(
        self, name: str = "plain", *, size: dict[str, int] = DESK, dark: bool = False, **options: Any
    ) -> Kind:
        context = self.browser.new_context(
            viewport={"width": size["width"], "height": size["height"]},
            color_scheme="dark" if dark else "light",
            offline=True,
            accept_downloads=True,
            **options,
        )
        self.made.append(self.kind(context.new_page(), self.files[name]))
        return self.made[-1]

    def close(self) -> None:
        for each in self.made:
            assert each.said == []
            assert [
                address for address in each.asked if not address.startswith(("file:", "blob:", "data:"))
            ] == []
            assert sum(address.startswith("file:") for address in each.asked) == 1
            each.page.context.close()


def find_axe_violations(page: Page) -> list[str]:
    results = axe_core.Axe().run(page).response
    return [
        f"{violation['id']}: {node['html'][:200]} {node.get('failureSummary', '')[:200]}"
        for violation in results["violations"]
        for node in violation["nodes"]
    ]
