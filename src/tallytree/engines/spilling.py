"""Where engines put what does not fit into memory: records of people, so for nobody else to see."""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tallytree.errors import EngineError, describe, show


@contextmanager
def private_folder(parent: str | os.PathLike[str] | None) -> Iterator[Path]:
    """A new folder that only this user may open, removed with all that is in it."""
    place = "the temporary folder" if parent is None else show(parent, most=150)
    folder = None
    try:
        try:
            # Its name is known before it exists, so that a signal at any moment finds what to remove.
            folder = Path(parent or tempfile.gettempdir(), f"tallytree-{secrets.token_hex(8)}").absolute()
            folder.mkdir(mode=0o700)
        except (OSError, ValueError) as error:
            why = describe(error) if isinstance(error, OSError) else "no folder can have such a name"
            raise EngineError(f"Nothing can be spilled to {place}: {why}.") from None
        yield folder
    finally:
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)
