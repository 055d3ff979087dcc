"""Does the time that a draw takes tell its value?

Jin, McMurtry, Rubinstein and Ohrimenko (*Are We There Yet?*, IEEE S&P 2022) time the draws of samplers whose
loops run the longer, the larger the value is, and so narrow down the noise. Here the samplers of releases are
timed from outside, as such an attacker would time them: single draws, and blocks of them.
"""

import gc
import math
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt
from scipy import stats

from benchmarks.records import Data, Table
from benchmarks.timing import one_processor, tell
from tallytree.privacy.digits import DigitNoise
from tallytree.privacy.noise import Fill, OpenDPNoise

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
SCALES = (Fraction(1), Fraction(10), Fraction(1000))
TIMED_DRAWS, TIMED_BLOCKS, BLOCK = 50_000, 3000, 200
"""Single draws of each sampler and scale; blocks, and the draws in a block."""
WARM_UP = 100
SURE = 4
"""Standard errors from which on a correlation is called a leak."""


@dataclass(frozen=True)
class Leak:
    """What the times of draws tell about their sizes, each with its standard error.

    The size of a draw is its absolute value, that of a block the sum of these.
    """

    draws: int
    median: float
    """Nanoseconds."""
    correlation: float
    """Between the ranks of sizes and times (Spearman)."""
    slope: float
    slope_error: float
    """Nanoseconds for a unit of size."""
    guessed: float
    guessed_error: float
    """How often it is guessed from the time whether a size is among the larger half; 1/2 without a leak."""

    @property
    def correlation_error(self) -> float:
        """Where there is none."""
        return 1 / math.sqrt(self.draws - 1)


@dataclass(frozen=True)
class TimedScale:
    """The leaks of samplers, by name, at a scale."""

    scale: Fraction
    draws_at_once: int
    leaks: Mapping[str, Leak]


def measure_leaks(*, draws: int, blocks: int, block: int) -> list[TimedScale]:
    """Time so many single draws of every sampler and scale, and then so many blocks of draws."""
    found = []
    with one_processor(), _no_collections():
        for scale in SCALES:
            tell(f"the time of single draws of scale {scale}")
            samplers = {**_list_samplers(scale), "counting (control)": count_up(scale)}
            found.append(TimedScale(scale, 1, _time_in_turns(samplers, draws, 1)))
        for scale in SCALES:
            tell(f"the time of blocks of draws of scale {scale}")
            found.append(TimedScale(scale, block, _time_in_turns(_list_samplers(scale), blocks, block)))
    return found


def _list_samplers(scale: Fraction) -> dict[str, Fill]:
    return {"digits": DigitNoise().prepare(scale), "opendp": OpenDPNoise().prepare(scale)}


def count_up(scale: Fraction) -> Fill:
    """A sampler that gives its values away, which must be seen: it counts up to them, one by one."""
    ratio = math.exp(-1 / float(scale))

    def count() -> int:
        steps = 0
        while random.random() < ratio:
            steps += 1
        return steps

    def fill(out: Ints) -> None:
        for place in range(len(out)):
            out[place] = count() * random.choice((-1, 1))

    return fill


@contextmanager
def _no_collections() -> Iterator[None]:
    """Nothing that would hide a leak and can be helped."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _time_in_turns(samplers: Mapping[str, Fill], turns: int, count: int) -> dict[str, Leak]:
    """Each sampler fills an array of ``count`` draws in every turn."""
    sizes = {name: np.empty(turns) for name in samplers}
    times = {name: np.empty(turns) for name in samplers}
    out = np.empty(count, dtype=np.int64)
    for turn in range(-WARM_UP, turns):
        for name, fill in samplers.items():
            start = time.perf_counter_ns()
            fill(out)
            taken = time.perf_counter_ns() - start
            if turn >= 0:
                sizes[name][turn], times[name][turn] = np.abs(out).sum(), taken
    return {name: find_leak(sizes[name], times[name]) for name in samplers}


def find_leak(sizes: Floats, times: Floats) -> Leak:
    """Whether large draws take longer, or shorter."""
    is_large = split_sizes(sizes)
    slope, slope_error = find_slope(sizes, times, is_large)
    guessed, guessed_error = guess_sizes(is_large, times)
    return Leak(
        draws=len(sizes),
        median=float(np.median(times)),
        correlation=float(stats.spearmanr(sizes, times).statistic),
        slope=slope,
        slope_error=slope_error,
        guessed=guessed,
        guessed_error=guessed_error,
    )


def split_sizes(sizes: Floats) -> Bools:
    """Whether each is in the larger half, or in what is nearest to a half with whole numbers."""
    ranked = np.sort(sizes)
    edges = np.unique(ranked)[1:] if ranked[0] < ranked[-1] else ranked[:1]
    larger: Bools = sizes >= edges[np.argmin(np.abs(np.searchsorted(ranked, edges) - len(ranked) / 2))]
    return larger


def find_slope(sizes: Floats, times: Floats, is_large: Bools) -> tuple[float, float]:
    """Nanoseconds for a unit of size, and the standard error: between the larger and the smaller half.

    Of times the medians are compared, since the machine does other things as well; their errors are those of
    a normal distribution with the same quartiles.
    """
    halves = [each for each in (is_large, ~is_large) if each.any()]
    medians = [float(np.median(times[each])) for each in halves]
    variances = [math.pi / 2 * stats.iqr(times[each], scale="normal") ** 2 / each.sum() for each in halves]
    apart = float(sizes[halves[0]].mean() - sizes[halves[-1]].mean()) or math.inf
    return (medians[0] - medians[-1]) / apart, math.sqrt(sum(variances)) / apart


def guess_sizes(is_large: Bools, times: Floats) -> tuple[float, float]:
    """How often a guess is right, and its standard error: the mean over the larger and the smaller sizes.

    A size is guessed to be large if its time is above a threshold, or below it, which is chosen on one half
    of the calls and tried on the other.
    """
    half = len(times) // 2
    tried = np.unique(np.quantile(times[:half], np.linspace(0.01, 0.99, 99)))
    scores = [_rate_guess(is_large[:half], times[:half] > each)[0] for each in tried]
    best = int(np.argmax(np.abs(np.array(scores) - 0.5)))
    says_large = times[half:] > tried[best]
    return _rate_guess(is_large[half:], says_large if scores[best] >= 0.5 else ~says_large)


def _rate_guess(is_large: Bools, says_large: Bools) -> tuple[float, float]:
    right = [says_large[is_large == value] == value for value in (True, False) if (is_large == value).any()]
    variance = sum(float(each.var()) / len(each) for each in right)
    return float(np.mean([each.mean() for each in right])), math.sqrt(variance) / len(right)


SECTION = """\
## Does the time of a draw tell its value?

As Jin et al. attack samplers (*Are We There Yet? Timing and Floating-Point Attacks on Differential Privacy
Systems*, IEEE S&P 2022, [arXiv 2112.05307](https://arxiv.org/abs/2112.05307)): each sampler in turn fills an
array, which is timed from Python on one processor by `time.perf_counter_ns`, without garbage collection. The
*size* is |value|, or its sum over a block; +- is a standard error. *Guessed* is how often the time tells
whether the size is in the larger half, with a threshold chosen on one half of the calls and tried on the
other: 50 % is nothing. The control counts up to its value, which must be seen. The time of a single draw is
mostly that of calling it from Python, and with `digits` that of a new key for every call: some tens of
microseconds, the noise of which hides differences far below the standard errors of *ns per unit*.

{table}

{summary}"""

LEAKS = Table[tuple[TimedScale, str, Leak]](
    ("scale", lambda row: str(row[0].scale), "{}"),
    ("draws at once", lambda row: row[0].draws_at_once, "{:,}"),
    ("sampler", lambda row: row[1], lambda name: name if "control" in name else f"`{name}`"),
    ("calls", lambda row: row[2].draws, "{:,}"),
    ("median, µs", lambda row: row[2].median / 1e3, "{:,.1f}"),
    (
        "rank correlation",
        lambda row: [row[2].correlation, row[2].correlation_error],
        "{0[0]:+.3f} +- {0[1]:.3f}",
    ),
    ("ns per unit", lambda row: [row[2].slope, row[2].slope_error], "{0[0]:+,.2f} +- {0[1]:,.2f}"),
    (
        "guessed",
        lambda row: [100 * row[2].guessed, 100 * row[2].guessed_error],
        "{0[0]:.1f} +- {0[1]:.1f} %",
    ),
)


def record_leaks(found: Sequence[TimedScale]) -> list[Data]:
    """The data; a value is followed by its standard error."""
    return LEAKS.record((timed, name, leak) for timed in found for name, leak in timed.leaks.items())


def write_leaks(rows: Sequence[Data]) -> str:
    """The section of NOISE.md."""
    summary = "\n".join(f"- {_summarize(rows, name)}" for name in ("digits", "opendp"))
    return SECTION.format(table=LEAKS.write(rows), summary=summary)


def _summarize(rows: Sequence[Data], name: str) -> str:
    """The worst of a sampler, single draws and blocks."""
    words = []
    for what, is_block in (("single draws", False), ("blocks", True)):
        worst, error = max(
            (
                row["rank correlation"]
                for row in rows
                if row["sampler"] == name and (row["draws at once"] > 1) == is_block
            ),
            key=lambda pair: abs(pair[0]),
        )
        verdict = "a leak" if abs(worst) > SURE * error else "no more than by chance"
        words.append(f"{abs(worst):.3f} for {what} ({verdict})")
    return f"`{name}`: the strongest rank correlation is {' and '.join(words)}."
