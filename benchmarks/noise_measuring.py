"""Exact noise, ours and OpenDP's, in turns: per draw on one processor, and for whole hierarchies on all."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from benchmarks.attempts import tell
from benchmarks.memory import peak_memory
from benchmarks.timing import Timing, best, one_processor, time_call
from tallytree.privacy.digits import DigitNoise
from tallytree.privacy.noise import ExactNoise, OpenDPNoise

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
