"""The example notebooks, run in a kernel of their own; as a program, it writes their outputs anew."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import nbformat
from nbclient import NotebookClient

EXAMPLES = Path(__file__).parents[2] / "examples"
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))


def read_notebook(path: Path) -> Any:
    """A notebook as it is committed."""
    return nbformat.read(path, as_version=4)


def run_notebook(path: Path, folder: Path) -> Any:
    """A notebook with the outputs of a new run in a folder; an error in a cell is raised."""
    notebook = read_notebook(path)
    # Without times, so that a run changes only what it shows.
    client = NotebookClient(
        notebook, kernel_name="python3", record_timing=False, resources={"metadata": {"path": str(folder)}}
    )
    client.execute()
    return notebook


if __name__ == "__main__":
    for file in NOTEBOOKS:
        with TemporaryDirectory() as place:
            nbformat.write(run_notebook(file, Path(place)), file)
