"""The region hierarchy."""

from random import Random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tallytree as tt
from tallytree.errors import HierarchyError
from tallytree.solvers.layout import TreeLayout
from tests.instances import random_hierarchy

RAGGED = [("US", "NY", "Kings"), ("US", "DC"), ("US", "GA", "Fulton"), ("US", "NY", "Erie")]


def test_regions_are_in_order_of_first_mention() -> None:
    h = tt.Hierarchy.from_paths(["nation", "state", "county"], RAGGED)
    assert h.levels == ("nation", "state", "county")
    assert h.regions("state") == (("US", "NY"), ("US", "DC"), ("US", "GA"))
    assert h.regions(2) == (("US", "NY", "Kings"), ("US", "GA", "Fulton"), ("US", "NY", "Erie"))
    assert h.regions(-1) == h.regions("county")
    assert h.parents("county").tolist() == [0, 2, 0]
    assert h.parents("state").tolist() == [0, 0, 0]
    assert h.parents("nation").tolist() == [-1]
    assert h.has_children("state").tolist() == [True, False, True]
    assert h.leaves == tuple(RAGGED)
    assert h.region_count == 7


def test_regions_of_one_name_below_different_parents_are_different_regions() -> None:
    h = tt.Hierarchy.from_paths(["us", "state", "county"], [("US", "01", "001"), ("US", "02", "001")])
    assert len(h.regions("county")) == 2
    with pytest.raises(HierarchyError, match="two parents"):
        tt.Hierarchy.from_paths(
            ["us", "state", "county"], [("US", "01", "001"), ("US", "02", "001")], unique_names=True
        )


def test_equality_is_about_levels_and_regions() -> None:
    h = tt.Hierarchy.from_paths(["nation", "state", "county"], RAGGED)
    same = tt.Hierarchy.from_arrays(
        h.levels, [h.names(i) for i in range(3)], [h.parents(i) for i in range(3)]
    )
    assert same.leaves != h.leaves  # level by level
    assert h == same
    assert hash(h) == hash(same)
    assert h != tt.Hierarchy.from_paths(["nation", "state", "county"], RAGGED[::-1])
    assert h != "h"
    assert repr(h) == "Hierarchy(nation: 1, state: 3, county: 3)"


def test_arrays_cannot_be_changed() -> None:
    h = tt.Hierarchy.from_paths(["nation", "state", "county"], RAGGED)
    with pytest.raises(ValueError, match="read-only"):
        h.parents("state")[0] = 1


@given(seed=st.integers(0, 10_000), levels=st.integers(1, 5))
def test_parents_agree_with_the_paths(seed: int, levels: int) -> None:
    h = random_hierarchy(np.random.default_rng(seed), levels)
    for level in range(1, len(h.levels)):
        above = h.regions(level - 1)
        for path, parent in zip(h.regions(level), h.parents(level), strict=True):
            assert path[:-1] == above[parent]
    inner = {path[:-1] for level in range(len(h.levels)) for path in h.regions(level)}
    regions = [path for level in range(len(h.levels)) for path in h.regions(level)]
    assert set(h.leaves) == {path for path in regions if path not in inner}


@given(seed=st.integers(0, 10_000), levels=st.integers(1, 5))
def test_children_are_found_by_parent_and_name(seed: int, levels: int) -> None:
    rng = np.random.default_rng(seed)
    h = random_hierarchy(rng, levels)
    for level in range(len(h.levels)):
        above = h.regions(level - 1) if level else ((),)
        parents = rng.integers(-1 if level else 0, len(above), 20)
        names = [
            f"{level}.{rng.integers(0, 4)}" if level else str(rng.choice(["root", "x"])) for _ in parents
        ]
        found = h.find_children(level, parents, pa.array(names, pa.large_string()))
        for parent, name, place in zip(parents, names, found, strict=True):
            path = (*above[parent], name) if parent >= 0 else None
            expected = h.regions(level).index(path) if path in h.regions(level) else -1
            assert place == expected


@given(seed=st.integers(0, 10_000), levels=st.integers(1, 5))
def test_paths_names_and_ancestors_agree(seed: int, levels: int) -> None:
    h = random_hierarchy(np.random.default_rng(seed), levels)
    for level in range(len(h.levels)):
        assert tuple(h.path(level, i) for i in range(h.region_counts[level])) == h.regions(level)
        assert h.names(level).to_pylist() == [path[-1] for path in h.regions(level)]
        for above in range(level + 1):
            found = [h.regions(above)[i] for i in h.ancestors(level, above)]
            assert found == [path[: above + 1] for path in h.regions(level)]
        expected = [path[level] if level < len(path) else None for path in h.leaves]
        assert h.leaf_names(level).to_pylist() == expected
    assert h.leaf_count == len(h.leaves)
    leaf_level, leaf_index = h.leaf_places
    assert [h.path(a, b) for a, b in zip(leaf_level, leaf_index, strict=True)] == list(h.leaves)


@given(seed=st.integers(0, 10_000), levels=st.integers(2, 5))
def test_a_table_in_any_order_gives_the_tree_of_its_paths(seed: int, levels: int) -> None:
    rng = np.random.default_rng(seed)
    h = random_hierarchy(rng, levels)
    if len(h.levels) == 1:
        return
    rows = [h.leaves[i] for i in [*rng.integers(0, h.leaf_count, 10), *range(h.leaf_count)]]
    table = pa.table(
        {
            name: pa.array([path[depth] if depth < len(path) else None for path in rows], pa.string())
            for depth, name in enumerate(h.levels[1:], start=1)
        }
    )
    found = tt.read_hierarchy(table, regions=list(h.levels[1:]), root="root", root_level=h.levels[0])
    expected = tt.Hierarchy.from_paths(h.levels, list(dict.fromkeys(rows)))
    assert found == expected
    assert found.leaves == expected.leaves
    assert hash(found) == hash(expected)


NAMES = st.text(st.sampled_from("aZ\u00e9\uffee\U0001f600 0"), min_size=1, max_size=3).filter(str.strip)


@given(st.lists(st.lists(NAMES, max_size=3), min_size=1, max_size=12), st.randoms())
def test_a_sorted_tree_is_that_of_the_sorted_paths(below: list[list[str]], random: Random) -> None:
    """Compared by code points: UTF-16 would have the last of these characters before the one above it."""
    paths = {("root", *names) for names in below}
    leaves = [path for path in paths if not any(len(p) > len(path) and p[: len(path)] == path for p in paths)]
    random.shuffle(leaves)
    levels = [f"level {i}" for i in range(max(map(len, leaves)))]
    h = tt.Hierarchy.from_paths(levels, leaves)
    found, number = h.sort()
    expected = tt.Hierarchy.from_paths(levels, sorted(leaves))
    assert found == expected
    assert found.leaves == expected.leaves
    assert [found.leaves[place] for place in number] == leaves
    again, same = found.sort()
    assert again.leaves == found.leaves
    assert same.tolist() == list(range(len(leaves)))


@given(seed=st.integers(0, 10_000), levels=st.integers(1, 5))
def test_the_solvers_layout_keeps_every_value_and_its_place(seed: int, levels: int) -> None:
    rng = np.random.default_rng(seed)
    h = random_hierarchy(rng, levels)
    arrays = [rng.integers(0, 1000, (len(h.regions(i)), 3)) for i in range(len(h.levels))]
    layout = TreeLayout.of(h)
    cells = layout.gather(arrays)
    for before, after in zip(arrays, layout.scatter(cells), strict=True):
        np.testing.assert_array_equal(before, after)
    if len(h.levels) == 1:
        return
    # A family in the layout is the set of leaf children of one region.
    tree = layout.tree
    value = {path: arrays[i][j] for i in range(len(h.levels)) for j, path in enumerate(h.regions(i))}
    inner = [path for i in range(len(h.levels)) for path in h.regions(i) if path not in h.leaves]
    by_value = {value[path].tobytes(): path for path in inner}
    if len(by_value) < len(inner):
        return  # two regions drew the same values
    for v in range(len(tree.level)):
        path = by_value[cells.inner[:, v].tobytes()]
        assert tree.level[v] == len(path) - 1
        children = [r for r in h.leaves if r[:-1] == path]
        found = {cells.leaf[:, i].tobytes() for i in range(tree.family[v], tree.family[v + 1])}
        assert found == {value[child].tobytes() for child in children}


@given(seed=st.integers(0, 10_000), levels=st.integers(1, 5))
def test_last_leaves_are_those_of_a_walk_in_post_order(seed: int, levels: int) -> None:
    h = random_hierarchy(np.random.default_rng(seed), levels)
    visited: list[tuple[str, ...]] = []
    last: dict[tuple[str, ...], int] = {}

    def walk(path: tuple[str, ...]) -> None:
        below = h.regions(len(path)) if len(path) < len(h.levels) else ()
        children = [child for child in below if child[:-1] == path]
        for child in children:
            walk(child)
        if not children:
            visited.append(path)
        last[path] = len(visited) - 1

    walk(h.regions(0)[0])
    for level in range(len(h.levels)):
        assert h.last_leaves(level).tolist() == [last[path] for path in h.regions(level)]
