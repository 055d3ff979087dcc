"""The complete folder of a release: counts, measurements, manifest, intervals and report."""

from __future__ import annotations

import os
import shlex
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tallytree.files import new_folder
from tallytree.intervals.replicates import REPLICATES, add_intervals, check_replicates, find_obstacle
from tallytree.progress import Progress, no_progress
from tallytree.releases.interval_bounds import check_intervals
from tallytree.releases.released import REPORT, Released, as_path, read_folder
from tallytree.report.report_page import write_report
from tallytree.solvers.checks import Verification


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

    def save(
        self, folder: str | os.PathLike[str], *, replace: bool = False, replicates: int | None = None
    ) -> None:
        """Write the complete folder, as ``tallytree release`` does: with intervals, and with a report.

        Intervals are made from so many ``replicates``, unless the release has intervals or they take long;
        with 0 there are none. Counts, measurements and manifest appear together or not at all; anything that
        goes wrong after that is a warning, and does not affect the release.
        """
        done = publish(lambda: (self, self.verify()), folder, replace=replace, replicates=replicates)
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
    progress: Progress = no_progress,
) -> Published:
    """Make a release, check it, and write its complete folder.

    The folder is begun first: a place that cannot be written to must not cost any budget.
    """
    path = as_path(folder)
    if replicates is not None and replicates != 0:
        check_replicates(replicates)
    with new_folder(path, replace=replace) as stage:
        made, verification = make()
        made.write_into(stage)
    return _complete(Published(made, verification), path, replicates, progress)


def _complete(done: Published, folder: Path, replicates: int | None, progress: Progress) -> Published:
    """Add the intervals, and then the report.

    The release is on the disk, and may have been paid for: whatever happens here must not lose it.
    """
    made, checks, note, problems = done.release, done.verification.checks, "", []
    obstacle = find_obstacle(made) if replicates is None and made.intervals is None else None
    if obstacle:
        note = f"There are no intervals: {obstacle}."
    elif made.intervals is None and replicates != 0:
        try:
            made = add_intervals(made, replicates=replicates or REPLICATES, progress=progress)
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
