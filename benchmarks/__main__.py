"""Run all benchmarks: ``python -m benchmarks [--quick] [--out FILE]``.

What it needs is imported when it runs: every child process loads this module again.
"""

import argparse
import sys
from pathlib import Path

RESULTS = Path(__file__).parent / "RESULTS.md"


def main() -> None:
    """Measure, and write the results with pictures beside them."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a smoke run; prints the results")
    parser.add_argument("--out", type=Path, help="where to write (default: RESULTS.md beside this)")
    options = parser.parse_args()
    if not sys.platform.startswith("linux"):
        parser.error("memory and processors are measured as Linux tells them: Linux is needed")

    from benchmarks.settings import FULL, QUICK
    from benchmarks.whole_run import draw_pictures, measure, write_results

    report = measure(QUICK if options.quick else FULL, quick=options.quick)
    out: Path | None = options.out or (None if options.quick else RESULTS)
    if out is None:
        print(write_results(report, pictures=False), end="")
        return
    out.parent.mkdir(parents=True, exist_ok=True)
    for name, picture in draw_pictures(report).items():
        out.with_name(name).write_text(picture, encoding="utf-8")
    out.write_text(write_results(report, pictures=True), encoding="utf-8")


if __name__ == "__main__":
    main()
