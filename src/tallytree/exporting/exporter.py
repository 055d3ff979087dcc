"""Releases written in the formats that other software reads."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

from tallytree.errors import ExportError, name_choices, show
from tallytree.exporting.data_package import write_data_package
from tallytree.exporting.published_tables import (
    ExportTable,
    describe_counts,
    describe_summaries,
    describe_wide_counts,
    write_csv,
)
from tallytree.exporting.registry_entry import write_registry_entry
from tallytree.exporting.sdmx import write_sdmx
from tallytree.exporting.web_tables import write_web_tables
from tallytree.exporting.workbook import write_workbook
from tallytree.files import new_file, new_folder
from tallytree.releases.released import Released, read_folder


@dataclass(frozen=True)
class Format:
    """A format that releases are exported in."""

    write: Callable[[Released, Sequence[ExportTable], Path], int]
    """Write the tables of a release, counts first, to a file or into a folder; return a number for people."""
    is_folder: bool = False
    """Whether it is a folder, or a zip file if the name of the target ends in .zip."""
    has_wide: bool = False
    counted: str = "rows"
    """What the number is about."""
    ending: str = ""
    """That of its file, such as .csv; other formats refuse it. Folders have that of a zip file."""

    @property
    def own_ending(self) -> str:
        """Return the ending of the one file that it is written to."""
        return ".zip" if self.is_folder else self.ending


FORMATS: dict[str, Format] = {
    "csv": Format(lambda release, tables, path: write_csv(tables[0], path), has_wide=True, ending=".csv"),
    "xlsx": Format(write_workbook, has_wide=True, ending=".xlsx"),
    "datapackage": Format(write_data_package, is_folder=True),
    "csvw": Format(write_web_tables, is_folder=True),
    "sdmx-csv": Format(
        lambda release, tables, path: write_sdmx(release, path), is_folder=True, counted="observations"
    ),
    "registry": Format(
        lambda release, tables, path: write_registry_entry(release, path),
        counted="texts to fill in",
        ending=".yaml",
    ),
}


@dataclass(frozen=True)
class Exported:
    """What was written."""

    path: Path
    count: int
    counted: str
    """What the count is about: rows, observations, or texts to fill in."""


def export(
    release: Released | str | os.PathLike[str],
    to: str,
    out: str | os.PathLike[str],
    *,
    wide: bool = False,
) -> Exported:
    """Write a release, or that of a folder, in a format that other software reads.

    ``to`` is the format: csv, xlsx, datapackage, csvw, sdmx-csv or registry. ``out`` must not exist; it is a
    folder, or a zip file if it ends in .zip, for datapackage, csvw and sdmx-csv. With ``wide``, the table has
    a row for each region and a column for each size (csv and xlsx). A release that fails its checks is not
    exported.

    >>> export("release", to="pdf", out="release.pdf")
    Traceback (most recent call last):
    ...
    tallytree.errors.ExportError: There is no format 'pdf': there is 'csv', 'xlsx', 'datapackage', ...
    """
    if to not in FORMATS:
        raise ExportError(f"There is no format {show(to)}: {name_choices(to, FORMATS)}")
    form = FORMATS[to]
    if wide and not form.has_wide:
        able = " and ".join(name for name, known in FORMATS.items() if known.has_wide)
        raise ExportError(f"The format {to} has no wide form: leave out wide, or choose one of {able}.")
    if not isinstance(out, (str, os.PathLike)):
        raise ExportError("The place to write to must be given by its path.")
    path = Path(out)
    own, given = form.own_ending, path.suffix.lower()
    if given not in ("", own) and given in {known.own_ending for known in FORMATS.values()}:
        kind = "a folder, or a file that ends" if form.is_folder else "a file that ends"
        raise ExportError(
            f"{show(path, most=150)} ends as files of another format do: {to} is {kind} in {own}."
        )

    def write(place: Path) -> int:
        found = _take(release)
        counts = describe_wide_counts(found) if wide else describe_counts(found)
        return form.write(found, [counts, describe_summaries(found)], place)

    # The place is begun first: one that cannot be written to is found out before any work is done.
    if form.is_folder and given != own:
        with new_folder(path) as folder:
            count = write(folder)
    else:
        with new_file(path) as file:
            count = _pack(write, file) if form.is_folder else write(file)
    return Exported(path, count, form.counted)


def _take(release: Released | str | os.PathLike[str]) -> Released:
    """Return the release, read from its folder if need be; refuse one that fails its checks."""
    found = release if isinstance(release, Released) else read_folder(release, Released)
    failed = [check.name for check in found.verify().checks if check.failed]
    if failed:
        raise ExportError(
            f"The release is not exported, because it fails the check {show(failed[0])}: see "
            "'tallytree verify'."
        )
    return found


def _pack(write: Callable[[Path], int], file: Path) -> int:
    """Write a folder as a zip file."""
    with tempfile.TemporaryDirectory() as folder:
        count = write(Path(folder))
        with ZipFile(file, "w", ZIP_DEFLATED) as archive:
            for path in sorted(Path(folder).iterdir()):
                archive.write(path, path.name)
    return count
