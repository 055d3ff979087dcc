"""Margins: sums over regions that share a name, of any level of the hierarchy."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tallytree as tt
from tallytree.errors import HierarchyError
from tallytree.releases.margins import tabulate_margin

LEVELS = ["nation", "state", "county", "industry"]
PATHS = [
    ("US", state, f"{state}{county}", industry)
    for state in ("GA", "NY")
    for county in range(2)
    for industry in ("shops", "farms", "mines")[: 3 - county]
]
H = tt.Hierarchy.from_paths(LEVELS, PATHS)
COUNTS = tt.GroupCounts(H, (1, 3), np.random.default_rng(2).integers(0, 90, (len(H.leaves), 3)))


def read(table: pa.Table) -> Counter[tuple[object, ...]]:
    """The groups of each row: names and size."""
    return Counter({tuple(row.values())[:-1]: row["groups"] for row in table.to_pylist()})


def test_an_industry_over_all_counties() -> None:
    made = tt.release(COUNTS, epsilon=1)
    table = made.margin("industry")
    assert table.column_names == ["industry", "size", "groups"]
    expected: Counter[tuple[object, ...]] = Counter()
    for path, row in zip(H.regions("industry"), made.counts[3], strict=True):
        for size, groups in enumerate(row.tolist(), 1):
            expected[path[-1], size] += groups
    assert read(table) == +expected
    assert table["industry"].to_pylist()[0] == "shops"  # as they come in the hierarchy
    assert sum(row["groups"] for row in table.to_pylist()) == made.total


def test_the_margin_over_the_last_level_is_the_level_above() -> None:
    made = tt.release(COUNTS, epsilon=1)
    rows = read(made.margin("state", "county"))
    assert rows == Counter(
        {
            (row["state"], row["county"], row["size"]): row["groups"]
            for row in made.to_arrow().to_pylist()
            if row["level"] == "county"
        }
    )
    assert read(made.margin("nation")) == Counter(
        {("US", s): int(made.counts[0][0, s - 1]) for s in (1, 2, 3)}
    )


@given(
    st.lists(st.tuples(*[st.sampled_from("ab/c")] * 3), min_size=1, unique=True),
    st.sets(st.integers(0, 3), min_size=1),
    st.integers(0, 99),
)
def test_margins_are_sums_over_all_regions_with_these_names(
    paths: list[tuple[str, str, str]], chosen: set[int], seed: int
) -> None:
    hierarchy = tt.Hierarchy.from_paths(["r", "x", "y", "z"], [("r", *path) for path in paths])
    by = [hierarchy.levels[at] for at in sorted(chosen)]
    level = max(chosen)
    leaf = np.random.default_rng(seed).integers(0, 3, (len(paths), 2))
    counts = tt.GroupCounts(hierarchy, (1, 2), leaf)
    table = tabulate_margin(hierarchy, (1, 2), [counts.array(at) for at in range(4)], by)
    expected: Counter[tuple[object, ...]] = Counter()
    for path, row in zip(hierarchy.regions(level), counts.array(level).tolist(), strict=True):
        for size, groups in enumerate(row, 1):
            expected[*(path[at] for at in sorted(chosen)), size] += groups
    assert read(table) == +expected
    try:
        groups = tt.group_regions(hierarchy, by)
    except HierarchyError as error:
        assert "slashes" in str(error)
        assert len(chosen) > 1
        return
    assert sorted(path for some in groups.values() for path in some) == sorted(hierarchy.regions(level))
    for name, some in groups.items():
        assert {"/".join(path[at] for at in sorted(chosen)) for path in some} == {name}


def test_classes_keep_their_last_sizes() -> None:
    classes = tt.SizeClasses([1, 5, 20])
    counts = tt.GroupCounts(H, classes, COUNTS.leaf)
    table = tt.release(counts, epsilon=1, protect="group").margin("industry")
    assert table.column_names == ["industry", "size", "size_high", "groups"]
    assert set(zip(table["size"].to_pylist(), table["size_high"].to_pylist(), strict=True)) == {
        (1, 4),
        (5, 19),
        (20, None),
    }


def test_a_region_that_ends_above_the_level_is_in_no_margin_of_it() -> None:
    hierarchy = tt.Hierarchy.from_paths(["r", "x", "y"], [("r", "a", "1"), ("r", "b")])
    counts = [np.array([[3]]), np.array([[1], [2]]), np.array([[1]])]
    assert tabulate_margin(hierarchy, (1, 1), counts, ["y"]).to_pylist() == [
        {"y": "1", "size": 1, "groups": 1}
    ]


@pytest.mark.parametrize(
    ("by", "problem"),
    [
        ([], "must be a list of names"),
        ("industry", "must be a list of names"),
        ([3], "must be a list of names"),
        (["industri"], "industri"),
        (["industry", "state"], "in the order of the hierarchy"),
        (["state", "state"], "each once"),
    ],
    ids=repr,
)
def test_levels_that_make_no_margin_are_refused(by: list[str], problem: str) -> None:
    with pytest.raises(HierarchyError, match=problem):
        tt.group_regions(H, by)
