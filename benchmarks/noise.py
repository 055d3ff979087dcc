"""How fast is exact noise? ``python -m benchmarks.noise [--out FILE]``.

Our sampler and OpenDP's take turns in one run: per draw on one processor, and for as much noise as the Census
hierarchy takes on all of them. And whether the time of a draw tells its value.
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from pathlib import Path

from benchmarks.markdown import write_exponent, write_goals, write_megabytes, write_seconds, write_table
from benchmarks.timing import Timing, best, find_growth, one_processor, peak_memory, tell, time_call
from benchmarks.timing_leaks import BLOCK, BLOCKS, DRAWS, measure_leaks, write_leaks
from tallytree.privacy.digits import DigitNoise
from tallytree.privacy.noise import ExactNoise, OpenDPNoise
from tallytree.research.reproduction.document import Goal
from tallytree.research.reproduction.measuring import describe_machine

SCALES = (Fraction(3), Fraction(30), Fraction(1000))
REGIONS, CENSUS_SCALE = (1, 52, 3144), Fraction(3)
"""The Census hierarchy, with the cumulative query at an even split of epsilon 1."""
CENSUS_SIZES = 1000
MOST_CENSUS_TURNS = 3


@dataclass(frozen=True)
class Work:
    """How many draws of which scale."""

    scale: Fraction
    counts: tuple[int, ...]

    def run(self, noise: ExactNoise) -> None:
        """Draw it all, level by level."""
        for count in self.counts:
            noise.draw(self.scale, count, lambda done: None)


@dataclass(frozen=True)
class Draws:
    """Seconds for one draw, on one processor."""

    scale: Fraction
    ours: float
    peer: float

    @property
    def ratio(self) -> float:
        """How many times longer the peer takes."""
        return self.peer / self.ours


@dataclass(frozen=True)
class Hierarchy:
    """Noise for the Census hierarchy with so many sizes, on all processors."""

    sizes: int
    cells: int
    ours: Timing
    peer: Timing


@dataclass(frozen=True)
class NoiseReport:
    """Everything that was measured about noise."""

    turns: int
    census_turns: int
    draws: Sequence[Draws]
    hierarchies: Sequence[Hierarchy]
    """The last one is the largest."""
    peak: int
    """Bytes of the whole process at the end."""


def measure_noise(turns: int, *, draws: int, peer_draws: int, sizes: Sequence[int]) -> NoiseReport:
    """So many draws of ours and of the peer's, and hierarchies of ``sizes``, from few to many."""
    with one_processor():
        singles = []
        for scale in SCALES:
            ours, peer = _take_turns(Work(scale, (draws,)), Work(scale, (peer_draws,)), turns)
            singles.append(Draws(scale, ours.seconds / draws, peer.seconds / peer_draws))
    census_turns = min(turns, MOST_CENSUS_TURNS)
    hierarchies = []
    for n in sizes:
        work = Work(CENSUS_SCALE, tuple(regions * n for regions in REGIONS))
        hierarchies.append(Hierarchy(n, sum(work.counts), *_take_turns(work, work, census_turns)))
    return NoiseReport(turns, census_turns, singles, hierarchies, peak_memory())


def _take_turns(own: Work, peer: Work, turns: int) -> tuple[Timing, Timing]:
    ours, theirs = [], []
    own.run(DigitNoise())  # loads the kernel
    Work(peer.scale, (1,)).run(OpenDPNoise())  # and the library
    for turn in range(turns):
        tell(f"noise of scale {own.scale}, {sum(own.counts):,} draws, turn {turn + 1}")
        ours.append(time_call(lambda: own.run(DigitNoise()))[0])
        theirs.append(time_call(lambda: peer.run(OpenDPNoise()))[0])
    return best(ours), best(theirs)


LEAST_RATIO = 40
MOST_SECONDS = 1.0


def judge_noise(report: NoiseReport | None) -> list[Goal]:
    """Beside OpenDP, and for the whole hierarchy."""
    draw = f"Noise: a draw on one processor at least {LEAST_RATIO} times as fast as OpenDP's"
    whole = f"Noise for the Census hierarchy, {CENSUS_SIZES:,} sizes, within {MOST_SECONDS:.0f} s"
    if report is None:
        return [Goal.open(draw), Goal.open(whole)]
    ratio = min(single.ratio for single in report.draws)
    largest = report.hierarchies[-1]
    smaller = "" if largest.sizes >= CENSUS_SIZES else f" at {largest.sizes:,} sizes only"
    return [
        Goal(draw, f"{ratio:,.0f} times at least", ratio >= LEAST_RATIO),
        Goal(
            whole,
            f"{write_seconds(largest.ours.seconds)} s{smaller}",
            largest.ours.seconds <= MOST_SECONDS and not smaller,
        ),
    ]


def write_noise(report: NoiseReport | None) -> str:
    """The section of RESULTS.md."""
    if report is None:
        return "## Noise, beside OpenDP\n\nIt could not be measured: see the end of the page."
    return f"""## Noise, beside OpenDP

Exact two-sided geometric noise, drawn by this package (`digits`, its default) and by OpenDP (`opendp`) in
turns; the fastest of {report.turns} turns counts ({report.census_turns} for the hierarchies). More draws are
measured by `make noise` ([NOISE.md](NOISE.md)). The peak memory of the whole process was
{write_megabytes(report.peak)} MB.

One draw, on one processor:

{write_draws(report)}

The Census hierarchy ({sum(REGIONS):,} regions, scale {CENSUS_SCALE}), on all processors:

{write_hierarchies(report)}"""


def write_draws(report: NoiseReport) -> str:
    """Nanoseconds for one draw."""
    return write_table(
        ("scale", "`digits`, ns", "`opendp`, ns", "times as fast"),
        [
            (
                str(single.scale),
                f"{1e9 * single.ours:,.1f}",
                f"{1e9 * single.peer:,.0f}",
                f"**{single.ratio:,.0f}**",
            )
            for single in report.draws
        ],
    )


def write_hierarchies(report: NoiseReport) -> str:
    """Seconds for hierarchies of several sizes."""
    rows = [
        (
            f"{case.sizes:,}",
            f"{case.cells:,}",
            write_seconds(case.ours.seconds),
            f"{case.ours.processors:.1f}",
            write_seconds(case.peer.seconds),
            f"{case.peer.processors:.1f}",
            f"**{case.peer.seconds / case.ours.seconds:,.0f}**",
        )
        for case in report.hierarchies
    ]
    cells = [case.cells for case in report.hierarchies]
    growth = [
        write_exponent(find_growth(cells, [timing.seconds for timing in timings]))
        for timings in (
            [case.ours for case in report.hierarchies],
            [case.peer for case in report.hierarchies],
        )
    ]
    if any(growth):
        rows.append(("growth exponent", "", growth[0], "", growth[1], "", ""))
    header = ("sizes", "draws", "`digits` s", "processors", "`opendp` s", "processors", "times as fast")
    return write_table(header, rows)


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
