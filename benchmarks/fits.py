"""Mechanisms that fit by isotonic regression, beside the bare fits of the same points."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt
from scipy.optimize import isotonic_regression

from benchmarks.instances import Instance, make_instance, take_turns
from benchmarks.records import Data, Table, write_seconds
from benchmarks.settings import Settings
from benchmarks.timing import Missing, Timing, attempt_all
from tallytree.arrays import MAX_CHAIN_WEIGHT_SUM
from tallytree.research.reproduction.document import Goal
from tallytree.research.reproduction.paper_figures import Variant
from tallytree.solvers.isotonic import fit_isotonic, fit_isotonic_rows
from tallytree.solvers.solution import weigh_levels

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class FitContest:
    """The best times on one instance: the whole post-processing, and the fits that it cannot do without."""

    mechanism: str
    sizes: int
    epsilon: str
    fits: int
    points: int
    """Of all fits together."""
    whole: Timing
    ours: Timing
    """The bare fits by our own kernels."""
    scipy: Timing
    """The same by SciPy."""

    @property
    def ratio_to_ours(self) -> float:
        """How many times longer the whole takes."""
        return self.whole.seconds / self.ours.seconds

    @property
    def ratio_to_scipy(self) -> float:
        """The same with SciPy's fits."""
        return self.whole.seconds / self.scipy.seconds

    @property
    def ratio(self) -> float:
        """By the faster of the two."""
        return max(self.ratio_to_ours, self.ratio_to_scipy)


def compare_rows(variant: Variant, sizes: int, epsilon: str, rounds: int) -> FitContest:
    """What asks the cumulative query, and a fit for every region. To be called in a fresh process."""
    instance = make_instance(sizes, epsilon, variant)
    levels = instance.measurements.values
    rows = [row.astype(np.float64) for level in levels for row in level]
    calls = (
        instance.solve,
        lambda: [fit_isotonic_rows(level, 0, instance.total) for level in levels],
        lambda: [isotonic_regression(row) for row in rows],
    )
    instance.check(instance.solve())  # warm: compiled
    timings = take_turns(calls, rounds)
    return FitContest(variant.label, sizes, epsilon, len(rows), instance.cells, *timings)


def compare_chain(sizes: int, epsilon: str, rounds: int) -> FitContest:
    """``cumulative-chain``, and one fit of all points of the chain. To be called in a fresh process."""
    instance = make_instance(sizes, epsilon, Variant("cumulative-chain"))
    sums, weights = _merge_points(instance)
    means, float_weights = sums / weights, weights.astype(np.float64)
    calls = (
        instance.solve,
        lambda: fit_isotonic(sums, weights, 0, instance.total),
        lambda: isotonic_regression(means, weights=float_weights),
    )
    instance.check(instance.solve())  # warm: compiled
    timings = take_turns(calls, rounds)
    return FitContest(instance.method.name, sizes, epsilon, 1, len(sums), *timings)


def _merge_points(instance: Instance) -> tuple[Ints, Ints]:
    """The weighted sums and the weights of the chain's points, size by size and leaf by leaf."""
    plan, values = instance.measurements.plan, instance.measurements.values
    weights = weigh_levels([level.scale for level in plan.levels], most=MAX_CHAIN_WEIGHT_SUM)
    sums = np.zeros((values[0].shape[1], len(plan.hierarchy.leaves)), dtype=np.int64)
    totals = np.zeros_like(sums)
    for level, value in enumerate(values):
        ends = plan.hierarchy.last_leaves(level)
        sums[:, ends] += weights[level] * value.T
        totals[:, ends] += weights[level]
    return sums.ravel(), totals.ravel()


def measure(settings: Settings, missing: list[Missing]) -> list[FitContest]:
    """``cumulative-dp`` and ``cumulative-chain``, at the largest number of sizes."""
    sizes, rounds = settings.largest, settings.fit_rounds
    kinds = (
        ("isotonic fits of rows", partial(compare_rows, Variant("cumulative-dp"))),
        ("one isotonic fit", compare_chain),
    )
    return attempt_all(
        [
            (f"{what}, {sizes} sizes, epsilon {epsilon}", partial(compare, sizes, epsilon, rounds))
            for what, compare in kinds
            for epsilon in settings.peer_epsilons
        ],
        missing,
    )


ROWS_RATIO = 5.0
CHAIN_RATIO = 2.0


def judge_fits(mechanism: str, contests: Sequence[FitContest], most: float, fits: str) -> Goal:
    """By the faster of the two ways to fit: our own kernels, and SciPy."""
    contests = [contest for contest in contests if contest.mechanism == mechanism]
    statement = f"`{mechanism}`: less than {most:.0f} times {fits}"
    if not contests:
        return Goal.open(statement)
    worst = max(contests, key=lambda contest: contest.ratio)
    return Goal(
        f"{statement}, at {worst.sizes:,} sizes",
        f"{worst.ratio_to_ours:.1f} times our own, {worst.ratio_to_scipy:.1f} times SciPy's "
        f"(the most of {len(contests)} runs; judged by the larger ratio)",
        worst.ratio < most,
    )


FITS = Table[FitContest](
    ("mechanism", lambda contest: contest.mechanism, "`{}`"),
    ("sizes", lambda contest: contest.sizes, "{:,}"),
    ("epsilon", lambda contest: contest.epsilon, "{}"),
    ("fits", lambda contest: contest.fits, "{:,}"),
    ("points", lambda contest: contest.points, "{:,}"),
    ("whole s", lambda contest: contest.whole.seconds, write_seconds),
    ("our fits s", lambda contest: contest.ours.seconds, write_seconds),
    ("SciPy's fits s", lambda contest: contest.scipy.seconds, write_seconds),
    ("whole / our fits", lambda contest: contest.ratio_to_ours, "**{:.2f}**"),
    ("whole / SciPy's", lambda contest: contest.ratio_to_scipy, "**{:.2f}**"),
)


def write(data: Data) -> str:
    """The mechanisms that fit by isotonic regression, beside the bare fits."""
    return f"""## Beside bare isotonic fits

`cumulative-dp` makes every region's cumulative counts monotone, an isotonic fit for each; `cumulative-chain`
is one weighted isotonic fit along the whole tree. What they take is compared with these fits alone, by our
own kernels (`fit_isotonic_rows` and `fit_isotonic`, exact and in whole numbers) and by
`scipy.optimize.isotonic_regression` (in floats, on one processor), a call for each fit. The three took
turns, {data["rounds"]} times. (For `cumulative-joint`, see its own section.)

{FITS.write(data["contests"])}"""
