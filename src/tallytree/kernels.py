"""How the numerical kernels are compiled, and how they are spread over the processors."""

import hashlib
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import update_wrapper
from itertools import pairwise
from pathlib import Path
from threading import current_thread
from typing import Any, TypeVar, cast

import numba

from tallytree.progress import are_held, count_processors, hold_signals

Function = TypeVar("Function", bound=Callable[..., Any])
Item = TypeVar("Item")
Result = TypeVar("Result")

PACKAGE = Path(__file__).parent
SOURCES = (
    *sorted((PACKAGE / "solvers").rglob("*.py")),
    PACKAGE / "privacy" / "digits.py",
    PACKAGE / "intervals" / "pools.py",
    PACKAGE / "arrays.py",
    PACKAGE / "kernels.py",
)
"""Where kernels are, and what is compiled into them."""


def kernel(function: Function) -> Function:
    """Compile ``function`` when it is first called, and keep the result on disk if there is a place for it.

    It runs without the interpreter lock, so that threads over independent rows run side by side.
    """
    compiled: Any = None
    if CACHE is not None:
        with suppress(RuntimeError):  # no folder can be written to
            compiled = _compile_and_keep(function, CACHE)
    compiled = compiled or numba.njit(nogil=True)(function)
    return cast("Function", compiled if compiled is function else _Kernel(compiled))


class _Kernel:
    """A compiled function. Called from Python, it defers signals to its end; other kernels call it directly.

    A signal's handler that raises while a kernel is compiled or loaded leaves LLVM broken: it crashes later,
    or can compile nothing any more. And when the kernel has ended, Numba calls Python to make a named tuple
    of its result, and crashes if that fails: a signal that came while the kernel ran is handled right there.
    """

    def __init__(self, compiled: Any) -> None:
        self.compiled = compiled
        self._numba_type_ = compiled._numba_type_  # by which other kernels find it
        update_wrapper(self, compiled)

    def __call__(self, *arguments: object) -> Any:
        if are_held():
            return self.compiled(*arguments)
        with hold_signals():
            return self.compiled(*arguments)


def _compile_and_keep(function: Callable[..., Any], folder: Path) -> Any:
    shared = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(folder)  # read when the function is decorated
    try:
        compiled: Any = numba.njit(cache=True, nogil=True)(function)
    finally:
        numba.config.CACHE_DIR = shared
    cache = getattr(compiled, "_cache", None)  # None where numba is told not to compile
    if cache is not None:
        cache.save_overload = _keep_if_possible(cache.save_overload)
    return compiled


def _keep_if_possible(keep: Callable[..., None]) -> Callable[..., None]:
    """Ignore a failure to save a kernel: it is ready already, and a full disk must not stop the work."""

    def attempt(*result: object) -> None:
        with suppress(OSError):
            keep(*result)

    return attempt


def _find_cache() -> Path | None:
    """Return a folder for this state of the sources, since a kernel holds compiled parts of other files.

    Numba itself looks only at the kernel's own file to see whether it is out of date. None if the package
    folder is not writable and the user has no home folder.
    """
    digest = hashlib.sha256(b"".join(source.read_bytes() for source in SOURCES)).hexdigest()[:16]
    home = PACKAGE / "__pycache__"
    if not os.access(home if home.exists() else PACKAGE, os.W_OK):
        try:
            home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tallytree"
        except RuntimeError:
            return None
    return home / f"kernels-{digest}"


CACHE = _find_cache()

_NAME = "tallytree-kernels"
_threads: dict[int, ThreadPoolExecutor] = {}


def _get_threads(count: int) -> ThreadPoolExecutor:
    """Return a pool of so many threads to run kernels on, started once.

    A new thread has no memory of its own yet: to map and fault in what a kernel writes takes longer than most
    kernels run.
    """
    if count not in _threads:
        _threads[count] = ThreadPoolExecutor(count, thread_name_prefix=_NAME)
    return _threads[count]


def _is_kernel_thread() -> bool:
    """Whether this is one of those threads: they must not wait for each other."""
    return current_thread().name.startswith(_NAME)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_threads.clear)  # threads do not survive in a child


WORTH_SHARING = 2**18
"""The fewest cells to hand to other threads: for fewer, that takes longer than the work itself."""


class RowPool:
    """The rows 0 .. ``rows`` shared by all processors, a slice for each; this thread takes the first.

    ``cells`` says how much work there is, where that may be too little to share.
    """

    def __init__(self, rows: int, cells: int = WORTH_SHARING) -> None:
        alone = cells < WORTH_SHARING or _is_kernel_thread()
        pieces = 1 if alone else max(1, min(rows, count_processors()))
        cuts = [rows * i // pieces for i in range(pieces + 1)]
        self._mine, *self._theirs = [slice(a, b) for a, b in pairwise(cuts)]

    def run(self, work: Callable[[slice], None]) -> None:
        """Call ``work`` once for each slice of the rows, and wait for all of them."""
        others = [_get_threads(len(self._theirs)).submit(work, rows) for rows in self._theirs]
        work(self._mine)
        for other in others:
            other.result()


def share_work(
    work: Callable[[int, Item], Result], items: Sequence[Item], cells: int = WORTH_SHARING
) -> list[Result]:
    """Return ``work(number, item)`` for each item, computed on all processors if the ``cells`` are many."""
    alone = cells < WORTH_SHARING or _is_kernel_thread()
    if len(items) == 1 or alone or count_processors() == 1:
        return [work(number, item) for number, item in enumerate(items)]
    return list(_get_threads(count_processors()).map(work, range(len(items)), items))


def stream_work(work: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """Yield ``work(item)`` for each item, while all processors compute the next ones.

    The items may come from such a stream themselves. No more results wait than there are processors.
    """
    threads, ahead = _get_threads(count_processors()), count_processors()
    waiting: deque[Future[Result]] = deque()
    try:
        for item in items:
            waiting.append(threads.submit(work, item))
            if len(waiting) > ahead:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        for future in waiting:
            future.cancel()
