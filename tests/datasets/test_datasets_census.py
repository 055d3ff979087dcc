"""Household sizes by county in the Census Bureau's formats, on invented files; the dataset made of them."""

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from tallytree.datasets import make_census, read_county_table, read_household_sizes
from tallytree.datasets.census import OUTLIERS, SMALL
from tallytree.datasets.invented import MEAN_OF_LARGE
from tallytree.errors import CountsError, HierarchyError

# A table with the people in large households


def invent_table() -> pd.DataFrame:
    """Six counties of two states: one does not tell who lives in large households, one has none."""
    small = np.arange(1, 37).reshape(6, 6) * 10
    large = np.array([40, 0, 20, 30, 25, 5])
    people = np.array([330.0, 0.0, np.nan, 240.0, 195.0, 41.0])
    table = pd.DataFrame(
        {
            "state_fips": ["01"] * 3 + ["02"] * 3,
            "county_fips": ["001", "003", "005"] * 2,
            "fips": ["01001", "01003", "01005", "02001", "02003", "02005"],
            "county_name": [f"County {letter}" for letter in "ABCDEF"],
            "state_name": ["One"] * 3 + ["Two"] * 3,
            "households": small.sum(axis=1) + large,
        }
    )
    for size, name in enumerate(SMALL):
        table[name] = small[:, size]
    return table.assign(size_7plus=large, persons_in_7plus=people, quality="exact", notes=None)


@pytest.fixture
def county_file(tmp_path: Path) -> Path:
    path = tmp_path / "counties.csv"
    invent_table().to_csv(path, index=False)
    return path


def test_the_augmentation_keeps_what_the_table_tells(county_file: Path) -> None:
    given = invent_table()
    table = read_county_table(county_file)
    counts = make_census(table)
    assert counts.sizes == (1, 1000)
    assert [len(counts.hierarchy.regions(level)) for level in counts.hierarchy.levels] == [1, 2, 6]
    assert counts.hierarchy.leaves[0] == ("US", "01", "01001")  # codes keep their zeros
    np.testing.assert_array_equal(counts.leaf[:, :6], given[list(SMALL)])
    outliers = counts.leaf.sum(axis=1) - given["households"].to_numpy()
    assert (outliers >= 0).all()
    assert outliers.sum() == OUTLIERS
    assert counts.leaf[:, 30:].sum() > OUTLIERS / 2  # no tail gets there: these are outliers


def test_the_order_of_rows_is_not_kept(tmp_path: Path) -> None:
    expected = read_county_table(invent_table())
    shuffled = invent_table().sample(frac=1, random_state=3)
    write_csv(tmp_path / "shuffled.csv", make_data_csv(DHC)[:2] + make_data_csv(DHC)[:1:-1])
    write_csv(tmp_path / "sorted.csv", make_data_csv(DHC))
    again = read_household_sizes(tmp_path / "shuffled.csv"), read_household_sizes(tmp_path / "sorted.csv")
    for found, table in ((read_county_table(shuffled), expected), again):
        assert found.hierarchy.leaves == tuple(sorted(found.hierarchy.leaves))
        assert found.hierarchy == table.hierarchy
        np.testing.assert_array_equal(found.small, table.small)
        np.testing.assert_array_equal(found.large, table.large)


def test_the_tail_has_the_published_mean_and_one_ratio() -> None:
    table = invent_table()
    many = table.assign(size_7plus=10**8 * (table["size_7plus"] > 0), persons_in_7plus=None)
    many["households"] = many[[*SMALL, "size_7plus"]].sum(axis=1)
    many.loc[0, "persons_in_7plus"] = 8 * 10**8
    read = read_county_table(many)
    assert read.mean_large == 8
    assert read.tail_ratio == pytest.approx(0.5)
    tail = make_census(read).leaf[:, 6:].sum(axis=0)
    sizes = np.arange(7, 1001)
    assert (tail * sizes).sum() / tail.sum() == pytest.approx(8, abs=1e-3)
    np.testing.assert_allclose(tail[1:8] / tail[:7], 0.5, rtol=0.01)


def test_the_data_are_the_same_for_the_same_seed_only(county_file: Path) -> None:
    table = read_county_table(county_file)
    first, again, other = (make_census(table, seed=seed).leaf for seed in (3, 3, 4))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_what_is_larger_than_the_largest_size_counts_there(county_file: Path) -> None:
    counts = make_census(read_county_table(county_file), largest=10)
    assert counts.sizes == (1, 10)
    assert counts.total == invent_table()["households"].sum() + OUTLIERS
    with pytest.raises(CountsError, match="at least 10"):
        make_census(read_county_table(county_file), largest=9)


def test_any_kind_of_table_is_read(county_file: Path) -> None:
    expected = read_county_table(county_file)
    invent_table().to_parquet(county_file.with_suffix(".parquet"))
    for table in (invent_table(), pl.from_pandas(invent_table()), county_file.with_suffix(".parquet")):
        found = read_county_table(table)
        assert found.hierarchy == expected.hierarchy
        np.testing.assert_array_equal(found.large, expected.large)
        assert found.mean_large == expected.mean_large


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.drop(columns="size_3"), "no column 'size_3'"),
        (lambda t: t.drop(columns="persons_in_7plus"), "no column 'persons_in_7plus'"),
        (lambda t: t.head(0), "no rows"),
        (lambda t: t.assign(size_2="many"), "must be whole numbers"),
        (lambda t: t.assign(size_2=t["size_2"] + 0.5), "fractions"),
        (lambda t: t.assign(size_2=np.inf), "infinite"),
        (lambda t: t.assign(size_2=t["size_2"].where(t.index != 4)), "'size_2' has 1 missing"),
        (lambda t: t.assign(size_2=-t["size_2"]), "6 row.* row 1.*'size_2' is negative"),
        (lambda t: t.assign(households=t["households"] + (t.index == 2)), "1 row.* row 3.*do not add up"),
        (lambda t: t.assign(persons_in_7plus=None), "No county states"),
        (lambda t: t.assign(persons_in_7plus=6 * t["size_7plus"]), "'persons_in_7plus' does not fit"),
        (lambda t: t.assign(persons_in_7plus=t["persons_in_7plus"].replace(0, 9)), "row 2.*does not fit"),
        (lambda t: t.assign(fips=t["fips"].where(t.index != 1)), "'fips' must hold a code"),
        (lambda t: t.assign(fips=range(6)), "'fips' must hold a code"),
    ],
)
def test_a_bad_table_gives_one_clear_error(change: object, message: str) -> None:
    assert callable(change)
    with pytest.raises(CountsError, match=message):
        read_county_table(change(invent_table()))


@pytest.mark.parametrize(
    ("codes", "message"),
    [(["01001"] * 6, "more than once|two parents"), (["  ", *"bcdef"], "empty name")],
)
def test_counties_need_codes_of_their_own(codes: list[str], message: str) -> None:
    with pytest.raises(HierarchyError, match=message):
        read_county_table(invent_table().assign(fips=codes))


@pytest.mark.parametrize("seed", [-1, 1.5, True, None])
def test_a_bad_seed_gives_one_clear_error(seed: int) -> None:
    with pytest.raises(CountsError, match="seed"):
        make_census(read_county_table(invent_table()), seed=seed)


# The Census Bureau's files

COUNTIES = {
    "01001": [44, 64, 38, 32, 14, 5, 2],
    "35013": [9, 8, 7, 6, 5, 4, 3],
    "72001": [1, 0, 0, 0, 0, 0, 0],
    "01003": [183, 276, 117, 92, 40, 14, 0],
}
NAMES = {"01001": "Autauga County, Alabama", "35013": "Doña Ana County, New Mexico"}
LABELS = [f"{size}-person household" for size in range(1, 7)] + ["7-or-more-person household"]
SF1, DHC, FACTFINDER = "H013{:03}", "H9_{:03}N", "D{:03}"
ANNOTATIONS = {SF1: "ERR", DHC: "A"}

Table = list[list[str]]


def list_places() -> list[tuple[str, str, list[int]]]:
    """The counties between rows of other summary levels: nation, state, urban part of a county, tract."""
    total = np.sum(list(COUNTIES.values()), axis=0).tolist()
    rows = [(f"0500000US{code}", NAMES.get(code, "A county"), sizes) for code, sizes in COUNTIES.items()]
    rows.insert(0, ("0100000US", "United States", total))
    rows.insert(2, ("0400000US35", "New Mexico", total))
    rows.insert(3, ("0500001US01001", "Autauga County, Alabama -- Urban", total))
    rows.insert(4, ("1400000US01001020100", "Census Tract 201, Autauga County, Alabama", total))
    return rows


def make_data_csv(form: str, *, annotated: bool = False, labelled: bool = True) -> Table:
    """As data.census.gov gives it: labels below the header, an empty cell at the end of every line."""
    header, labels = ["GEO_ID", "NAME"], ["Geography", "Geographic Area Name"]
    for number, label in enumerate(["", *LABELS], start=1):
        header.append(form.format(number))
        labels.append(f" !!Total:!!{label}" if label else " !!Total:")
        if annotated:
            header.append(form.format(number) + ANNOTATIONS[form])
            labels.append("Annotation of" + labels[-1])
    table = [header, labels] if labelled else [header]
    for place, name, sizes in list_places():
        row = [place, name]
        for value in (sum(sizes), *sizes):
            row += [str(value), "null"] if annotated else [str(value)]
        table.append(row)
    return [[*row, ""] for row in table]


def make_factfinder_csv(*, labelled: bool = True) -> Table:
    header = ["GEO.id", "GEO.id2", "GEO.display-label", *(FACTFINDER.format(n) for n in range(1, 9))]
    labels = ["Id", "Id2", "Geography", "Total:", *(f"Total: - {label}" for label in LABELS)]
    rows = [
        [place, place.partition("US")[2], name, str(sum(sizes)), *map(str, sizes)]
        for place, name, sizes in list_places()
    ]
    return [header, labels, *rows] if labelled else [header, *rows]


def make_api_json(form: str) -> Table:
    """As the API answers ``get=NAME,...&for=county:*``: only counties."""
    header = ["NAME", *(form.format(number) for number in range(1, 9)), "state", "county"]
    rows = [
        [NAMES.get(code, "A county"), str(sum(sizes)), *map(str, sizes), code[:2], code[2:]]
        for code, sizes in COUNTIES.items()
    ]
    return [header, *rows]


def make_api_group_json() -> list[list[str | None]]:
    """As the API answers ``get=group(H9)``: identifiers, annotations, and all that data.census.gov has."""
    header, _, *rows = make_data_csv(DHC, annotated=True)
    answer: list[list[str | None]] = [[*header[:-1], "state", "county"]]
    for row in rows:
        if row[0].startswith("0500000US"):
            code = row[0][-5:]
            answer.append([*(None if cell == "null" else cell for cell in row[:-1]), code[:2], code[2:]])
    return answer


def write_csv(path: Path, table: Table, *, quoted: bool = True, encoding: str = "utf-8") -> Path:
    text = io.StringIO()
    csv.writer(text, quoting=csv.QUOTE_ALL if quoted else csv.QUOTE_MINIMAL).writerows(table)
    path.write_bytes(text.getvalue().encode(encoding))
    return path


def write_json(path: Path, data: object) -> Path:
    path.write_text(json.dumps(data))
    return path


FORMATS: dict[str, Callable[[Path], Path]] = {
    "SF1 2010": lambda path: write_csv(path, make_data_csv(SF1)),
    "SF1 2010 with errata": lambda path: write_csv(path, make_data_csv(SF1, annotated=True)),
    "DHC 2020": lambda path: write_csv(path, make_data_csv(DHC)),
    "DHC 2020 with annotations": lambda path: write_csv(path, make_data_csv(DHC, annotated=True)),
    "DHC 2020 without labels": lambda path: write_csv(path, make_data_csv(DHC, labelled=False)),
    "FactFinder": lambda path: write_csv(path, make_factfinder_csv(), quoted=False),
    "FactFinder without labels": lambda path: write_csv(path, make_factfinder_csv(labelled=False)),
    "FactFinder in Latin-1": lambda path: write_csv(path, make_factfinder_csv(), encoding="latin-1"),
    "a byte order mark": lambda path: write_csv(path, make_data_csv(DHC), encoding="utf-8-sig"),
    "API, SF1 2010": lambda path: write_json(path, make_api_json(SF1)),
    "API, SF1 2010, older names": lambda path: write_json(path, make_api_json("H013{:04}")),
    "API, DHC 2020": lambda path: write_json(path, make_api_json(DHC)),
    "API, DHC 2020, whole group": lambda path: write_json(path, make_api_group_json()),
}


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_gives_the_same_counties(form: str, tmp_path: Path) -> None:
    table = read_household_sizes(FORMATS[form](tmp_path / "table"))
    assert table.hierarchy.levels == ("nation", "state", "county")
    assert table.hierarchy.leaves == tuple(("US", code[:2], code) for code in sorted(COUNTIES))
    for place, code in enumerate(sorted(COUNTIES)):
        sizes = COUNTIES[code]
        assert [*table.small[place].tolist(), int(table.large[place])] == sizes
    assert table.mean_large == MEAN_OF_LARGE


def test_identifiers_alone_are_enough_for_json(tmp_path: Path) -> None:
    header, *rows = make_data_csv(DHC, labelled=False)
    header[0] = "ucgid"
    table = read_household_sizes(write_json(tmp_path / "api.json", [header, *rows]))
    assert [path[-1] for path in table.hierarchy.leaves] == sorted(COUNTIES)


def test_the_census_is_made_of_the_bureaus_file(tmp_path: Path) -> None:
    path = FORMATS["DHC 2020"](tmp_path / "table.csv")
    counts = make_census(read_household_sizes(path, mean_large=8.5), largest=100)
    given = np.array([COUNTIES[code] for code in sorted(COUNTIES)])
    assert counts.sizes == (1, 100)
    assert [len(counts.hierarchy.regions(level)) for level in range(3)] == [1, 3, 4]
    np.testing.assert_array_equal(counts.leaf[:, :6], given[:, :6])
    assert counts.total == given.sum() + OUTLIERS
    assert any("drawn at random" in words for words in counts.assumptions)


def test_the_mean_of_large_households_sets_the_tail(tmp_path: Path) -> None:
    path = FORMATS["DHC 2020"](tmp_path / "table.csv")
    assert read_household_sizes(path, mean_large=8).tail_ratio == pytest.approx(0.5)
    lumped = read_household_sizes(path, mean_large=7)
    assert lumped.tail_ratio == 0
    tail = make_census(lumped).leaf[:, 6:].sum(axis=0)
    assert tail[0] == lumped.large.sum()
    assert tail[1:].sum() == OUTLIERS
    wrong: Any
    for wrong in (6.9, float("nan"), float("inf"), "8"):
        with pytest.raises(CountsError, match="at least that"):
            read_household_sizes(path, mean_large=wrong)


def change(table: Table, row: int, column: int, cell: str) -> Table:
    table[row][column] = cell
    return table


def drop_column(table: Table, column: int) -> Table:
    return [row[:column] + row[column + 1 :] for row in table]


BAD_CSV: list[tuple[Callable[[], Table], str]] = [
    (lambda: [], "is empty"),
    (lambda: make_data_csv(DHC)[:1], "has no counties"),
    (lambda: make_data_csv(DHC)[:2], "has no counties"),
    (lambda: make_data_csv(DHC)[:3], "has no counties"),
    (lambda: make_data_csv(DHC)[1:], "none of the columns .*is it table H13"),
    (lambda: make_data_csv("P1_{:03}N"), "none of the columns"),
    (lambda: drop_column(make_data_csv(DHC), 0), "neither a column 'GEO_ID'"),
    (lambda: drop_column(make_data_csv(SF1), 4), "no column 'H013003'"),
    (lambda: change(make_data_csv(SF1), 0, 4, "H013002"), "two columns 'H013002'"),
    (lambda: change(make_data_csv(DHC), 3, 3, "(X)"), "1 row.* row 3.*'H9_002N' does not hold a plain"),
    (lambda: change(make_data_csv(DHC), 3, 3, "44(r48036)"), "'H9_002N' does not hold a plain"),
    (lambda: change(make_data_csv(DHC), 3, 3, "1,044"), "'H9_002N' does not hold a plain"),
    (lambda: change(make_data_csv(DHC), 3, 3, "-44"), "'H9_002N' does not hold a plain"),
    (lambda: change(make_data_csv(DHC), 3, 3, "44.0"), "'H9_002N' does not hold a plain"),
    (lambda: change(make_data_csv(DHC), 3, 3, ""), "'H9_002N' does not hold a plain"),
    (lambda: change(make_data_csv(DHC), 3, 3, "9" * 5000), "'H9_002N' does not hold a plain"),
    (lambda: change(make_data_csv(DHC), 3, 3, "45"), "1 row.* row 3.*do not add up to the total"),
    (lambda: change(make_data_csv(DHC), 3, 2, "198"), "do not add up to the total"),
    (lambda: [*make_data_csv(DHC), make_data_csv(DHC)[3]], "1 row.* row 10.*an earlier row has the same"),
    (lambda: change(make_data_csv(DHC), 3, 0, "0500000US0100"), "row 3.*geographic identifier"),
    (lambda: change(make_data_csv(DHC), 3, 0, "01001"), "geographic identifier"),
    (lambda: change(make_data_csv(DHC), 2, 0, "United States"), "row 2.*geographic identifier"),
    (lambda: change(make_data_csv(DHC), 3, 0, "Geography"), "row 3.*geographic identifier"),
    (lambda: [*make_data_csv(DHC), ["0500000US01005", "Cut off"]], "Row 10 below .*cells"),
    (
        lambda: [*make_data_csv(DHC), [*make_data_csv(DHC)[3][:-1], "7"]],
        "fewer or more cells than the header",
    ),
    (lambda: change(make_factfinder_csv(), 1, 4, "White alone"), "not household sizes: is it table H13"),
]


@pytest.mark.parametrize(("make", "message"), BAD_CSV)
def test_a_bad_csv_gives_one_clear_error(make: Callable[[], Table], message: str, tmp_path: Path) -> None:
    path = write_csv(tmp_path / "table.csv", make())
    with pytest.raises(CountsError, match=message) as caught:
        read_household_sizes(path)
    assert "(r48036)" not in str(caught.value)


def test_wrong_numbers_of_other_levels_do_not_matter(tmp_path: Path) -> None:
    """A state's errata, say: its row is not used."""
    path = write_csv(tmp_path / "table.csv", change(make_data_csv(DHC), 2, 3, "(X)"))
    assert len(read_household_sizes(path).large) == len(COUNTIES)


BAD_JSON: list[tuple[Callable[[], object], str]] = [
    (lambda: [], "is empty"),
    (lambda: {"error": "error: unknown variable"}, "a list of lists"),
    (lambda: [["NAME", "H9_001N"], "a row"], "a list of lists"),
    (lambda: make_api_json(DHC)[:1], "has no counties"),
    (lambda: [row[:-1] for row in make_api_json(DHC)], "neither .*'state' and 'county'"),
    (lambda: [[*row, "tract" if row[0] == "NAME" else "020100"] for row in make_api_json(DHC)], "neither"),
    (lambda: [*make_api_json(DHC), make_api_json(DHC)[2]], "an earlier row has the same county"),
    (lambda: [*make_api_json(DHC), ["Cut off"]], "Row 5 .*cells"),
    (lambda: [[None if cell == "44" else cell for cell in row] for row in make_api_json(DHC)], "plain"),
    (lambda: [[44.0 if cell == "44" else cell for cell in row] for row in make_api_json(DHC)], "plain"),
    (lambda: [[True if cell == "1" else cell for cell in row] for row in make_api_json(DHC)], "plain"),
    (lambda: [[None if cell == "01" else cell for cell in row] for row in make_api_json(DHC)], "identifier"),
]


@pytest.mark.parametrize(("make", "message"), BAD_JSON)
def test_a_bad_json_gives_one_clear_error(make: Callable[[], object], message: str, tmp_path: Path) -> None:
    with pytest.raises(CountsError, match=message):
        read_household_sizes(write_json(tmp_path / "table.json", make()))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (json.dumps(make_api_json(DHC))[:-9].encode(), "is not JSON"),
        (b"[" * 100_000, "is not JSON"),
        (b"[[NaN]]", "is not JSON"),
        (b'"GEO_ID","NAME","H9_001N"\n"0500000US01001","Cut o', "not a CSV table"),
        ('"GEO_ID","H9_001N"\n'.encode("utf-16"), "none of the columns"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "none of the columns"),
        (b"<html><title>error</title></html>", "none of the columns"),
        (b" \n\n", "is empty"),
    ],
)
def test_what_is_no_table_gives_one_clear_error(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "table"
    path.write_bytes(content)
    with pytest.raises(CountsError, match=message):
        read_household_sizes(path)


def test_what_is_no_file_gives_one_clear_error(tmp_path: Path) -> None:
    paths: list[tuple[Any, str]] = [
        (tmp_path / "none.csv", "no file"), (tmp_path, "directory"), ("a\0b", "path"), (None, "path"),
    ]  # fmt: skip
    for path, message in paths:
        with pytest.raises(CountsError, match=message):
            read_household_sizes(path)
