"""The complete folder of a release: counts, measurements, manifest, intervals and report."""

from __future__ import annotations

import os
import shlex
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tallytree.counts.arrow import Table
from tallytree.errors import IntervalsError
from tallytree.files import new_folder
from tallytree.intervals.estimates import Estimate, Estimates
from tallytree.intervals.estimator import Estimator
from tallytree.intervals.region_sets import RegionPath
from tallytree.intervals.replicates import REPLICATES, add_intervals, check_replicates, find_obstacle
from tallytree.intervals.selections import SizeRange
from tallytree.privacy.budget import Exact
from tallytree.progress import Progress, no_progress
from tallytree.publishing.area_tables import Areas, read_areas
from tallytree.releases.flags import LIMITS, FlagLimits
from tallytree.releases.interval_bounds import check_intervals
from tallytree.releases.released import REPORT, Released, as_path, read_folder
from tallytree.report.report_page import write_report
from tallytree.solvers.checks import Verification

Ints = npt.NDArray[np.int64]


class Release(Released):
    """Counts that are private, whole, not negative and add up, with the evidence.

    Made by :func:`tallytree.release` or read by :func:`tallytree.load`.

    >>> import tallytree as tt
    >>> regions = tt.Hierarchy.from_paths(["nation", "state"], [("US", "GA"), ("US", "NY")])
    >>> counts = tt.GroupCounts(regions, sizes=(1, 3), leaf=[[40, 30, 20], [60, 20, 10]])
    >>> made = tt.release(counts, epsilon=1)
    >>> made.region("US", "GA").path
    ('US', 'GA')
    >>> made.to_arrow().column_names
    ['nation', 'state', 'level', 'size', 'groups']
    """

    def estimate(
        self,
        function: Callable[[Sequence[Ints]], object] | None = None,
        *,
        regions: Iterable[RegionPath] | None = None,
        sizes: SizeRange | None = None,
        statistic: str = "groups",
        coverage: Exact = "0.9",
        flags: FlagLimits = LIMITS,
        replicates: int | None = None,
        seed: int | None = None,
        progress: Progress = no_progress,
    ) -> Estimate:
        """Estimate a number of several regions together, with an interval.

        ``regions`` are paths, such as ``[("US", "GA"), ("US", "NY")]``, of one or several levels, none inside
        another; by default the whole. ``sizes`` are the first and the last size, such as ``(3, None)``.
        ``statistic`` is "groups", "size_sum", "size_mean", "share" (of the groups of these regions that have
        these sizes), "median", or another quantile, such as "quantile:0.9". Of size classes, sums and means
        are lower bounds.

        Differences and ratios of estimates are estimates too: ``a - b``, ``a / b``. A ``function`` in place
        of all this returns any number from a list of counts by level, regions x sizes.

        The interval contains the true number with probability ``coverage``. It comes from the replicates that
        the release keeps (``keep_replicates`` of :func:`tallytree.add_intervals`); without them, as many are
        made anew, with the same ``seed`` the same, which takes as long as the intervals do.

        >>> import tallytree as tt
        >>> paths = [("US", "GA"), ("US", "NY")]
        >>> h = tt.Hierarchy.from_paths(["nation", "state"], paths)
        >>> counts = tt.GroupCounts(h, sizes=(1, 3), leaf=[[40, 30, 20], [60, 20, 10]])
        >>> made = tt.release(counts, epsilon=1)
        >>> print(made.estimate(regions=paths))
        Groups, US/GA, US/NY: 180 (public, exact)
        >>> some = made.estimate(regions=[("US", "GA")], sizes=(2, None))
        >>> some.low <= some.high
        True
        """
        estimator = Estimator.of(
            self, coverage=coverage, flags=flags, replicates=replicates, seed=seed, progress=progress
        )
        if function is not None:
            if regions is not None or sizes is not None or statistic != "groups":
                raise IntervalsError("Give a function, or regions, sizes and a statistic, not both.")
            return estimator.apply(function)
        return estimator.estimate([estimator.select(regions, sizes, statistic)])[0]

    def estimate_areas(
        self,
        areas: Areas | Table,
        *,
        sizes: SizeRange | None = None,
        statistic: str = "groups",
        coverage: Exact = "0.9",
        flags: FlagLimits = LIMITS,
        replicates: int | None = None,
        seed: int | None = None,
        progress: Progress = no_progress,
    ) -> Estimates:
        """Estimate a number of each of several areas, as :meth:`estimate` does: one estimate for each.

        ``areas`` is a mapping from names to lists of regions, or a table or file with the columns ``area``
        and ``region`` (a path such as US/GA), or ``area`` and one column for each level below the root.

        >>> import tallytree as tt
        >>> h = tt.Hierarchy.from_paths(["nation", "state"], [("US", "GA"), ("US", "NY")])
        >>> counts = tt.GroupCounts(h, sizes=(1, 3), leaf=[[40, 30, 20], [60, 20, 10]])
        >>> made = tt.release(counts, epsilon=1)
        >>> [each.name for each in made.estimate_areas({"South": ["US/GA"], "All": ["US"]})]
        ['South', 'All']
        """
        estimator = Estimator.of(
            self, coverage=coverage, flags=flags, replicates=replicates, seed=seed, progress=progress
        )
        found = areas if isinstance(areas, Mapping) else read_areas(areas, self.hierarchy)
        return estimator.estimate(estimator.select_areas(found, sizes, statistic))

    def save(
        self,
        folder: str | os.PathLike[str],
        *,
        replace: bool = False,
        replicates: int | None = None,
        keep_replicates: bool | None = None,
    ) -> None:
        """Write the complete folder, as ``tallytree release`` does: with intervals, and with a report.

        Intervals are made from so many ``replicates``, unless the release has intervals or they take long;
        with 0 there are none. The replicates are saved too, for :meth:`estimate`, up to 10 million regions x
        sizes or as ``keep_replicates`` says. Counts, measurements and manifest appear together or not at all;
        anything that goes wrong after that is a warning, and does not affect the release.
        """
        if keep_replicates and self.intervals is not None and self.intervals.kept is None:
            raise IntervalsError(
                "The release has intervals without their replicates: tallytree.add_intervals with "
                "keep_replicates=True makes them anew."
            )
        done = publish(
            lambda: (self, self.verify()),
            folder,
            replace=replace,
            replicates=replicates,
            keep_replicates=keep_replicates,
        )
        for problem in done.problems:
            warnings.warn(problem, stacklevel=2)


def load(folder: str | os.PathLike[str]) -> Release:
    """Read a release from its folder. ``verify()`` of the result says whether it is intact.

    >>> from tempfile import TemporaryDirectory
    >>> folder = TemporaryDirectory()
    >>> import tallytree as tt
    >>> regions = tt.Hierarchy.from_paths(["nation", "state"], [("US", "GA"), ("US", "NY")])
    >>> counts = tt.GroupCounts(regions, sizes=(1, 3), leaf=[[40, 30, 20], [60, 20, 10]])
    >>> tt.release(counts, epsilon=1).save(f"{folder.name}/release")
    >>> bool(load(f"{folder.name}/release").verify())
    True
    >>> folder.cleanup()
    """
    return read_folder(folder, Release)


class Later(str):
    """A note of ours on the error of an interrupted release: what can still be made of it."""

    __slots__ = ()


@dataclass(frozen=True)
class Published:
    """A release in its folder."""

    release: Release
    verification: Verification
    note: str = ""
    """Why there are no intervals, though nothing went wrong."""
    problems: tuple[str, ...] = ()
    """What is missing in the folder because something went wrong."""


def publish(
    make: Callable[[], tuple[Release, Verification]],
    folder: str | os.PathLike[str],
    *,
    replace: bool = False,
    replicates: int | None = None,
    keep_replicates: bool | None = None,
    progress: Progress = no_progress,
) -> Published:
    """Make a release, check it, and write its complete folder.

    The folder is begun first: a place that cannot be written to must not cost any budget.
    """
    path = as_path(folder)
    if replicates is not None and replicates != 0:
        check_replicates(replicates)
    if replicates == 0 and keep_replicates:
        raise IntervalsError("Without replicates there are none to keep.")
    with new_folder(path, replace=replace) as stage:
        made, verification = make()
        made.write_into(stage)
    add = partial(add_intervals, keep_replicates=keep_replicates, progress=progress)
    return _complete(Published(made, verification), path, replicates, add)


def _complete(
    done: Published, folder: Path, replicates: int | None, add: Callable[..., Release]
) -> Published:
    """Add the intervals, and then the report.

    The release is on the disk, and may have been paid for: whatever happens here must not lose it.
    """
    made, checks, note, problems = done.release, done.verification.checks, "", []
    obstacle = find_obstacle(made) if replicates is None and made.intervals is None else None
    if obstacle:
        note = f"There are no intervals: {obstacle}."
    elif made.intervals is None and replicates != 0:
        try:
            made = add(made, replicates=replicates or REPLICATES)
            made.write_intervals(folder)
            assert made.intervals is not None
            checks = (*checks, check_intervals(made.intervals))
        except BaseException as error:
            command = shlex.join(["tallytree", "intervals", str(folder)])
            later = "The release is complete without {}; they can be made later: " + command
            if not isinstance(error, Exception):
                error.add_note(Later(later.format("intervals and report")))
                raise
            made = done.release
            problems.append(f"No intervals were made ({type(error).__name__}). {later.format('intervals')}")
    verification = Verification(checks)
    if problem := try_report(made, folder, verification):
        problems.append(problem)
    return Published(made, verification, note, tuple(problems))


def try_report(made: Release, folder: Path, verification: Verification) -> str:
    """Write the report into the folder of a release; return why it could not be written, or nothing.

    It can be made again: whatever goes wrong with it must not affect what is in the folder.
    """
    try:
        write_report(made, folder / REPORT, verification=verification)
    except Exception as error:
        return (
            f"The report was not written ({type(error).__name__}); the release is complete without it. "
            "'tallytree report' makes it later."
        )
    return ""
