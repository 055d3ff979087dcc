"""Run all benchmarks: ``python -m benchmarks [--quick] [--out FILE]``.

What it needs is imported when it runs: every child process loads this module again.
"""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent


def main() -> None:
    """Measure, and write the results with pictures beside them."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a smoke run; prints the results")
    parser.add_argument("--out", type=Path, help="where to write (default: RESULTS.md beside this)")
    parser.add_argument(
        "--pages", action="store_true", help="measure nothing: write all pages anew from results.json"
    )
    options = parser.parse_args()
    if options.pages:
        for name, page in write_pages().items():
            (FOLDER / name).write_text(page, encoding="utf-8")
        return
    if not sys.platform.startswith("linux"):
        parser.error("memory and processors are measured as Linux tells them: Linux is needed")

    from benchmarks.records import publish
    from benchmarks.settings import FULL, QUICK
    from benchmarks.whole_run import draw_pictures, measure, record, write_page

    report = measure(QUICK if options.quick else FULL, quick=options.quick)
    out: Path | None = options.out or (None if options.quick else FOLDER / "RESULTS.md")
    if out is None:
        print(write_page(record(report)), end="")
        return
    out.parent.mkdir(parents=True, exist_ok=True)
    for name, picture in draw_pictures(report).items():
        out.with_name(name).write_text(picture, encoding="utf-8")
    publish("bench", record(report), write_page, out)


def write_pages() -> dict[str, str]:
    """Every page by its file name, from what was measured last."""
    from benchmarks import (
        accuracy,
        coverage,
        firms,
        noise,
        people,
        planning,
        reports,
        scale,
        startup,
        totals,
        whole_run,
    )
    from benchmarks.records import read_data

    pages: dict[str, tuple[str, Callable[[dict[str, Any]], str]]] = {
        "RESULTS.md": ("bench", whole_run.write_page),
        "ACCURACY.md": ("accuracy", accuracy.write_page),
        "COVERAGE.md": ("coverage", coverage.write_page),
        "FIRMS.md": ("firms", firms.write_page),
        "NOISE.md": ("noise", noise.write_page),
        "PEOPLE.md": ("people", people.write_page),
        "PLANNING.md": ("planning", planning.write_page),
        "REPORT.md": ("reports", reports.write_page),
        "SCALE.md": ("scale", scale.write_page),
        "STARTUP.md": ("startup", startup.write_page),
        "TOTALS.md": ("totals", totals.write_page),
    }
    return {name: write(read_data(topic)) for name, (topic, write) in pages.items()}


if __name__ == "__main__":
    main()
