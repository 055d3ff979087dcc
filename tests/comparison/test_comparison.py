"""Two releases side by side: the figures by their definitions, and whether noise is told apart from data."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tallytree as tt
from tallytree import arrays
from tallytree.comparison.comparing import find_cumulants, find_reach, judge
from tallytree.comparison.differences import Comparison
from tallytree.counts.count_files import write_counts
from tallytree.errors import CountsError, FolderError, HierarchyError, InputError, ViewError
from tallytree.privacy.noise import SeededGaussianNoise, SeededNoise
from tallytree.sizes import get_ends
from tests.bad_input_support import HOSTILE_NAMES, Bench, Case, Commands, list_cases, refused, write_files
from tests.commands import Run
from tests.report.report_support import make_hostile_release, make_release

Cells = dict[tuple[tuple[str, ...], int], int]

PATHS: list[tuple[str, ...]] = [("US", s, f"{s}{c}") for s in ("GA", "NY", "TX") for c in "abc"]
PATHS.append(("US", "DC"))


def release_of(
    paths: list[tuple[str, ...]], sizes: tuple[int, int], seed: int, epsilon: str = "2"
) -> tt.Release:
    hierarchy = tt.Hierarchy.from_paths(["nation", "state", "county"][: max(map(len, paths))], paths)
    leaf = np.random.default_rng(seed).integers(0, 4, (len(paths), sizes[1] - sizes[0] + 1))
    return tt.release(tt.GroupCounts(hierarchy, sizes, leaf), epsilon=epsilon, mechanism="direct-dp")


def list_cells(release: tt.Release, level: int, low: int, high: int) -> Cells:
    """The counts of a level by region and size, what is outside the sizes at their ends."""
    cells: Cells = {}
    for path, row in zip(release.hierarchy.regions(level), release.counts[level].tolist(), strict=True):
        for size, groups in enumerate(row, start=get_ends(release.sizes)[0]):
            place = (path, min(max(size, low), high))
            cells[place] = cells.get(place, 0) + groups
    return cells


@given(
    st.sets(st.sampled_from(PATHS), min_size=1),
    st.sets(st.sampled_from(PATHS), min_size=1),
    st.tuples(st.integers(0, 2), st.integers(3, 6)),
    st.tuples(st.integers(0, 2), st.integers(3, 6)),
    st.integers(0, 1000),
)
def test_figures_equal_their_definitions(
    some: set[tuple[str, ...]],
    others: set[tuple[str, ...]],
    sizes_a: tuple[int, int],
    sizes_b: tuple[int, int],
    seed: int,
) -> None:
    a, b = release_of(sorted(some), sizes_a, seed), release_of(sorted(others), sizes_b, seed + 1)
    found = tt.compare(a, b, top=4)
    low, high = get_ends(found.sizes)
    assert (low, high) == (max(sizes_a[0], sizes_b[0]), min(sizes_a[1], sizes_b[1]))
    assert len(found.levels) == min(len(a.hierarchy.levels), len(b.hierarchy.levels))
    for index, level in enumerate(found.levels):
        first, second = list_cells(a, index, low, high), list_cells(b, index, low, high)
        regions_a, regions_b = set(a.hierarchy.regions(index)), set(b.hierarchy.regions(index))
        both = regions_a & regions_b
        apart = {cell: second[cell] - first[cell] for cell in first if cell[0] in both}
        assert level.regions == len(both)
        assert (level.total_a, level.total_b) == (sum(first.values()), sum(second.values()))
        assert level.l1 == sum(map(abs, apart.values()))
        moved = [abs(c) for path in both for c in accumulate(apart[path, s] for s in range(low, high + 1))]
        assert level.emd == pytest.approx(sum(moved) / max(1, len(both)))
        assert level.differing == sum(map(bool, apart.values()))
        assert level.cells == sum(bool(first[cell] or second[cell]) for cell in apart)
        assert level.share <= 1
        for alone, here, cells in (
            (level.only_in_a, regions_a - both, first),
            (level.only_in_b, regions_b - both, second),
        ):
            assert alone.regions == len(here)
            assert alone.groups == sum(groups for (path, _), groups in cells.items() if path in here)
            assert set(alone.examples) <= here
            assert len(alone.examples) == min(3, len(here))
        largest = sorted(map(abs, apart.values()), reverse=True)[:4]
        assert [abs(each.difference) for each in level.largest] == [size for size in largest if size]
        for each in level.largest:
            cell = (each.path, each.size)
            assert (each.a, each.b) == (first[cell], second[cell])


def swap(comparison: Comparison) -> list[object]:
    return [
        (level.regions, level.total_b, level.total_a, level.l1, level.emd, level.differing, level.only_in_b)
        for level in comparison.levels
    ]


@settings(max_examples=30)
@given(st.sets(st.sampled_from(PATHS), min_size=1), st.integers(0, 1000))
def test_the_order_does_not_matter_and_nothing_differs_from_itself(
    some: set[tuple[str, ...]], seed: int
) -> None:
    a, b = release_of(PATHS, (1, 4), seed), release_of(sorted(some), (1, 4), seed + 1)
    forth, back = tt.compare(a, b), tt.compare(b, a)
    assert swap(forth) == [
        (level.regions, level.total_a, level.total_b, level.l1, level.emd, level.differing, level.only_in_a)
        for level in back.levels
    ]
    assert tt.compare(a, a).same
    assert not any(level.l1 for level in tt.compare(a, a).levels)


def test_large_levels_are_compared_in_parts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    a, b = release_of(PATHS, (1, 4), 1), release_of(PATHS[::-1][:7], (1, 4), 2)
    whole, turned = tt.compare(a, b, top=3), tt.compare(b, a, top=3)
    for name, each in (("a", a), ("b", b)):
        each.save(tmp_path / name, replicates=0)
    monkeypatch.setattr(arrays, "CHUNK_CELLS", 4)
    assert tt.compare(a, b, top=3) == whole
    monkeypatch.setattr(arrays, "LARGE", 4)  # then only what is not zero is kept
    assert tt.compare(tmp_path / "a", tmp_path / "b", top=3) == whole
    assert tt.compare(tmp_path / "b", tmp_path / "a", top=3) == turned


def test_errors_are_those_of_the_evaluation() -> None:
    made = make_release()
    truth = tt.GroupCounts(made.hierarchy, made.sizes, np.full((12, 12), 9))
    table = pa.table({name: made.hierarchy.leaf_names(name) for name in ("state", "county")})
    rows = table.take(np.repeat(np.arange(12), 12))
    rows = rows.append_column("size", pa.array(np.tile(np.arange(1, 13), 12)))
    found = tt.compare(made, rows.append_column("groups", pa.array([9] * 144)))
    expected = tt.evaluate(made, truth).to_pylist()
    assert [(level.l1, level.emd) for level in found.levels] == [(row["l1"], row["emd"]) for row in expected]


# Tables


@pytest.fixture(scope="module")
def pair() -> tuple[tt.Release, tt.Release]:
    return make_release(), make_release(epsilon="2")


def strip(comparison: Comparison) -> list[object]:
    """What does not depend on whether B is a release or its table."""
    return [
        (
            each.level,
            each.regions,
            each.total_a,
            each.total_b,
            each.l1,
            each.emd,
            each.differing,
            each.largest,
        )
        for each in comparison.levels
    ]


@pytest.mark.parametrize("kind", ["release.csv", "release.parquet", "leaves.csv", "leaves.parquet", "memory"])
def test_a_table_is_compared_as_its_release_is(
    kind: str, pair: tuple[tt.Release, tt.Release], tmp_path: Path
) -> None:
    a, b = pair
    table = b.to_arrow()
    if "leaves" in kind:
        table = table.filter(pc.equal(table["level"], pa.scalar("county"))).drop_columns(["nation", "level"])
    path = tmp_path / kind
    if kind.endswith("csv"):
        pa_csv.write_csv(table, path)
    elif kind.endswith("parquet"):
        pa_parquet.write_table(table, path)
    given = table.to_pandas() if kind == "memory" else path
    expected = strip(tt.compare(a, b))
    found = tt.compare(a, given)
    assert strip(found) == expected
    assert all(level.noise is None for level in found.levels)
    assert "noise of a published table is unknown" in found.notes[-1]
    assert [level.l1 for level in tt.compare(given, a).levels] == [level.l1 for level in found.levels]


def test_a_table_may_lack_levels_regions_and_sizes(pair: tuple[tt.Release, tt.Release]) -> None:
    table = pa.table({"state": ["State A", "State X"], "size": [40, 1], "groups": [7, 9]})
    found = tt.compare(pair[0], table)
    nation, state = found.levels
    assert (nation.level, state.level) == ("nation", "state")
    assert (nation.total_b, state.total_b) == (16, 16)
    assert (state.regions, state.only_in_a.regions, state.only_in_b.regions) == (1, 2, 1)
    assert state.only_in_b.examples == (("Land", "State X"),)
    assert "1 rows of B have sizes outside 1 to 12" in found.notes[0]
    assert "Only A has the level 'county'" in found.notes[1]


def test_rows_of_a_region_win_over_the_sum_of_its_subregions() -> None:
    a = release_of(PATHS, (1, 2), 3)
    columns: dict[str, list[Any]] = {
        "state": ["GA", "GA", "NY"],
        "county": [None, "GAa", "NYa"],
        "size": [1, 1, 2],
    }
    found = tt.compare(a, pa.table({**columns, "groups": [100, 1, 5]}))
    assert [level.total_b for level in found.levels] == [105, 105, 6]


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"State": ["GA"], "size": [1], "groups": [1]}, "no column 'state': did you mean 'State'"),
        ({"county": ["GAa"], "size": [1], "groups": [1]}, "no column 'state'"),
        ({"state": ["GA"], "size": [1]}, "no column 'groups'"),
        ({"state": ["GA"], "size": [1], "groups": ["x"]}, "'groups' must be whole numbers"),
        ({"state": ["GA"], "size": [-1], "groups": [1]}, "'size' is negative"),
        ({"state": ["GA"], "size": [1], "groups": [-1]}, "'groups' is negative"),
        ({"state": ["GA", "GA"], "size": [1, 1], "groups": [1, 2]}, "same region and size"),
        ({"state": [None], "county": ["x"], "size": [1], "groups": [1]}, "the level above it is empty"),
        ({"state": [""], "size": [1], "groups": [1]}, "empty name"),
        ({"state": pa.array([], pa.string()), "size": [], "groups": []}, "no rows"),
    ],
)
def test_a_wrong_table_is_refused(columns: dict[str, list[object]], words: str) -> None:
    with refused(CountsError, words):
        tt.compare(release_of(PATHS, (1, 2), 3), pa.table(columns))


def test_a_column_may_not_be_left_out_in_between() -> None:
    levels = ["land", "state", "county", "town"]
    hierarchy = tt.Hierarchy.from_paths(levels, [("L", "s", "c", "t")])
    made = tt.release(tt.GroupCounts(hierarchy, (1, 2), [[1, 2]]), epsilon="1")
    table = pa.table({"state": ["s"], "town": ["t"], "size": [1], "groups": [1]})
    with pytest.raises(CountsError, match="has a column 'town', but none 'county' above it"):
        tt.compare(made, table)


def test_true_counts_are_refused(tmp_path: Path) -> None:
    a = release_of(PATHS, (1, 2), 3)
    counts = tt.GroupCounts(a.hierarchy, (1, 2), np.ones((len(PATHS), 2), dtype=np.int64), has_frame=False)
    for name in ("counts.parquet", "sensitive-counts.csv"):
        write_counts(counts, tmp_path / name, as_csv=name.endswith("csv"))
        with refused(CountsError, "true counts, not a published table", tmp_path):
            tt.compare(a, tmp_path / name)


def test_what_cannot_be_compared_is_refused(tmp_path: Path) -> None:
    a = release_of(PATHS, (1, 2), 3)
    table = pa.table({"state": ["GA"], "size": [1], "groups": [1]})
    other = tt.release(
        tt.GroupCounts(tt.Hierarchy.from_paths(["nation"], [("CA",)]), (1, 2), [[1, 2]]), epsilon="1"
    )
    cases: list[tuple[type[InputError], str, Callable[[], object]]] = [
        (CountsError, "At least one of the two must be a release", lambda: tt.compare(table, table)),
        (HierarchyError, "roots are 'US' and 'CA'", lambda: tt.compare(a, other)),
        (HierarchyError, "no level in common", lambda: tt.compare(a, make_hostile_release())),
        (
            HierarchyError,
            "both have a level 'stat': did you mean",
            lambda: tt.compare(a, a, level="stat"),
        ),
        (CountsError, "no size in common", lambda: tt.compare(a, release_of(PATHS, (3, 4), 3))),
        (ViewError, "whole number, 0 or more", lambda: tt.compare(a, a, top=-1)),
        (FolderError, "no release folder 'nowhere'", lambda: tt.compare(a, "nowhere")),
        (CountsError, "no file 'nowhere.csv'", lambda: tt.compare(a, "nowhere.csv")),
        (CountsError, "An address was given", lambda: tt.compare(a, "postgresql://u:password@host/db")),
        (CountsError, "cannot be read as a table", lambda: tt.compare(a, 7)),
    ]
    for kind, words, call in cases:
        with refused(kind, words) as caught:
            call()
        assert "password" not in str(caught.value)


# Noise


def measure(
    seed: int, *, epsilon: str = "1", delta: str | None = None, change: int = 0, **more: Any
) -> tt.Measurements:
    """Repeatable measurements of the same counts but for one."""
    hierarchy = tt.Hierarchy.from_paths(["nation", "state"], [("US", f"{n}") for n in range(40)])
    leaf = np.full((40, 10), 50)
    leaf[7, 3] += change
    run = tt.simulate(
        tt.GroupCounts(hierarchy, (1, 10), leaf), epsilon=epsilon, delta=delta, seed=seed, **more
    )
    return run.measurements


def find_verdicts(a: tt.Measurements, b: tt.Measurements) -> list[str]:
    found = [judge(a, b, level, np.arange(regions)) for level, regions in enumerate((1, 40))]
    return [noise.verdict for noise in found if noise]


KINDS: list[dict[str, Any]] = [
    {"epsilon": "1"},
    {"epsilon": "20"},
    {"epsilon": "1", "delta": "1e-6"},
    {"epsilon": "1", "public_totals": "state"},
    {"epsilon": "1", "mechanism": "direct-dp"},
]


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_noise_explains_what_only_noise_did(kind: dict[str, Any]) -> None:
    for seed in range(0, 40, 2):
        assert find_verdicts(measure(seed, **kind), measure(seed + 1, **kind)) == ["explained"] * 2
    # Different amounts of noise, and for one of them another distribution.
    other = {**KINDS[0], "epsilon": "3"}
    if "mechanism" not in kind and "public_totals" not in kind:
        for seed in range(0, 40, 2):
            assert find_verdicts(measure(seed, **kind), measure(seed + 1, **other)) == ["explained"] * 2


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_one_count_that_changed_is_more_than_noise(kind: dict[str, Any]) -> None:
    for seed in range(0, 20, 2):
        assert find_verdicts(measure(seed, **kind), measure(seed + 1, change=500, **kind))[1] == "more"


@pytest.mark.parametrize("factor", [0.7, 1.3])
def test_noise_of_another_scale_than_stated_is_found_out(factor: float) -> None:
    """The negative control: were the expectation off by 30 %, the verdict would be another."""
    a, b = measure(1), measure(2)
    wrong = measure(3, epsilon=str(factor)).plan  # less epsilon: more noise is expected than there is
    found = find_verdicts(tt.Measurements(wrong, a.values), tt.Measurements(wrong, b.values))
    assert found[1] == ("less" if factor < 1 else "more")


def test_the_same_measurements_are_found_out() -> None:
    assert find_verdicts(measure(1), measure(1))[1] == "less"


@pytest.mark.parametrize("epsilon", ["0.1", "1", "6"])
@pytest.mark.parametrize("delta", [None, "1e-6"])
def test_cumulants_and_reach_are_those_of_the_noise(epsilon: str, delta: str | None) -> None:
    (level, _) = measure(0, epsilon=epsilon, delta=delta).plan.levels
    noise = SeededNoise(5) if delta is None else SeededGaussianNoise(5)
    drawn = noise.draw(level.scale, 400_000, lambda done: None).astype(np.float64)
    variance, fourth = find_cumulants(level)
    assert drawn.var() == pytest.approx(variance, rel=0.03)
    assert (drawn**4).mean() - 3 * drawn.var() ** 2 == pytest.approx(fourth, rel=0.25, abs=0.1 * variance**2)
    apart = np.abs(drawn[:200_000] - drawn[200_000:]).reshape(200, 1000)
    reach = find_reach([level, level], 1000)
    assert (apart.max(axis=1) > reach).mean() < 0.02  # rare
    assert (apart.max(axis=1) > 0.3 * reach).mean() > 0.9  # and not for being far out


def test_why_noise_is_not_told_apart_is_said() -> None:
    a = release_of(PATHS, (1, 4), 1)
    longer = tt.compare(a, release_of(PATHS, (1, 5), 1))
    assert "measured on different sizes" in longer.notes[-1]
    assert "B has sizes 1 to 5; those outside 1 to 4" in longer.notes[0]
    counts = tt.GroupCounts(a.hierarchy, (1, 4), np.ones((len(PATHS), 4), dtype=np.int64))
    other = tt.compare(a, tt.release(counts, epsilon="1"))
    assert "measured by different queries" in other.notes[-1]
    assert all(level.noise is None for level in (*longer.levels, *other.levels))


# The command


@pytest.fixture
def folders(run: Run, pair: tuple[tt.Release, tt.Release], tmp_path: Path) -> None:
    for name, each in zip("ab", pair, strict=True):
        each.save(tmp_path / name, replicates=0)


@pytest.mark.usefixtures("folders")
def test_the_command_shows_what_differs(run: Run) -> None:
    code, out, err = run("compare", "a", "b")
    assert (code, err) == (0, "")
    for words in ("Differences", "The largest differences", "'Land > State", "root mean square", "county"):
        assert words in out
    code, out, _ = run("compare", "a", "a", "--level", "state")
    assert code == 0
    assert "Nothing that was compared differs." in out
    assert "what was measured is the same in A and B" in out
    assert "county" not in out


@pytest.mark.usefixtures("folders")
def test_the_command_prints_json(run: Run, pair: tuple[tt.Release, tt.Release]) -> None:
    code, out, err = run("compare", "a", "b", "--json", "--top", "1", "--level", "county")
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert found == json.loads(json.dumps(tt.compare(*pair, top=1, level="county").to_dict()))
    (level,) = found["levels"]
    assert (level["level"], len(level["largest"])) == ("county", 1)
    assert set(level["noise"]) == {"answers", "found", "expected", "largest", "reach", "verdict"}


WRONG: Commands = {
    "nothing": (["compare"], "Missing argument"),
    "one": (["compare", "a"], "Missing argument"),
    "missing": (["compare", "a", "no"], "no release folder 'no'"),
    "missing-table": (["compare", "a", "no.csv"], "no file 'no.csv'"),
    "two-tables": (["compare", "t.csv", "t.csv"], "At least one of the two must be a release"),
    "level": (["compare", "a", "b", "--level", "town"], "do not both have a level 'town'"),
    "top": (["compare", "a", "b", "--top", "-1"], "must be a whole number, 0 or more"),
    "column": (["compare", "a", "t.csv", "--groups", "grups"], "did you mean 'groups'"),
    "not-a-table": (["compare", "a", "bad.parquet"], "cannot be read"),
    "long-name": (["compare", "a", "x" * 300 + ".csv"], "cannot be read: File name too long"),
}


@pytest.mark.usefixtures("folders")
@pytest.mark.parametrize("case", list_cases((InputError, WRONG)))
def test_the_command_refuses_wrong_input(case: Case, bench: Bench) -> None:
    write_files(bench.folder, {"t.csv": "state,size,groups\nState A,1,5\n", "bad.parquet": "no"})
    case.check(bench)


@pytest.mark.parametrize("name", HOSTILE_NAMES.values(), ids=HOSTILE_NAMES)
def test_hostile_names_are_only_text(name: str, run: Run, tmp_path: Path) -> None:
    hierarchy = tt.Hierarchy.from_paths(["land", name], [("L", name), ("L", "x")])
    for place, groups in (("a", 50), ("b", 5000)):
        counts = tt.GroupCounts(hierarchy, (1, 2), [[groups, 3], [4, 5]])
        tt.release(counts, epsilon="1").save(tmp_path / place, replicates=0)
    code, out, err = run("compare", "a", "b")
    assert (code, err) == (0, "")
    assert "\x1b" not in out
    assert json.loads(run("compare", "a", "b", "--json")[1])["levels"][1]["largest"][0]["path"] == ["L", name]
    page = tt.compare(tmp_path / "a", tmp_path / "b")._repr_html_()
    assert "<script" not in page


def test_a_notebook_shows_a_comparison() -> None:
    hostile = make_hostile_release()
    page = tt.compare(hostile, hostile)._repr_html_()
    assert "A and B are the same" in page
    assert "<script" not in page
    assert "<img" not in page
    page = tt.compare(make_release(), make_release())._repr_html_()
    assert "A and B side by side" in page
    assert "root mean square" in page
