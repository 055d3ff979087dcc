"""Regions as arrays: the same as one by one, whatever the names are."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

import tallytree as tt
from tallytree.counts.region_tables import fold_names, read_complete

NAMES = st.text(st.sampled_from("aAbB ßẞéÉ\t\n\u00a0\u2003İ東1"), max_size=5)
ROWS = st.lists(st.tuples(st.none() | NAMES, st.none() | NAMES), min_size=1, max_size=12)


@given(st.lists(st.none() | NAMES, max_size=12))
def test_names_are_folded_as_one_by_one(names: list[str | None]) -> None:
    folded = fold_names(pa.array(names, pa.large_string())).to_pylist()
    assert folded == [None if name is None else " ".join(name.casefold().split()) for name in names]


@given(ROWS)
def test_complete_rows_name_the_regions_in_order(rows: list[tuple[str | None, str | None]]) -> None:
    complete = [
        ("US", state, county) for state, county in rows if (state or "").strip() and (county or "").strip()
    ]
    columns = zip(*rows, strict=True)
    table = pa.table([pa.chunked_array([pa.array(names, pa.string())]) for names in columns], ["a", "b"])
    tree = read_complete(table, "US")
    if not complete:
        assert tree is None
        return
    assert tree is not None
    found, _ = tt.Hierarchy.from_tree(["root", "a", "b"], tree).sort()
    paths = sorted({tuple(map(str, path)) for path in complete})
    assert found == tt.Hierarchy.from_paths(["root", "a", "b"], paths)
