"""From a release to estimates: with the replicates that it keeps, or with new ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from tallytree.errors import IntervalsError, show
from tallytree.intervals.estimates import Estimate, Estimates, estimate_function, estimate_selection
from tallytree.intervals.own_answers import estimate_from_answers
from tallytree.intervals.region_sets import Located, RegionPath, locate
from tallytree.intervals.replicates import (
    REPLICATES,
    check_coverage,
    check_replicates,
    check_room,
    check_seed,
    draw_replicates,
    find_method,
    has_room,
)
from tallytree.intervals.selections import Selection, SizeRange, select
from tallytree.privacy.budget import Exact
from tallytree.progress import Progress, no_progress
from tallytree.releases.flags import LIMITS, FlagLimits
from tallytree.releases.kept_replicates import KeptReplicates, Replicate, ReplicateKeeper
from tallytree.releases.released import Released

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Estimator:
    """Makes estimates of one release, all from the same replicates."""

    release: Released
    replicates: int
    seed: int
    coverage: Fraction
    flags: FlagLimits
    progress: Progress

    @classmethod
    def of(
        cls,
        release: Released,
        *,
        coverage: Exact = "0.9",
        flags: FlagLimits = LIMITS,
        replicates: int | None = None,
        seed: int | None = None,
        progress: Progress = no_progress,
    ) -> Estimator:
        """Return an estimator with as many replicates, and the seed, of the release's intervals, if any."""
        stated = release.intervals
        number = REPLICATES if stated is None else stated.replicates
        start = 0 if stated is None else stated.seed
        if not isinstance(flags, FlagLimits):
            raise IntervalsError("flags must be a tallytree.FlagLimits.")
        return cls(
            release,
            check_replicates(number if replicates is None else replicates),
            check_seed(start if seed is None else seed),
            check_coverage(coverage),
            flags,
            progress,
        )

    @property
    def kept(self) -> KeptReplicates | None:
        """The replicates that the release keeps, if they are those that are asked for."""
        kept = None if self.release.intervals is None else self.release.intervals.kept
        if kept is None or (kept.number, kept.seed) != (self.replicates, self.seed):
            return None
        return kept

    @property
    def is_too_large(self) -> bool:
        """Whether there is no room for replicates: estimates are from the regions' own answers then."""
        return not has_room(self.release)

    def select(
        self, regions: Iterable[RegionPath] | None, sizes: SizeRange | None, statistic: str
    ) -> Selection:
        """Select regions, sizes and a statistic of the release."""
        plan = self.release.measurements.plan
        located = locate(plan.hierarchy, regions)
        return select(plan, located, sizes=sizes, statistic=statistic, words=self.release.words)

    def select_areas(
        self, areas: Mapping[str, Iterable[RegionPath]], sizes: SizeRange | None, statistic: str
    ) -> list[Selection]:
        """Select the regions of each area."""
        if not isinstance(areas, Mapping) or not areas:
            raise IntervalsError("The areas must be a mapping from their names to lists of regions.")
        plan = self.release.measurements.plan
        lists = {name: _list(name, paths) for name, paths in areas.items()}
        located = locate(plan.hierarchy, [path for paths in lists.values() for path in paths])
        ends = np.cumsum(list(map(len, lists.values())))[:-1]
        parts = zip(np.split(located.level, ends), np.split(located.place, ends), strict=True)
        return [
            select(
                plan,
                Located(*part),
                sizes=sizes,
                statistic=statistic,
                words=self.release.words,
                name=name,
            )
            for name, part in zip(lists, parts, strict=True)
        ]

    def estimate(self, selections: Sequence[Selection]) -> Estimates:
        """Estimate all that is selected."""
        if self.is_too_large:
            return Estimates(
                tuple(
                    estimate_from_answers(
                        selection,
                        self.release.measurements,
                        self.release.counts,
                        coverage=self.coverage,
                        flags=self.flags,
                    )
                    for selection in selections
                )
            )
        kept = self.kept or self._draw(selections)
        return Estimates(
            tuple(
                estimate_selection(
                    selection,
                    self.release.counts,
                    kept,
                    origin=self._origin,
                    coverage=self.coverage,
                    flags=self.flags,
                )
                for selection in selections
            )
        )

    def apply(self, function: Callable[[Sequence[Ints]], object]) -> Estimate:
        """Estimate what a function finds in the counts of a release, a list of arrays by level."""
        kept, counts = self.kept, self.release.counts
        replicates = self._make() if kept is None else kept.replay(counts)
        return estimate_function(
            function,
            [counts[level] for level in range(len(counts))],
            replicates,
            origin=self._origin,
            coverage=self.coverage,
            flags=self.flags,
        )

    @property
    def _origin(self) -> tuple[object, ...]:
        manifest = self.release.manifest
        made = manifest["created"], manifest["solution"]["objective"], self.release.total
        return (*made, self.replicates, self.seed)

    def _draw(self, selections: Sequence[Selection]) -> KeptReplicates:
        """Make replicates anew, and keep of them what is needed for these selections."""
        levels = zip(*(selection.regions for selection in selections), strict=True)
        keeper = ReplicateKeeper(self.release.counts, [np.unique(np.concatenate(each)) for each in levels])
        for replicate in self._make():
            keeper.add(replicate)
        return keeper.finish(self.seed)

    def _make(self) -> Iterator[Replicate]:
        check_room(self.release)
        return draw_replicates(
            find_method(self.release),
            self.release,
            replicates=self.replicates,
            seed=self.seed,
            report=self.progress("Making replicates", self.replicates),
        )


def _list(name: object, paths: Iterable[RegionPath]) -> list[RegionPath]:
    if not isinstance(name, str) or isinstance(paths, str) or not isinstance(paths, Iterable):
        raise IntervalsError("The areas must be a mapping from their names to lists of regions.")
    found = list(paths)
    if not found:
        raise IntervalsError(f"The area {show(name)} has no regions.")
    return found
