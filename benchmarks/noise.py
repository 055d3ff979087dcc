"""How fast is exact noise? ``python -m benchmarks.noise [--out FILE]``.

Our sampler and OpenDP's take turns in one run: per draw on one processor, and for as much noise as the Census
hierarchy takes on all of them. And whether the time of a draw tells its value.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from benchmarks import records
from benchmarks.records import Data, Table, write_megabytes, write_seconds
from benchmarks.timing import Timing, best, one_processor, peak_memory, tell, time_call
from benchmarks.timing_leaks import BLOCK, TIMED_BLOCKS, TIMED_DRAWS, measure_leaks, record_leaks, write_leaks
from tallytree.privacy.digits import DigitNoise
from tallytree.privacy.noise import ExactNoise, OpenDPNoise
from tallytree.research.reproduction.document import Goal

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


def judge(report: NoiseReport | None) -> list[Goal]:
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


DRAWS = Table[Draws](
    ("scale", lambda draws: str(draws.scale), "{}"),
    ("`digits`, ns", lambda draws: 1e9 * draws.ours, "{:,.1f}"),
    ("`opendp`, ns", lambda draws: 1e9 * draws.peer, "{:,.0f}"),
    ("times as fast", lambda draws: draws.ratio, "**{:,.0f}**"),
)
HIERARCHIES = Table[Hierarchy](
    ("sizes", lambda case: case.sizes, "{:,}"),
    ("draws", lambda case: case.cells, "{:,}"),
    ("`digits` s", lambda case: case.ours.seconds, write_seconds),
    ("`digits` processors", lambda case: case.ours.processors, "{:.1f}"),
    ("`opendp` s", lambda case: case.peer.seconds, write_seconds),
    ("`opendp` processors", lambda case: case.peer.processors, "{:.1f}"),
    ("times as fast", lambda case: case.peer.seconds / case.ours.seconds, "**{:,.0f}**"),
)


def record(report: NoiseReport) -> Data:
    """The data."""
    hierarchies = HIERARCHIES.record(report.hierarchies)
    return {
        "turns": report.turns,
        "Census turns": report.census_turns,
        "process peak": report.peak,
        "draws": DRAWS.record(report.draws),
        "hierarchies": hierarchies,
        "growth exponent": records.find_exponents(hierarchies, "draws", "`digits` s", "`opendp` s"),
    }


def write_section(data: Data | None) -> str:
    """The section of RESULTS.md."""
    if data is None:
        return "## Noise, beside OpenDP\n\nIt could not be measured: see the end of the page."
    return f"""## Noise, beside OpenDP

Exact two-sided geometric noise, drawn by this package (`digits`, its default) and by OpenDP (`opendp`) in
turns; the fastest of {data["turns"]} turns counts ({data["Census turns"]} for the hierarchies). More draws
are measured by `make noise` ([NOISE.md](NOISE.md)). The peak memory of the whole process was
{write_megabytes(data["process peak"])} MB.

One draw, on one processor:

{DRAWS.write(data["draws"])}

The Census hierarchy ({sum(REGIONS):,} regions, scale {CENSUS_SCALE}), on all processors:

{HIERARCHIES.write(data["hierarchies"], data["growth exponent"])}"""


TURNS = 5


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and write the page; returns the exit code."""
    options = records.make_parser("noise", "NOISE.md", __doc__).parse_args(arguments)
    data = measure(
        TURNS,
        draws=5_000_000,
        peer_draws=100_000,
        sizes=CENSUS_SIZES,
        timed_draws=TIMED_DRAWS,
        timed_blocks=TIMED_BLOCKS,
    )
    records.publish("noise", data, write_page, options.out)
    return 0


def measure(
    turns: int, *, draws: int, peer_draws: int, sizes: int, timed_draws: int, timed_blocks: int
) -> Data:
    """The data of the page, from ``turns`` turns with so many draws of ours and of the peer's."""
    facts = records.list_facts("make noise", ("opendp", "cryptography"))
    report = measure_noise(turns, draws=draws, peer_draws=peer_draws, sizes=[sizes])
    return {
        "facts": facts,
        "goals": records.GOALS.record(judge(report)),
        **record(report),
        "leaks": record_leaks(measure_leaks(draws=timed_draws, blocks=timed_blocks, block=BLOCK)),
    }


def write_page(data: Data) -> str:
    """The page."""
    introduction = f"""\
Exact two-sided geometric noise, drawn by this package (`digits`) and by OpenDP (`opendp`) in turns,
{data["turns"]} each ({data["Census turns"]} for the Census hierarchy); the fastest turn counts. Noise for
the Census hierarchy is {sum(REGIONS):,} regions x {CENSUS_SIZES:,} sizes at an even split of epsilon 1,
cumulative: scale {CENSUS_SCALE} at each of the 3 levels. This page is written by the run that measured it."""
    return records.join_parts(
        "# Noise",
        introduction,
        records.write_facts(data),
        records.GOALS.write(data["goals"]),
        "## One draw, on one processor",
        DRAWS.write(data["draws"]),
        "## The Census hierarchy, on all processors",
        HIERARCHIES.write(data["hierarchies"], data["growth exponent"]),
        write_leaks(data["leaks"]),
    )


if __name__ == "__main__":
    sys.exit(main())
