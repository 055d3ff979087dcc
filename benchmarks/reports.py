"""How fast are intervals and a report? ``python -m benchmarks.reports [--out FILE]``.

The release of a whole nation gets its intervals, is written as a page, and opened in headless Chromium.
Opening takes turns with an empty page of as many bytes: what a browser needs for a file of that size whatever
is in it.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING

import tallytree as tt
from benchmarks import records
from benchmarks.records import Data, write_seconds, write_table
from benchmarks.timing import best, time_call
from tallytree.datasets.invented import generate_nation
from tallytree.intervals.replicates import REPLICATES
from tallytree.report.report_page import write_report
from tallytree.sizes import count_sizes

if TYPE_CHECKING:
    from playwright.sync_api import Browser

TURNS = 7
MOST_FOR_INTERVALS = 30.0
MOST_TO_WRITE = 20.0
MOST_TO_OPEN = 3.0
MOST_BYTES = 10_000_000
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
INTRODUCTION = """\
A release of {regions:,} regions x {sizes:,} sizes ({mechanism}, epsilon 1) is given intervals from
{replicates} replicates, once. Its report is written {turns} times, of which the fastest counts, and opened
{turns} times in headless Chromium, in turns with an empty page of as many bytes; medians. A report is usable
when its explorer is drawn and answers a search; an empty page, when it has loaded. This page is written by
the run that measured it."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and write the page; returns the exit code."""
    options = records.make_parser("reports", "REPORT.md", __doc__).parse_args(arguments)
    release = tt.release(generate_nation(), epsilon="1")
    from playwright.sync_api import sync_playwright

    browser_path = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if browser_path is None:
        raise SystemExit("There is no Chromium: scripts/install-system-packages installs it.")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
        records.publish("reports", measure(release, TURNS, browser), write_page, options.out)
        browser.close()
    return 0


def measure(release: tt.Release, turns: int, browser: Browser, replicates: int = REPLICATES) -> Data:
    """The data, from ``turns`` turns."""
    facts = records.list_facts("make report-bench")
    with tempfile.TemporaryDirectory() as folder:
        making, complete = time_call(lambda: tt.add_intervals(release, replicates=replicates))
        complete.save(Path(folder) / "release")
        file = Path(folder) / "report.html"
        # Read anew each time, as the command does.
        writing = best(
            [
                time_call(lambda: write_report(tt.load(Path(folder) / "release"), file))[0]
                for _ in range(turns)
            ]
        )
        size = file.stat().st_size
        opening, empty = measure_opening(file, turns, browser)
    return {
        "facts": facts,
        "regions": release.hierarchy.region_count,
        "sizes": count_sizes(release.sizes),
        "mechanism": release.manifest["mechanism"]["name"],
        "turns": turns,
        "replicates": replicates,
        "s": {"intervals": making.seconds, "write": writing.seconds, "open": opening, "open empty": empty},
        "bytes": size,
        "ratio": opening / empty,
    }


def write_page(data: Data) -> str:
    """The page."""
    spent, size = data["s"], data["bytes"]
    steps = [
        ("make the intervals", "intervals", MOST_FOR_INTERVALS),
        ("read the release, check it, write the report", "write", MOST_TO_WRITE),
        ("open it until it is usable", "open", MOST_TO_OPEN),
        ("open an empty page of that size", "open empty", None),
    ]
    rows = [
        (what, write_seconds(spent[step]), "" if most is None else f"{most:.0f}")
        for what, step, most in steps
    ]
    verdicts = [
        ("intervals in half a minute", spent["intervals"] < MOST_FOR_INTERVALS),
        ("written in time", spent["write"] < MOST_TO_WRITE),
        ("usable in time", spent["open"] < MOST_TO_OPEN),
        ("below 10 MB", size < MOST_BYTES),
    ]
    return records.join_parts(
        "# Intervals and the report: how fast",
        INTRODUCTION.format_map(data),
        write_table(["", "seconds", "at most"], rows),
        f"The report has {size / 1e6:.2f} MB, and takes {data['ratio']:.1f} times as long to be usable as "
        "the empty page.",
        "\n".join(f"- {what}: {'yes' if held else '**no**'}" for what, held in verdicts),
        records.write_facts(data),
    )


def measure_opening(file: Path, turns: int, browser: Browser) -> tuple[float, float]:
    """Open the report and an empty page of its size in turns, each in a window of its own: median seconds."""
    empty = file.with_name("empty.html")
    frame = "<!doctype html><html data-ready><title>empty</title><!--{}--></html>"
    empty.write_text(frame.format("x" * (file.stat().st_size - len(frame) + 2)))
    found: dict[Path, list[float]] = {file: [], empty: []}
    for page in (file, empty):
        _open(browser, page)  # the first time is the browser's own
    for _ in range(turns):
        for page, seconds in found.items():
            seconds.append(_open(browser, page))
    return median(found[file]), median(found[empty])


def _open(browser: Browser, file: Path) -> float:
    context = browser.new_context()
    page = context.new_page()
    start = perf_counter()
    page.goto(file.as_uri())
    page.wait_for_selector("html[data-ready]")
    if page.query_selector("#query"):
        page.fill("#query", "0")
        page.wait_for_selector("#found [role=option]")
    seconds = perf_counter() - start
    context.close()
    return seconds


if __name__ == "__main__":
    sys.exit(main())
