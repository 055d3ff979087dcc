"""A release looked at from Python: tables for other libraries, single regions, what notebooks show."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tallytree as tt
from tallytree import arrays
from tallytree.drawing import pictures
from tallytree.drawing.pictures import Picture
from tallytree.errors import FolderError, HierarchyError, ViewError
from tallytree.releases import released
from tallytree.releases.region_views import RegionView
from tallytree.releases.statistics import QUANTILES, summarize
from tallytree.research.reproduction.document import Figure
from tallytree.research.reproduction.rendering import save_figures
from tallytree.sizes import get_ends
from tests.instances import random_hierarchy
from tests.report.report_support import HOSTILE, make_hostile_release, make_release


@pytest.fixture(scope="module")
def release() -> tt.Release:
    return make_release()


@pytest.fixture(scope="module")
def hostile() -> tt.Release:
    return make_hostile_release()


def walk(view: RegionView) -> list[RegionView]:
    return [view, *(below for child in view.children for below in walk(child))]


# Tables


def test_every_library_gets_the_same_table(release: tt.Release) -> None:
    table = release.to_arrow()
    assert table.num_rows == sum(int((level > 0).sum()) for level in release.counts)
    assert pa.table(release).equals(table)
    assert pa.Table.from_pandas(release.to_pandas(), table.schema, preserve_index=False).equals(table)
    assert release.to_polars().equals(pl.DataFrame(table))
    assert pl.DataFrame(release).equals(release.to_polars())
    found = duckdb.sql("SELECT sum(groups) FROM release WHERE level = 'county'")
    assert found is not None
    assert found.fetchall() == [(release.total,)]
    assert isinstance(release.to_pandas(), pd.DataFrame)


WITHOUT = (
    "import sys; from unittest.mock import Mock; "
    "hide = lambda name, *_: __import__('no_such_module') if name == '{0}' else None; "
    "sys.meta_path.insert(0, Mock(find_spec=hide))"
)


@pytest.mark.parametrize(("method", "library"), [("to_pandas", "pandas"), ("to_polars", "polars")])
def test_a_missing_library_is_named(method: str, library: str, tmp_path: Path, release: tt.Release) -> None:
    release.save(tmp_path / "release", replicates=0)
    code = f"{WITHOUT.format(library)}; import tallytree as tt; tt.load('release').{method}()"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("tallytree.errors.ViewError: ")
    assert last.endswith(f"which is not installed: pip install {library}.")


# Regions


@given(st.integers(0, 10_000))
def test_all_regions_together_are_the_release(seed: int) -> None:
    rng = np.random.default_rng(seed)
    hierarchy = random_hierarchy(rng, 4)
    leaf = rng.integers(0, 3, (hierarchy.leaf_count, 5))
    made = tt.release(tt.GroupCounts(hierarchy, (2, 6), leaf), epsilon="5", mechanism="direct-dp")
    views = walk(made.region())
    assert len(views) == hierarchy.region_count
    assert {view.path for view in views} == {
        path for level in hierarchy.levels for path in hierarchy.regions(level)
    }
    for view in views:
        again = made.region(*view.path)
        assert (again.path, again.level) == (view.path, hierarchy.levels[len(view.path) - 1])
        index = hierarchy.regions(view.level).index(view.path)
        np.testing.assert_array_equal(view.groups, made.counts[len(view.path) - 1][index])
        if view.children:
            assert sum(child.total for child in view.children) == view.total
    tables = sorted((row for view in views for row in view.to_arrow().to_pylist()), key=str)
    assert tables == sorted(made.to_arrow().to_pylist(), key=str)


@given(st.lists(st.integers(0, 5), min_size=4, max_size=4), st.floats(0, 1))
def test_figures_are_those_of_the_groups_written_out(groups: list[int], q: float) -> None:
    hierarchy = tt.Hierarchy.from_paths(["land"], [("L",)])
    view = tt.release(tt.GroupCounts(hierarchy, (3, 6), [groups]), epsilon="1").region("L")
    written = [size for size, count in enumerate(view.groups.tolist(), start=3) for _ in range(count)]
    assert view.total == len(written)
    if not written:
        assert (view.mean, view.quantile(q)) == (None, None)
        return
    assert view.mean == pytest.approx(np.mean(written))
    found, wanted = view.quantile(q), Fraction(str(q)) * len(written)
    assert found in written
    assert sum(size <= found for size in written) >= wanted
    below = [size for size in written if size < found]
    assert not below or len(below) < wanted
    figures = summarize(view.groups[None], (3, 6))[0, -len(QUANTILES) :]
    assert [view.quantile(float(share)) for share in QUANTILES.values()] == figures.tolist()


@pytest.mark.parametrize("share", [7, 14, 28, 55, 56])
def test_a_share_is_the_one_that_is_written(share: int) -> None:
    """In floats, 0.55 of 100 groups are more than 55."""
    assert share / 100 * 100 > share
    hierarchy = tt.Hierarchy.from_paths(["land"], [("L",)])
    counts = tt.GroupCounts(hierarchy, (1, 2), [[share, 100 - share]])
    view = tt.release(counts, epsilon="1000").region()  # so much that nothing is changed
    assert view.groups.tolist() == [share, 100 - share]
    assert (view.quantile(share / 100), view.quantile((share + 1) / 100)) == (1, 2)


def test_a_region_is_found_by_its_path(release: tt.Release) -> None:
    view = release.region("Land", "State B")
    assert (view.path, view.level, view.sizes) == (("Land", "State B"), "state", (1, 12))
    assert repr(view) == f"RegionView('Land > State B', {view.total:,} groups)"
    assert [child.path[-1] for child in view.children] == [f"County B-0{n}" for n in range(4)]
    assert release.region().path == ("Land",)
    assert release.region("Land", "State A", "County A-01").children == ()
    with pytest.raises(ValueError, match="read-only"):
        view.groups[0] = 7
    assert view.to_pandas()["groups"].sum() == view.total
    assert view.to_polars()["state"].unique().to_list() == ["State B"]


@pytest.mark.parametrize(
    ("path", "words"),
    [
        (("State B",), "no region 'State B' at the top: a path begins with the root, 'Land'"),
        (("Land", "State D"), "no region 'State D' in 'Land': did you mean 'State C'"),
        (("Land", "State A", "County B-01"), "in 'Land > State A': did you mean 'County A-01'"),
        (("Land", "State A", "County A-01", "x"), "only 3 levels"),
        (("Land", 7), "sequence of names"),
        (("Land", ""), "empty name"),
        (("Land", "\udcff"), "UTF-8"),
    ],
)
def test_a_wrong_path_is_explained(release: tt.Release, path: tuple[str, ...], words: str) -> None:
    with pytest.raises(HierarchyError, match=words):
        release.region(*path)


def test_a_region_of_a_large_level_is_the_same(
    release: tt.Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release.save(tmp_path / "release", replicates=0)
    monkeypatch.setattr(arrays, "LARGE", 4)  # only what is not zero is kept
    again = tt.load(tmp_path / "release").region("Land", "State B", "County B-02")
    view = release.region("Land", "State B", "County B-02")
    np.testing.assert_array_equal(again.groups, view.groups)
    assert again.to_arrow().equals(view.to_arrow())
    assert again.plot() == view.plot()


def test_a_leaf_above_the_last_level_has_no_subregions() -> None:
    hierarchy = tt.Hierarchy.from_paths(["US", "state", "county"], [("US", "DC"), ("US", "GA", "Fulton")])
    made = tt.release(tt.GroupCounts(hierarchy, (1, 2), [[3, 4], [5, 6]]), epsilon="1")
    assert made.region("US", "DC").children == ()
    with pytest.raises(HierarchyError, match="no region 'x' in 'US > DC', which has no subregions"):
        made.region("US", "DC", "x")


def test_shares_may_come_from_numpy(release: tt.Release) -> None:
    view = release.region()
    assert [view.quantile(q) for q in np.linspace(0, 1, 3, dtype=np.float32)] == [
        view.quantile(q) for q in (0, 0.5, 1)
    ]


@pytest.mark.parametrize("q", [-0.1, 1.5, float("nan"), "half", None])
def test_a_wrong_share_is_refused(release: tt.Release, q: float) -> None:
    with pytest.raises(ViewError, match="q must be from 0 to 1"):
        release.region().quantile(q)


# Pictures


def test_a_plot_is_shown_and_saved(release: tt.Release, tmp_path: Path) -> None:
    plot = release.region("Land", "State A").plot()
    assert plot._repr_svg_() == plot.svg
    assert "Land &gt; State A" in plot.svg
    assert repr(plot) == "Picture(title='Land > State A')"
    plot.save(tmp_path / "a.svg")
    assert (tmp_path / "a.svg").read_text(encoding="utf-8") == plot.svg
    plot.save(str(tmp_path / "a.PNG"))
    assert (tmp_path / "a.PNG").read_bytes().startswith(b"\x89PNG")


def test_a_plot_says_why_it_cannot_be_saved(
    release: tt.Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plot = release.region().plot()
    with pytest.raises(ViewError, match=r"\.svg or \.png"):
        plot.save(tmp_path / "a.pdf")
    with pytest.raises(FolderError, match="cannot be written"):
        plot.save(tmp_path / "no" / "a.svg")
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    with pytest.raises(ViewError, match=r"pip install 'tallytree\[png\]'"):
        plot.save(tmp_path / "a.png")
    assert list(tmp_path.iterdir()) == []


DEJAVU = Path("/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf")


@pytest.fixture
def use_fonts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """As on a system that has these font files, and no others."""
    resvg_py = pytest.importorskip("resvg_py")
    draw = resvg_py.svg_to_bytes

    def use(*files: Path) -> None:
        folder = tmp_path / "fonts"
        folder.mkdir()
        for file in files:
            shutil.copy(file, folder)
        only = partial(draw, skip_system_fonts=True, font_dirs=[str(folder)])
        monkeypatch.setattr(resvg_py, "svg_to_bytes", only)
        pictures._has_font.cache_clear()

    yield use
    pictures._has_font.cache_clear()


@pytest.mark.skipif(not DEJAVU.exists(), reason="needs the font DejaVu Sans (fonts-dejavu-core on Debian)")
def test_a_png_has_text_where_dejavu_is_the_only_font(
    release: tt.Release, tmp_path: Path, use_fonts: Callable[..., None]
) -> None:
    use_fonts(DEJAVU)
    plot = release.region().plot()
    plot.save(tmp_path / "text.png")
    silent = re.sub(r"<text.*?</text>", "", plot.svg, flags=re.DOTALL)
    Picture(silent, plot.title).save(tmp_path / "silent.png")
    with_text, without = ((tmp_path / f"{name}.png").read_bytes() for name in ("text", "silent"))
    assert len(with_text) > len(without) + 5_000


def test_a_png_without_a_font_is_refused(
    release: tt.Release, tmp_path: Path, use_fonts: Callable[..., None]
) -> None:
    use_fonts()
    plot = release.region().plot()
    with pytest.raises(ViewError, match=r"has no font for it: install .* or save the picture as \.svg"):
        plot.save(tmp_path / "a.png")
    assert not (tmp_path / "a.png").exists()
    figure = Figure("figure", plot.svg, "caption")
    assert "no font" in str(save_figures([figure], tmp_path))
    assert [path.name for path in tmp_path.glob("figure.*")] == ["figure.svg"]


def test_ends_are_drawn_where_they_are_known(release: tt.Release) -> None:
    view = release.region()
    assert view.ends is None
    assert 'class="ends"' not in view.plot().svg
    known = tt.add_intervals(release, replicates=10).region()
    assert known.ends is not None
    assert known.plot().svg.count('class="ends"') >= len(np.trim_zeros(view.groups, "b"))
    table = known.to_pandas()
    assert (table.groups_high.to_numpy() == known.ends[1][table["size"] - get_ends(known.sizes)[0]]).all()


# HTML


class Checker(HTMLParser):
    """Elements are closed as they were opened; their names and attributes are kept."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.names: set[str] = set()
        self.attributes: set[str] = set()
        self.text = ""
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag != "img":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


ELEMENTS = {"div", "span", "p", "b", "bdi", "table", "thead", "tbody", "tr", "th", "td", "img"}


def read(shown: Any) -> Checker:
    page = shown._repr_html_()
    checker = Checker(page)
    assert checker.names <= ELEMENTS
    assert checker.attributes <= {"style", "src", "alt"}
    assert not re.search(r"https?:|url\(", page)
    return checker


def test_a_release_tells_a_notebook_what_it_is(release: tt.Release) -> None:
    text = read(release).text
    assert "Release of Land" in text
    assert "1 to 12, in 16 regions on 3 levels" in text
    assert f"{release.total:,} groups in all" in text
    assert "epsilon = 1: no result is more than 2.72 times as likely" in text
    assert "No check failed; 2 were not made." in text  # the solution, and the noise of so few regions


def test_a_release_that_does_not_hold_says_so_in_a_notebook(release: tt.Release) -> None:
    wrong = tt.Release.__new__(tt.Release)
    wrong.__dict__.update({**release.__dict__, "total": release.total + 1})
    text = read(wrong).text
    assert "FAILED: do not rely on these counts" in text
    assert "every level adds up to the public total" in text
    text = read(wrong.verify()).text
    assert "FAILED" in text
    assert "for example: " in text


def test_a_large_release_is_not_verified_just_to_be_shown(
    release: tt.Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(released, "MOST_SHOWN_CELLS", 10)
    text = read(release).text
    assert "checks passed" not in text
    assert "release.verify()" in text


def test_hostile_names_are_only_text_in_a_notebook(hostile: tt.Release) -> None:
    assert "Release of <script>alert(1)</script>" in read(hostile).text
    read(hostile.measurements.plan)
    read(hostile.verify())
    for view in walk(hostile.region()):
        read(view)
    assert HOSTILE[0] in hostile.region().path


@pytest.mark.parametrize(("epsilon", "delta"), [("40", None), ("1", "1e-9")])
def test_plans_are_told_in_words(epsilon: str, delta: str | None) -> None:
    hierarchy = tt.Hierarchy.from_paths(["nation", "state"], [("US", "GA"), ("US", "NY")])
    plan = tt.mechanism("cumulative-joint").plan(hierarchy, sizes=(1, 5), epsilon=epsilon, delta=delta)
    text = read(plan).text
    assert "cumulative" in text
    assert ("so large that the promise says little" in text) == (epsilon == "40")
    assert ("which is delta" in text) == (delta is not None)


def test_an_empty_region_is_shown(release: tt.Release) -> None:
    hierarchy = tt.Hierarchy.from_paths(["land"], [("L",)])
    view = tt.release(tt.GroupCounts(hierarchy, (1, 2), [[0, 0]]), epsilon="1").region()
    checker = read(view)
    assert "0 groups" in checker.text
    assert "img" not in checker.names


def test_true_counts_are_shown_to_no_notebook() -> None:
    hierarchy = tt.Hierarchy.from_paths(["land"], [("L",)])
    counts = tt.GroupCounts(hierarchy, (1, 2), [[7391, 0]])
    assert not [name for name in dir(counts) if name.startswith("_repr_") and name.endswith("_")]
    assert not hasattr(counts, "__arrow_c_stream__")
