"""Household sizes by county, in the files that the Census Bureau gives out.

These are table H13 of the 2010 Census (Summary File 1) and table H9 of the 2020 Census (DHC). Both give the
households in all, those of size 1 to 6, and those of 7 or more, in one of these forms:

-   the CSV of data.census.gov (``DECENNIALSF12010.H13-Data.csv``, ``DECENNIALDHC2020.H9-Data.csv``): a
    column ``GEO_ID``, a line of labels below the header, a comma at the end of every line, perhaps columns
    of errata or annotations;
-   the CSV of American FactFinder, which it replaced (``DEC_10_SF1_H13.csv``, with or without
    ``_with_ann``): a column ``GEO.id``, and columns D001 to D008 whatever the table, so that only the line
    of labels tells which it is;
-   the JSON of the Census API: a list of lists, the header first, with ``state`` and ``county`` at the end
    or with a ``GEO_ID``.
"""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import numpy.typing as npt

from tallytree.counts.region_tables import refuse_rows
from tallytree.datasets.census import LEAST_LARGE, CountyTable, Ints, make_county_table
from tallytree.datasets.invented import MEAN_OF_LARGE
from tallytree.datasets.raw_files import FilePath, find_column, fit_rows, parse_csv, parse_json, read_text
from tallytree.errors import CountsError, show

FACTFINDER = "D{:03}"
VARIABLES = ("H013{:03}", "H013{:04}", "H9_{:03}N", FACTFINDER)
"""The names of the columns: 1 is the total, 2 is size 1, 8 is 7 or more. The second is the older API's."""

IDENTIFIERS = ("GEO_ID", "GEO.id", "ucgid")
IDENTIFIER = re.compile(r"[0-9]{3}[0-9A-Z]{4}US[0-9A-Z]*")
"""Summary level, variant, component, "US", code."""
LABELS = ("geography", "id")
"""What the line of labels has in place of an identifier."""
NO_PLACE = "0000000US"
"""A summary level that does not exist."""
WHOLE_COUNTY = re.compile(r"050[0-9A-Z]{2}00US")
COUNTY = re.compile(r"050[0-9A-Z]{2}00US([0-9]{5})")

Rows = list[list[Any]]


def read_household_sizes(path: FilePath, *, mean_large: float = MEAN_OF_LARGE) -> CountyTable:
    """Read the counties of a file, whose form is recognised; rows of other summary levels are left out.

    The tables do not tell how many people live in households of 7 or more, so ``mean_large``, their mean
    size, is the nation's in 2010 if it is not given.
    """
    if not isinstance(mean_large, (int, float)) or not LEAST_LARGE <= mean_large < math.inf:
        raise CountsError(f"The mean size of households of {LEAST_LARGE} or more must be at least that.")
    # Only codes and numbers are used, so the county names may be Latin-1, as they once were.
    text = read_text(path, any_encoding=True)
    table = _check_json(parse_json(text)) if text.lstrip()[:1] in ("[", "{") else parse_csv(text)
    if not table:
        raise CountsError(f"The file {show(path, most=150)} is empty.")
    header = [str(name).strip() for name in table[0]]
    while header and not header[-1]:
        header.pop()
    form = _find_form(header)
    rows = list(fit_rows(header, table[1:]))
    places = _find_places(header, rows)
    if places and places[0].lower() in LABELS:
        _check_labels(rows[0], header, form)
        places[0] = NO_PLACE
    counties, is_county = _find_counties(places)
    total, *sizes = (_read_sizes(rows, header, form.format(n), is_county) for n in range(1, 9))
    refuse_rows(np.sum(sizes, axis=0) != total, "the sizes do not add up to the total")
    by_size = np.stack(sizes, axis=1)[is_county]
    states = [code[:2] for code in counties]
    return make_county_table(states, counties, by_size[:, :-1], by_size[:, -1], float(mean_large))


def _check_json(data: Any) -> Rows:
    if not isinstance(data, list) or not all(isinstance(row, list) for row in data):
        raise CountsError("The JSON is not what the Census API gives: a list of lists, the header first.")
    return data


def _find_form(header: list[str]) -> str:
    for form in VARIABLES:
        if form.format(1) in header:
            return form
    raise CountsError(
        "The file has none of the columns "
        + ", ".join(show(form.format(1)) for form in VARIABLES)
        + ": is it table H13 (2010) or H9 (2020) of household sizes?"
    )


def _find_places(header: list[str], rows: Rows) -> list[str]:
    """Each row's geographic identifier."""
    for name in IDENTIFIERS:
        if name in header:
            place = find_column(header, name)
            return [str(row[place]).strip() for row in rows]
    if header[-2:] == ["state", "county"]:  # and no smaller area after it
        return [f"0500000US{row[-2]}{row[-1]}" for row in rows]
    raise CountsError(
        f"The file has neither a column {show(IDENTIFIERS[0])} (or {show(IDENTIFIERS[1])}) nor the columns "
        "'state' and 'county' at its end: which counties are these?"
    )


def _check_labels(labels: list[Any], header: list[str], form: str) -> None:
    """Refuse FactFinder's other tables: their columns have the same names, and that of races has as many."""
    if form != FACTFINDER:
        return
    for size in range(1, LEAST_LARGE + 1):
        if str(size) not in str(labels[find_column(header, form.format(size + 1))]):
            raise CountsError("The labels below the header are not household sizes: is it table H13?")


def _find_counties(places: list[str]) -> tuple[list[str], npt.NDArray[np.bool_]]:
    """The codes of the counties, and which rows they are in."""
    odd = [
        not IDENTIFIER.fullmatch(place) or bool(WHOLE_COUNTY.match(place) and not COUNTY.fullmatch(place))
        for place in places
    ]
    refuse_rows(np.array(odd, dtype=np.bool_), "the geographic identifier is not one of the Census Bureau's")
    codes = [found[1] if (found := COUNTY.fullmatch(place)) else "" for place in places]
    first = {code: row for row, code in reversed(list(enumerate(codes)))}
    repeated = [bool(code) and first[code] != row for row, code in enumerate(codes)]
    refuse_rows(np.array(repeated, dtype=np.bool_), "an earlier row has the same county")
    if not any(codes):
        raise CountsError("The file has no counties: ask for the table by county (summary level 050).")
    return [code for code in codes if code], np.array([bool(code) for code in codes])


def _read_sizes(rows: Rows, header: list[str], name: str, is_county: npt.NDArray[np.bool_]) -> Ints:
    """A column's numbers, 0 where there is no county."""
    place = find_column(header, name)
    cells = [str(row[place]).strip() for row in rows]
    plain = np.array([bool(re.fullmatch("[0-9]{1,12}", cell)) for cell in cells])
    refuse_rows(
        is_county & ~plain,
        f"column {show(name)} does not hold a plain whole number "
        "(missing values and annotations such as (X) cannot be read)",
    )
    numbers = [int(cell) if county else 0 for cell, county in zip(cells, is_county, strict=True)]
    return np.array(numbers, dtype=np.int64)
