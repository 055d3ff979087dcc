"""A release: private counts with their evidence, written to a folder and read back."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import InitVar, dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tallytree.arrays import LevelArrays, get_total
from tallytree.errors import FolderError, MechanismError, describe, show
from tallytree.files import flush, hash_file, write_lasting
from tallytree.hierarchy import Hierarchy
from tallytree.markup import QUIET, Html, join, shorten, tag, write_box, write_paragraph, write_table
from tallytree.privacy.accuracy import find_accuracy
from tallytree.privacy.budget import show_short
from tallytree.privacy.measurements import PrivateMeasurements
from tallytree.privacy.plan import describe_privacy
from tallytree.releases.evidence import (
    check_manifest,
    check_mechanism,
    check_noise,
    check_receipt,
    check_schema,
    check_solution,
    check_statement,
)
from tallytree.releases.flags import FLAGS
from tallytree.releases.interval_bounds import (
    INTERVALS,
    SUMMARIES,
    Intervals,
    StatedIntervals,
    check_intervals,
    make_cell_schema,
    read_intervals,
    tabulate_cells,
    tabulate_estimates,
    write_intervals,
)
from tallytree.releases.kept_replicates import REPLICATES
from tallytree.releases.manifest import Manifest, parse_manifest, read_manifest, read_plan, seal
from tallytree.releases.margins import tabulate_margin
from tallytree.releases.region_views import RegionView
from tallytree.releases.release_columns import make_pandas, make_polars, make_schema, stream, tabulate_parts
from tallytree.releases.release_files import check_footer, read_file, write_file
from tallytree.releases.release_rows import read_in_order, read_regions, read_values
from tallytree.releases.usefulness import LevelUsefulness, check_usefulness, find_usefulness
from tallytree.sizes import Sizes, count_sizes, read_sizes, show_sizes
from tallytree.solvers.checks import (
    Check,
    Verification,
    check_budget,
    check_public_totals,
    describe_check,
    mark,
    skip,
    verify_counts,
    write_outcome,
)
from tallytree.solvers.unbiased import estimate_counts
from tallytree.words import Words, read_words

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

Ints = npt.NDArray[np.int64]

MAKER = object()
"""The token of :func:`tallytree.release` and :func:`load`, which alone make releases."""

RELEASE, MEASUREMENTS, MANIFEST = "release.parquet", "measurements.parquet", "manifest.json"
REPORT = "report.html"
"""Made from the other files, and can be made again at any time: the manifest does not name it."""
SIGNATURE = "signature.json"
"""Made of the other files by :func:`tallytree.sign`, after them."""


MOST_SHOWN_CELLS = 2**24
"""The most regions x sizes of a release that is verified when it is displayed: it takes a second at most."""


@dataclass(frozen=True, eq=False)
class Released:
    """What a release holds; :class:`tallytree.Release` can also be saved."""

    measurements: PrivateMeasurements
    counts: Sequence[Ints]
    """Regions x sizes for each level, root first."""
    total: int
    """The public number of groups."""
    manifest: Manifest
    file_checks: tuple[Check, ...] = ()
    """For a release read from a folder: whether its files are the ones that were written."""
    intervals: Intervals | None = None
    """How far the counts may be from the true ones: see :func:`tallytree.add_intervals`."""
    made_by: InitVar[object] = None

    def __post_init__(self, made_by: object) -> None:
        # Otherwise, counts or measurements of a simulation could be passed off as private ones.
        if made_by is not MAKER or not isinstance(self.measurements, PrivateMeasurements):
            raise MechanismError("A Release is made by tallytree.release or read by tallytree.load alone.")
        if isinstance(self.counts, LevelArrays):
            return  # they are immutable
        for values in self.counts:
            values.flags.writeable = False
        object.__setattr__(self, "counts", tuple(self.counts))

    @property
    def hierarchy(self) -> Hierarchy:
        """The regions."""
        return self.measurements.plan.hierarchy

    @property
    def sizes(self) -> Sizes:
        """The range of sizes."""
        return self.measurements.plan.sizes

    @property
    def words(self) -> Words:
        """What groups and their members are called."""
        return read_words(self.manifest["data"])

    @property
    def epsilon(self) -> Fraction:
        """The privacy loss."""
        return Fraction(self.manifest["privacy"]["epsilon"])

    @cached_property
    def usefulness(self) -> tuple[LevelUsefulness, ...]:
        """How useful the numbers of each level are, root first; nothing without intervals."""
        found = self.intervals
        return () if found is None else find_usefulness(found, self.hierarchy, self.counts)

    def verify(self, *, recompute: bool = False) -> Verification:
        """Check all conditions of a release, its claims, and the files if it was read from a folder.

        ``recompute`` also does the post-processing again, to see that it gives the same counts.
        """
        plan = self.measurements.plan
        made = self.manifest, self.measurements, self.counts, self.total
        skipped = skip("solution", "the post-processing was not repeated: 'tallytree verify' does that")
        return Verification(
            (
                *verify_counts(
                    self.hierarchy, self.sizes, self.counts, self.total, is_public=plan.has_public_total
                ),
                *self._check_totals(),
                check_budget(plan, self.epsilon),
                check_noise(self.measurements),
                *check_statement(self.manifest, plan, self.total),
                *check_receipt(self.manifest, plan),
                check_mechanism(*made),
                check_solution(*made) if recompute else skipped,
                *(() if self.intervals is None else (check_intervals(self.intervals),)),
                *((check_schema(self.manifest), *self.file_checks) if self.file_checks else ()),
            )
        )

    def _check_totals(self) -> tuple[Check, ...]:
        plan = self.measurements.plan
        if plan.public_totals is None:
            return ()
        return (check_public_totals(plan, self.measurements.values, self.counts),)

    def to_arrow(self) -> pa.Table:
        """Return the counts as a table: a column for each level, then level, size and groups.

        Rows without groups are left out. With intervals, the table has their columns too, and rows wherever
        there may be groups.
        """
        return self._stream().read_all()

    def to_pandas(self) -> pd.DataFrame:
        """Return the counts as a pandas data frame."""
        return make_pandas(self.to_arrow())

    def to_polars(self) -> pl.DataFrame:
        """Return the counts as a Polars data frame."""
        return make_polars(self.to_arrow())

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Stream the counts in parts to any reader of Arrow: DuckDB, Polars, ``pyarrow.table(release)``."""
        reader: Any = self._stream()
        return reader.__arrow_c_stream__(requested_schema)

    def _stream(self) -> pa.RecordBatchReader:
        where = self.hierarchy, self.sizes, self.counts
        if self.intervals is None:
            schema = make_schema(self.hierarchy.levels, "groups", sizes=self.sizes)
            return stream(tabulate_parts(*where, value="groups", zeros=False), schema)
        return stream(tabulate_cells(self.intervals, *where), make_cell_schema(self.hierarchy, self.sizes))

    def region(self, *path: str) -> RegionView:
        """Return a region, by the names from the root down to it; without names, the root."""
        return RegionView(self, *self.hierarchy.find(path or self.hierarchy.path(0, 0)))

    def margin(self, *by: str) -> pa.Table:
        """Return the groups by size for each name at some levels: over all regions that have it.

        ``margin("industry")`` adds up each industry over all counties, ``margin("state", "industry")`` over
        the counties of each state. The columns are these levels, size and groups.
        """
        return tabulate_margin(self.hierarchy, self.sizes, self.counts, by)

    def estimate_unbiased(self) -> pa.Table:
        """Return unbiased estimates, which may be negative, with exact variances, from the measurements."""
        return tabulate_estimates(estimate_counts(self.measurements), self.hierarchy, self.sizes)

    def write_into(self, folder: Path) -> None:
        """Write the release's files into an existing folder."""
        hashes = {
            RELEASE: self._write(folder / RELEASE, self.counts, "groups", zeros=False),
            MEASUREMENTS: self._write(
                folder / MEASUREMENTS, self.measurements.values, "measured", zeros=True
            ),
        }
        manifest = {**self.manifest, "files": hashes}
        (folder / MANIFEST).write_bytes(seal(self._state_intervals(manifest, folder)).encode())

    def write_intervals(self, folder: str | os.PathLike[str]) -> None:
        """Write the intervals into the folder that already holds this release."""
        path = as_path(folder)
        try:
            manifest = parse_manifest(read_manifest(path / MANIFEST).decode())
            if self.intervals is None or any(
                manifest.get(name) != self.manifest.get(name) for name in ("created", "privacy", "solution")
            ):
                raise FolderError(f"{show(path, most=150)} holds another release than the intervals are for.")
            if "intervals" in manifest:
                # Remove them from the manifest before their files change: it never names missing files.
                files = {name: manifest["files"].get(name) for name in (RELEASE, MEASUREMENTS)}
                manifest = {name: value for name, value in manifest.items() if name != "intervals"}
                manifest["files"] = files
                write_lasting(path / MANIFEST, seal(manifest).encode())
            manifest = self._state_intervals(manifest, path)
            for name in manifest["files"]:
                flush(path / name)
            write_lasting(path / MANIFEST, seal(manifest).encode())
            if self.intervals.kept is None:
                (path / REPLICATES).unlink(missing_ok=True)  # those of earlier intervals
        except OSError as error:
            raise FolderError(f"{show(path, most=150)} cannot be written: {describe(error)}.") from None

    def _state_intervals(self, manifest: Manifest, folder: Path) -> Manifest:
        """Write the intervals, if any, and return the manifest with them."""
        if self.intervals is None:
            return manifest
        hashes = write_intervals(self.intervals, self.hierarchy, self.sizes, self.counts, folder)
        files = {**manifest["files"], **hashes}
        stated = self.intervals.to_dict()
        stated["usefulness"] = [level.to_dict() for level in self.usefulness]
        return {**manifest, "intervals": stated, "files": files}

    def _write(self, path: Path, arrays: Sequence[Ints], value: str, *, zeros: bool) -> str:
        parts = tabulate_parts(self.hierarchy, self.sizes, arrays, value=value, zeros=zeros)
        return write_file(parts, make_schema(self.hierarchy.levels, value, sizes=self.sizes), path)

    def _repr_html_(self) -> str:
        plan, say = self.measurements.plan, self.words.say
        regions, levels = self.hierarchy.region_count, len(self.hierarchy.levels)
        rows = [
            [
                shorten(level.name),
                f"{plan.shape(index)[0]:,}",
                f"{get_total(self.counts, index):,}",
                show_short(level.loss),
                f"± {accuracy.reach:,}",
                *([FLAGS[self.usefulness[index].verdict]] if self.usefulness else []),
            ]
            for index, (level, accuracy) in enumerate(zip(plan.levels, find_accuracy(plan), strict=True))
        ]
        columns = ["level", "regions", say("groups"), plan.unit.name, "95 % of the noise within"]
        columns += ["released counts"] if self.usefulness else []
        return write_box(
            tag("span", shorten(self.words.title)) if self.words.title else self._name_root(),
            write_paragraph(
                say(
                    f"How many groups there are of each size, {show_sizes(self.sizes)}, in {regions:,} "
                    f"region{'s'[: regions > 1]} on {levels} level{'s'[: levels > 1]}: "
                    f"{self.total:,} groups in all."
                )
            ),
            write_paragraph(say(describe_privacy(plan))),
            write_table(columns, rows),
            self._write_status(),
        )

    def _name_root(self) -> Html:
        return tag("span", "Release of ", shorten(self.hierarchy.path(0, 0)[0]))

    def _write_status(self) -> Html:
        if self.hierarchy.region_count * count_sizes(self.sizes) > MOST_SHOWN_CELLS:
            words = "Not verified for display because of its size: call release.verify()."
            return tag("p", words, style=f"margin:0;{QUIET}")
        verification = self.verify()
        failed = [check for check in verification.checks if check.failed]
        return join(
            tag("p", write_outcome(verification), style="margin:0"),
            *(tag("p", mark(check), " ", describe_check(check), style="margin:0") for check in failed),
        )

    def __repr__(self) -> str:
        return f"Release({self.hierarchy!r}, sizes {show_sizes(self.sizes)}, epsilon {self.epsilon})"


Kind = TypeVar("Kind", bound=Released)


def read_folder(folder: str | os.PathLike[str], kind: type[Kind]) -> Kind:
    """Read a release from its folder, as an instance of ``kind``."""
    path = as_path(folder)
    shown = show(path, most=150)
    try:
        if not path.is_dir():
            raise FolderError(f"There is no release folder {shown}.")
        return _read_parts(path, kind)
    except FolderError:
        raise
    except FileNotFoundError as error:
        raise FolderError(f"{shown} is not a release: {Path(error.filename).name} is missing.") from None
    except UnicodeError:
        raise FolderError(f"{shown} is damaged: it holds text that is not UTF-8.") from None
    except OSError as error:
        raise FolderError(f"{shown} cannot be read: {describe(error)}.") from None
    except ValueError:  # an InputError of any part, or an invalid path
        raise FolderError(f"{shown} is damaged: its parts do not fit together.") from None


def _read_parts(path: Path, kind: type[Kind]) -> Kind:
    content = read_manifest(path / MANIFEST)
    manifest = parse_manifest(content.decode())
    sizes = read_sizes(manifest["data"])
    levels, regions = manifest["data"]["levels"], manifest["data"]["regions"]
    stated = StatedIntervals.of(manifest["intervals"]) if manifest.get("intervals") is not None else None
    rows = sum(regions) * count_sizes(sizes)
    measured, released = (make_schema(levels, value, sizes=sizes).names for value in ("measured", "groups"))
    check_footer(path / MEASUREMENTS, measured, fewest=rows, most=rows)
    check_footer(path / RELEASE, released, fewest=0, most=rows)
    if stated is not None:
        stated.check_footers(path, levels, sum(regions), sizes)
    hierarchy, values = _read_measurements(path / MEASUREMENTS, levels, sizes, rows)
    plan = read_plan(manifest, hierarchy)
    counts = read_values(
        read_file(path / RELEASE, levels, "groups"), hierarchy, sizes, value="groups", sparse=True
    )
    file_checks = check_manifest(content, manifest), *_check_files(path, manifest)
    intervals = None
    if stated is not None:
        intervals, check = read_intervals(path, stated, hierarchy, sizes, counts, manifest["files"])
        useful = check_usefulness(manifest["intervals"], intervals, hierarchy, counts)
        file_checks = check, *useful, *file_checks
    return kind(
        measurements=PrivateMeasurements(plan, values, str(manifest["privacy"].get("noise", ""))),
        counts=counts,
        total=manifest["data"]["total"],
        manifest=manifest,
        file_checks=file_checks,
        intervals=intervals,
        made_by=MAKER,
    )


def _read_measurements(
    path: Path, levels: Sequence[str], sizes: Sizes, rows: int
) -> tuple[Hierarchy, LevelArrays]:
    """Return the regions and their measurements, in any order of the rows."""
    tables = read_file(path, levels, "measured", multiple=count_sizes(sizes))
    found = read_in_order(tables, rows, levels, sizes, value="measured")
    if found is not None:
        return found
    hierarchy = read_regions(read_file(path, levels, "measured"), levels, sizes)
    tables = read_file(path, levels, "measured")
    return hierarchy, read_values(tables, hierarchy, sizes, value="measured", sparse=False)


def as_path(folder: object) -> Path:
    """Return the path of a release folder; refuse what is not a path."""
    if not isinstance(folder, (str, os.PathLike)):
        raise FolderError("A release folder must be given by its path.")
    return Path(folder)


def _check_files(folder: Path, manifest: Manifest) -> tuple[Check, ...]:
    """Check that files in the manifest are those that were written; list others, which are not checked."""
    hashes = manifest["files"]
    stated = manifest.get("intervals")
    names = (RELEASE, MEASUREMENTS, *((INTERVALS, SUMMARIES) if stated is not None else ()))
    if stated is not None and stated.get("kept"):
        names = *names, REPLICATES
    wrong = [
        f"{name} is not the file that was written"
        for name in names
        if hashes.get(name) != hash_file(folder / name)
    ]
    wrong += [
        f"the manifest has a digest of {show(name)}, which no release has"
        for name in hashes
        if name not in names
    ]
    check = Check(
        "files", "files are the ones that were written (SHA-256)", len(wrong), wrong[0] if wrong else ""
    )
    found = {file.name for file in folder.iterdir()}
    checks: tuple[Check, ...] = (check,)
    if SIGNATURE in found:
        checks = check, skip("signature", "not checked, because that takes the public key: verify --key")
    others = sorted(found - {*names, MANIFEST, REPORT, SIGNATURE})
    if not others:
        return checks
    some = ", ".join(show(name) for name in others[:3]) + (
        f" and {len(others) - 3} more" if len(others) > 3 else ""
    )
    return *checks, skip("other files", f"not checked, because the manifest does not list them: {some}")
