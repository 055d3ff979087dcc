"""The parts of the package: who may use whom, and the picture of it."""

import xml.etree.ElementTree as ET

import pytest
from scripts.docs.architecture import FORBIDDEN, PARTS, find_arrows, find_part, leave_out_what_follows
from scripts.docs.architecture_picture import FULL_WIDTH, WIDTH, draw_architecture
from scripts.docs.imports import read_imports

from tests.project.documents import DOCS
from tests.project.test_imports import AFTER_MEASURING

ROWS = {part.name: part.row for part in PARTS}


def test_every_module_belongs_to_a_part() -> None:
    for module in read_imports().keys() - {"__init__"}:
        find_part(module)
    with pytest.raises(LookupError, match="belongs to no part"):
        find_part("nowhere")


def test_no_arrow_goes_up() -> None:
    for (user, used), imports in find_arrows().items():
        assert ROWS[user] > ROWS[used], sorted(imports)


def test_what_comes_after_measuring_uses_neither_truth_nor_noise() -> None:
    """The rule of test_imports, part by part."""
    arrows = find_arrows()
    assert not arrows.keys() & FORBIDDEN
    for module in AFTER_MEASURING:
        assert find_part(module.removesuffix(".__init__")).kind in ("private", "public"), module


def test_a_wrong_arrow_would_be_seen() -> None:
    graph = read_imports()
    graph["report.report_page"] = graph["report.report_page"] | {"counts.group_counts"}
    graph["privacy.plan"] = graph["privacy.plan"] | {"publishing.pipeline"}
    arrows = find_arrows(graph)
    assert ("report", "counts") in arrows.keys() & FORBIDDEN
    assert any(ROWS[user] <= ROWS[used] for user, used in arrows)


def test_an_arrow_that_follows_is_left_out() -> None:
    assert leave_out_what_follows({("a", "b"), ("b", "c"), ("a", "c"), ("a", "d")}) == {
        ("a", "b"),
        ("b", "c"),
        ("a", "d"),
    }


def test_the_picture_is_current_and_simple() -> None:
    text = (DOCS / "architecture.svg").read_text(encoding="utf-8")
    assert text == draw_architecture(), "docs/architecture.svg is not current: python -m scripts.docs"
    root = ET.fromstring(text)
    space = "{http://www.w3.org/2000/svg}"
    arrows = [path for path in root.iter(f"{space}path") if path.get("class") == "arrow"]
    assert len(arrows) == len(leave_out_what_follows(set(find_arrows()))) <= 25
    boxes = [box for box in root.iter(f"{space}rect") if float(str(box.get("width"))) == WIDTH]
    assert len(boxes) == len(PARTS) <= 16
    places = [(float(str(box.get("x"))), float(str(box.get("y")))) for box in boxes]
    assert all(0 <= x <= FULL_WIDTH - WIDTH for x, _ in places)
    for number, (x, y) in enumerate(places):  # no box covers another
        assert all(abs(x - other) >= WIDTH for other, row in places[:number] if row == y)
