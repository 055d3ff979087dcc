"""Excel workbooks (Office Open XML), written by Arrow a few regions at a time.

A workbook is a zip archive of XML files. All text is in text cells, which no spreadsheet evaluates. Libraries
write cell by cell, which takes a minute where Arrow takes seconds.

ECMA-376, part 1: https://ecma-international.org/publications-and-standards/standards/ecma-376/
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any
from xml.sax.saxutils import escape
from zipfile import ZIP_DEFLATED, ZipFile

import pyarrow as pa
import pyarrow.compute as pc

from tallytree.errors import ExportError
from tallytree.exporting.published_tables import ExportColumn, ExportTable, Kind, find_kind
from tallytree.exporting.release_facts import list_facts
from tallytree.releases.released import Released

MOST_ROWS, MOST_COLUMNS, MOST_LETTERS = 2**20, 2**14, 32_767
"""The limits of a sheet in Excel, and of the text of a cell."""
MOST_BYTES = 2**31 - 1
"""The largest part of a zip archive that every version of Excel reads."""

BATCH_ROWS = 2**16
"""Rows that are put together at a time."""

HEADER, WHOLE, DECIMAL, TEXT = 1, 2, 3, 4
"""The styles of cells, as places in ``STYLES``."""
STYLES_OF: dict[Kind, int] = {"integer": WHOLE, "number": DECIMAL}
NUMBERS, NAMES, WIDEST = 10, 20, 40
"""Widths of columns, in characters: of numbers and of text at least, and at most."""
WIDE, LINE = 100, 15
"""The width of a text of several lines, and the height of a line in points."""

MAIN = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
DOCUMENT = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
SHEET_KIND = "application/vnd.openxmlformats-officedocument.spreadsheetml"
HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'

STYLES = f"""{HEAD}<styleSheet {MAIN}>
<fonts count="2"><font><sz val="11"/><name val="Calibri"/></font>
<font><b/><sz val="11"/><name val="Calibri"/></font></fonts>
<fills count="2"><fill><patternFill patternType="none"/></fill>
<fill><patternFill patternType="gray125"/></fill></fills>
<borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders>
<cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs>
<cellXfs count="5"><xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0"/>
<xf numFmtId="49" fontId="1" fillId="0" borderId="0" xfId="0" applyFont="1" applyNumberFormat="1"
applyAlignment="1"><alignment vertical="top"/></xf>
<xf numFmtId="3" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/>
<xf numFmtId="4" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/>
<xf numFmtId="49" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1" applyAlignment="1">
<alignment vertical="top" wrapText="1"/></xf></cellXfs>
<cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles>
</styleSheet>
"""

_ODD = re.compile("[\x00-\x08\x0b\x0c\x0d\x0e-\x1f\ufffe\uffff]|_(?=x[0-9A-Fa-f]{4}_)")


def write_workbook(release: Released, tables: Sequence[ExportTable], path: Path) -> int:
    """Write a sheet for each table, and one of facts; return the number of rows of the tables."""
    names = [*(table.name for table in tables), "about"]
    rows = 0
    with ZipFile(path, "w", ZIP_DEFLATED, compresslevel=4) as archive:
        archive.writestr("[Content_Types].xml", _list_types(len(names)))
        archive.writestr("_rels/.rels", _relate([("officeDocument", "xl/workbook.xml")]))
        archive.writestr("xl/workbook.xml", _list_sheets(names))
        targets = [("worksheet", f"worksheets/sheet{number + 1}.xml") for number in range(len(names))]
        archive.writestr("xl/_rels/workbook.xml.rels", _relate([*targets, ("styles", "styles.xml")]))
        archive.writestr("xl/styles.xml", STYLES)
        for table, (_, target) in zip(tables, targets, strict=False):
            with archive.open(f"xl/{target}", "w") as file:
                rows += _Sheet(table, file).write()
        archive.writestr(f"xl/{targets[-1][1]}", _write_facts(list_facts(release)))
    return rows


class _Sheet:
    """The sheet of a table, which is written once."""

    def __init__(self, table: ExportTable, file: IO[bytes]) -> None:
        if len(table.columns) > MOST_COLUMNS:
            raise ExportError(
                f"Excel has at most {MOST_COLUMNS:,} columns, and the table has {len(table.columns):,}: "
                "leave out --wide, or write CSV (--to csv)."
            )
        self._table = table
        self._file = file
        self._bytes = 0

    def write(self) -> int:
        """Write everything, and return the number of rows."""
        columns, rows = self._table.columns, 1
        widths = [_find_width(column) for column in columns]
        self._put(_begin_sheet(widths, frozen=True))
        self._put(f"<row>{''.join(_write_text(column.name, HEADER) for column in columns)}</row>")
        for part in self._table.stream(_escape):
            rows += part.num_rows
            if rows > MOST_ROWS:
                raise ExportError(
                    f"Excel has at most {MOST_ROWS:,} rows, and sheet {self._table.name!r} has more: write "
                    "CSV (--to csv), or a row for each region (--wide)."
                )
            for start in range(0, part.num_rows, BATCH_ROWS):
                for lines in _write_rows(part.slice(start, BATCH_ROWS)):
                    self._put(lines)
        self._put(f'</sheetData><autoFilter ref="A1:{name_column(len(columns) - 1)}{rows}"/></worksheet>')
        return rows - 1

    def _put(self, text: str | pa.Buffer) -> None:
        content = text.encode() if isinstance(text, str) else text
        self._bytes += len(content)
        if self._bytes > MOST_BYTES:
            raise ExportError("The sheet is larger than Excel can read (2 GB): write CSV (--to csv).")
        self._file.write(content)


def _find_width(column: ExportColumn) -> int:
    least = NUMBERS if pa.types.is_primitive(column.type) else NAMES
    return min(max(len(column.name) + 2, least), WIDEST)


def _write_rows(part: pa.Table) -> Iterator[pa.Buffer]:
    """Yield the rows as XML, put together by Arrow; names are escaped already."""
    cells: list[Any] = []
    for given in part.columns:
        column: Any = given
        kind = find_kind(column.type)
        if kind in STYLES_OF:
            before, after = f'<c s="{STYLES_OF[kind]}"><v>', "</v></c>"
        else:
            before, after = '<c t="inlineStr"><is><t xml:space="preserve">', "</t></is></c>"
        column = column.cast(pa.string())
        cells.append(pc.fill_null(pc.binary_join_element_wise(before, column, after, ""), "<c/>"))
    join: Any = pc.binary_join_element_wise
    lines = join(pa.scalar("<row>"), *cells, pa.scalar("</row>"), pa.scalar(""))
    for chunk in lines.chunks:
        whole: Any = pc.binary_join(pa.ListArray.from_arrays([0, len(chunk)], chunk), "")
        yield whole[0].as_buffer()


def _escape(text: str) -> str:
    """Return text for a cell; what XML cannot hold is written as Excel does it, such as _x001B_."""
    cut = text if len(text) <= MOST_LETTERS else text[: MOST_LETTERS - 3] + "..."
    return escape(_ODD.sub(lambda odd: f"_x{ord(odd[0]):04X}_", cut))


def _write_text(text: str, style: int) -> str:
    return f'<c s="{style}" t="inlineStr"><is><t xml:space="preserve">{_escape(text)}</t></is></c>'


def _write_facts(facts: Sequence[tuple[str, str]]) -> str:
    rows = [
        f'<row ht="{LINE * -(-len(text) // WIDE)}" customHeight="1">{_write_text(name, HEADER)}'
        f"{_write_text(text, TEXT)}</row>"
        for name, text in facts
    ]
    return f"{_begin_sheet([WIDEST, WIDE], frozen=False)}{''.join(rows)}</sheetData></worksheet>"


def _begin_sheet(widths: Sequence[int], *, frozen: bool) -> str:
    pane = '<pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/>' if frozen else ""
    columns = "".join(
        f'<col min="{place}" max="{place}" width="{width}" customWidth="1"/>'
        for place, width in enumerate(widths, 1)
    )
    return (
        f'{HEAD}<worksheet {MAIN}><sheetViews><sheetView workbookViewId="0">{pane}</sheetView></sheetViews>'
        f"<cols>{columns}</cols><sheetData>"
    )


def name_column(place: int) -> str:
    """Return the letters of a column, counted from 0.

    >>> name_column(0), name_column(25), name_column(26), name_column(16383)
    ('A', 'Z', 'AA', 'XFD')
    """
    letters = ""
    while place >= 0:
        place, letter = divmod(place, 26)
        letters, place = chr(ord("A") + letter) + letters, place - 1
    return letters


def _list_types(sheets: int) -> str:
    parts = [("/xl/workbook.xml", "sheet.main"), ("/xl/styles.xml", "styles")]
    parts += [(f"/xl/worksheets/sheet{number + 1}.xml", "worksheet") for number in range(sheets)]
    overrides = "".join(
        f'<Override PartName="{name}" ContentType="{SHEET_KIND}.{kind}+xml"/>' for name, kind in parts
    )
    return (
        f'{HEAD}<Types xmlns="{PACKAGE}/content-types"><Default Extension="rels" '
        'ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" '
        f'ContentType="application/xml"/>{overrides}</Types>'
    )


def _list_sheets(names: Sequence[str]) -> str:
    sheets = "".join(
        f'<sheet name="{name}" sheetId="{number}" r:id="rId{number}"/>'
        for number, name in enumerate(names, 1)
    )
    return f'{HEAD}<workbook {MAIN} xmlns:r="{DOCUMENT}"><sheets>{sheets}</sheets></workbook>'


def _relate(targets: Sequence[tuple[str, str]]) -> str:
    related = "".join(
        f'<Relationship Id="rId{number}" Type="{DOCUMENT}/{kind}" Target="{target}"/>'
        for number, (kind, target) in enumerate(targets, 1)
    )
    return f'{HEAD}<Relationships xmlns="{PACKAGE}/relationships">{related}</Relationships>'
