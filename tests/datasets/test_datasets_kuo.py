"""The taxi table of Kuo et al., on an invented one in its format."""

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

from tallytree.datasets.kuo_taxis import read_taxi_table
from tallytree.errors import CountsError


def invent_taxis() -> pd.DataFrame:
    """Five neighbourhoods of two halves, sizes up to 15; every level has rows, as in the published file."""
    leaves = [
        (2, f"n{place:02}", "lower" if place < 3 else "upper", size, 1 + (place + size) % 4)
        for place in range(5)
        for size in range(1 + place, 16, 1 + place)
    ]
    leaf = pd.DataFrame(leaves, columns=["level", "region", "parent", "size", "count"])
    half = leaf.assign(level=1, region=leaf["parent"], parent="manhattan")
    root = leaf.assign(level=0, region="manhattan", parent=None)
    rows = pd.concat([root, half, leaf], ignore_index=True)
    return rows.groupby(list(rows.columns[:-1]), as_index=False, dropna=False).sum()


def test_the_taxis_are_counted_as_published(tmp_path: Path) -> None:
    given = invent_taxis()
    given.to_csv(tmp_path / "taxis.csv.gz", index=False)
    counts = read_taxi_table(tmp_path / "taxis.csv.gz")
    assert counts.hierarchy.levels == ("manhattan", "half", "neighbourhood")
    assert counts.hierarchy.leaves[3] == ("manhattan", "upper", "n03")
    assert counts.sizes == (1, 15)
    for level in range(3):
        for path, row in zip(counts.hierarchy.regions(level), counts.array(level), strict=True):
            here = given[(given["level"] == level) & (given["region"] == path[-1])]
            assert row[here["size"] - 1].tolist() == here["count"].tolist()
            assert row.sum() == here["count"].sum()
    given.to_parquet(tmp_path / "taxis.parquet")
    tables = (given, pl.from_pandas(given), given.sample(frac=1, random_state=1), tmp_path / "taxis.parquet")
    for table in tables:
        found = read_taxi_table(table)
        assert found.hierarchy == counts.hierarchy
        np.testing.assert_array_equal(found.leaf, counts.leaf)


def test_taxis_above_the_largest_size_count_there() -> None:
    whole, lumped = read_taxi_table(invent_taxis()), read_taxi_table(invent_taxis(), largest=4)
    assert lumped.sizes == (1, 4)
    np.testing.assert_array_equal(lumped.leaf[:, :3], whole.leaf[:, :3])
    np.testing.assert_array_equal(lumped.leaf.sum(axis=1), whole.leaf.sum(axis=1))
    assert read_taxi_table(invent_taxis(), largest=99).sizes == (1, 15)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.drop(columns="parent"), "no column 'parent'"),
        (lambda t: t.rename(columns={"count": "taxis"}), "no column 'count'"),
        (lambda t: t.head(0), "no rows"),
        (lambda t: t.assign(count="many"), "'count' must be whole numbers"),
        (lambda t: t.assign(count=t["count"] + 0.5), "fractions"),
        (lambda t: t.assign(count=-t["count"]), "row 1.*'count' is negative"),
        (lambda t: t.assign(size=t["size"].where(t.index != 4)), "'size' has 1 missing"),
        (lambda t: t.assign(size=t["size"] - 1), "'size' is not at least 1"),
        (lambda t: t.assign(level=t["level"] + 1), "'level' is not 0, 1 or 2"),
        (lambda t: t.assign(region=None), "'region' must hold a code"),
        (lambda t: t.assign(parent=None), "'parent' must hold a code, as text\\."),
        (lambda t: t.assign(parent=t["parent"].replace("upper", None)), "'parent' must name a region below"),
        (lambda t: t.assign(parent=t["parent"].fillna("earth")), "row 1.*and none there"),
        (lambda t: t.assign(region=t["region"].where(t.index != 0, "queens")), "one region, but .* 2"),
        (lambda t: t[t["level"] > 0], "one region, but .* 0"),
        (lambda t: t.assign(parent=t["parent"].replace("manhattan", "queens")), "not at level 0"),
        (lambda t: t.assign(parent=t["parent"].replace("upper", "middle")), "level 2 must name the regions"),
        (lambda t: t[t["level"] < 2], "level 2 must name the regions"),
        (lambda t: pd.concat([t, t.tail(1)], ignore_index=True), "1 row.*an earlier row has the same"),
        (lambda t: t.assign(count=t["count"] + (t.index == 2)), "At level manhattan, 1 counts are not"),
        (lambda t: t.assign(count=t["count"] + (t["level"] == 1)), "At level half, .* are not the sums"),
    ],
)
def test_a_bad_table_of_taxis_gives_one_clear_error(change: object, message: str) -> None:
    assert callable(change)
    with pytest.raises(CountsError, match=message):
        read_taxi_table(change(invent_taxis()))
