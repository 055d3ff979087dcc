"""How the numerical kernels are compiled, and how they are spread over the processors."""

import hashlib
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

import numba

from tallytree.processors import count_processors

Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(function: Function) -> Function:
    """Compile ``function`` when it is first called, and keep the result on disk.

    It runs without the interpreter lock, so that threads over independent rows run side by side.
    """
    shared = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(CACHE)  # read when the function is decorated
    try:
        return numba.njit(cache=True, nogil=True)(function)
    finally:
        numba.config.CACHE_DIR = shared


def _find_cache() -> Path:
    """A folder for each state of the sources, since a kernel holds compiled parts of other files.

    Numba itself looks only at the kernel's own file to see whether it is out of date.
    """
    here = Path(__file__).parent
    sources = [*sorted(here.glob("*.py")), here.parent / "limits.py"]
    digest = hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()[:16]
    home = here / "__pycache__"
    if not os.access(home if home.exists() else here, os.W_OK):
        home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tallytree"
    return home / f"kernels-{digest}"


CACHE = _find_cache()


class RowPool:
    """The rows 0 .. ``rows`` shared by all processors, a slice for each; this thread takes the first."""

    def __init__(self, rows: int) -> None:
        pieces = max(1, min(rows, count_processors()))
        cuts = [rows * i // pieces for i in range(pieces + 1)]
        self._mine, *self._theirs = [slice(a, b) for a, b in pairwise(cuts)]
        self._threads = ThreadPoolExecutor(max(1, len(self._theirs)))

    def run(self, work: Callable[[slice], None]) -> None:
        """Call ``work`` once for each slice of the rows, and wait for all of them."""
        others = [self._threads.submit(work, rows) for rows in self._theirs]
        work(self._mine)
        for other in others:
            other.result()

    def __enter__(self) -> "RowPool":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._threads.shutdown()
