"""The parts of the package: the contracts on who may use whom, and the picture of them."""

import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from scripts.docs.architecture import FACTS, PARTS, find_arrows, leave_out_what_follows
from scripts.docs.architecture_picture import FULL_WIDTH, WIDTH, draw_architecture

from tests.project.documents import DOCS, ROOT

LINT = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(no_cache=True))"


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    """Check the contracts on the package in a folder."""
    words = [sys.executable, "-c", f"import sys; sys.path.insert(0, 'src'); {LINT}"]
    return subprocess.run(words, cwd=folder, capture_output=True, text=True)


def test_the_contracts_are_kept() -> None:
    done = lint(ROOT)
    assert done.returncode == 0, done.stdout
    assert "6 kept, 0 broken" in done.stdout


WRONG = {
    "A part uses parts below it only": ("privacy/plan.py", "tallytree.publishing.pipeline"),
    "What comes after measuring reaches neither true counts nor noise": (
        "solvers/layout.py",
        "tallytree.privacy.noise",
    ),
    "Intervals draw noise, and never reach true counts": ("intervals/pools.py", "tallytree.counts.arrow"),
    "Comparisons read published tables, and draw no noise": (
        "comparison/sides.py",
        "tallytree.privacy.digits",
    ),
    "Audits and the reproduction are out of reach of releases": (
        "cli/release_command.py",
        "tallytree.research.auditing.attack",
    ),
    "No circles of imports, at any depth": ("privacy/neighbours.py", "tallytree.privacy.plan"),
}


@pytest.mark.parametrize("contract", WRONG)
def test_a_wrong_import_is_seen_also_where_it_is_lazy(contract: str, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    file, module = WRONG[contract]
    with (tmp_path / "src" / "tallytree" / file).open("a") as end:
        end.write(f"\n\ndef wrong() -> None:\n    import {module}\n")
    done = lint(tmp_path)
    assert done.returncode == 1
    assert f"{contract} BROKEN" in " ".join(done.stdout.split())


def test_the_picture_has_every_part() -> None:
    assert {part.name for part in PARTS} == FACTS.keys()
    rows = {part.name: part.row for part in PARTS}
    assert all(rows[user] > rows[used] for user, used in find_arrows())


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
    assert len(arrows) == len(leave_out_what_follows(set(find_arrows()))) <= 26
    boxes = [box for box in root.iter(f"{space}rect") if float(str(box.get("width"))) == WIDTH]
    assert len(boxes) == len(PARTS) <= 17
    places = [(float(str(box.get("x"))), float(str(box.get("y")))) for box in boxes]
    assert all(0 <= x <= FULL_WIDTH - WIDTH for x, _ in places)
    for number, (x, y) in enumerate(places):  # no box covers another
        assert all(abs(x - other) >= WIDTH for other, row in places[:number] if row == y)
