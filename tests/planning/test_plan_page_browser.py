"""The page for choosing epsilon in a real browser: both sides move, by mouse and by keyboard."""

from __future__ import annotations

import json
import math
import re
import shlex
import tomllib
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pa_parquet
import pytest
from typer.testing import CliRunner

import tallytree as tt
from tallytree.cli.main import app
from tallytree.planning.plan_page import draw_page
from tallytree.planning.release_settings import list_settings, write_spec
from tallytree.releases.usefulness import warn_of_noise
from tests.browsers import DESK, IN_BROWSER, PHONE, Visit, Visits, find_axe_violations
from tests.planning.plan_page_support import (
    SOURCE,
    make_advice,
    make_known_landscape,
    make_landscape,
    make_stand_in,
)
from tests.report.report_support import HOSTILE

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = IN_BROWSER


class PlanVisit(Visit):
    """A page for choosing epsilon that is open."""

    def press(self, selector: str, *keys: str) -> None:
        self.page.focus(selector)
        for key in keys:
            self.page.keyboard.press(key)

    def open_settings(self) -> None:
        self.page.click("#more > summary")

    def read_errors(self) -> dict[str, list[str]]:
        """The rows of the table of errors that are about whole levels."""
        rows = self.page.query_selector_all("#errors tr.level")
        cells = [[cell.inner_text() for cell in row.query_selector_all("th, td")] for row in rows]
        return {row[0].split(" (")[0]: row[1:] for row in cells}

    def read_spec(self) -> dict[str, Any]:
        return tomllib.loads(str(self.page.text_content("#spec")))

    def read_percents(self, selector: str) -> list[float]:
        return [float(number) for number in re.findall(r"([\d.]+)\s%", self.text(selector))]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Pages of two plans; one has names that try to be something else."""
    folder = tmp_path_factory.mktemp("plans")
    plain = make_advice()
    levels = ("<img src=x onerror=alert(1)>", "state' \"</script>", "county & " + "x" * 3000)
    strange = make_stand_in(levels, HOSTILE[:4])
    hostile = tt.advise(strange, epsilon="20", goal="emd", mechanism="direct-dp")
    gaussian = tt.advise(make_stand_in(), epsilon="1", delta="1e-9", mechanism="cumulative-joint")
    words = tt.Words(group="household", member="person/people")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("tallytree.planning.landscapes.SETTINGS", 4)
        patched.setattr("tallytree.planning.landscapes.MOST_RUNS", 1)
        few, rhos = make_landscape(hostile), make_landscape(gaussian)
    pages = {
        "gaussian": draw_page(
            gaussian, rhos, source=SOURCE, settings=list_settings(gaussian.stand_in, words=words)
        ),
        "plain": draw_page(
            plain, make_known_landscape(), source=SOURCE, settings=list_settings(plain.stand_in)
        ),
        "hostile": draw_page(
            hostile,
            few,
            source=HOSTILE[1],
            settings=list_settings(strange, data="it's $(here).csv", columns={"size": HOSTILE[0]}),
        ),
    }
    for name, page in pages.items():
        (folder / f"{name}.html").write_text(page, encoding="utf-8")
    return {name: folder / f"{name}.html" for name in pages}


@pytest.fixture
def visit(browser: Browser, files: dict[str, Path]) -> Iterator[Visits[PlanVisit]]:
    """Open a page; at the end, nothing was said on the console and nothing was asked for."""
    visits = Visits(PlanVisit, browser, files)
    yield visits
    visits.close()


# It renders.


@pytest.mark.parametrize("name", ["plain", "hostile"])
@pytest.mark.parametrize("dark", [False, True])
def test_it_renders_quietly_and_is_accessible(visit: Visits[PlanVisit], name: str, dark: bool) -> None:
    there = visit(name, dark=dark)
    for summary in there.page.query_selector_all("summary"):
        if not summary.evaluate("summary => summary.parentElement.open"):
            summary.click()
    assert find_axe_violations(there.page) == []
    there.press("#epsilon", "End")
    assert find_axe_violations(there.page) == []


@pytest.mark.parametrize("name", ["plain", "hostile"])
def test_it_fits_a_phone(visit: Visits[PlanVisit], name: str) -> None:
    there = visit(name, size=PHONE, is_mobile=True, has_touch=True)
    there.page.tap("#more > summary")
    assert there.page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    assert there.page.evaluate("document.querySelector('#choose').offsetHeight") < PHONE["height"] / 2
    assert find_axe_violations(there.page) == []


def test_the_slider_and_both_sides_are_seen_at_once(visit: Visits[PlanVisit]) -> None:
    there = visit()
    for selector in ("#epsilon", "#buys-number", "#gives-number", "#buys-title", "#gives-title"):
        box = there.page.locator(selector).bounding_box()
        assert box is not None
        assert box["y"] + box["height"] < DESK["height"]
    there.page.locator("#origin").scroll_into_view_if_needed()
    box = there.page.locator("#epsilon").bounding_box()
    assert box is not None
    assert 0 < box["y"] < DESK["height"] / 2  # it stays


def test_without_a_script_the_plan_is_there(browser: Browser, files: dict[str, Path]) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(files["plain"].as_uri())
    assert page.is_visible("text=The slider needs JavaScript")
    assert page.is_visible("text=What the plan is expected to give")
    assert not page.is_visible("#epsilon")
    context.close()


def test_a_damaged_page_says_so(browser: Browser, files: dict[str, Path], tmp_path: Path) -> None:
    whole = files["plain"].read_text(encoding="utf-8")
    (tmp_path / "damaged.html").write_text(re.sub(r'("families":\[)', r"\1[],", whole), encoding="utf-8")
    page = browser.new_page()
    page.goto((tmp_path / "damaged.html").as_uri())
    page.wait_for_selector("#trouble:visible")
    page.close()


def test_noise_that_drowns_the_total_is_warned_of(
    browser: Browser, files: dict[str, Path], tmp_path: Path
) -> None:
    """In the words of the plan and the release."""
    advice, page = make_advice(), browser.new_page()
    whole = files["plain"].read_text(encoding="utf-8")
    (tmp_path / "small.html").write_text(re.sub(r'"total":\d+', '"total":5', whole), encoding="utf-8")
    page.goto((tmp_path / "small.html").as_uri())
    page.wait_for_selector("html[data-ready]")
    page.focus("#epsilon")
    page.keyboard.press("Home")
    plan = tt.mechanism(advice.planned.mechanism).plan(
        advice.stand_in.hierarchy, sizes=(1, 6), epsilon="0.1", budget=advice.planned.budget
    )
    said, _, _ = warn_of_noise(plan, 5).partition(" The release")
    assert said
    assert page.inner_text("#warning").startswith(said)
    page.click("#more > summary")
    page.click("#total [data-value=private]")
    assert not page.is_visible("#warning")
    page.close()


def test_names_are_text(visit: Visits[PlanVisit]) -> None:
    there = visit("hostile")
    assert there.page.title().startswith("Choosing epsilon: <script>alert(1)</script>")
    assert HOSTILE[1] in there.text("#origin")
    assert there.page.locator("#level img").count() == 0
    assert "it's $(here).csv" in there.read_spec()["source"]
    # No flag can name a level with an equals sign.
    assert there.text("#command") == "tallytree release --spec release.toml"


# Both sides move.


def test_moving_the_slider_moves_both_sides(visit: Visits[PlanVisit]) -> None:
    there = visit()
    assert there.text("#epsilon-value") == "1"
    seen = []
    for key in ("Home", "PageUp", "PageUp", "End"):
        there.press("#epsilon", key)
        (off,), (_, belief) = there.read_percents("#buys-number"), there.read_percents("#gives-number")
        seen.append((off, belief))
    assert [off for off, _ in seen] == sorted((off for off, _ in seen), reverse=True)
    assert [belief for _, belief in seen] == sorted(belief for _, belief in seen)
    assert seen[0][0] > 20 * seen[-1][0]
    assert there.page.is_visible("#warning")  # at epsilon 10
    there.press("#epsilon", "Home")
    assert there.text("#epsilon-value") == "0.1"
    assert not there.page.is_visible("#warning")
    assert "✗ The goal is missed: county ≤ 10%" in there.text("#goal")
    box = there.page.locator("#epsilon").bounding_box()
    assert box is not None
    there.page.mouse.click(box["x"] + 0.9 * box["width"], box["y"] + box["height"] / 2)
    assert float(there.text("#epsilon-value")) > 5
    assert "✓ The goal is met" in there.text("#goal")


def parse_amount(text: str) -> float:
    return float(text.replace(",", "").removesuffix(" %"))


@pytest.mark.parametrize("total", ["public", "private"])
def test_the_page_answers_as_the_library_does(visit: Visits[PlanVisit], total: Any) -> None:
    there = visit()
    there.open_settings()
    there.page.click(f"#total [data-value={total}]")
    there.press("#epsilon", "ArrowLeft", "ArrowLeft", "ArrowLeft")
    there.press("#parts .part:nth-child(2) input", *["ArrowRight"] * 9)
    spec, shown = there.read_spec(), there.read_errors()
    assert spec["total"] == total
    assert spec["budget"]["state"] == make_advice().planned.budget["state"] + 9
    assert sum(spec["budget"].values()) == 100
    landscape = make_known_landscape()
    family = landscape.find_family(spec["mechanism"], total)
    parts = [float(Fraction(spec["epsilon"])) * part / 100 for part in spec["budget"].values()]
    for level, told in zip(shown, landscape.answer(family, "person", parts), strict=True):
        errors, cells = told.classes[0].errors, told.classes[0].cells
        wanted = [100 * errors["relative"], errors["l1"], errors["emd"], errors["size_sum"]]
        wanted += [errors["groups"]] if total == "private" else []
        wanted += [100 * cells["spurious"], 100 * cells["lost"]]
        for cell, value in zip(shown[level][1:], wanted, strict=True):
            assert parse_amount(cell) == pytest.approx(value, rel=0.06, abs=0.06)
    assert ("Groups off" in there.text("#errors")) == (total == "private")


def test_typical_regions_have_their_groups_and_a_band(visit: Visits[PlanVisit]) -> None:
    there = visit()
    facts = json.loads(str(there.page.text_content("#facts")))
    assert there.page.locator("#charts .chart").count() == 3
    for place, typical in enumerate(facts["levels"][2]["typical"]):
        text = there.page.locator("#charts .readout").nth(place).inner_text()
        assert text.startswith(f"Size 1: {typical['groups'][0]:,} groups")

    def read_band() -> tuple[int, int]:
        found = re.search(r"groups, ([\d,]+) to ([\d,]+)", there.page.inner_text("#charts .readout >> nth=1"))
        assert found
        low, high = (int(end.replace(",", "")) for end in found.groups())
        return low, high

    low, high = read_band()
    there.press("#epsilon", "Home")
    lower, higher = read_band()
    assert higher - lower > 3 * (high - low)
    there.press("#charts .handle >> nth=0", "ArrowRight")
    assert "Size 2" in there.page.inner_text("#charts .readout >> nth=0")
    there.page.click("#level [data-value='0']")
    assert there.page.locator("#charts .chart").count() == 1
    assert "There is one region" in there.text("#within-words")


def test_what_is_given_away_is_exact(visit: Visits[PlanVisit]) -> None:
    there = visit()
    there.page.fill("#years", "3")
    there.page.select_option("#who", label="two people together")
    times = "\N{MULTIPLICATION SIGN}"
    assert f"1 {times} 2 for two people together {times} 3 releases = 6" in there.text("#composed")
    beliefs = there.read_percents("#beliefs")
    for before, after in zip(beliefs[::2], beliefs[1::2], strict=True):
        odds = before / (100 - before) * math.exp(6)
        exact = 100 * odds / (1 + odds)
        assert exact <= after <= exact + 1  # rounded up, never down
    squares = there.page.locator(".belief").nth(1)
    assert squares.locator(".square").count() == 100
    assert squares.locator(".square.before").count() == 10
    assert squares.locator(".square.after").count() == math.ceil(100 * math.exp(6) / (9 + math.exp(6))) - 10
    assert "Odds of 1 to 9 become 45 to 1 at most" in there.text("#beliefs")
    assert there.page.locator("#over-years tbody tr").count() == 2


def test_gaussian_noise_is_bounded_but_for_delta(visit: Visits[PlanVisit]) -> None:
    there = visit("gaussian")
    facts = json.loads(str(there.page.text_content("#facts")))
    chosen, doubt = facts["epsilons"][facts["planned"]["epsilon"]], facts["delta"]["doubt"]
    assert "but for a chance of 1e-9 (delta)" in there.text("#but-for")
    assert "Epsilon 1 at this delta is rho" in there.text("#but-for")
    assert "but for a chance of 1e-9" in there.text("#gives-words")

    def believe(loss: float) -> float:
        return 100 / (1 + math.exp(-loss - 2 * math.sqrt(loss * doubt)))

    def read() -> float:
        return there.read_percents("#beliefs")[-1]

    assert believe(chosen["loss"]) > 100 / (1 + math.exp(-1))  # epsilon alone does not bound it
    assert 0 <= read() - believe(chosen["loss"]) <= 1
    there.page.fill("#years", "4")
    assert "Rho in all" in there.text("#composed")
    assert 0 <= read() - believe(4 * chosen["loss"]) <= 1
    there.page.select_option("#who", label="two people together")
    assert 0 <= read() - believe(16 * chosen["loss"]) <= 1
    landscape_told = there.read_errors()
    there.press("#epsilon", "Home")
    assert parse_amount(there.read_errors()["county"][2]) > 2 * parse_amount(landscape_told["county"][2])
    assert there.read_spec()["delta"] == "1e-9"
    assert find_axe_violations(there.page) == []


def test_the_page_says_households_where_they_are_households(visit: Visits[PlanVisit]) -> None:
    there = visit("gaussian")
    there.open_settings()
    assert "of its households" in there.text("#buys-words")
    assert there.page.inner_text("#protect [data-value=group]") == "A whole household"
    assert "Households in a region" in there.text("#errors")
    assert "households, " in there.page.inner_text("#charts .readout >> nth=0")
    assert there.read_spec()["group_name"] == "household"
    words = there.page.inner_text("main")
    assert not re.search(r"\b[Gg]roups?\b", re.sub(r"--group\S*|group_name\S*", "", words))


def test_who_is_protected_changes_what_is_offered(visit: Visits[PlanVisit]) -> None:
    there = visit()
    there.open_settings()
    there.page.click("#protect [data-value=group]")
    assert there.page.eval_on_selector_all("#mechanism option", "all => all.map(one => one.value)") == [
        "cumulative-joint",
        "direct-dp",
    ]
    assert there.read_spec()["mechanism"] == "direct-dp"
    assert "one whole group" in there.text("#gives-words")
    there.page.click("#total [data-value=private]")
    assert there.read_spec() | {"protect": "group", "total": "private"} == there.read_spec()
    assert there.page.locator("#mechanism option").count() == 1
    there.page.click("#protect [data-value=person]")
    there.page.select_option("#mechanism", "direct-dp")
    assert there.read_spec()["mechanism"] == "direct-dp"
    there.page.select_option("#mechanism", "cumulative-joint")
    assert there.read_spec()["mechanism"] == "cumulative-joint"


def test_a_split_is_found_on_the_page(visit: Visits[PlanVisit]) -> None:
    there = visit()
    there.open_settings()
    levels = {"nation": 1, "state": 6, "county": 48}

    def add_errors() -> float:
        return sum(parse_amount(row[2]) * levels[level] for level, row in there.read_errors().items())

    there.page.click("#split-even")
    assert there.read_spec()["budget"] == {"nation": 33, "state": 33, "county": 34}
    even = add_errors()
    there.page.click("#split-best")
    assert "smallest L1 error" in there.text("#split-status")
    assert add_errors() < 0.8 * even
    there.page.click("#split-planned")
    assert there.read_spec()["budget"] == dict(make_advice().planned.budget)
    there.press("#parts .part:nth-child(3) input", "Home")
    budget = there.read_spec()["budget"]
    assert budget["county"] == 1
    assert sum(budget.values()) == 100
    assert min(budget.values()) >= 1


# The settings make a release.


def test_the_file_that_is_saved_is_the_planners(visit: Visits[PlanVisit]) -> None:
    there = visit()
    advice = make_advice()
    saved = there.download("#save")
    assert there.file_name == "release.toml"
    assert saved == write_spec(advice, list_settings(advice.stand_in))


def test_what_is_copied_makes_the_release(
    visit: Visits[PlanVisit], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = visit()
    there.press("#epsilon", "ArrowLeft")
    there.open_settings()
    there.page.click("#total [data-value=private]")
    command = shlex.split(there.text("#command").replace("\n", " "))
    spec = there.read_spec()
    monkeypatch.chdir(tmp_path)
    counts = make_stand_in()
    rows = [
        {"nation": path[0], "state": path[1], "county": path[2], "size": size, "groups": int(groups)}
        for path, row in zip(counts.hierarchy.leaves, counts.leaf, strict=True)
        for size, groups in enumerate(row, 1)
    ]
    pa_parquet.write_table(pa.Table.from_pylist(rows), "counts.parquet")
    made = CliRunner().invoke(app, [*command[1:], "--replicates", "0"])
    assert made.exit_code == 0, made.output
    release = tt.load("release")
    plan = release.measurements.plan
    assert plan.epsilon == Fraction(spec["epsilon"]) == Fraction(4, 5)
    assert (plan.protect, plan.total) == ("person", "private")
    assert [100 * level.loss / plan.epsilon for level in plan.levels] == list(spec["budget"].values())
    there.page.click("#copy-command")
    there.page.wait_for_selector("#copied:not(:empty)", state="attached")
