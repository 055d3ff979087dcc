"""How fast is exact noise? ``python -m benchmarks.noise [--out FILE]``.

Our sampler and OpenDP's take turns in one run: per draw on one processor, and for as much noise as the Census
hierarchy takes on all of them. And whether the time of a draw tells its value.
"""

import argparse
import sys
from collections.abc import Sequence
from datetime import date
from pathlib import Path

from benchmarks.goals import write_goals
from benchmarks.markdown import write_table
from benchmarks.noise_goals import judge_noise
from benchmarks.noise_measuring import CENSUS_SCALE, CENSUS_SIZES, REGIONS, measure_noise
from benchmarks.noise_results import write_draws, write_hierarchies
from benchmarks.noise_timing import BLOCK, BLOCKS, DRAWS, measure_leaks, write_leaks
from tallytree.research.reproduction.measuring import describe_machine

PAGE = Path(__file__).parent / "NOISE.md"
TURNS = 5
INTRODUCTION = """\
Exact two-sided geometric noise, drawn by this package (`digits`) and by OpenDP (`opendp`) in turns, {turns}
each ({census_turns} for the Census hierarchy); the fastest turn counts. Noise for the Census hierarchy is
{regions} regions x {sizes:,} sizes at an even split of epsilon 1, cumulative: scale {scale} at each of the 3
levels. This page is written by the run that measured it."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and write the page; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.noise", description=__doc__)
    parser.add_argument("--out", type=Path, default=PAGE, help="where to write (default: NOISE.md)")
    options = parser.parse_args(arguments)
    page = write_page(
        TURNS,
        draws=5_000_000,
        peer_draws=100_000,
        sizes=CENSUS_SIZES,
        timed_draws=DRAWS,
        timed_blocks=BLOCKS,
    )
    options.out.write_text(page, encoding="utf-8")
    return 0


def write_page(
    turns: int, *, draws: int, peer_draws: int, sizes: int, timed_draws: int, timed_blocks: int
) -> str:
    """The page, from ``turns`` turns with so many draws of ours and of the peer's."""
    machine = describe_machine(("opendp", "cryptography"))
    report = measure_noise(turns, draws=draws, peer_draws=peer_draws, sizes=[sizes])
    introduction = INTRODUCTION.format(
        turns=turns,
        census_turns=report.census_turns,
        regions=f"{sum(REGIONS):,}",
        sizes=sizes,
        scale=CENSUS_SCALE,
    )
    facts = {"Date": str(date.today()), **machine, "Command": "`make noise`"}
    return "\n\n".join(
        [
            "# Noise",
            introduction,
            write_table(["", ""], facts.items()),
            write_goals(judge_noise(report)),
            "## One draw, on one processor",
            write_draws(report),
            "## The Census hierarchy, on all processors",
            write_hierarchies(report),
            write_leaks(measure_leaks(draws=timed_draws, blocks=timed_blocks, block=BLOCK)),
            "",
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
