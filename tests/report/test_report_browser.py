"""The report in a real browser: drawn, used by mouse and keyboard, accessible, and offline."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from benchmarks import reports

from tallytree.releases.statistics import summarize
from tallytree.report import key_figures
from tallytree.report.key_figures import Figure
from tallytree.report.ledger_page import write_ledger_page
from tallytree.report.map_shapes import read_shapes
from tallytree.report.report_page import write_page
from tests.browsers import DESK, IN_BROWSER, PHONE, Visit, Visits, find_axe_violations
from tests.ledger.test_spending import write
from tests.report.report_support import (
    HOSTILE,
    SUMMARY_REACH,
    invent_intervals,
    make_hostile_release,
    make_release,
    move_intervals,
    write_shapes,
)

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = IN_BROWSER

EMPTY = "AwA="
"""Nothing, deflated, in base64."""


class ReportVisit(Visit):
    """A report that is open."""

    def summary(self) -> list[list[str]]:
        """The rows of the table of key figures."""
        rows = self.page.query_selector_all("#summary tbody tr")
        return [[cell.inner_text() for cell in row.query_selector_all("td")] for row in rows]

    def search(self, words: str) -> None:
        self.page.fill("#query", words)
        self.page.keyboard.press("Enter")

    def save(self, button: str) -> list[dict[str, str]]:
        """The rows of the file that a button downloads."""
        return list(csv.DictReader(io.StringIO(self.download(button), newline="")))


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Reports of several kinds."""
    folder = tmp_path_factory.mktemp("reports")
    write_shapes(folder / "shapes.geojson", RELEASE)
    drawn = read_shapes(folder / "shapes.geojson", "NAME", RELEASE.hierarchy)
    hostile = make_hostile_release()
    large = make_release(1065, sizes=(1, 1000))
    flat, wide = make_release(1, sizes=(3, 5)), make_release(70, sizes=(1, 3))
    known = invent_intervals(RELEASE)
    outside, vague = move_intervals(known, 20, 30), move_intervals(known, -2000, 2000)
    pages = {
        "plain": write_page(RELEASE, RELEASE.verify()),
        "map": write_page(RELEASE, RELEASE.verify(), shapes=drawn),
        "intervals": write_page(known, known.verify()),
        "hostile": write_page(hostile, hostile.verify()),
        "large": write_page(large, large.verify()),
        "flat": write_page(flat, flat.verify()),
        "wide": write_page(wide, wide.verify()),
        "outside": write_page(outside, known.verify()),
        "vague": write_page(vague, known.verify()),
    }
    smallest = Figure(
        "Smallest",
        "smallest_size",
        "count",
        lambda regions: regions.size[np.argmax(regions.counts != 0, axis=1)],
        shade="Smallest size",
    )
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(key_figures, "FIGURES", (smallest, *key_figures.FIGURES))
        pages["figure"] = write_page(RELEASE, RELEASE.verify())
    for name, page in pages.items():
        (folder / f"{name}.html").write_text(page, encoding="utf-8")
    return {name: folder / f"{name}.html" for name in pages}


RELEASE = make_release()


@pytest.fixture
def visit(browser: Browser, files: dict[str, Path]) -> Iterator[Visits[ReportVisit]]:
    """Open one of the reports; at the end, nothing was said on the console and nothing was asked for."""
    visits = Visits(ReportVisit, browser, files)
    yield visits
    visits.close()


def show(value: int) -> str:
    return f"{value:,}"


# It renders.


@pytest.mark.parametrize(
    ("name", "dark"),
    [(name, False) for name in ("plain", "map", "intervals", "hostile", "large", "flat")]
    + [(name, True) for name in ("map", "intervals")],
)
def test_it_renders_quietly_and_is_accessible(visit: Any, name: str, dark: bool) -> None:
    there = visit(name, dark=dark)
    assert find_axe_violations(there.page) == []
    there.page.click("#numbers summary")
    if name != "flat":
        there.page.check("input[name=slot][value=b]")
        there.page.click("[role=treeitem][aria-level='2'] >> nth=1")
    if name == "map":
        there.page.click("[data-view=map]")
    there.page.fill("#query", "a")
    assert find_axe_violations(there.page) == []


@pytest.mark.parametrize("name", ["plain", "hostile", "map", "intervals"])
def test_it_fits_a_phone(visit: Any, name: str) -> None:
    there = visit(name, size=PHONE, is_mobile=True, has_touch=True)
    there.page.check("input[name=slot][value=b]")
    there.search("in" if name in ("hostile", "map") else "o")
    assert there.page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    assert find_axe_violations(there.page) == []
    if name == "hostile":  # few sizes: all ranges would be the same
        assert not there.page.is_visible("#range")
    else:
        there.page.tap("#range [data-value=all]")
    there.page.tap("[role=treeitem][aria-level='2'] >> nth=0")


def test_it_prints(visit: Any) -> None:
    there = visit()
    there.page.emulate_media(media="print")
    assert not there.page.is_visible("#query")
    assert there.page.is_visible("#summary")
    assert there.page.is_visible("#privacy")


def test_without_a_script_the_rest_is_there(browser: Browser, files: dict[str, Path]) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(files["plain"].as_uri())
    assert page.is_visible("text=The explorer needs JavaScript")
    assert page.is_visible("text=For whom it is safe")
    assert not page.is_visible("#explorer")
    context.close()


@pytest.mark.parametrize("key", ["counts-1", "figures-1"])
@pytest.mark.parametrize("data", ["A" * 9, EMPTY])
def test_a_damaged_page_says_so(
    browser: Browser, files: dict[str, Path], tmp_path: Path, key: str, data: str
) -> None:
    whole = files["intervals"].read_text(encoding="utf-8")
    damaged = re.sub(rf'(id="{key}">)[^<]*', rf"\g<1>{data}", whole)
    assert damaged != whole
    (tmp_path / "damaged.html").write_text(damaged, encoding="utf-8")
    page = browser.new_page()
    page.goto((tmp_path / "damaged.html").as_uri())
    page.wait_for_selector("#trouble:visible")
    page.close()


# What is shown is the release.


def test_the_first_view_is_the_root(visit: Any) -> None:
    there = visit()
    counts = RELEASE.counts[0][0]
    assert there.text("#region-name") == "Land"
    (row,) = there.summary()
    mean = sum((i + 1) * int(n) for i, n in enumerate(counts)) / counts.sum()
    total = f"{show(int(counts.sum()))}\npublic, exact"
    assert row[:3] == [total, f"{mean:.2f}", f"{100 * counts[0] / counts.sum():.1f} %"]
    assert "standard deviation of 4.22" in there.text("#precision")
    there.page.click("#numbers summary")
    there.page.wait_for_selector("#table tbody tr")  # filled after the click, not by it
    cells = there.page.eval_on_selector_all(
        "#table tbody tr", "rows => rows.map(r => r.innerText.split('\\t'))"
    )
    shown = {int(row[0]): int(row[1].replace(",", "")) for row in cells}
    assert shown == {i + 1: int(n) for i, n in enumerate(counts) if n}


def test_quantiles_are_those_of_the_counts(visit: Any) -> None:
    there = visit()
    there.search("County B-02")
    place = [path[-1] for path in RELEASE.hierarchy.regions("county")].index("County B-02")
    counts = RELEASE.counts[2][place]
    sizes = [size for size, groups in enumerate(counts, start=1) for _ in range(groups)]
    wanted = [str(sizes[max(0, -(-len(sizes) * share // 100) - 1)]) for share in (10, 25, 50, 75, 90)]
    (row,) = there.summary()
    assert row[3:8] == wanted


def test_intervals_are_drawn_where_there_are_any(visit: Any) -> None:
    there = visit("intervals")
    assert there.page.get_attribute(".whiskers-a", "d").count("M") == 3 * 12
    assert "probability 90 %" in there.text("#precision")
    counts = RELEASE.counts[0][0]
    assert f"{show(int(counts[0]) - 7)} to {show(int(counts[0]) + 9)}" in there.text("#readout")
    rows = there.save("#save")
    assert [int(row["groups_low"]) for row in rows[:3]] == [max(int(n) - 7, 0) for n in counts[:3]]
    assert not there.page.is_visible("#cumulative")  # there are no intervals of cumulative counts
    assert visit("plain").page.get_attribute(".whiskers-a", "d") == ""


def write_interval(low: float, high: float) -> str:
    return f"{low:,.0f} to\N{NO-BREAK SPACE}{high:,.0f}"


def test_key_figures_have_their_intervals(visit: Any) -> None:
    there = visit("intervals")
    there.search("County B-02")
    place = [path[-1] for path in RELEASE.hierarchy.regions("county")].index("County B-02")
    groups, _, mean, *quantiles = summarize(RELEASE.counts[2], (1, 12))[place]
    (row,) = there.summary()
    assert row[0].split("\n") == [show(int(groups)), write_interval(groups - 30, groups + 60)]
    # The ends are 0.003 apart: two digits of that are shown.
    assert re.fullmatch(r"\d+\.\d{4}\n\d+\.\d{4} to\xa0\d+\.\d{4}", row[1])
    shown = [float(number) for number in re.findall(r"[\d.]+", row[1])]
    assert shown == pytest.approx([mean, mean - 0.001, mean + 0.002], abs=1.1e-4)
    assert row[2] == f"{quantiles[0]:.0f}\n{write_interval(quantiles[0], quantiles[0])}"
    assert row[3:] == [f"{q:.0f}\n{write_interval(q - 1, q + 2)}" for q in quantiles[1:]]
    assert "90 % intervals" in there.text("#summary caption")
    there.page.check("input[name=slot][value=b]")
    there.search("State C")
    rows = there.summary()
    assert rows[0] == row
    assert write_interval(RELEASE.counts[1][2].sum() - 30, RELEASE.counts[1][2].sum() + 60) in rows[1][0]
    assert len(rows) == 2  # of the difference there is no interval
    plain = visit("plain")
    assert plain.page.locator(".interval").all_inner_texts() == ["public, exact"]
    assert "interval" not in plain.text("#summary caption")


def test_a_number_outside_its_interval_has_the_better_estimate_beside_it(visit: Any) -> None:
    there = visit("outside")
    there.search("County B-02")
    (row,) = there.summary()
    released, rest = row[1].split("\n")
    better, low, high = map(float, re.findall(r"[\d.]+", rest))
    assert rest.startswith("better ")
    assert float(released) < low <= better <= high
    assert re.fullmatch(
        r"Size 1: [\d,]+ groups, better [\d,]+: [\d,]+ to [\d,]+ \([\d.]+ %\)", there.text("#readout")
    )


def test_numbers_have_no_more_digits_than_their_intervals(visit: Any) -> None:
    there = visit("vague")
    assert re.search(r"1[0-9],[0-9]00 groups, \d+,\d00 to \d+,\d00 \(\d+ %\)", there.text("#readout"))
    there.page.click("#numbers summary")
    there.page.wait_for_selector("#table tbody tr")
    cells = there.page.locator("#table tbody tr >> nth=0").locator("td").all_inner_texts()
    assert all(cell.endswith("00") for cell in cells[:3])
    assert there.text("#table thead").split() == ["Size", "groups", "from", "to", "share"]


def test_key_figures_on_a_phone_are_rows(visit: Any) -> None:
    """Nothing of them has to be scrolled to, and a turned phone shows them as a table again."""
    there = visit("intervals", size=PHONE, is_mobile=True, has_touch=True)
    there.page.check("input[name=slot][value=b]")
    there.search("State C")
    names = there.page.locator("#summary tbody th").all_inner_texts()
    assert names == ["Groups", "Mean size", "10 %", "25 %", "Median", "75 %", "90 %"]
    upright = there.summary()
    assert all(len(row) == 2 for row in upright)
    box = there.page.locator("#summary >> xpath=..")
    assert box.evaluate("box => box.scrollWidth <= box.clientWidth")
    assert find_axe_violations(there.page) == []
    there.page.set_viewport_size({"width": PHONE["height"], "height": PHONE["width"]})
    there.page.wait_for_selector("#summary tbody tr:nth-child(2):last-child")
    turned = there.summary()
    assert [list(column) for column in zip(*turned, strict=True)] == upright


# Controls.


def test_search_with_mouse_and_keyboard(visit: Any) -> None:
    there = visit()
    page = there.page
    page.fill("#query", "county")
    assert page.get_attribute("#query", "aria-expanded") == "true"
    assert "12 regions found" in there.text("#found-status")
    page.click("#found [role=option] >> nth=2")
    assert there.text("#region-name") == "County A-02"
    assert page.input_value("#query") == ""
    page.fill("#query", "c-0")
    for _ in range(2):
        page.keyboard.press("ArrowDown")
    assert page.get_attribute("#query", "aria-activedescendant") == "found-1"
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    assert page.get_attribute("#query", "aria-activedescendant") == "found-3"
    page.keyboard.press("Enter")
    assert there.text("#region-name") == "County C-03"
    there.search("02, state b")
    assert there.text("#region-name") == "County B-02"
    page.fill("#query", "nothing like it")
    assert "No region" in there.text("#found-status")
    page.keyboard.press("Escape")
    page.fill("#query", "state b")
    page.keyboard.press("Escape")
    assert not page.is_visible("#found")
    page.keyboard.press("Escape")
    assert page.input_value("#query") == ""


def test_the_hierarchy_by_mouse(visit: Any) -> None:
    there = visit()
    there.page.click("[role=treeitem][aria-label^='State B']")
    assert there.text("#region-name") == "State B"
    there.page.click("[role=treeitem][aria-label^='County B-01']")
    assert there.text("#region-name") == "County B-01"
    there.page.hover("[role=treeitem][aria-label^='County B-03']")
    assert "County B-03" in there.text("#icicle .tip")
    assert there.page.is_hidden("[role=treeitem][aria-label^='County A-01']")  # zoomed to State B
    there.page.click("#crumbs button >> text=Land")
    assert there.text("#region-name") == "Land"


def test_the_hierarchy_by_keyboard(visit: Any) -> None:
    there = visit()
    page = there.page
    page.focus("[role=treeitem][tabindex='0']")
    walk = [
        ("ArrowRight", "State A"), ("ArrowDown", "State B"), ("ArrowDown", "State C"),
        ("ArrowDown", "State C"), ("Home", "State A"),
        ("ArrowUp", "State A"), ("End", "State C"), ("ArrowRight", "County C-00"),
        ("ArrowRight", "County C-00"), ("ArrowDown", "County C-01"), ("Enter", "County C-01"),
        ("ArrowLeft", "State C"), ("ArrowLeft", "Land"), ("ArrowLeft", "Land"),
    ]  # fmt: skip
    for key, name in walk:
        page.keyboard.press(key)
        assert there.text("#region-name") == name, key
        label = page.evaluate("document.activeElement.getAttribute('aria-label')")
        assert label.startswith(name), key
        assert page.locator("[role=treeitem][tabindex='0']").count() == 1
    assert "Region A: Land" in there.text("#announcer")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("c")
    assert there.text("#slot-b-name") == "State A"


def test_regions_of_the_icicle_can_be_told_apart(visit: Any) -> None:
    """The counties of all states are too many for a column: those of a state are shown when it is picked."""
    there = visit("wide")
    page = there.page
    assert page.locator("[role=treeitem][aria-level='3']").count() == 0
    names = page.locator("[role=treeitem][aria-level='2'] .label:not(.number)").all_inner_texts()
    assert names == ["State A", "State B", "State C"]
    page.click("[role=treeitem][aria-level='2'] >> nth=1")
    tops = page.eval_on_selector_all(
        "[role=treeitem][aria-level='3']",
        "items => items.map(item => item.getBoundingClientRect()).map(box => [box.top, box.bottom])",
    )
    assert len(tops) == 70
    assert all(below[0] - above[1] >= 0.5 for above, below in pairwise(tops))
    assert page.inner_text("[role=treeitem][aria-level='1'] .label") == "Land"
    page.keyboard.press("ArrowLeft")
    assert there.text("#region-name") == "Land"


def test_the_chart_comes_first_and_the_page_is_named_for_its_subject(visit: Any) -> None:
    for size in (DESK, PHONE):
        there = visit("intervals", size=size)
        places = ("#explore", "#chart", "#summary", "#glance", "#privacy")
        tops = [there.page.locator(place).bounding_box()["y"] for place in places]
        assert tops == sorted(tops)
        assert there.page.title() == there.text("h1") == there.text(".brand") == "Groups by size in Land"


def test_two_regions_are_compared(visit: Any) -> None:
    there = visit()
    page = there.page
    assert not page.is_visible("#swap")
    page.check("input[name=slot][value=b]")
    there.search("State C")
    a, b, difference = there.summary()
    assert int(a[0].split()[0].replace(",", "")) - int(b[0].replace(",", "")) == int(
        difference[0].strip("+").replace(",", "")
    )
    assert difference[2].endswith(" pp")
    assert page.locator(".bars-b").count() == 1
    assert page.get_attribute("#measure [data-value=share]", "aria-pressed") == "true"
    assert "; B " in there.text("#readout")
    page.click("#swap")
    assert (there.text("#slot-a-name"), there.text("#slot-b-name")) == ("State C", "Land")
    assert there.summary()[0] == b
    page.focus("#clear")
    page.keyboard.press("Space")
    assert len(there.summary()) == 1
    assert not page.is_visible("#swap")
    assert page.is_checked("input[name=slot][value=a]")
    page.focus("input[name=slot][value=a]")
    page.keyboard.press("ArrowRight")
    there.search("State B")
    assert there.text("#slot-b-name") == "State B"


def test_the_chart_by_its_buttons(visit: Any) -> None:
    there = visit()
    page = there.page
    linear = page.get_attribute(".bars-a", "d")
    for button in ("#axis [data-value=log]", "#measure [data-value=share]", "#axis [data-value=linear]"):
        page.focus(button)
        page.keyboard.press("Enter")
        assert page.get_attribute(button, "aria-pressed") == "true"
    assert "%" in there.page.text_content("#chart .grid")
    page.click("#measure [data-value=groups]")
    assert page.get_attribute(".bars-a", "d") == linear
    page.focus("#cumulative")
    page.keyboard.press("Space")
    assert page.get_attribute(".bars-a", "d") != linear
    assert "or smaller" in there.text("#readout")


# Regions side by side.


def list_charts(page: Page) -> list[tuple[str, str]]:
    """The name of each small chart, and its number of groups."""
    tiles = page.locator("#charts .small-chart")
    return [
        (tile.locator("bdi").first.inner_text(), tile.locator(".small-figure").inner_text())
        for tile in tiles.all()
    ]


@pytest.mark.parametrize("dark", [False, True])
def test_regions_side_by_side_are_those_of_the_release(visit: Any, dark: bool) -> None:
    there = visit("intervals", dark=dark)
    page = there.page
    page.locator("#side").scroll_into_view_if_needed()
    page.wait_for_selector("#charts .small-chart")
    groups = RELEASE.counts[1].sum(axis=1)
    named = [path[-1] for path in RELEASE.hierarchy.regions("state")]
    for (name, told), wanted, number in zip(list_charts(page), named, groups.tolist(), strict=True):
        assert name == wanted
        value = int(told.removesuffix(" groups").replace(",", ""))
        assert abs(value - number) <= 10  # with no more digits than are known
    assert page.locator("#charts .interval").count() == len(named)
    page.select_option("#charts-of", label="All of level county")
    assert page.locator("#charts .small-chart").count() == len(RELEASE.counts[2])
    assert page.locator("#charts .above").first.inner_text() == "State A"
    page.select_option("#charts-order", value="groups")
    shown = [int(told.removesuffix(" groups").replace(",", "")) for _, told in list_charts(page)]
    assert shown == sorted(shown, reverse=True)
    assert len(set(shown)) > 3
    assert find_axe_violations(page) == []


def test_all_small_charts_have_one_scale(visit: Any) -> None:
    there = visit("plain")
    page = there.page
    page.locator("#side").scroll_into_view_if_needed()
    page.wait_for_selector("#charts .small-chart")
    page.click("#charts-measure [data-value=groups]")
    paths = page.eval_on_selector_all("#charts .bars-a", "all => all.map(e => e.getBBox().height)")
    largest = RELEASE.counts[1].max(axis=1)
    np.testing.assert_allclose(np.array(paths) / max(paths), largest / largest.max(), atol=0.02)
    assert page.locator("#charts .line-whole").count() == 0
    page.click("#charts-measure [data-value=share]")
    assert page.locator("#charts .line-whole").count() == len(largest)


def test_small_charts_by_keyboard_open_their_regions(visit: Any) -> None:
    there = visit("plain")
    page = there.page
    page.locator("#side").scroll_into_view_if_needed()
    page.wait_for_selector("#charts .small-chart")
    assert page.locator("#charts [tabindex='0']").count() == 1
    page.focus("#charts [tabindex='0']")
    for key, wanted in (("End", "State C"), ("ArrowLeft", "State B"), ("Home", "State A")):
        page.keyboard.press(key)
        assert page.evaluate("document.activeElement.innerText").startswith(wanted)
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    assert there.text("#region-name") == "State B"
    assert page.locator("#charts-pages").is_hidden()


@pytest.mark.parametrize("name", ["hostile", "intervals"])
def test_small_charts_fit_a_phone(visit: Any, name: str) -> None:
    page = visit(name, size=PHONE, is_mobile=True, has_touch=True).page
    page.locator("#side").scroll_into_view_if_needed()
    page.wait_for_selector("#charts .small-chart")
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    assert find_axe_violations(page) == []


def test_many_small_charts_are_on_pages(visit: Any) -> None:
    there = visit("large")
    page = there.page
    page.locator("#side").scroll_into_view_if_needed()
    page.wait_for_selector("#charts .small-chart")
    page.select_option("#charts-of", index=page.locator("#charts-of option").count() - 1)
    first = list_charts(page)
    assert len(first) == 60
    assert page.is_disabled("#charts-back")
    page.click("#charts-next")
    second = list_charts(page)
    assert not {name for name, _ in first} & {name for name, _ in second}
    assert there.text("#charts-page").startswith("61 to 120 of ")
    page.click("#charts-back")
    assert list_charts(page) == first


def test_the_range_of_sizes(visit: Any) -> None:
    there = visit("large")
    page = there.page
    assert page.input_value("#from") == "1"
    assert int(page.input_value("#to")) < 60
    page.click("#range [data-value=all]")
    assert page.input_value("#to") == "1000"
    page.click("#range [data-value=some]")
    assert 8 <= int(page.input_value("#to")) < 1000
    page.fill("#from", "20")
    page.fill("#to", "3")
    page.keyboard.press("Tab")
    assert (page.input_value("#from"), page.input_value("#to")) == ("3", "20")
    page.fill("#to", "999999")
    page.keyboard.press("Enter")
    assert page.input_value("#to") == "1000"
    page.click("#range [data-value=most]")
    box = page.locator("#chart .handle").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 100, box["y"] + 100)
    page.mouse.down()
    page.mouse.move(box["x"] + 300, box["y"] + 100, steps=4)
    page.mouse.up()
    assert page.get_attribute("#range [data-value=most]", "aria-pressed") == "false"
    assert int(page.input_value("#from")) >= 1
    assert int(page.input_value("#to")) - int(page.input_value("#from")) >= 1


def test_the_read_out_by_mouse_and_keyboard(visit: Any) -> None:
    there = visit()
    page = there.page
    page.focus("#chart .handle")
    counts = RELEASE.counts[0][0]
    for key, size in (
        ("ArrowRight", 2),
        ("ArrowUp", 3),
        ("ArrowLeft", 2),
        ("End", 12),
        ("Home", 1),
        ("PageUp", 11),
    ):
        page.keyboard.press(key)
        assert page.get_attribute("#chart .handle", "aria-valuenow") == str(size)
        assert show(int(counts[size - 1])) in (page.get_attribute("#chart .handle", "aria-valuetext") or "")
    page.hover("#chart .handle", position={"x": 70, "y": 50})
    assert there.text("#readout").startswith("Size 1:")


def test_shading(visit: Any) -> None:
    there = visit()
    before = there.text("#legend")
    there.page.select_option("#shade", "share_of_size_1")
    assert there.text("#legend") != before
    assert "Share of groups of size 1" in there.text("#legend")
    assert visit("flat").page.locator("#shade option").count() == 1  # there is no size 1


def test_a_figure_from_outside_is_shown_shaded_by_and_downloaded(visit: Any) -> None:
    there, plain = visit("figure"), visit("plain")
    (row,), (others,) = there.summary(), plain.summary()
    assert there.text("#summary thead").split()[0] == "Smallest"
    assert row[0] == show(int(np.argmax(RELEASE.counts[0][0] != 0)) + 1)
    assert row[1:] == others
    there.page.select_option("#shade", "smallest_size")
    assert "Smallest size" in there.text("#legend")
    rows = there.save("#save-all")
    smallest = [int(np.argmax(counts != 0)) + 1 for level in RELEASE.counts for counts in level]
    assert [int(row["smallest_size"]) for row in rows] == smallest


def test_themes(visit: Any) -> None:
    there = visit()
    page = there.page

    def background() -> str:
        return str(page.evaluate("getComputedStyle(document.body).backgroundColor"))

    light = background()
    page.click("#theme")
    assert background() == light
    page.focus("#theme")
    page.keyboard.press("Enter")
    assert "dark" in there.text("#theme")
    dark = background()
    assert dark != light
    assert find_axe_violations(page) == []
    page.click("#theme")
    assert background() == light
    page.emulate_media(color_scheme="dark")
    assert background() == dark


def test_links_lead_to_their_parts(visit: Any) -> None:
    there = visit()
    for part in ("explore", "privacy", "accuracy", "checks"):
        there.page.click(f".top nav a[href='#{part}']")
        assert there.page.evaluate("location.hash") == f"#{part}"
    there.page.reload()
    there.asked.pop()
    there.page.keyboard.press("Tab")
    there.page.keyboard.press("Enter")
    assert there.page.evaluate("document.activeElement.id") == "explore"


def test_the_map(visit: Any) -> None:
    there = visit("map")
    page = there.page
    page.click("[data-view=map]")
    assert page.locator("#map path.shape").count() == 13
    page.click("#map path.shape >> nth=5", force=True)
    assert there.text("#region-name") == "County B-01"
    for key, name in (
        ("ArrowRight", "B-02"),
        ("ArrowUp", "C-02"),
        ("ArrowLeft", "C-01"),
        ("ArrowDown", "B-01"),
    ):
        page.keyboard.press(key)
        assert there.text("#region-name") == f"County {name}"
    assert "County B-01" in (page.text_content("#map-current") or "")
    whole = page.get_attribute("#map > svg", "viewBox")
    page.click("#map-in")
    assert page.get_attribute("#map > svg", "viewBox") != whole
    page.click("#map-out")
    assert page.get_attribute("#map > svg", "viewBox") == whole
    page.click("#map-here")
    assert page.get_attribute("#map > svg", "viewBox") != whole
    page.click("#map-all")
    page.focus("#map [role=listbox]")
    page.keyboard.press("+")
    page.click("#map-all")
    assert page.get_attribute("#map > svg", "viewBox") == whole
    page.hover("#map path.shape >> nth=0", force=True)
    assert "County A-00" in there.text("#map .tip")
    page.click("#map path.shape >> nth=12", force=True)  # belongs to none
    assert there.text("#region-name") == "County B-01"
    there.search("State C")
    assert page.locator("#map .outline-a").count() == 4
    page.click("[data-view=icicle]")
    assert page.is_visible("[role=treeitem][aria-label^='State C']")


# Downloads.


def test_what_is_shown_is_downloaded(visit: Any) -> None:
    there = visit()
    there.search("State B")
    there.page.check("input[name=slot][value=b]")
    there.search("County A-01")
    there.page.click("#range [data-value=all]")
    rows = there.save("#save")
    assert there.file_name == "land-state-b-county-a-01.csv"
    assert list(rows[0]) == [
        "nation", "state", "county", "level", "size", "groups", "share", "groups_up_to_size",
    ]  # fmt: skip
    assert len(rows) == 24
    assert [int(row["groups"]) for row in rows[:12]] == RELEASE.counts[1][1].tolist()
    assert [int(row["groups"]) for row in rows[12:]] == RELEASE.counts[2][1].tolist()
    assert (rows[0]["state"], rows[0]["county"], rows[0]["level"]) == ("State B", "", "state")
    assert int(rows[11]["groups_up_to_size"]) == RELEASE.counts[1][1].sum()
    assert rows[12]["county"] == "County A-01"
    assert float(rows[0]["share"]) == pytest.approx(int(rows[0]["groups"]) / RELEASE.counts[1][1].sum())


def test_key_figures_of_all_regions_are_downloaded(visit: Any) -> None:
    there = visit()
    rows = there.save("#save-all")
    assert [row["level"] for row in rows] == ["nation"] + ["state"] * 3 + ["county"] * 12
    assert [int(row["groups"]) for row in rows] == [
        int(n) for level in RELEASE.counts for n in level.sum(axis=1)
    ]
    assert all(1 <= float(row["quantile_10"]) <= float(row["mean_size"]) <= 12 for row in rows)


def test_intervals_of_key_figures_are_downloaded(visit: Any) -> None:
    rows = visit("intervals").save("#save-all")
    assert list(rows[0])[4:9] == ["groups", "groups_low", "groups_high", "mean_size", "mean_size_low"]
    assert "share_of_size_1_low" not in rows[0]
    figures = np.concatenate([summarize(counts, (1, 12)) for counts in RELEASE.counts])
    names = {"groups": 0, "mean_size": 2, "quantile_10": 3, "quantile_50": 5, "quantile_90": 7}
    for name, place in names.items():
        reach = SUMMARY_REACH[place]
        for end, off in (("", 0), ("_low", -reach), ("_high", 2 * reach)):
            found = [float(row[f"{name}{end}"]) for row in rows]
            assert found == pytest.approx(np.maximum(figures[:, place] + off, 0), abs=1e-6), name + end


# Hostile names.


@pytest.mark.parametrize("place", range(len(HOSTILE)))
def test_hostile_names_are_shown_as_text(visit: Any, place: int) -> None:
    there = visit("hostile")
    page = there.page
    page.focus("[role=treeitem][tabindex='0']")
    page.keyboard.press("ArrowRight")
    for _ in range(place):
        page.keyboard.press("ArrowDown")
    wanted = HOSTILE[place]
    assert page.text_content("#region-name") == wanted
    page.keyboard.press("c")
    page.keyboard.press("ArrowRight")
    assert page.locator("#crumbs button").count() == 2
    box = page.locator("#region-name").bounding_box()
    assert box is not None
    assert box["height"] < 150
    assert page.locator("img, iframe, object, main script").count() == 0
    assert page.title() != "broken"
    rows = there.save("#save")
    names = {row["state' \"</script>"] for row in rows}
    assert names == {f"'{wanted}" if wanted.startswith("=") else wanted}


def test_nothing_may_be_loaded_even_if_it_were_there(visit: Any) -> None:
    there = visit()
    blocked = there.page.evaluate(
        """() => new Promise((resolve) => {
            const seen = [];
            document.addEventListener("securitypolicyviolation", (event) => {
              seen.push(event.effectiveDirective);
              if (seen.length === 3) resolve(seen.sort());
            });
            const script = document.createElement("script");
            script.textContent = "window.broken = true";
            const image = document.createElement("img");
            image.src = "https://example.org/x.png";
            document.body.append(script, image);
            fetch("https://example.org/").catch(() => {});
        })"""
    )
    assert blocked == ["connect-src", "img-src", "script-src-elem"]
    assert there.page.evaluate("window.broken") is None
    there.said.clear()  # the browser says what it refused
    there.asked[:] = there.asked[:1]


# At the size of the Census.


@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
def test_the_page_of_a_ledger(size: Any, browser: Browser, tmp_path: Path) -> None:
    """It needs no script; its pictures are seen, and nothing was blocked or asked for."""
    write_ledger_page(
        write(list(range(0, 400, 9)), limit="1", owner="office "), "x" * 90, tmp_path / "l.html"
    )
    page = browser.new_page(viewport=size)
    said: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("request", lambda request: asked.append(request.url))
    page.goto((tmp_path / "l.html").as_uri())
    widths = page.evaluate("[...document.images].map((image) => image.naturalWidth)")
    assert len(widths) == 2
    assert all(width > 100 for width in widths)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert find_axe_violations(page) == []
    assert said == []
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
    page.close()


def test_the_benchmark_of_reports(browser: Browser) -> None:
    page = reports.write_page(reports.measure(RELEASE, 1, browser, replicates=10))
    assert page.startswith("# Intervals and the report: how fast")
    assert "from\n10 replicates" in page
    assert "16 regions x 12 sizes" in page
    assert "times as long to be usable" in page


def test_a_census_sized_report_is_fast(visit: Any) -> None:
    there = visit("large")
    page = there.page
    assert page.evaluate("document.querySelectorAll('[role=treeitem]').length") < 1000
    page.fill("#query", "county c-1000")
    page.keyboard.press("Enter")
    assert there.text("#region-name") == "County C-1000"
    assert page.locator("[role=treeitem][aria-label^='County C-1000']").count() == 1
    steps = page.evaluate(
        """async () => {
            const times = [];
            document.querySelector("[role=treeitem][tabindex='0']").focus();
            for (let i = 0; i < 10; i++) {
              const start = performance.now();
              const press = new KeyboardEvent("keydown", { key: "ArrowDown", bubbles: true });
              document.activeElement.dispatchEvent(press);
              times.push(performance.now() - start);
              await new Promise((resolve) => requestAnimationFrame(resolve));
            }
            return times.sort((a, b) => a - b);
        }"""
    )
    assert steps[5] < 250  # milliseconds, on a machine that may be busy
    assert there.text("#region-name") == "County C-1010"
