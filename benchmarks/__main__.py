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

    from benchmarks.direct_results import draw_scaling
    from benchmarks.measuring import measure
    from benchmarks.mechanism_results import draw_runtimes
    from benchmarks.results import write_results
    from benchmarks.settings import FULL, QUICK

    report = measure(QUICK if options.quick else FULL, quick=options.quick)
    out: Path | None = options.out or (None if options.quick else RESULTS)
    if out is None:
        print(write_results(report, scaling_plot=None, runtime_plot=None), end="")
        return
    out.parent.mkdir(parents=True, exist_ok=True)
    out.with_name("scaling.svg").write_text(draw_scaling(report), encoding="utf-8")
    out.with_name("runtime.svg").write_text(draw_runtimes(report), encoding="utf-8")
    text = write_results(report, scaling_plot="scaling.svg", runtime_plot="runtime.svg")
    out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
