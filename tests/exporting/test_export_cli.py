"""``tallytree export``: what it prints, what it refuses, and that nothing half-written is left."""

from __future__ import annotations

import csv
import errno
import json
import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from zipfile import ZipFile, is_zipfile

import pyarrow as pa
import pyarrow.parquet as pa_parquet
import pytest

import tallytree as tt
from tallytree import arrays
from tallytree.errors import ExportError, FolderError
from tallytree.exporting import exporter
from tallytree.exporting.exporter import FORMATS
from tallytree.exporting.published_tables import ExportTable, guard
from tallytree.releases.released import Released
from tests.bad_input_support import check_refused
from tests.commands import Run
from tests.exporting.export_support import list_rows, make_release


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, with a release."""
    make_release(classes=True, intervals=True).save(tmp_path / "release", replicates=0)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def list_files(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_is_written_and_readable_by_others(name: str, folder: Path, run: Run) -> None:
    code, out, err = run("export", "release", "--to", name, "--out", "made.x")
    assert (code, err) == (0, "")
    assert out.startswith("Written to made.x: ")
    assert list_files(folder) == {"release", "made.x"}
    umask = os.umask(0)
    os.umask(umask)
    expected = 0o755 if FORMATS[name].is_folder else 0o666 & ~umask
    assert (folder / "made.x").stat().st_mode & 0o777 == expected  # to be published


def test_with_json_a_program_learns_what_was_written(folder: Path, run: Run) -> None:
    code, out, _ = run("export", "release", "--to", "csv", "--out", "made.csv", "--json")
    rows = len(list_rows(make_release(classes=True, intervals=True)))
    assert (code, json.loads(out)) == (0, {"out": "made.csv", "format": "csv", "rows": rows})
    code, out, _ = run("export", "release", "--to", "registry", "--out", "made.yaml", "--json")
    assert json.loads(out)["texts_to_fill_in"] > 5


def tamper(folder: Path) -> None:
    path = folder / "release" / "manifest.json"
    path.write_text(path.read_text().replace("firm", "farm"))


def nothing(folder: Path) -> None:
    pass


REFUSALS: dict[str, tuple[list[str], Callable[[Path], object], str]] = {
    "format": (["--to", "cvs"], nothing, "There is no format 'cvs': did you mean 'csv'?"),
    "wide": (
        ["--to", "csvw", "--wide"],
        nothing,
        "csvw has no wide form: leave out wide, or choose one of csv",
    ),
    "file": (["--to", "csv"], lambda folder: (folder / "made").touch(), "'made' exists already"),
    "folder": (["--to", "csvw"], lambda folder: (folder / "made").mkdir(), "'made' exists already"),
    "link": (["--to", "csv"], lambda folder: (folder / "made").symlink_to("x"), "'made' exists already"),
    "place": (["--to", "csv", "--out", "no/made"], nothing, "'no/made' cannot be written: No such file"),
    "file as place": (["--to", "sdmx-csv", "--out", "release/manifest.json/x"], nothing, "cannot be written"),
    "tampered": (["--to", "xlsx"], tamper, "not exported, because it fails the check"),
    "no release": (["--to", "csv"], lambda folder: shutil.rmtree(folder / "release"), "There is no release"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_a_refusal_is_one_clear_error_and_leaves_nothing(name: str, folder: Path, run: Run) -> None:
    words, prepare, message = REFUSALS[name]
    prepare(folder)
    before = list_files(folder)
    place = [] if "--out" in words else ["--out", "made"]
    code, out, err = run("export", "release", *words, *place)
    assert (code, out) == (2, "")
    assert " ".join(err.split()).count("Error: ") == 1
    assert message in " ".join(err.split())
    assert list_files(folder) == before


@pytest.mark.parametrize("target", ["made.csv", "made", "made.zip"])
@pytest.mark.parametrize(
    ("raised", "expected"),
    [(KeyboardInterrupt(), KeyboardInterrupt), (OSError(errno.ENOSPC, "full"), FolderError)],
    ids=["interrupted", "full"],
)
def test_what_goes_wrong_in_the_middle_leaves_nothing(
    target: str,
    raised: BaseException,
    expected: type[BaseException],
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(release: object, tables: object, path: Path) -> int:
        inside = path / "counts.csv" if path.is_dir() else path
        inside.write_text("half")
        raise raised

    form = "csv" if target.endswith(".csv") else "csvw"
    monkeypatch.setitem(exporter.FORMATS, form, exporter.Format(fail, is_folder=form == "csvw"))
    with pytest.raises(expected):
        tt.export("release", form, target)
    assert list_files(folder) == {"release"}


def test_python_refuses_what_is_not_a_path_and_exports_what_was_never_saved(tmp_path: Path) -> None:
    made = make_release(classes=False, intervals=False)
    with pytest.raises(ExportError, match="path"):
        tt.export(made, "csv", 7)  # type: ignore[arg-type]
    for name in FORMATS:
        assert tt.export(made, name, tmp_path / name).count > 0


@pytest.mark.parametrize("name", FORMATS)
def test_a_few_regions_at_a_time_give_the_same(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = make_release(classes=False, intervals=True)
    tt.export(made, name, tmp_path / "once")
    monkeypatch.setattr(arrays, "CHUNK_CELLS", 4)
    tt.export(made, name, tmp_path / "parts")
    once, parts = (read_parts(tmp_path / place) for place in ("once", "parts"))
    assert once == parts


def read_parts(path: Path) -> dict[str, bytes]:
    """The files of a folder, or the parts of a workbook, each of which has a time; or the file."""
    if path.is_dir():
        return {file.name: file.read_bytes() for file in path.iterdir()}
    if not is_zipfile(path):
        return {"": path.read_bytes()}
    with ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.mark.parametrize(
    ("form", "target"),
    [("csv", "made.xlsx"), ("xlsx", "made.csv"), ("csvw", "made.CSV"), ("registry", "a.zip")],
)
def test_the_ending_of_another_format_is_refused(form: str, target: str, folder: Path, run: Run) -> None:
    refused = run("export", "release", "--to", form, "--out", target)
    check_refused(refused, folder, f"'{target}' ends as files of another format do: {form} is a ")
    assert list_files(folder) == {"release"}


def test_a_format_from_outside_is_offered_like_ours(
    folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write_total(release: Released, tables: Sequence[ExportTable], path: Path) -> int:
        path.write_text(f"{tables[0].name}: {release.total}")
        return 1

    monkeypatch.setitem(exporter.FORMATS, "total", exporter.Format(write_total, counted="number"))
    code, out, _ = run("export", "release", "--to", "total", "--out", "made")
    assert (code, out) == (0, "Written to made: 1 number.\n")
    total = make_release(classes=True, intervals=True).total
    assert (folder / "made").read_text() == f"counts: {total}"
    assert "'total'" in run("export", "release", "--to", "pdf", "--out", "other").err


def test_unbiased_estimates_in_csv_are_guarded_and_in_parquet_as_they_are(folder: Path, run: Run) -> None:
    for name in ("unbiased.csv", "unbiased.parquet"):
        assert run("unbiased", "release", "--out", name).code == 0
    with Path("unbiased.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    plain = pa_parquet.read_table("unbiased.parquet")
    assert rows[0] == [guard(name) for name in plain.column_names]
    assert "'=state" in rows[0]
    for place in range(4):  # the columns of the levels, and that of the level's name
        named = plain.column(place).to_pylist()
        assert [row[place] for row in rows[1:]] == ["" if name is None else guard(name) for name in named]
    assert {"'-1", "'@SUM(1+1)*cmd"} <= {cell for row in rows for cell in row}
    assert [float(row[-2]) for row in rows[1:]] == plain.column("estimate").to_pylist()


def test_counts_in_csv_come_back_as_they_were(folder: Path, run: Run) -> None:
    names = ["=1+1", "'=1+1", "-1", "plain"]
    people = pa.table({"home": [1, 2, 3, 4], "state": names})
    pa_parquet.write_table(people, "people.parquet")
    shared = ["--region", "state", "--sizes", "1:3"]
    code, _, err = run("count", "people.parquet", "--group", "home", *shared, "--out", "sensitive.csv")
    assert (code, err) == (0, "")
    assert run("release", "sensitive.csv", *shared, "--epsilon", "9", "--out", "made").code == 0
    assert {path[-1] for path in tt.load("made").hierarchy.regions("state")} == set(names)
