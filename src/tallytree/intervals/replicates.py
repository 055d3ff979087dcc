"""From a release to its intervals."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Protocol

import numpy as np
import numpy.typing as npt

from tallytree.arrays import MAX_MEASURED, LevelArrays
from tallytree.errors import IntervalsError
from tallytree.hierarchy import Hierarchy
from tallytree.intervals.pools import CellPool, SummaryPool
from tallytree.kernels import stream_work
from tallytree.mechanisms.base import Mechanism
from tallytree.privacy.accuracy import find_count_deviation
from tallytree.privacy.budget import Exact, parse_exact
from tallytree.privacy.measurements import Measurements
from tallytree.privacy.neighbours import Bounds
from tallytree.privacy.noise import SeededGaussianNoise, SeededNoise
from tallytree.privacy.plan import Plan
from tallytree.progress import Progress, no_progress
from tallytree.releases.flags import LIMITS, FlagLimits
from tallytree.releases.interval_bounds import Intervals
from tallytree.releases.kept_replicates import Replicate, ReplicateKeeper
from tallytree.releases.manifest import find_origin
from tallytree.releases.released import MAKER, Kind, Released
from tallytree.sizes import Sizes, count_sizes, find_whole

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


class Made(Protocol):
    """What a mechanism made: a release, or a simulation of one."""

    @property
    def measurements(self) -> Measurements:
        """The noisy answers."""
        ...

    @property
    def counts(self) -> Sequence[Ints]:
        """Regions x sizes for each level, root first."""
        ...

    @property
    def total(self) -> int:
        """The number of groups."""
        ...


def imagine(method: Mechanism, made: Made, *, seed: int) -> Sequence[Ints]:
    """Imagine the true counts of a release.

    Mechanisms that can draw them from what the noisy answers tell; for others they are the released ones.
    """
    hidden = made.measurements.plan.hide_total(made.total)
    known = method.imagine(made.measurements, total=hidden, seed=seed)
    return made.counts if known is None else known


def replicate(method: Mechanism, plan: Plan, known: Sequence[Ints], *, total: int, seed: int) -> Replicate:
    """Run the mechanism with new noise on counts that stand in for the true ones."""
    noise = SeededNoise(seed) if plan.delta is None else SeededGaussianNoise(seed)
    noisy = []
    for level, values in enumerate(answer_again(plan, known)):
        draws = noise.draw(plan.levels[level].scale, values.size, lambda done: None).reshape(values.shape)
        if plan.has_public_totals(level):
            draws[:, -1] = 0
        noisy.append(np.clip(values + draws, -MAX_MEASURED, MAX_MEASURED))
    made = method.postprocess(Measurements(plan, noisy), total=plan.hide_total(total))
    return Replicate(known, made.counts)


REPLICATES, COVERAGE = 50, "0.9"
LEAST_REPLICATES, MOST_REPLICATES = 10, 10_000
TRUTHS = 10
"""So many times true counts are imagined, which takes longer than to run a mechanism on them once more."""
MOST_CELLS = 10**8
"""Regions x sizes: the errors of every cell are kept until the last replicate."""
MOST_KEPT = 10**7
"""Regions x sizes up to which replicates are kept unless told otherwise: they take a few megabytes there."""
LEAST_SHARED, MOST_SHARED = 2**14, 10**7
"""Replicates of so many cells are made side by side: for fewer the interpreter's lock is in the way."""
TOO_MANY = (
    f"there are more than {MOST_CELLS:,} regions x sizes; 'tallytree estimate' gives those of chosen regions"
)


def add_intervals(
    release: Kind,
    *,
    replicates: int = REPLICATES,
    coverage: Exact = COVERAGE,
    seed: int = 0,
    flags: FlagLimits = LIMITS,
    keep_replicates: bool | None = None,
    progress: Progress = no_progress,
) -> Kind:
    """Return the same release with intervals for every count, and for sums, means and quantiles of sizes.

    They contain the true number with probability ``coverage``. The mechanism is run ``replicates`` times on
    counts in place of the true ones; equal seeds give equal noise. Everything is computed from the release
    alone, and costs no privacy.

    Numbers are flagged by ``flags`` (:class:`tallytree.FlagLimits`). The replicates are kept and saved with
    the release, so that :meth:`tallytree.Release.estimate` need not make them anew; by default
    (``keep_replicates=None``) up to 10 million regions x sizes.

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
    if keep_replicates is None:
        keep_replicates = _count_cells(release.measurements.plan) <= MOST_KEPT
    keeper = ReplicateKeeper(release.counts) if keep_replicates else None
    intervals = make_intervals(
        method,
        release,
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
    made: Made,
    *,
    replicates: int = REPLICATES,
    coverage: Exact = COVERAGE,
    seed: int = 0,
    keeper: ReplicateKeeper | None = None,
    progress: Progress = no_progress,
) -> Intervals:
    """Make intervals for the counts that a mechanism made."""
    replicates = check_replicates(replicates)
    share = check_coverage(coverage)
    start = check_seed(seed)
    plan = made.measurements.plan
    released = [made.counts[level] for level in range(len(plan.levels))]
    cells = [CellPool(each, find_count_deviation(at)) for each, at in zip(released, plan.levels, strict=True)]
    summaries = [SummaryPool(each, plan.sizes) for each in released]
    for again in draw_replicates(
        method,
        made,
        replicates=replicates,
        seed=start,
        report=progress("Making intervals", replicates),
    ):
        for level in range(len(plan.levels)):
            cells[level].add(again.known[level], again.made[level])
            summaries[level].add(again.known[level], again.made[level])
        if keeper is not None:
            keeper.add(again)
    return Intervals(
        cells=tuple(pool.finish(share) for pool in cells),
        summaries=tuple(pool.finish(share) for pool in summaries),
        coverage=share,
        replicates=replicates,
        seed=start,
    )


def find_obstacle(release: Released) -> str | None:
    """Return why intervals are not made by default; None if they are."""
    if not has_room(release):
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
    if not has_room(release):
        raise IntervalsError(f"Intervals are not made: {TOO_MANY}.")


def has_room(release: Released) -> bool:
    """Whether replicates of a release fit into memory, and into a reasonable time."""
    return _count_cells(release.measurements.plan) <= MOST_CELLS


def _count_cells(plan: Plan) -> int:
    """Return the regions x sizes of all levels together."""
    return sum(math.prod(plan.shape(level)) for level in range(len(plan.levels)))


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


def draw_replicates(
    method: Mechanism,
    made: Made,
    *,
    replicates: int,
    seed: int,
    report: Callable[[int], None],
) -> Iterator[Replicate]:
    """Draw the replicates of a release, with the same seed the same; some start from the same counts."""
    method.require()
    plan, shared = made.measurements.plan, max(1, replicates // TRUTHS)
    # Sharing the work of a single one out takes longer.
    is_shared = LEAST_SHARED <= _count_cells(plan) <= MOST_SHARED and not method.small
    spread = stream_work if is_shared else map
    imagined, seeds = (
        np.random.SeedSequence([seed, part]).generate_state(replicates, np.uint64).tolist()
        for part in range(2)
    )
    truths = spread(lambda seed: imagine(method, made, seed=seed), imagined[::shared])
    jobs = (
        (truth, seed)
        for truth, first in zip(truths, range(0, replicates, shared), strict=True)
        for seed in seeds[first : first + shared]
    )
    for again in spread(lambda job: replicate(method, plan, job[0], total=made.total, seed=job[1]), jobs):
        yield again
        report(1)
