"""From a release to its intervals."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tallytree.arrays import MAX_MEASURED, LevelArrays
from tallytree.errors import IntervalsError
from tallytree.hierarchy import Hierarchy
from tallytree.intervals.pools import CellPool
from tallytree.intervals.summaries import SummaryPool, find_widths
from tallytree.kernels import share_work
from tallytree.mechanisms.base import Mechanism
from tallytree.privacy.accuracy import find_count_deviation
from tallytree.privacy.budget import Exact, parse_exact
from tallytree.privacy.measurements import Measurements
from tallytree.privacy.neighbours import Bounds
from tallytree.privacy.noise import SeededGaussianNoise, SeededNoise
from tallytree.privacy.plan import Plan
from tallytree.progress import Progress, count_processors, no_progress
from tallytree.releases.flags import LIMITS, FlagLimits
from tallytree.releases.interval_bounds import Intervals
from tallytree.releases.kept_replicates import Replicate, ReplicateKeeper
from tallytree.releases.manifest import find_origin
from tallytree.releases.released import MAKER, Kind, Released
from tallytree.sizes import Sizes, count_sizes, find_whole
from tallytree.solvers.unbiased import ADDITIVE, estimate_size_sums

# Released counts in place of the true ones, as the input of a plan's query.

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class StandIn:
    """Counts that add up and are public: those of a release."""

    hierarchy: Hierarchy
    sizes: Sizes
    bounds: Bounds
    levels: LevelArrays

    def array(self, level: int | str) -> Ints:
        """Return the counts of one level, regions x sizes."""
        return self.levels[self.hierarchy.index(level)]

    @cached_property
    def leaf(self) -> Ints:
        """Leaves x sizes, in the order of ``hierarchy.leaves``."""
        level, index = self.hierarchy.leaf_places
        leaf = np.empty((len(level), count_sizes(self.sizes)), dtype=np.int64)
        for at in range(len(self.levels)):
            here = level == at
            leaf[here] = self.levels[at][index[here]]
        return leaf


def answer_again(plan: Plan, counts: Sequence[Ints]) -> list[Ints]:
    """Answer the plan's query for released counts, without noise."""
    levels = counts if isinstance(counts, LevelArrays) else LevelArrays(counts)
    stand_in = StandIn(plan.hierarchy, plan.sizes, plan.bounds, levels)
    return [plan.answer(stand_in, level) for level in range(len(plan.levels))]


# Replicates: runs of the mechanism on released counts in place of the true ones.
#
# No true count is accessible here. The noise is drawn from stated seeds, so that anyone can make the same
# intervals from the same release.


class World(NamedTuple):
    """Noisy answers, and the counts that a mechanism made of them: a release, or what a replicate is."""

    measurements: Measurements
    counts: Sequence[Ints]


class Rerun(NamedTuple):
    """Counts that stand in for the true ones, and what the mechanism makes of them."""

    known: Sequence[Ints]
    made: World


def replicate(method: Mechanism, world: World, *, total: int, seed: int) -> Rerun:
    """Imagine the true counts of a release, and run the mechanism on them with new noise.

    Mechanisms that smooth draw them from what they believe; for others they are the released ones.
    """
    plan = world.measurements.plan
    hidden = plan.hide_total(total)
    imagined, noise_seed = np.random.SeedSequence(seed).generate_state(2, np.uint64).tolist()
    known = method.imagine(world.measurements, total=hidden, seed=imagined)
    known = world.counts if known is None else known
    noise = SeededNoise(noise_seed) if plan.delta is None else SeededGaussianNoise(noise_seed)
    noisy = []
    for level, values in enumerate(answer_again(plan, known)):
        draws = noise.draw(plan.levels[level].scale, values.size, lambda done: None).reshape(values.shape)
        if plan.has_public_totals(level):
            draws[:, -1] = 0
        noisy.append(np.clip(values + draws, -MAX_MEASURED, MAX_MEASURED))
    measured = Measurements(plan, noisy)
    return Rerun(known, World(measured, method.postprocess(measured, total=hidden).counts))


REPLICATES, COVERAGE = 50, "0.9"
LEAST_REPLICATES, MOST_REPLICATES = 10, 10_000
MOST_CELLS = 10**8
"""Regions x sizes: the errors of every cell are kept until the last replicate."""
LEAST_SHARED, MOST_SHARED = 2**14, 10**7
"""Replicates of so many cells are made side by side: for fewer the interpreter's lock is in the way."""
TOO_MANY = f"there are more than {MOST_CELLS:,} regions x sizes"


def add_intervals(
    release: Kind,
    *,
    replicates: int = REPLICATES,
    coverage: Exact = COVERAGE,
    seed: int = 0,
    flags: FlagLimits = LIMITS,
    keep_replicates: bool = False,
    progress: Progress = no_progress,
) -> Kind:
    """Return the same release with intervals for every count, and for sums, means and quantiles of sizes.

    They contain the true number with probability ``coverage``. The mechanism is run ``replicates`` times on
    the released counts, and a few more times on one of the replicates; equal seeds give equal noise.
    Everything is computed from the release alone, and costs no privacy.

    Numbers are flagged by ``flags`` (:class:`tallytree.FlagLimits`). With ``keep_replicates`` the replicates
    are kept and saved with the release, so that :meth:`tallytree.Release.estimate` need not make them anew.

    >>> import tallytree as tt
    >>> regions = tt.Hierarchy.from_paths(["nation", "state"], [("US", "GA"), ("US", "NY")])
    >>> counts = tt.GroupCounts(regions, sizes=(1, 3), leaf=[[40, 30, 20], [60, 20, 10]])
    >>> made = add_intervals(tt.release(counts, epsilon=1), replicates=10)
    >>> made.to_arrow().column_names[-5:]
    ['groups_low', 'groups_high', 'groups_bias', 'groups_error', 'flag']
    """
    if not isinstance(release, Released):
        raise IntervalsError("release must be a tallytree.Release.")
    check_room(release)
    if not isinstance(flags, FlagLimits):
        raise IntervalsError("flags must be a tallytree.FlagLimits.")
    method = find_method(release)
    keeper = ReplicateKeeper(release.counts) if keep_replicates else None
    intervals = make_intervals(
        method,
        release.measurements,
        release.counts,
        total=release.total,
        replicates=replicates,
        coverage=coverage,
        seed=seed,
        keeper=keeper,
        progress=progress,
    )
    kept = None if keeper is None else keeper.finish(intervals.seed)
    return replace(release, intervals=replace(intervals, limits=flags, kept=kept), made_by=MAKER)


def make_intervals(
    method: Mechanism,
    measurements: Measurements,
    counts: Sequence[Ints],
    *,
    total: int,
    replicates: int = REPLICATES,
    coverage: Exact = COVERAGE,
    seed: int = 0,
    keeper: ReplicateKeeper | None = None,
    progress: Progress = no_progress,
) -> Intervals:
    """Make intervals for the counts that a mechanism found from measurements."""
    replicates = check_replicates(replicates)
    share = check_coverage(coverage)
    start = check_seed(seed)
    method.require()
    plan = measurements.plan
    again = max(LEAST_REPLICATES, replicates // 5)
    seeds = np.random.SeedSequence(start).generate_state(replicates + again, np.uint64).tolist()
    runner = _Runner(method, total, progress("Making intervals", replicates + again))
    levels = range(len(plan.levels))

    released = [counts[level] for level in levels]
    cells, first = _make_pools(plan, released)
    made = runner.run(World(measurements, counts), seeds[:replicates], [cells, first], keeper)
    # Post-processing changes its own results less: a second round of replicates measures by how much.
    cells_again, second = _make_pools(plan, [made.counts[level] for level in levels])
    runner.run(made, seeds[replicates:], [cells_again, second])
    more = [one.find_bias() - other.find_bias() for one, other in zip(cells, cells_again, strict=True)]

    widths = find_widths(first, second)
    sums = None
    if all(level.query in ADDITIVE for level in plan.levels):
        sums = estimate_size_sums(measurements)
    return Intervals(
        cells=tuple(pool.finish(float(share), bias) for pool, bias in zip(cells, more, strict=True)),
        summaries=tuple(
            pool.finish(float(share), widths, None if sums is None else sums[level])
            for level, pool in enumerate(first)
        ),
        coverage=share,
        replicates=replicates,
        seed=start,
    )


def _make_pools(plan: Plan, counts: Sequence[Ints]) -> tuple[list[CellPool], list[SummaryPool]]:
    return (
        [CellPool(values, find_count_deviation(plan.levels[at])) for at, values in enumerate(counts)],
        [SummaryPool(values, plan.sizes) for values in counts],
    )


def find_obstacle(release: Released) -> str | None:
    """Return why intervals are not made by default; None if they are."""
    if not _has_room(release):
        return TOO_MANY
    origin = find_origin(release.manifest)
    if origin.obstacle:
        return origin.obstacle
    if origin.method.small:
        name = origin.method.name
        return f"{name} is slow and would have to run many times; use --replicates to request them"
    return None


def find_method(release: Released) -> Mechanism:
    """Return the mechanism that made a release; refuse one of which this version has another revision."""
    origin = find_origin(release.manifest)
    if origin.obstacle:
        raise IntervalsError(f"Intervals are not made: {origin.obstacle}.")
    return origin.method


def check_room(release: Released) -> None:
    """Refuse a release of which replicates would take too much memory."""
    if not _has_room(release):
        raise IntervalsError(f"Intervals are not made: {TOO_MANY}.")


def _has_room(release: Released) -> bool:
    plan = release.measurements.plan
    shapes = [plan.shape(level) for level in range(len(plan.levels))]
    return sum(regions * sizes for regions, sizes in shapes) <= MOST_CELLS


def check_replicates(replicates: object) -> int:
    """Return the number of replicates; refuse one that is not valid."""
    number = find_whole(replicates)
    if number is None or not LEAST_REPLICATES <= number <= MOST_REPLICATES:
        raise IntervalsError(
            f"The number of replicates must be a whole number from {LEAST_REPLICATES} to {MOST_REPLICATES:,}."
        )
    return number


def check_seed(seed: object) -> int:
    """Return the seed of replicates; refuse one that is not valid."""
    start = find_whole(seed)
    if start is None or not 0 <= start < 2**63:
        raise IntervalsError("The seed must be a whole number, 0 or above.")
    return start


def check_coverage(coverage: Exact) -> Fraction:
    """Return the coverage of intervals; refuse one that is not valid."""
    share = parse_exact(coverage, "coverage")
    if not Fraction(1, 2) <= share <= Fraction(99, 100):
        raise IntervalsError("The coverage must be from 0.5 to 0.99.")
    return share


@dataclass(frozen=True)
class _Runner:
    method: Mechanism
    total: int
    report: Callable[[int], None]

    def run(
        self,
        world: World,
        seeds: Sequence[int],
        pools: Sequence[Sequence[CellPool | SummaryPool]],
        keeper: ReplicateKeeper | None = None,
    ) -> World:
        """Add each replicate of a release to the pools, level by level; return the last one."""
        for again in self.draw(world, seeds):
            for pool in pools:
                for level in range(len(again.known)):
                    pool[level].add(again.known[level], again.made.counts[level])
            if keeper is not None:
                keeper.add(Replicate(again.known, again.made.counts))
        return again.made

    def draw(self, world: World, seeds: Sequence[int]) -> Iterator[Rerun]:
        """Yield each replicate of a release."""
        shapes = [world.counts[level].shape for level in range(len(world.counts))]

        def make(_: int, seed: int) -> Rerun:
            return replicate(self.method, world, total=self.total, seed=seed)

        # Sharing the work of a single one out takes longer.
        cells = sum(regions * sizes for regions, sizes in shapes)
        is_shared = LEAST_SHARED <= cells <= MOST_SHARED and not self.method.small
        together = count_processors() if is_shared else 1
        for first in range(0, len(seeds), together):
            for made in share_work(make, seeds[first : first + together]):
                yield made
                self.report(1)


def draw_replicates(
    method: Mechanism,
    measurements: Measurements,
    counts: Sequence[Ints],
    *,
    total: int,
    replicates: int,
    seed: int,
    progress: Progress = no_progress,
) -> Iterator[Replicate]:
    """Draw the replicates from which :func:`make_intervals` makes intervals, with the same seed the same."""
    method.require()
    seeds = np.random.SeedSequence(seed).generate_state(replicates, np.uint64).tolist()
    runner = _Runner(method, total, progress("Making replicates", replicates))
    for again in runner.draw(World(measurements, counts), seeds):
        yield Replicate(again.known, again.made.counts)
