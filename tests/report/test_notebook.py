"""The example notebooks run in a kernel, and show what is committed with them."""

from __future__ import annotations

import getpass
import json
import re
from pathlib import Path
from typing import Any

import pytest

import tallytree as tt
from tests.report.notebook_support import EXAMPLES, NOTEBOOKS, read_notebook, run_notebook

FIRST, TUTORIAL = EXAMPLES / "first-release.ipynb", EXAMPLES / "tutorial.ipynb"

each_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def list_outputs(notebook: Any) -> list[list[Any]]:
    return [cell.outputs for cell in notebook.cells if cell.cell_type == "code"]


def list_kinds(notebook: Any) -> list[list[list[str]]]:
    """The forms of what each cell shows."""
    return [[sorted(output.get("data", {})) for output in outputs] for outputs in list_outputs(notebook)]


def run_as_committed(path: Path, folder: Path) -> list[str]:
    """Run a notebook; what its cells show as plain text."""
    notebook = run_notebook(path, folder)
    shown = list_outputs(notebook)
    for outputs in shown:  # and nothing else: no warnings, no printed text
        assert [output.output_type for output in outputs] == ["execute_result"]
    assert list_kinds(notebook) == list_kinds(read_notebook(path))
    assert {kind for (kinds,) in list_kinds(notebook) for kind in kinds} == {
        "text/html", "text/plain", "image/svg+xml",
    }  # fmt: skip
    return [output.data["text/plain"] for (output,) in shown]


def test_there_are_no_other_notebooks() -> None:
    assert [FIRST, TUTORIAL] == NOTEBOOKS


@pytest.mark.slow
def test_the_first_release_runs_and_shows_what_is_committed(tmp_path: Path) -> None:
    shown = run_as_committed(FIRST, tmp_path)
    assert "'report.html'" in shown[-1]
    assert shown[-1].endswith(" True)")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_the_tutorial_runs_and_ends_with_a_release_that_was_paid_for(tmp_path: Path) -> None:
    shown = run_as_committed(TUTORIAL, tmp_path)
    (folder,) = tmp_path.iterdir()
    assert sorted(file.name for file in folder.iterdir()) == ["ledger.db", "plan.html", "release"]
    release = tt.load(folder / "release")
    assert release.verify(recompute=True)
    assert release.intervals is not None
    assert "report.html" in [file.name for file in (folder / "release").iterdir()]
    ledger = tt.Ledger(folder / "ledger.db")
    assert ledger.verify([release])
    assert ledger.balance().spent == release.epsilon == ledger.balance().remaining
    assert any("does not allow this" in text for text in shown)


@each_notebook
def test_what_is_committed_is_of_one_run_and_names_no_machine(path: Path) -> None:
    notebook = read_notebook(path)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    text = json.dumps([cell.outputs for cell in cells])
    assert not re.search(r"/(home|root|tmp|var|usr|work|Users|opt)/|[A-Z]:\\\\|site-packages|Traceback", text)
    assert str(Path.cwd()) not in text
    assert getpass.getuser() == "root" or getpass.getuser() not in text
    assert set(notebook.metadata) == {"kernelspec", "language_info"}
    assert all(not cell.metadata for cell in notebook.cells)


@each_notebook
def test_links_lead_somewhere(path: Path) -> None:
    texts = [cell.source for cell in read_notebook(path).cells if cell.cell_type == "markdown"]
    links = [link for text in texts for link in re.findall(r"\]\(([^)#]+)", text)]
    assert links
    for link in links:
        assert (path.parent / link).exists(), link
