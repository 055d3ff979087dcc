"""Tables to publish: every number of a release is in them, and no name of a region is a formula."""

from __future__ import annotations

import csv
import io
import zipfile
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import duckdb
import openpyxl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tallytree as tt
from tallytree.errors import ExportError
from tallytree.exporting import workbook
from tallytree.exporting.published_tables import ABOUT, STATISTICS, guard
from tallytree.releases import statistics
from tallytree.releases.release_columns import COLUMNS
from tests.exporting.export_support import (
    LEVELS,
    PATHS,
    WORDS,
    list_cells,
    list_rows,
    make_release,
    strip_guard,
)

KINDS = [(classes, intervals) for classes in (False, True) for intervals in (False, True)]
kinds = pytest.mark.parametrize(
    ("classes", "intervals"), KINDS, ids=["sizes", "intervals", "classes", "class intervals"]
)


def read_csv(path: Path) -> tuple[list[str], list[list[str | None]]]:
    """The header and the rows; what is empty and not quoted is None."""
    with duckdb.connect() as connection:
        asked = f"FROM read_csv('{path}', header = true, all_varchar = true, strict_mode = true)"
        found = connection.sql(asked)
        header, rows = found.columns, found.fetchall()
    assert header[0] == "nation"
    return header, [[strip_guard(cell) for cell in row] for row in rows]


def check_long(release: tt.Release, header: list[str], rows: list[list[Any]]) -> None:
    """Compare a long table with the cells of its release."""
    named = [dict(zip(header, row, strict=True)) for row in rows]
    expected = list_rows(release)
    is_classes = isinstance(release.sizes, tt.SizeClasses)
    label = "size_label" if is_classes else "size"
    ends = ("groups_low", "groups_high") if release.intervals else ("groups", "groups")
    found = [
        (
            *(row[name] for name in header[:4]),
            str(row[label]),
            *(int(row[name]) for name in ("groups", *ends)),
        )
        for row in named
    ]
    assert found == expected
    if is_classes:
        bounds = {(str(row["size"]), str(row["size_high"]), row["size_label"]) for row in named}
        assert bounds == {("1", "4", "1-4"), ("5", "49", "5-49"), ("50", "None", "50+")}


@kinds
def test_csv_has_every_number(classes: bool, intervals: bool, tmp_path: Path) -> None:
    release = make_release(classes=classes, intervals=intervals)
    done = tt.export(release, "csv", tmp_path / "counts.csv")
    header, rows = read_csv(tmp_path / "counts.csv")
    assert [strip_guard(name) for name in header[:4]] == [*LEVELS, "level"]
    assert (done.path, done.count) == (tmp_path / "counts.csv", len(rows))
    check_long(release, header, rows)


@kinds
def test_wide_csv_has_a_row_for_each_region(classes: bool, intervals: bool, tmp_path: Path) -> None:
    release = make_release(classes=classes, intervals=intervals)
    tt.export(release, "csv", tmp_path / "wide.csv", wide=True)
    header, rows = read_csv(tmp_path / "wide.csv")
    assert len(rows) == release.hierarchy.region_count
    found = {tuple(name for name in row[:3] if name): dict(zip(header, row, strict=True)) for row in rows}
    for path, size, groups, low, high in list_cells(release):
        row = found[path]
        assert row[size] == str(groups)
        if intervals:
            assert (row[f"{size} low"], row[f"{size} high"]) == (str(low), str(high))
        assert row["groups"] == str(release.region(*path).total)


@kinds
@pytest.mark.parametrize("wide", [False, True])
def test_a_workbook_has_every_number(classes: bool, intervals: bool, wide: bool, tmp_path: Path) -> None:
    release = make_release(classes=classes, intervals=intervals)
    tt.export(release, "xlsx", tmp_path / "release.xlsx", wide=wide)
    tt.export(release, "csv", tmp_path / "release.csv", wide=wide)
    sheets = openpyxl.load_workbook(tmp_path / "release.xlsx")
    assert sheets.sheetnames == ["counts", "regions", "about"]
    header, *rows = (list(row) for row in sheets["counts"].iter_rows(values_only=True))
    told, others = read_csv(tmp_path / "release.csv")
    assert header == [strip_guard(name) for name in told]
    assert [[unescape(cell) for cell in row] for row in rows] == [
        [number_or_text(cell, name) for cell, name in zip(row, header, strict=True)] for row in others
    ]
    if not wide:
        check_long(
            release, [str(name) for name in header], [[unescape(cell) for cell in row] for row in rows]
        )


def unescape(cell: Any) -> Any:
    """What Excel reads: openpyxl leaves its escapes, such as _x001B_, as they are."""
    if not isinstance(cell, str):
        return cell
    for code in ("000D", "001B", "005F"):
        cell = cell.replace(f"_x{code}_", chr(int(code, 16)))
    return cell


def number_or_text(cell: str | None, name: Any) -> Any:
    return cell if cell is None or name in (*LEVELS, "level", "size_label", "flag") else float(cell)


def test_the_regions_of_a_workbook_have_their_statistics(tmp_path: Path) -> None:
    release = make_release(classes=False, intervals=True)
    tt.export(release, "xlsx", tmp_path / "release.xlsx")
    header, *rows = openpyxl.load_workbook(tmp_path / "release.xlsx")["regions"].iter_rows(values_only=True)
    assert len(rows) == release.hierarchy.region_count
    assert release.intervals is not None
    for level, bounds in enumerate(release.intervals.summaries):
        here = [row for row in rows if row[3] == LEVELS[level]]
        for region, row in enumerate(here):
            told = dict(zip(header, row, strict=True))
            for place, name in enumerate(bounds.names):
                for column, values in (("", bounds.value), ("_low", bounds.low), ("_high", bounds.high)):
                    expected = float(values[region, place])
                    found = told[f"{name}{column}"]
                    assert found == pytest.approx(expected) if expected == expected else found is None


def test_a_workbook_says_what_is_promised_and_of_which_folder(tmp_path: Path) -> None:
    release = make_release(classes=True, intervals=True, total="private", delta="1e-9", rho="1", epsilon=None)
    release.save(tmp_path / "release", replicates=0)
    tt.export(tmp_path / "release", "xlsx", tmp_path / "release.xlsx")
    about = list(openpyxl.load_workbook(tmp_path / "release.xlsx")["about"].iter_rows(values_only=True))
    facts = {str(name): str(text) for name, text in about}
    manifest = release.manifest
    assert facts["Title"] == WORDS.title
    assert facts["Privacy"] == manifest["privacy"]["statement"]
    assert facts["Rho"] == manifest["privacy"]["rho"]
    assert facts["Sizes"] == "1-4, 5-49, 50+"
    assert facts["Accuracy"].startswith("90 % of the true numbers")
    digest = facts["SHA-256 of manifest.json"]
    assert tt.verify(tmp_path / "release", sha256=digest).passed
    assert (
        facts["SHA-256 of release.parquet"]
        == tt.load(tmp_path / "release").manifest["files"]["release.parquet"]
    )


def test_a_workbook_holds_no_formula_and_only_parts_that_are_named(tmp_path: Path) -> None:
    tt.export(make_release(classes=True, intervals=True), "xlsx", tmp_path / "release.xlsx")
    with zipfile.ZipFile(tmp_path / "release.xlsx") as archive:
        assert archive.testzip() is None
        parts = {name: ElementTree.fromstring(archive.read(name)) for name in archive.namelist()}
    types = {part.get("PartName") for part in parts["[Content_Types].xml"]} - {None}
    assert types == {f"/{name}" for name in parts if name.startswith("xl/") and not name.endswith(".rels")}
    for part in parts.values():
        assert not [tag for tag in part.iter() if tag.tag.endswith("}f")]


def test_a_table_that_excel_cannot_hold_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    release = make_release(classes=False, intervals=False)
    for name, most, wide, message in (
        ("MOST_ROWS", 20, False, r"at most 20 rows.*--to csv.*--wide"),
        ("MOST_COLUMNS", 6, True, r"at most 6 columns.*has 8.*--wide"),
        ("MOST_BYTES", 3000, False, r"larger than Excel can read.*--to csv"),
    ):
        with monkeypatch.context() as patched:
            patched.setattr(workbook, name, most)
            with pytest.raises(ExportError, match=message):
                tt.export(release, "xlsx", tmp_path / "release.xlsx", wide=wide)
        assert not list(tmp_path.iterdir())


@given(
    st.text(st.sampled_from("'=+-@\t\rA1 "), max_size=6), st.text(st.sampled_from("'=+-@\t\rA1 "), max_size=6)
)
def test_the_guard_can_be_taken_off_again(text: str, other: str) -> None:
    assert guard(text)[:1] not in set("=+-@\t\r")
    assert strip_guard(guard(text)) == text
    assert (guard(text) == guard(other)) is (text == other)


def test_no_text_of_a_csv_file_begins_a_formula(tmp_path: Path) -> None:
    for wide in (False, True):
        path = tmp_path / f"{wide}.csv"
        tt.export(make_release(classes=True, intervals=True), "csv", path, wide=wide)
        rows = list(csv.reader(io.StringIO(path.read_bytes().decode(), newline="")))
        texts = [cell for row in rows for cell in row if not is_number(cell)]
        assert not [text for text in texts if text[:1] in set("=+-@\t\r")]
        assert any(text.startswith("'=") for text in texts)  # the check would see one
        assert {cell for row in rows for cell in row} >= {guard(path[-1]) for path in PATHS[:-1]}


def is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return text.strip() == text and text != "-1"


def test_every_column_and_statistic_is_described() -> None:
    """Whoever adds one describes it for the formats that are exported."""
    assert {column.name for column in COLUMNS} <= ABOUT.keys()
    assert {statistic.name for statistic in statistics.STATISTICS} == STATISTICS.keys()
