"""How the numerical kernels are compiled, and how they are spread over the processors."""

import hashlib
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from threading import current_thread
from typing import Any, TypeVar

import numba

from tallytree.processors import count_processors

Function = TypeVar("Function", bound=Callable[..., Any])
Item = TypeVar("Item")
Result = TypeVar("Result")

PACKAGE = Path(__file__).parent
SOURCES = (
    *sorted((PACKAGE / "postprocess").glob("*.py")),
    PACKAGE / "privacy" / "digit_kernel.py",
    PACKAGE / "limits.py",
    PACKAGE / "kernels.py",
)
"""Where kernels are, and what is compiled into them."""


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
    digest = hashlib.sha256(b"".join(source.read_bytes() for source in SOURCES)).hexdigest()[:16]
    home = PACKAGE / "__pycache__"
    if not os.access(home if home.exists() else PACKAGE, os.W_OK):
        home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tallytree"
    return home / f"kernels-{digest}"


CACHE = _find_cache()

_NAME = "tallytree-kernels"
_threads: dict[int, ThreadPoolExecutor] = {}


def _get_threads(count: int) -> ThreadPoolExecutor:
    """So many threads to run kernels on, started once.

    A new thread has no memory of its own yet: to map and fault in what a kernel writes takes longer than most
    kernels do.
    """
    if count not in _threads:
        _threads[count] = ThreadPoolExecutor(count, thread_name_prefix=_NAME)
    return _threads[count]


def _is_kernel_thread() -> bool:
    """Whether this is one of those threads: they must not wait for each other."""
    return current_thread().name.startswith(_NAME)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_threads.clear)  # threads do not survive in a child


class RowPool:
    """The rows 0 .. ``rows`` shared by all processors, a slice for each; this thread takes the first."""

    def __init__(self, rows: int) -> None:
        pieces = 1 if _is_kernel_thread() else max(1, min(rows, count_processors()))
        cuts = [rows * i // pieces for i in range(pieces + 1)]
        self._mine, *self._theirs = [slice(a, b) for a, b in pairwise(cuts)]

    def run(self, work: Callable[[slice], None]) -> None:
        """Call ``work`` once for each slice of the rows, and wait for all of them."""
        others = [_get_threads(len(self._theirs)).submit(work, rows) for rows in self._theirs]
        work(self._mine)
        for other in others:
            other.result()


def share_work(work: Callable[[int, Item], Result], items: Sequence[Item]) -> list[Result]:
    """``work(number, item)`` for each item, on all processors."""
    processors = count_processors()
    if len(items) == 1 or processors == 1 or _is_kernel_thread():
        return [work(number, item) for number, item in enumerate(items)]
    return list(_get_threads(processors).map(work, range(len(items)), items))
