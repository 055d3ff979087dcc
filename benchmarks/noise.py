"""How fast is exact noise? ``python -m benchmarks.noise [--out FILE]``.

Our sampler and OpenDP's take turns in one run: per draw on one processor, and for as much noise as the Census
hierarchy takes on all of them.
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from importlib.metadata import version
from pathlib import Path

from benchmarks.machine import describe_machine
from benchmarks.markdown import write_seconds, write_table
from benchmarks.timing import Timing, best, one_processor, time_call
from tallytree.privacy.digit_noise import DigitNoise
from tallytree.privacy.noise import ExactNoise, OpenDPNoise

PAGE = Path(__file__).parent / "NOISE.md"
SCALES = (Fraction(3), Fraction(30), Fraction(1000))
REGIONS, SIZES, CENSUS_SCALE = (1, 52, 3144), 1000, Fraction(3)
TURNS = 5
LEAST_RATIO = 40
MOST_SECONDS = 1.0
INTRODUCTION = """\
Exact two-sided geometric noise, drawn by this package (`digits`) and by OpenDP (`opendp`) in turns, {turns}
each ({census_turns} for the Census hierarchy); the fastest turn counts. Noise for the Census hierarchy is
{regions} regions x {sizes:,} sizes at an even split of epsilon 1, cumulative: scale {scale} at each of the 3
levels. This page is written by the run that measured it."""


@dataclass(frozen=True)
class Work:
    """How many draws of which scale."""

    scale: Fraction
    counts: tuple[int, ...]

    def run(self, noise: ExactNoise) -> None:
        """Draw it all, level by level."""
        for count in self.counts:
            noise.draw(self.scale, count, lambda done: None)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and write the page; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.noise", description=__doc__)
    parser.add_argument("--out", type=Path, default=PAGE, help="where to write (default: NOISE.md)")
    options = parser.parse_args(arguments)
    options.out.write_text(
        write_page(TURNS, draws=5_000_000, peer_draws=100_000, sizes=SIZES), encoding="utf-8"
    )
    return 0


def write_page(turns: int, *, draws: int, peer_draws: int, sizes: int) -> str:
    """The page, from ``turns`` turns with so many draws of ours and of the peer's."""
    machine = describe_machine()
    machine["Packages"] += "".join(f", {name} {version(name)}" for name in ("opendp", "cryptography"))
    with one_processor():
        pairs = [
            _take_turns(Work(scale, (draws,)), Work(scale, (peer_draws,)), turns=turns) for scale in SCALES
        ]
    ours = [pair[0].seconds / draws for pair in pairs]
    theirs = [pair[1].seconds / peer_draws for pair in pairs]
    census = Work(CENSUS_SCALE, tuple(regions * sizes for regions in REGIONS))
    census_turns = min(turns, 3)
    census_ours, census_theirs = _take_turns(census, census, turns=census_turns)
    facts = {"Date": str(date.today()), **machine, "Command": "`make noise`"}
    ratio = min(other / own for own, other in zip(ours, theirs, strict=True))
    goals = [
        [
            f"A draw on one processor at least {LEAST_RATIO} times as fast as OpenDP's",
            f"{ratio:,.0f} times at least",
            _say(ratio >= LEAST_RATIO),
        ],
        [
            f"Noise for the Census hierarchy within {MOST_SECONDS:.0f} s",
            f"{write_seconds(census_ours.seconds)} s",
            _say(census_ours.seconds <= MOST_SECONDS),
        ],
    ]
    per_draw = [
        [str(scale), f"{1e9 * own:,.1f}", f"{1e9 * other:,.0f}", f"{other / own:,.0f}"]
        for scale, own, other in zip(SCALES, ours, theirs, strict=True)
    ]
    whole = [
        [name, write_seconds(timing.seconds), f"{timing.processors:.1f}"]
        for name, timing in (("`digits`", census_ours), ("`opendp`", census_theirs))
    ]
    introduction = INTRODUCTION.format(
        turns=turns,
        census_turns=census_turns,
        regions=f"{sum(REGIONS):,}",
        sizes=sizes,
        scale=CENSUS_SCALE,
    )
    return "\n\n".join(
        [
            "# Noise",
            introduction,
            write_table(["", ""], facts.items()),
            write_table(["goal", "measured", "met"], goals),
            "## One draw, on one processor",
            write_table(["scale", "`digits`, ns", "`opendp`, ns", "times as fast"], per_draw),
            "## The Census hierarchy, on all processors",
            write_table(["noise", "seconds", "processors kept busy"], whole),
            "",
        ]
    )


def _take_turns(own: Work, peer: Work, *, turns: int) -> tuple[Timing, Timing]:
    ours, theirs = [], []
    own.run(DigitNoise())  # loads the kernel
    for turn in range(turns):
        print(f"scale {own.scale}, turn {turn + 1}", file=sys.stderr, flush=True)
        ours.append(time_call(lambda: own.run(DigitNoise()))[0])
        theirs.append(time_call(lambda: peer.run(OpenDPNoise()))[0])
    return best(ours), best(theirs)


def _say(met: bool) -> str:
    return "yes" if met else "**no**"


if __name__ == "__main__":
    sys.exit(main())
