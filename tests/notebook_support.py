"""The example notebook, run in a kernel of its own; as a program, it writes the outputs anew."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).parent.parent / "examples" / "first-release.ipynb"


def read_notebook() -> Any:
    """The notebook as it is committed."""
    return nbformat.read(NOTEBOOK, as_version=4)


def run_notebook(folder: Path) -> Any:
    """The notebook with the outputs of a new run in a folder; an error in a cell is raised."""
    notebook = read_notebook()
    # Without times, so that a run changes only what it shows.
    client = NotebookClient(
        notebook, kernel_name="python3", record_timing=False, resources={"metadata": {"path": str(folder)}}
    )
    client.execute()
    return notebook


if __name__ == "__main__":
    nbformat.write(run_notebook(NOTEBOOK.parent), NOTEBOOK)
