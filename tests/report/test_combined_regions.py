"""Several regions together in the report: the numbers are those of Python's estimates, in a real browser."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tallytree as tt
from tallytree.intervals.likely_ranges import Range, find_likely
from tallytree.releases.flags import round_to_interval
from tallytree.releases.kept_replicates import FEWEST, LUMPY, ROUNDING, find_rank, find_reach
from tallytree.releases.released import MAKER
from tallytree.report import range_errors
from tallytree.report.report_page import write_page
from tests.browsers import IN_BROWSER, PHONE, Visit, Visits, find_axe_violations
from tests.report.report_support import HOSTILE, make_hostile_release, make_release

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = IN_BROWSER

REPLICATES = 12
MINUS, TIMES = "\N{MINUS SIGN}", "\N{MULTIPLICATION SIGN}"
STATISTICS = ("groups", "size_sum", "size_mean")


def keep(release: tt.Release) -> tt.Release:
    return tt.add_intervals(release, replicates=REPLICATES, keep_replicates=True)


def make_private_release() -> tt.Release:
    """Small counts in classes, with a private total: the released counts are not those that were drawn."""
    paths = [("Land", state, f"{state}{place}") for state in "ABC" for place in range(4)]
    leaf = np.random.default_rng(3).poisson([9, 4, 2, 0.5], (len(paths), 4))
    counts = tt.GroupCounts(
        tt.Hierarchy.from_paths(["nation", "state", "county"], paths), tt.SizeClasses([1, 5, 10, 50]), leaf
    )
    return tt.release(counts, epsilon="1", total="private")


KEPT = {"sizes": keep(make_release(sizes=(1, 30))), "classes": keep(make_private_release())}


class CombinedVisit(Visit):
    """A report that is open, whose selections are filled by pasting."""

    def paste(self, slot: str, paths: Sequence[str]) -> None:
        self.page.fill(f"#paste-{slot}", "\n".join(paths))
        self.page.click(f"#paste-add-{slot}")

    def numbers(self) -> dict[tuple[str, str], dict[str, str]]:
        """What is shown, as it is downloaded."""
        self.page.wait_for_selector("#sums tbody tr")
        rows = csv.DictReader(io.StringIO(self.download("#save-sums"), newline=""))
        return {(row["selection"], row["statistic"]): row for row in rows}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("combined")
    plain = replace(KEPT["sizes"], intervals=None, made_by=MAKER)
    for name, release in {**KEPT, "plain": plain, "hostile": keep(make_hostile_release())}.items():
        (folder / f"{name}.html").write_text(write_page(release, release.verify()), encoding="utf-8")
    return {file.stem: file for file in folder.iterdir()}


@pytest.fixture
def visit(browser: Browser, files: dict[str, Path]) -> Iterator[Visits[CombinedVisit]]:
    visits = Visits(CombinedVisit, browser, files)
    yield visits
    visits.close()


Paths = list[str]
ASSETS = Path(range_errors.__file__).with_name("assets")
A: Paths = ["Land/State A/County A-00", "Land/State A/County A-02", "Land/State B"]
B: Paths = ["Land/State C/County C-01", "Land/State A/County A-01"]
ALL: Paths = ["Land/State A", "Land/State B", "Land/State C"]


@pytest.mark.parametrize(
    ("name", "one", "other", "places", "sizes"),
    [
        ("sizes", A, B, (2, 8), (3, 30)),
        ("sizes", B, ["Land/State C"], (5, 7), (6, 19)),
        ("sizes", ALL, B, (0, 8), None),
        ("classes", ["Land/A", "Land/B/B1"], ["Land/C/C2", "Land/C/C0"], (0, 2), (1, 49)),
        ("classes", ["Land/C/C3"], ["Land/B/B0"], (3, 3), (50, None)),
    ],
)
def test_the_numbers_are_those_of_estimates(
    visit: Any, name: str, one: Paths, other: Paths, places: tuple[int, int], sizes: Any
) -> None:
    there = visit(name)
    there.paste("a", one)
    there.paste("b", other)
    for end, place in zip(("to", "from"), reversed(places), strict=True):
        there.page.select_option(f"#sum-{end}", index=place)
    shown = there.numbers()
    cells = there.page.eval_on_selector_all(
        "#sums tbody tr", "rows => rows.map(r => [...r.querySelectorAll('td')].map(c => c.innerText))"
    )
    for at, statistic in enumerate(STATISTICS):
        first, second = (
            KEPT[name].estimate(regions=paths, sizes=sizes, statistic=statistic) for paths in (one, other)
        )
        for row, (kind, estimate) in enumerate((("A", first), ("B", second), ("A - B", first - second))):
            told = shown[kind, statistic]
            for number in ("value", "low", "high"):
                wanted = getattr(estimate, number)
                assert float(told[number] or "nan") == pytest.approx(wanted, nan_ok=True)
            value, low, high = (text.replace("-", MINUS) for text in estimate.rounded)
            if estimate.exact:
                assert cells[row][at] == f"{value}\npublic, exact"
            elif value:
                assert cells[row][at].split("\n")[:2] == [value, f"{low} to\N{NO-BREAK SPACE}{high}"]
                assert cells[row][at].split("\n")[2].replace("use with ", "").split()[-1] == estimate.flag
    assert ("public, exact" in cells[0][0]) == (one is ALL)


def test_numbers_are_rounded_as_in_python(browser: Browser) -> None:
    generator = np.random.default_rng(5)
    triples = [
        (0.29, 0.285, 0.295),
        (2.5, 2.0, 12.0),
        (35.0, 30.0, 130.0),
        (-0.3, -0.4, 0.1),
        (0.0, 0.0, 0.0),
    ]
    triples += [(10.0**power, 0.0, 10.0**power) for power in range(-6, 13)]
    for power in generator.uniform(-5, 9, 300):
        value = generator.normal() * 10**power
        low, high = np.sort(value + generator.normal(size=2) * 10 ** generator.uniform(-5, 7))
        triples.append((value, float(low), float(high)))
        triples.append((round(value), math.floor(low), math.ceil(high)))
    script = (ASSETS / "numbers.js").read_text(encoding="utf-8")
    page = browser.new_page()
    whole = f"(triples) => {{ {script} return triples.map((each) => roundToInterval(...each)) }}"
    found = page.evaluate(whole, triples)
    page.close()
    for triple, shown in zip(triples, found, strict=True):
        wanted = [text.replace("-", MINUS) for text in round_to_interval(*triple)]
        assert shown == wanted, triple


def test_intervals_are_those_of_python(browser: Browser) -> None:
    """Of bells, of errors that are all or nothing, and where some replicates have no number."""
    generator, share = np.random.default_rng(7), Fraction(9, 10)
    facts = {
        "fewest": FEWEST,
        "rounding": ROUNDING,
        "lumpy": LUMPY,
        "reaches": [find_reach(share, number) for number in range(FEWEST, 41)],
        "ranks": [find_rank(share, number) for number in range(FEWEST, 41)],
        "flags": {"good": 0.25, "care": 0.5},
    }
    cases, wanted, lumps = [], [], 0
    for number in range(2, 41):
        for huge in (0, 0, 5000, 5000):
            errors = generator.normal(generator.normal(0, 40), 30, number)
            errors += huge * (generator.random(number) < 0.2)
            errors[generator.random(number) < 0.1] = np.nan
            value, is_whole = 3000.0 + generator.normal(), bool(generator.random() < 0.5)
            known = generator.integers(0, 99, number).astype(float)
            found = find_likely(np.array(value), errors, share, Range(0, 1e6, is_whole))
            wanted.append([float(found.low), float(found.high)])
            lumps += huge > 0 and float(found.high) > value + 4000
            made = [None if math.isnan(each) else each for each in (known + errors).tolist()]
            told = {"value": value, "known": known.tolist(), "made": made, "least": 0, "most": 1e6}
            cases.append({**told, "isWhole": is_whole, "isPublic": False})
    assert lumps > 20
    script = (ASSETS / "estimates.js").read_text(encoding="utf-8")
    there = "made: each.made.map((number) => number ?? NaN)"
    page = browser.new_page()
    settle = (
        f"(all) => {{ {script} return all.cases.map((each) => settle({{ ...each, {there} }}, all.facts)) }}"
    )
    shown = page.evaluate(settle, {"cases": cases, "facts": facts})
    page.close()
    for case, found, ends in zip(cases, shown, wanted, strict=True):
        assert [found["low"], found["high"]] == pytest.approx(ends), case


def test_by_the_button_of_the_explorer_and_by_keyboard(visit: Any) -> None:
    there = visit("sizes")
    page = there.page
    assert not page.is_visible("#sums-box")
    assert not page.is_visible("#empty-a")
    page.focus("#add")
    page.keyboard.press("Enter")
    page.wait_for_selector("#sums tbody tr")
    assert page.locator("#chosen-a button").all_inner_texts() == [f"Land {TIMES}"]
    page.focus("#add")
    page.keyboard.press("Enter")
    assert "Land is in it already" in there.text("#note-a")
    page.focus("input[name=slot][value=b]")
    page.keyboard.press("Space")
    assert page.is_disabled("#add")  # there is no region B yet
    page.fill("#query", "State B")
    page.keyboard.press("Enter")
    page.focus("#add")
    page.keyboard.press("Enter")
    page.wait_for_selector("#sums tbody tr:nth-child(3)")
    assert there.text("#count-b") == "1 region"
    page.focus("#chosen-a button")
    page.keyboard.press("Enter")
    assert page.locator("#sums tbody tr").count() == 1
    assert page.evaluate("document.activeElement.id") == "paste-a"
    page.focus("#empty-b")
    page.keyboard.press("Enter")
    assert not page.is_visible("#sums-box")


def test_what_is_pasted_is_found_or_told(visit: Any) -> None:
    there = visit("sizes")
    whole = "Land > State C > County C-00"
    there.paste("a", ["County A-01", "state b", whole, "nowhere", "  ", '"County B-01"'])
    assert there.text("#count-a") == "3 regions"
    there.page.wait_for_selector("#note-a:has-text('nowhere')")
    assert "nowhere: there is no such region" in there.text("#note-a")
    assert "County B-01 is inside State B" in there.text("#note-a")
    assert there.page.input_value("#paste-a") == "nowhere"
    there.paste("a", ["Land"])
    assert "Land contains County A-01" in there.text("#note-a")
    there.paste("a", ["State C, County C-02"])
    assert there.text("#count-a") == "4 regions"


def test_ranges_begin_and_end_at_the_edges_that_the_page_knows(visit: Any) -> None:
    there = visit("sizes")
    options = there.page.locator("#sum-from option").all_inner_texts()
    assert options == ["1", "2", "3", "4", "5", "6", "7", "10", "20"]
    assert there.page.locator("#sum-to option").all_inner_texts()[-3:] == ["9", "19", "30 and more"]
    assert "these sizes only" in there.text("#sum-edges")
    there.paste("a", ["Land"])
    there.page.select_option("#sum-from", index=8)
    there.page.select_option("#sum-to", index=3)
    assert there.page.input_value("#sum-from") == "3"
    assert "of size 4, with 90 % intervals" in there.text("#sums caption")
    assert visit("classes").text("#sum-edges") == ""


@pytest.mark.parametrize("dark", [False, True])
def test_it_is_accessible_and_fits_a_phone(visit: Any, dark: bool) -> None:
    for size in ({"width": 1280, "height": 900}, PHONE):
        there = visit("sizes", size=size, dark=dark)
        there.paste("a", [*A, "nowhere"])
        there.paste("b", B)
        there.page.wait_for_selector("#sums tbody tr:nth-child(3)")
        assert find_axe_violations(there.page) == []
        assert there.page.evaluate("document.documentElement.scrollWidth") <= size["width"]


def test_hostile_names_are_text(visit: Any) -> None:
    there = visit("hostile", size=PHONE)
    for place in range(len(HOSTILE)):
        there.page.focus("[role=treeitem][tabindex='0']")
        there.page.keyboard.press("ArrowRight" if place == 0 else "ArrowDown")
        there.page.click("#add")
    there.page.wait_for_selector("#sums tbody tr")
    assert there.text("#count-a") == f"{len(HOSTILE)} regions"
    assert there.page.locator("img, iframe, object, main script").count() == 0
    assert there.page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    assert "public, exact" in there.text("#sums")


def test_without_replicates_a_sentence_says_why(visit: Any) -> None:
    there = visit("plain")
    assert "'tallytree intervals DIR --keep-replicates' adds them" in there.text("#no-sums")
    assert not there.page.is_visible("#combiner")
    assert not there.page.is_visible("#add")


def test_damaged_errors_are_told_and_the_rest_works(
    browser: Browser, files: dict[str, Path], tmp_path: Path
) -> None:
    whole = files["sizes"].read_text(encoding="utf-8")
    damaged = re.sub(r'(id="errors-1">)[^<]*', r"\g<1>AwA=", whole)
    assert damaged != whole
    (tmp_path / "damaged.html").write_text(damaged, encoding="utf-8")
    page = browser.new_page()
    page.goto((tmp_path / "damaged.html").as_uri())
    page.wait_for_selector("html[data-ready]")
    page.click("#add")
    page.wait_for_selector("#note-a:has-text('the page is damaged')")
    page.close()


def test_with_fewer_replicates_the_page_says_so(
    browser: Browser, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(range_errors, "TRIES", ((range_errors.FINE, 8),))
    release = KEPT["sizes"]
    (tmp_path / "few.html").write_text(write_page(release, release.verify()), encoding="utf-8")
    there = CombinedVisit(browser.new_page(), tmp_path / "few.html")
    there.paste("a", ["State A"])
    assert there.numbers()["A", "groups"]["value"] == str(int(release.counts[1][0].sum()))
    assert f"8 of the {REPLICATES} replicates" in there.text("#sums-about")
    there.page.close()
