"""What is used of nbformat, whose own functions have no types."""

from pathlib import Path
from typing import Any

NotebookNode = Any

def read(fp: Path, as_version: int) -> NotebookNode: ...
def write(nb: NotebookNode, fp: Path) -> None: ...
