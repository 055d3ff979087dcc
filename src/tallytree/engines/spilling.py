"""Where engines put what does not fit into memory: records of people, so for nobody else to see."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tallytree.errors import EngineError, describe, show


@contextmanager
def private_folder(parent: str | os.PathLike[str] | None) -> Iterator[Path]:
    """A new folder that only this user may open, removed with all that is in it."""
    try:
        folder = Path(tempfile.mkdtemp(prefix="tallytree-", dir=parent)).absolute()
    except (OSError, ValueError) as error:
        why = describe(error) if isinstance(error, OSError) else "no folder can have such a name"
        place = "the temporary folder" if parent is None else show(parent, most=150)
        raise EngineError(f"Nothing can be spilled to {place}: {why}.") from None
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
