"""The report as a file: what is in it is the release, and nothing in it can do harm."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import math
import re
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as st_numpy

import tallytree as tt
from tallytree.cli import main as cli
from tallytree.errors import FolderError, ReportError
from tallytree.markup import tag, write_json
from tallytree.privacy.accuracy import find_deviation, find_reach
from tallytree.privacy.plan import LevelPlan
from tallytree.releases.interval_bounds import SummaryBounds
from tallytree.releases.released import REPORT
from tallytree.releases.statement import describe_safety
from tallytree.releases.statistics import EARLIEST, QUANTILES, Distributions, summarize
from tallytree.report import map_shapes, report_content
from tallytree.report.key_figures import list_figures, list_numbers
from tallytree.report.map_shapes import project, read_shapes
from tallytree.report.report_content import encode, gather, pack_level, write_bytes
from tallytree.report.report_page import write_page, write_report
from tallytree.solvers.checks import Check, Verification, skip
from tests.report.report_support import (
    HOSTILE,
    SUMMARY_REACH,
    invent_intervals,
    make_hostile_release,
    make_release,
    make_square,
    read_element,
    read_numbers,
    read_shape_numbers,
    unpack,
    unpack_figures,
    write_shapes,
)

RELEASE = make_release()
PAGE = write_page(RELEASE, RELEASE.verify())
SHOWN = list_figures(RELEASE.sizes)
WITH_ENDS = [figure.statistic is not None for figure in SHOWN]
PLACES = [EARLIEST.index(figure.statistic) for figure in SHOWN if figure.statistic]


# What is packed is what is released.


@given(
    st_numpy.arrays(
        np.int64, st.tuples(st.integers(1, 5), st.integers(1, 9)), elements=st.integers(0, 2**39)
    ),
    st.integers(0, 3),
)
def test_packed_counts_are_the_counts(counts: Any, lowest: int) -> None:
    packed = pack_level(counts, lowest)
    sizes = (lowest, lowest + counts.shape[1] - 1)
    (found,) = unpack(packed.text, len(counts), sizes)
    assert (found == counts).all()
    assert (packed.groups == counts.sum(axis=1)).all()


@given(st_numpy.arrays(np.int64, (3, 4, 6), elements=st.integers(-50, 2**39)))
def test_packed_intervals_are_the_intervals(values: Any) -> None:
    counts, low, high = values
    packed = pack_level(counts, 1, (low, high))
    for found, given_ in zip(unpack(packed.text, 4, (1, 6), intervals=True), values, strict=True):
        assert (found == given_).all()


@given(st.lists(st.integers(0, 2**62)))
def test_numbers_of_variable_length(values: list[int]) -> None:
    packed, lengths = encode(np.array(values, dtype=np.int64))
    assert lengths.sum() == len(packed)
    text = base64.b64encode(_deflate(packed.tobytes())).decode()
    assert read_numbers(text) == values


def _deflate(data: bytes) -> bytes:
    import zlib

    deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
    return deflate.compress(data) + deflate.flush()


def test_large_levels_are_packed_by_parts_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = RELEASE.counts[-1]
    whole = pack_level(counts, 1)
    monkeypatch.setattr("tallytree.report.report_content.CHUNK", 25)
    assert pack_level(counts, 1).text == whole.text


def test_a_region_has_its_facts() -> None:
    counts = np.array([[3, 0, 5], [0, 0, 0]])
    numbers = read_numbers(pack_level(counts, 1).text)
    assert numbers[:8] == [2, 4, 8, 3, 0, 0, 0, 0]


@given(
    st_numpy.arrays(np.int64, st.tuples(st.integers(1, 4), st.just(5)), elements=st.integers(0, 2**39)),
    st.integers(0, 2),
)
def test_key_figures_are_those_of_the_groups_one_by_one(counts: Any, lowest: int) -> None:
    """The slow way: as if every group were asked for its size, in exact numbers."""
    numbers = list_numbers(SHOWN, [Distributions(counts, (lowest, lowest + 4))], None)
    for row, found in zip(counts.tolist(), numbers.tolist(), strict=True):
        groups = sum(row)
        if not groups:
            assert found == [1] + [0] * (len(SHOWN) - 1)
            continue
        held = {size: count for size, count in enumerate(row, lowest) if count}
        mean = Fraction(sum(size * count for size, count in held.items()), groups)
        up_to = {size: sum(count for at, count in held.items() if at <= size) for size in held}
        quantiles = [min(s for s in held if up_to[s] >= share * groups) for share in QUANTILES.values()]
        assert found[0] == groups + 1
        assert abs(found[1] - 1 - 10**6 * mean) <= 1
        assert abs(found[2] - 1 - 10**9 * Fraction(held.get(1, 0), groups)) <= 1
        assert found[3:] == [value + 1 for value in quantiles]


def test_the_page_holds_the_release() -> None:
    facts = json.loads(read_element(PAGE, "facts"))
    assert facts["sizes"] == [1, 12]
    assert [level["name"] for level in facts["levels"]] == ["nation", "state", "county"]
    for index, level in enumerate(facts["levels"]):
        (found,) = unpack(read_element(PAGE, f"counts-{index}"), len(level["names"]), (1, 12))
        assert (found == RELEASE.counts[index]).all()
        assert level["names"] == [path[-1] for path in RELEASE.hierarchy.regions(index)]
        assert level["parents"] == RELEASE.hierarchy.parents(index).tolist()
    assert facts["coverage"] is None
    assert facts["leftOut"] == []


def test_the_page_is_the_same_from_the_folder(tmp_path: Path) -> None:
    RELEASE.save(tmp_path / "made", replicates=0)
    loaded = tt.load(tmp_path / "made")
    page = write_page(loaded, loaded.verify())
    for key in ("facts", "counts-0", "counts-1", "counts-2"):
        assert read_element(page, key) == read_element(PAGE, key)


def test_intervals_are_plugged_in_where_there_are_any() -> None:
    known = invent_intervals(RELEASE)
    page = write_page(known, known.verify())
    assert json.loads(read_element(page, "facts"))["coverage"] == "90 %"
    groups, low, high = unpack(read_element(page, "counts-2"), 12, (1, 12), intervals=True)
    assert (groups == RELEASE.counts[2]).all()
    assert (low == np.maximum(groups - 7, 0)).all()
    assert (high == groups + 9).all()
    assert known.intervals is not None
    told = list_figures(RELEASE.sizes, known.intervals.summaries[0])  # those that have an interval
    assert [figure.title for figure in SHOWN if figure not in told] == ["Of size 1"]
    for level, counts in enumerate(RELEASE.counts):
        value = summarize(counts, (1, 12))[:, PLACES]
        found = unpack_figures(read_element(page, f"figures-{level}"), told, ends=True)
        np.testing.assert_allclose(found[..., 0], value, atol=1e-6)
        np.testing.assert_allclose(found[..., 1], np.maximum(value - SUMMARY_REACH[PLACES], 0), atol=1e-6)
        np.testing.assert_allclose(found[..., 2], value + 2 * SUMMARY_REACH[PLACES], atol=1e-6)
        bare = unpack_figures(read_element(PAGE, f"figures-{level}"), SHOWN, ends=False)
        np.testing.assert_array_equal(bare[:, WITH_ENDS, 0], found[..., 0])


def test_what_is_not_an_interval_is_not_packed_as_one() -> None:
    """A region without groups has none of a mean; a damaged file may hold anything."""
    counts = np.repeat(np.array([[3, 5]]), 6, axis=0)
    low, high = (summarize(counts, (1, 2)) for _ in range(2))
    mean = EARLIEST.index("size_mean")
    low[1, mean] = high[1, mean] = np.nan
    low[2, mean], high[2, mean] = -np.inf, np.inf
    low[3, mean] = -1.0
    low[4, mean] = high[4, mean] + 1
    high[5, mean] = 1e305  # too large for the page, and in its steps even for a float
    bounds = SummaryBounds(EARLIEST, low, low, low, low, high)
    numbers = list_numbers(SHOWN, [Distributions(counts, (1, 2))], bounds)
    assert numbers[0, 4] > 0
    assert (numbers[1:, 4:6] == 0).all()  # the mean's ends
    assert (np.delete(numbers, [4, 5], axis=1) == np.delete(numbers[0], [4, 5])).all()


def test_key_figures_take_little_room() -> None:
    rng = np.random.default_rng(0)
    counts = rng.poisson(rng.lognormal(8, 1.5, (3197, 1)) * 0.7 ** np.arange(20))
    value = summarize(counts, (1, 20))
    spread = rng.lognormal(0, 1, value.shape) * [30, 90, 0.01, 0, 0, 0.5, 1, 1]
    bounds = SummaryBounds(EARLIEST, value, value, value, np.maximum(value - spread, 0), value + spread)
    numbers = list_numbers(SHOWN, [Distributions(counts, (1, 20))], bounds)
    assert len(write_bytes(encode(numbers.ravel())[0])) < 200_000


def test_levels_that_a_page_cannot_hold_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report_content, "MOST_REGIONS", 5)
    facts = gather(RELEASE).facts
    assert [level["name"] for level in facts["levels"]] == ["nation", "state"]
    assert facts["leftOut"] == ["county"]
    monkeypatch.setattr(report_content, "MOST_TEXT", 10)
    assert gather(RELEASE).facts["leftOut"] == ["state", "county"]  # the root is always there
    assert "not on this page" in write_page(RELEASE, RELEASE.verify())


def test_a_map_of_a_level_that_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_shapes(tmp_path / "shapes.geojson", RELEASE)
    drawn = read_shapes(tmp_path / "shapes.geojson", "NAME", RELEASE.hierarchy)
    monkeypatch.setattr(report_content, "MOST_TEXT", 10)
    with pytest.raises(ReportError, match="level 'county', which is too large for a page"):
        write_page(RELEASE, RELEASE.verify(), shapes=drawn)
    monkeypatch.setattr(map_shapes, "MOST_REGIONS", 5)
    with pytest.raises(ReportError, match="None of the 13 shapes belongs to a region"):
        read_shapes(tmp_path / "shapes.geojson", "NAME", RELEASE.hierarchy)


# What is said.


def test_the_page_says_what_is_promised() -> None:
    text = html.unescape(re.sub(r"\s+", " ", re.sub("<[^>]*>", "", PAGE)))
    assert RELEASE.manifest["privacy"]["statement"] in text
    for words in (
        "For whom it is safe",
        "for four of them, epsilon is multiplied by four",
        "74 % sure",
        "that hides of which size a group is",
        "What it does not hide",
    ):
        assert words in text
    for check in RELEASE.verify().checks:
        assert check.statement[1:] in text
    assert "FAILED" not in text


def test_gaussian_noise_and_large_epsilon_are_said_in_other_words() -> None:
    hierarchy = tt.Hierarchy.from_paths(["nation", "state"], [("US", "GA"), ("US", "NY")])
    counts = tt.GroupCounts(hierarchy, (1, 3), np.full((2, 3), 50))
    gaussian = tt.release(counts, epsilon="1", delta="1e-9")
    page = write_page(gaussian, gaussian.verify())
    assert "which is delta" in page
    assert "even odds" not in page
    assert "Rho" in page
    large = tt.release(counts, epsilon="100")
    assert "so large that the guarantee, although it holds exactly, means little" in write_page(
        large, large.verify()
    )


def test_a_release_that_fails_its_checks_says_so_at_the_top(tmp_path: Path) -> None:
    RELEASE.save(tmp_path / "made", replicates=0)
    manifest = json.loads((tmp_path / "made" / "manifest.json").read_text())
    manifest["privacy"]["statement"] = "Trust us."
    (tmp_path / "made" / "manifest.json").write_text(json.dumps(manifest))
    damaged = tt.load(tmp_path / "made")
    page = write_page(damaged, damaged.verify())
    assert "This release failed its checks." in page.partition('id="explore"')[0]
    assert "Trust us" not in page


@pytest.mark.parametrize("scale", [Fraction(1, 5), Fraction(3), Fraction(50)])
def test_the_noise_of_a_level_is_what_its_distribution_gives(scale: Fraction) -> None:
    level = LevelPlan("nation", "sizes", Fraction(2), Fraction(1), scale)
    q = math.exp(-1 / float(scale))
    chances = {k: (1 - q) / (1 + q) * q ** abs(k) for k in range(-3000, 3001)}
    assert math.isclose(find_deviation(level) ** 2, sum(p * k * k for k, p in chances.items()), rel_tol=1e-9)
    reach = find_reach(level)
    inside = [sum(p for k, p in chances.items() if abs(k) <= bound) for bound in (reach, reach - 1)]
    assert inside[0] >= 0.95 > inside[1]


def test_the_noise_of_a_gaussian_level_is_sigma() -> None:
    level = LevelPlan("nation", "sizes", Fraction(2), Fraction(1), Fraction(10), "rho")
    assert (find_deviation(level), find_reach(level)) == (10.0, 20)
    assert find_deviation(LevelPlan("n", "sizes", Fraction(2), Fraction(1), Fraction(1, 10**6))) == 0


# Nothing in it can do harm, and nothing comes from elsewhere.


class Elements(HTMLParser):
    """The elements of a page, with their attributes and their text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None], str]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs), ""))

    def handle_endtag(self, tag: str) -> None:
        self.found.append((f"/{tag}", {}, ""))

    def handle_data(self, data: str) -> None:
        if self.found:
            name, attributes, text = self.found[-1]
            self.found[-1] = name, attributes, text + data


@pytest.mark.parametrize("release", [RELEASE, make_hostile_release()])
def test_only_our_own_script_and_style_are_allowed(release: tt.Release) -> None:
    elements = Elements(write_page(release, release.verify())).found
    (policy,) = [a["content"] for name, a, _ in elements if a.get("http-equiv") == "Content-Security-Policy"]
    assert policy is not None
    scripts = [(a, text) for name, a, text in elements if name == "script"]
    (script,) = [text for a, text in scripts if "type" not in a]
    assert all(a["type"] in ("application/json", "application/base64") for a, _ in scripts[:-1])
    (style,) = [text for name, _, text in elements if name == "style"]
    for text in (script, style):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    assert not any(name.startswith("on") or name == "style" for _, a, _ in elements for name in a)


@pytest.mark.parametrize("release", [RELEASE, make_hostile_release()])
def test_nothing_is_asked_for_from_anywhere(release: tt.Release) -> None:
    page = write_page(release, release.verify())
    for _, attributes, _ in Elements(page).found:
        for name in ("src", "href", "action", "srcset", "data", "poster"):
            assert (attributes.get(name) or "#").startswith(("#", "data:"))
    addresses = set(re.findall(r"(?:https?:)?//[\w.]+/[\w/.]*", page.partition('id="counts-0"')[0]))
    assert not addresses
    assert set(re.findall(r"https?://[\w./]+", page)) <= {"http://www.w3.org/2000/svg"}
    script = page.rpartition("<script>")[2]
    for word in (
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "eval(",
        "fetch(",
        "import(",
    ):
        assert word not in script


def test_names_are_text_wherever_they_are() -> None:
    release = make_hostile_release()
    page = write_page(release, release.verify())
    facts = json.loads(read_element(page, "facts"))
    assert facts["levels"][1]["names"] == list(HOSTILE)
    assert "<img" not in page
    assert "alert(1)</script>" not in page
    levels = len(facts["levels"])
    assert page.count("</script>") == page.count("<script") == 1 + 2 * levels + 1
    assert len(page) < 300_000


def test_json_cannot_end_its_element() -> None:
    text = write_json({"a": "</script><!--\u2028\u2029&"})
    assert not set("<>&\u2028\u2029") & set(text)
    assert json.loads(text) == {"a": "</script><!--\u2028\u2029&"}
    assert tag("p", '"<&', title='"<&') == '<p title="&quot;&lt;&amp;">&quot;&lt;&amp;</p>'


def test_a_page_is_small() -> None:
    release = make_release(300, sizes=(1, 200))
    assert len(write_page(release, release.verify())) < 1_000_000


# Shapes.


@pytest.fixture
def squares(tmp_path: Path) -> Path:
    write_shapes(tmp_path / "shapes.geojson", RELEASE)
    return tmp_path / "shapes.geojson"


def test_shapes_are_matched_with_the_level_that_has_their_names(squares: Path) -> None:
    drawn = read_shapes(squares, "NAME", RELEASE.hierarchy)
    assert (drawn.level, drawn.matched, drawn.unmatched, drawn.missing) == (2, 12, ("Elsewhere",), 0)
    found = read_shape_numbers(drawn.text)
    assert [region for region, _ in found] == [*range(1, 13), 0]
    for _, rings in found:
        (ring,) = rings
        assert len(ring) == 4  # the closing point is not said again
        assert all(0 <= x <= drawn.width and 0 <= y <= drawn.height for x, y in ring)
    assert max(drawn.width, drawn.height) == map_shapes.GRID
    # North is up: the squares of the first row are lower on the page than those of the last.
    assert min(y for _, y in found[0][1][0]) > max(y for _, y in found[11][1][0])
    page = write_page(RELEASE, RELEASE.verify(), shapes=drawn)
    assert json.loads(read_element(page, "facts"))["map"]["level"] == 2


def test_compressed_shapes_and_other_geometries(tmp_path: Path) -> None:
    import gzip

    first, second = make_square("State A", 0, 0), make_square("State B", 1, 0)
    rings = first["geometry"]["coordinates"]
    second["geometry"] = {
        "type": "GeometryCollection",
        "geometries": [{"type": "MultiPolygon", "coordinates": [rings, rings]}],
    }
    empty = {"type": "Feature", "properties": {"NAME": "State C"}, "geometry": None}
    file = tmp_path / "s.geojson.gz"
    file.write_bytes(gzip.compress(json.dumps({"features": [first, second, empty]}).encode()))
    drawn = read_shapes(file, "NAME", RELEASE.hierarchy)
    assert (drawn.level, drawn.matched, drawn.missing) == (1, 3, 0)
    assert [len(rings) for _, rings in read_shape_numbers(drawn.text)] == [1, 2, 0]


def test_several_properties_name_a_region_together(tmp_path: Path) -> None:
    paths = [("US", "GA", "001"), ("US", "NY", "001"), ("US", "NY", "003")]
    hierarchy = tt.Hierarchy.from_paths(["nation", "state", "county"], paths)
    features = [make_square(county, place, 0) for place, (_, _, county) in enumerate(paths)]
    for feature, (_, state, _) in zip(features, paths, strict=True):
        feature["properties"]["STATE"] = state
    file = tmp_path / "s.geojson"
    file.write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    assert read_shapes(file, "STATE,NAME", hierarchy).matched == 3
    assert read_shapes(file, "NAME", hierarchy).unmatched == ("001", "001")
    file.write_text(json.dumps({"features": features[:2]}))
    with pytest.raises(ReportError, match="give more properties, such as STATE,COUNTY"):
        read_shapes(file, "NAME", hierarchy)


def test_a_fine_grid_is_made_coarser(squares: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    angles = np.linspace(0, 2 * np.pi, 5000)
    circle = make_square("County A-00", 0, 0)
    circle["geometry"]["coordinates"] = [np.column_stack([np.cos(angles), 40 + np.sin(angles)]).tolist()]
    squares.write_text(json.dumps({"features": [circle]}))
    monkeypatch.setattr(map_shapes, "MOST_POINTS", 400)
    ((_, (ring,)),) = read_shape_numbers(read_shapes(squares, "NAME", RELEASE.hierarchy).text)
    assert 20 < len(ring) <= 400


def test_a_shape_too_small_to_see_is_a_dot(squares: Path) -> None:
    far, dot = make_square("County A-00", 0, 0), make_square("County A-01", 40, 10)
    dot["geometry"]["coordinates"] = [[[9, 45], [9.0001, 45], [9, 45.0001]]]
    far["geometry"]["coordinates"] = [[[0, 40], [40, 40], [40, 60]]]
    squares.write_text(json.dumps({"features": [far, dot]}))
    found = read_shape_numbers(read_shapes(squares, "NAME", RELEASE.hierarchy).text)
    assert [len(ring) for _, (ring,) in found] == [3, 4]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "is not a GeoJSON file"),
        ("[" * 100_000, "is not a GeoJSON file"),
        ("\x1f", "is not a GeoJSON file"),
        ("[]", "with features"),
        ('{"features": []}', "with features"),
        ('{"features": [3]}', "Feature 1 of .* has no properties"),
        ('{"features": [{"properties": {"NAM": 1}}]}', "has no property 'NAME': did you mean 'NAM'"),
        ('{"features": [{"properties": {"NAME": "x"}, "geometry": 3}]}', "not made of polygons"),
        (
            '{"features": [{"properties": {"NAME": "x"}, "geometry": {"type": "Point"}}]}',
            "not made of polygons",
        ),
        (
            '{"features": [{"properties": {"NAME": "x"}, "geometry": {"type": "Polygon"}}]}',
            "not made of polygons",
        ),
        (
            '{"features": [{"properties": {"NAME": "x"}, '
            '"geometry": {"type": "Polygon", "coordinates": [[[1, NaN], [1, 2], [3, 4]]]}}]}',
            "not made of polygons",
        ),
        (
            '{"features": [{"properties": {"NAME": "x"}, '
            '"geometry": {"type": "Polygon", "coordinates": [[[1e300, 2], [-1e300, 2], [3, 4]]]}}]}',
            "not made of polygons",
        ),
        ('{"features": [{"properties": {"NAME": "x"}, "geometry": null}]}', "no polygons"),
        (json.dumps({"features": [make_square("Nowhere", 0, 0)]}), "None of the 1 shapes belongs"),
    ],
)
def test_bad_shapes_get_one_clear_message(content: str, words: str, tmp_path: Path) -> None:
    file = tmp_path / "bad.geojson"
    file.write_text(content)
    with pytest.raises(ReportError, match=words):
        read_shapes(file, "NAME", RELEASE.hierarchy)


def test_shapes_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ReportError, match="No such file"):
        read_shapes(tmp_path / "none", "NAME", RELEASE.hierarchy)
    (tmp_path / "cut.gz").write_bytes(b"\x1f\x8b\x08\x00")
    with pytest.raises(ReportError, match="is not a GeoJSON file"):
        read_shapes(tmp_path / "cut.gz", "NAME", RELEASE.hierarchy)


def test_the_projection_keeps_areas() -> None:
    def area(south: float, west: float) -> float:
        """Of a tenth of a degree each way, on a map from 20 to 60 degrees north, beside that on the globe."""
        corners = [[west, south], [west + 0.1, south], [west + 0.1, south + 0.1], [west, south + 0.1]]
        x, y = project(np.array([*corners, [-120, 20], [-60, 60]]))[:4].T
        shoelace = abs(sum(x[i - 1] * y[i] - x[i] * y[i - 1] for i in range(4))) / 2
        globe = math.radians(0.1) * (math.sin(math.radians(south + 0.1)) - math.sin(math.radians(south)))
        return float(shoelace / globe)

    assert [area(*place) for place in ((25, -119), (40, -90), (59, -61))] == pytest.approx(
        [1, 1, 1], rel=1e-3
    )


def test_islands_beyond_the_date_line_stay_near() -> None:
    x, _ = project(np.array([[179.5, 52.0], [-179.5, 52.0], [-150.0, 60.0]])).T
    assert x[0] < x[1] < x[2]
    assert x[1] - x[0] < 0.05 * (x[2] - x[0])


def test_around_the_equator_and_on_a_plane() -> None:
    x, y = project(np.array([[-10.0, -10.0], [10.0, 10.0], [0.0, 0.0]])).T
    assert (x[2], y[2]) == (0, 0)
    plane = np.array([[913_175.0, 120_121.0], [1_067_382.0, 272_844.0]])
    assert (project(plane) == plane).all()


# The command.

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    monkeypatch.chdir(tmp_path)
    RELEASE.save("made", replicates=0)

    def call(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["tallytree", *words])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        printed = capsys.readouterr()
        return int(stop.value.code or 0), printed.out, printed.err

    return call


def test_the_command_writes_the_report_and_says_how_to_open_it(run: Run, squares: Path) -> None:
    code, out, err = run("report", "made")
    assert (code, err) == (0, "")
    assert "opens in any browser" in " ".join(out.split())
    first = Path("made", REPORT).read_text(encoding="utf-8")
    code, out, _ = run("report", "made", "--shapes", "shapes.geojson", "--shape-key", "NAME")
    assert code == 0
    words = " ".join(out.split())
    assert "12 shapes are on the map, as regions of level 'county'" in words
    assert "1 shapes belong to no region, and are grey: 'Elsewhere'" in words
    assert len(Path("made", REPORT).read_text(encoding="utf-8")) > len(first)
    assert sorted(path.name for path in Path("made").iterdir()) == [
        "manifest.json", "measurements.parquet", "release.parquet", "report.html",
    ]  # fmt: skip
    assert run("verify", "made")[0] == 0  # the report is derived, and not one of the files that are checked


def test_the_command_for_programs(run: Run, squares: Path) -> None:
    code, out, _ = run("report", "made", "--shapes", "shapes.geojson", "--shape-key", "NAME", "--json")
    found = json.loads(out)
    assert code == 0
    assert found["map"] == {"matched": 12, "unmatched": ["Elsewhere"], "regions_without_shape": 0}
    assert found["verification"]["passed"] is True
    assert json.loads(run("report", "made", "--json")[1])["map"] is None


def test_the_command_opens_the_browser_if_asked(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr("typer.launch", opened.append)
    assert run("report", "made")[0] == 0
    assert run("report", "made", "--open")[0] == 0
    assert [address.startswith("file:///") and address.endswith("report.html") for address in opened] == [
        True
    ]


def test_bad_input_is_one_message_and_exit_code_2(run: Run, tmp_path: Path) -> None:
    (tmp_path / "bad.geojson").write_text("no")
    Path("made", REPORT).unlink()
    for words in (
        ["report", "nowhere"],
        ["report", "made", "--shapes", "bad.geojson"],
        ["report", "made", "--shapes", "bad.geojson", "--shape-key", "NAME"],
    ):
        code, out, err = run(*words)
        assert (code, out) == (2, "")
        assert err.startswith("Error: ")
        assert err.count("\n") == 1
    assert not Path("made", REPORT).exists()


def test_a_damaged_release_gets_its_report_and_exit_code_1(run: Run) -> None:
    manifest = json.loads(Path("made", "manifest.json").read_text())
    manifest["privacy"]["statement"] = "Trust us."
    Path("made", "manifest.json").write_text(json.dumps(manifest))
    code, out, _ = run("report", "made")
    assert code == 1
    assert "release failed its checks" in " ".join(out.split())
    assert "release failed its checks" in Path("made", REPORT).read_text(encoding="utf-8")


def test_a_report_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / REPORT).mkdir()
    with pytest.raises(FolderError, match="cannot be written"):
        write_report(RELEASE, tmp_path / REPORT)
    assert [path.name for path in tmp_path.iterdir()] == [REPORT]


def test_the_report_shows_the_checks_that_it_is_given(tmp_path: Path) -> None:
    """Also where they failed, and those that the report would make itself would not."""
    failed = Verification((Check("solution", "post-processing gives these counts", 3, "one differs by 7"),))
    write_report(RELEASE, tmp_path / REPORT, verification=failed)
    page = (tmp_path / REPORT).read_text(encoding="utf-8")
    assert "This release failed its checks." in page
    assert "one differs by 7" in page


def test_the_report_marks_a_check_that_was_not_made(tmp_path: Path) -> None:
    checks = Verification((Check("validity", "whole", 0), skip("solution", "it was not repeated")))
    write_report(RELEASE, tmp_path / REPORT, verification=checks)
    page = (tmp_path / REPORT).read_text(encoding="utf-8")
    assert '<li class="not-made"><span class="mark">Not made</span><b>Solution</b>' in page
    assert "<b>1 of 2</b> <span>passed; 1 not made, see below</span>" in page
    assert "release failed its checks" not in page


def test_a_release_is_not_lost_when_its_report_fails(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*given: object, **more: object) -> str:
        raise ZeroDivisionError("a count of 17")

    monkeypatch.setattr("tallytree.report.report_page.write_page", fail)
    Path("counts.csv").write_text("state,size,groups\nGA,1,20\nNY,2,30\n")
    words = ["release", "counts.csv", "--region", "state", "--sizes", "1:3", "--epsilon", "1", "--out", "new"]
    code, _, err = run(*words)
    assert code == 0
    assert "The report was not written (ZeroDivisionError)" in err
    assert "17" not in err
    assert tt.load("new").verify().passed


def test_the_report_needs_no_truth_to_be_loaded() -> None:
    code = (
        "import sys, tallytree.report.report_page, tallytree.report.map_shapes; "
        "print([m for m in sys.modules if m in ('tallytree.counts.group_counts', 'tallytree.privacy.door')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("epsilon", ["0.1", "0.2", "0.5", "1", "2", "3.3", "7"])
def test_what_is_said_to_be_the_most_is_not_less_than_it(epsilon: str) -> None:
    hierarchy = tt.Hierarchy.from_paths(["root"], [("r",)])
    plan = tt.mechanism("direct-dp").plan(hierarchy, sizes=(1, 2), epsilon=epsilon)
    (words,) = (text for text in describe_safety(plan) if "% sure" in text)
    found = re.search(r"more than ([\d.,]+) times .* (\d+) % sure", words)
    assert found
    odds = math.exp(float(epsilon))
    assert odds <= float(found[1].replace(",", "")) < 1.01 * odds
    assert 100 * odds / (1 + odds) <= int(found[2]) <= 100
