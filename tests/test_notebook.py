"""The example notebook runs in a kernel, and shows what is committed with it."""

from __future__ import annotations

import getpass
import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.notebook_support import read_notebook, run_notebook


def list_outputs(notebook: Any) -> list[list[Any]]:
    return [cell.outputs for cell in notebook.cells if cell.cell_type == "code"]


def list_kinds(notebook: Any) -> list[list[list[str]]]:
    """The forms of what each cell shows."""
    return [[sorted(output.get("data", {})) for output in outputs] for outputs in list_outputs(notebook)]


@pytest.mark.slow
def test_the_notebook_runs_and_shows_what_is_committed(tmp_path: Path) -> None:
    notebook = run_notebook(tmp_path)
    shown = list_outputs(notebook)
    for outputs in shown:  # and nothing else: no warnings, no printed text
        assert [output.output_type for output in outputs] == ["execute_result"]
    assert list_kinds(notebook) == list_kinds(read_notebook())
    assert {kind for (kinds,) in list_kinds(notebook) for kind in kinds} == {
        "text/html", "text/plain", "image/svg+xml",
    }  # fmt: skip
    assert shown[-1][0].data["text/plain"].endswith("'release.parquet'], True)")
    assert list(tmp_path.iterdir()) == []


def test_what_is_committed_is_of_one_run_and_names_no_machine() -> None:
    notebook = read_notebook()
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    text = json.dumps([cell.outputs for cell in cells])
    assert not re.search(r"/(home|root|tmp|var|usr|work|Users|opt)/|[A-Z]:\\\\|site-packages|Traceback", text)
    assert str(Path.cwd()) not in text
    assert getpass.getuser() == "root" or getpass.getuser() not in text
    assert set(notebook.metadata) == {"kernelspec", "language_info"}
    assert all(not cell.metadata for cell in notebook.cells)
