"""Group counts from arrays and from tables of every kind."""

import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pa_parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tallytree as tt
import tallytree.errors
from tests import naive
from tests.instances import random_hierarchy

ROWS: dict[str, list[Any]] = {
    "state": ["GA", "GA", "NY", "DC"],
    "county": ["a", "a", "b", None],
    "size": [1, 3, 2, 1],
    "groups": [2, 1, 1, 7],
}


@given(seed=st.integers(0, 10_000), levels=st.integers(1, 4))
def test_levels_are_sums_of_leaves(seed: int, levels: int) -> None:
    rng = np.random.default_rng(seed)
    h = random_hierarchy(rng, levels)
    leaf = rng.integers(0, 100, (len(h.leaves), 4))
    counts = tt.GroupCounts(h, (0, 3), leaf)
    for level, expected in enumerate(naive.sum_up(h, leaf)):
        np.testing.assert_array_equal(counts.array(level), expected)
        np.testing.assert_array_equal(counts.array(h.levels[level]), expected)
    assert counts.total == leaf.sum()


def make_table(kind: str, folder: Path) -> Any:
    frame = pd.DataFrame(ROWS)
    match kind:
        case "pandas":
            return frame
        case "categories":
            return frame.astype({"state": "category"})
        case "polars":
            return pl.DataFrame(ROWS)
        case "polars-categories":
            return pl.DataFrame(ROWS).with_columns(pl.col("state", "county").cast(pl.Categorical))
        case "arrow":
            return pa.table(ROWS)
        case "csv" | "csv.gz":
            frame.to_csv(folder / f"t.{kind}", index=False)
        case "tsv":
            frame.to_csv(folder / f"t.{kind}", index=False, sep="\t")
        case "parquet":
            frame.to_parquet(folder / f"t.{kind}")
    return folder / f"t.{kind}" if kind != "csv" else str(folder / "t.csv")


KINDS = ["pandas", "categories", "polars", "polars-categories", "arrow", "csv", "csv.gz", "tsv", "parquet"]


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_counts_from_every_kind_of_table(kind: str, tmp_path: Path) -> None:
    counts = tt.GroupCounts.from_table(
        make_table(kind, tmp_path), regions=["state", "county"], root="US", root_level="nation"
    )
    assert counts.hierarchy.levels == ("nation", "state", "county")
    assert counts.hierarchy.leaves == (("US", "DC"), ("US", "GA", "a"), ("US", "NY", "b"))
    assert counts.sizes == (1, 3)
    assert counts.leaf.tolist() == [[7, 0, 0], [2, 0, 1], [0, 1, 0]]


def test_codes_keep_their_leading_zeros_and_na_is_a_name(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text('state,size,groups\n01,1,5\nNA,1,6\n"a,\nb",1,7\n')
    counts = tt.GroupCounts.from_table(tmp_path / "t.csv", regions=["state"])
    assert [path[1] for path in counts.hierarchy.leaves] == ["01", "NA", "a,\nb"]


def test_regions_may_be_whole_numbers() -> None:
    counts = tt.GroupCounts.from_table({"zone": [12, 7], "size": [1, 1], "groups": [3, 4]}, regions=["zone"])
    assert counts.hierarchy.leaves == (("all", "12"), ("all", "7"))


def test_what_was_read_from_the_data_is_written_down() -> None:
    h = tt.Hierarchy.from_paths(["root", "state"], [("all", "GA"), ("all", "NY")])
    table = pa.table({"state": ["NY"], "size": [2], "groups": [3]})
    given_ = tt.GroupCounts.from_table(table, regions=["state"], sizes=(1, 4), hierarchy=h)
    assert given_.leaf.tolist() == [[0, 0, 0, 0], [0, 3, 0, 0]]
    assert len(given_.assumptions) == 1
    read = tt.GroupCounts.from_table(table, regions=["state"])
    assert [a for a in read.assumptions if "must be public" in a] == list(read.assumptions[1:])
    assert len(read.assumptions) == 3


def test_names_may_be_more_text_than_an_array_of_arrow_holds() -> None:
    """Two gigabytes of it; in memory it is the same piece many times."""
    piece = pa.array(["x" * 2**20] * 64)
    names: Any = pa.chunked_array([piece] * 32)
    assert sum(chunk.nbytes for chunk in names.chunks) > 2**31
    table = pa.table({"state": names, "size": range(len(names)), "groups": [1] * len(names)})
    counts = tt.GroupCounts.from_table(table, regions=["state"])
    assert counts.leaf.tolist() == [[1] * len(names)]


def test_a_table_without_region_columns_has_a_root_alone() -> None:
    counts = tt.GroupCounts.from_table({"size": [1, 2], "groups": [3, 4]}, regions=[])
    assert counts.array("root").tolist() == [[3, 4]]


@given(seed=st.integers(0, 10_000))
def test_a_table_in_any_order_of_rows_gives_the_same_counts(seed: int) -> None:
    rng = np.random.default_rng(seed)
    h = random_hierarchy(rng, 3)
    leaf = rng.integers(0, 5, (len(h.leaves), 3))
    names = list(h.levels[1:])
    rows = [
        {
            **{name: path[i + 1] if i + 1 < len(path) else None for i, name in enumerate(names)},
            "size": size,
            "groups": int(leaf[row, size]),
        }
        for row, path in enumerate(h.leaves)
        for size in range(3)
    ]
    rng.shuffle(rows)
    columns: list[pa.Field[Any]] = [pa.field(name, pa.string()) for name in names]
    schema = pa.schema([*columns, pa.field("size", pa.int64()), pa.field("groups", pa.int64())])
    counts = tt.GroupCounts.from_table(
        pa.Table.from_pylist(rows, schema), regions=names, root="root", root_level=h.levels[0]
    )
    in_order = tt.Hierarchy.from_paths(h.levels, sorted(h.leaves))
    assert counts.hierarchy == in_order
    assert counts.hierarchy.leaves == in_order.leaves
    found = {path: counts.leaf[i].tolist() for i, path in enumerate(counts.hierarchy.leaves)}
    assert found == {path: leaf[i].tolist() for i, path in enumerate(h.leaves)}


def test_the_order_of_rows_is_not_published(tmp_path: Path) -> None:
    """Tables made with ORDER BY groups, before and after one person comes: the order itself would tell."""
    readers: dict[str, Callable[[Path], Any]] = {"csv": str, "pandas": pd.read_csv, "polars": pl.read_csv}
    written = []
    for counted in ({"b": 51, "a": 50, "c": 1}, {"a": 51, "b": 50, "c": 1}):
        rows = "".join(f"s,{county},2,{groups}\n" for county, groups in counted.items())
        (tmp_path / "counts.csv").write_text("state,county,size,groups\nt,a,1,90\n" + rows)
        for name, read in readers.items():
            counts = tt.GroupCounts.from_table(
                read(tmp_path / "counts.csv"), regions=["state", "county"], sizes=(1, 3)
            )
            folder = tmp_path / f"{name} {counted['a']}"
            tt.release(counts, epsilon="1").save(folder, replicates=0)
            table = pa_parquet.read_table(folder / "measurements.parquet")
            written.append(table.drop_columns(["measured"]))
            assert counts.hierarchy.leaves == tuple(sorted(counts.hierarchy.leaves))
    assert all(table.equals(written[0], check_metadata=True) for table in written)


def test_a_public_hierarchy_keeps_its_order() -> None:
    h = tt.Hierarchy.from_paths(["root", "state"], [("all", "NY"), ("all", "DC"), ("all", "GA")])
    table = {"state": ["GA", "NY", "DC"], "size": [1, 1, 1], "groups": [1, 2, 3]}
    counts = tt.GroupCounts.from_table(table, regions=["state"], hierarchy=h)
    assert counts.hierarchy is h
    assert counts.leaf.tolist() == [[2], [3], [1]]


def test_the_representation_shows_no_counts() -> None:
    counts = tt.GroupCounts.from_table({"size": [1, 2], "groups": [7391, 4]}, regions=[])
    assert repr(counts) == "GroupCounts(Hierarchy(root: 1), sizes 1 to 2)"


def test_counts_cannot_be_changed_and_the_callers_array_is_not_kept() -> None:
    h = tt.Hierarchy.from_paths(["root"], [("r",)])
    mine = np.array([[1, 2]])
    counts = tt.GroupCounts(h, (1, 2), mine)
    mine[0, 0] = 99
    assert counts.leaf.tolist() == [[1, 2]]
    for array in (counts.leaf, counts.array(0)):
        with pytest.raises(ValueError, match="read-only"):
            array[0, 0] = 5


MASKED: list[Any] = [
    np.ma.masked_equal([[5, 6, 7], [8, 9, 10]], 9),
    [np.ma.masked_equal([5, 6, 7], 6), [8, 9, 10]],
    np.ma.masked_equal([[5.0, 6.0, 7.0], [8.0, 9.0, 10.0]], 5),
]


@pytest.mark.parametrize("leaf", MASKED)
def test_masked_arrays_are_refused(leaf: Any) -> None:
    """What is masked is still there for NumPy, and would be counted."""
    hierarchy = tt.Hierarchy.from_paths(["root", "state"], [("all", "GA"), ("all", "NY")])
    with pytest.raises(tt.errors.CountsError, match="masked array"):
        tt.GroupCounts(hierarchy, (1, 3), leaf)
    plan = tt.mechanism("direct-dp").plan(hierarchy, sizes=(1, 3), epsilon="1")
    with pytest.raises(tt.errors.MechanismError, match="level 'state' are a masked array"):
        tt.Measurements(plan, [np.array([[1, 2, 3]]), leaf])
    nothing = np.ma.masked_array([[5, 6, 7], [8, 9, 10]])
    assert tt.GroupCounts(hierarchy, (1, 3), nothing).total == 45


def test_masked_columns_are_missing_values() -> None:
    columns = {**ROWS, "groups": np.ma.masked_equal(ROWS["groups"], 7)}
    with pytest.raises(tt.errors.CountsError, match="'groups' has 1 missing"):
        tt.GroupCounts.from_table(columns, regions=["state", "county"])


FAR: dict[str, list[Any]] = {
    "state": [f"s{number}" for number in range(100)],
    "size": [1] * 99 + [1_000_000],
    "groups": [5] * 100,
}


def test_a_size_far_out_is_refused_before_memory_is_asked_for() -> None:
    tracemalloc.start()
    try:
        with pytest.raises(tt.errors.CountsError, match="'size' spread too far: give their public range"):
            tt.GroupCounts.from_table(pa.table(FAR), regions=["state"])
        # Who asks for so many sizes has them, without room for the zeros.
        counts = tt.GroupCounts.from_table(pa.table(FAR), regions=["state"], sizes=(1, 1_000_000))
        assert counts.levels[0][0, [0, -1]].tolist() == [495, 5]
        assert tracemalloc.get_traced_memory()[1] < 100 * 2**20
    finally:
        tracemalloc.stop()
    assert counts.total == 500
    assert counts.list_cells()[1].max() == 999_999


SPELLINGS: list[Callable[[str], str]] = [
    str,
    lambda name: name.replace("-", " - "),
    lambda name: name.replace("-", "\u2013"),
    lambda name: name.replace("-", " to "),
    lambda name: name.replace("+", " or more"),
    lambda name: name.replace("+", " and over"),
]


@pytest.mark.parametrize("spell", SPELLINGS)
@given(st.lists(st.integers(1, 3000), min_size=1, max_size=9, unique=True).map(sorted), st.integers(0, 99))
def test_classes_may_be_given_by_their_names(
    spell: Callable[[str], str], edges: list[int], seed: int
) -> None:
    classes = tt.SizeClasses(edges)
    places = np.random.default_rng(seed).permutation(2 * len(edges))
    table = {
        "state": ["GA" if place < len(edges) else "NY" for place in places],
        "size": [spell(classes.name(int(place) % len(edges))) for place in places],
        "groups": places.tolist(),
    }
    counts = tt.GroupCounts.from_table(pa.table(table), regions=["state"], sizes=classes)
    np.testing.assert_array_equal(counts.leaf, np.arange(2 * len(edges)).reshape(2, -1))


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["1-4", "5-9", "10-19"], r"In 1 row \(the first is row 3\), column 'size' is none of the classes"),
        (["1-4", "5-9", None], "Column 'size' has 1 missing values"),
        (["1-4", "5-9", "5-9"], "an earlier row has the same region and size"),
        (["1-4", "5-9", ""], "none of the classes 1-4, 5-9, 10+"),
    ],
)
def test_texts_that_name_no_class_are_refused(texts: list[str | None], message: str) -> None:
    table = pa.table({"size": texts, "groups": [1, 2, 3]})
    with pytest.raises(tallytree.errors.CountsError, match=message.replace("10+", r"10\+")):
        tt.GroupCounts.from_table(table, regions=[], sizes=tt.SizeClasses([1, 5, 10]))


@pytest.mark.parametrize("sizes", [None, (1, 10)])
def test_text_is_no_size_where_there_are_no_classes(sizes: tuple[int, int] | None) -> None:
    table = pa.table({"size": ["1-4"], "groups": [1]})
    with pytest.raises(tallytree.errors.CountsError, match=r"--classes 1,5,10"):
        tt.GroupCounts.from_table(table, regions=[], sizes=sizes)
