"""How the numerical kernels are compiled, and how they are spread over the processors."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from types import TracebackType

import numba

from tallytree.processors import count_processors

# Compiled once and kept on disk; the interpreter lock is released while a kernel runs, so that
# threads over independent rows really run side by side.
kernel = numba.njit(cache=True, nogil=True)


class RowPool:
    """Threads that share the rows 0 .. ``rows``, a few slices for each processor."""

    def __init__(self, rows: int) -> None:
        workers = count_processors()
        pieces = max(1, min(rows, 4 * workers))
        cuts = [rows * i // pieces for i in range(pieces + 1)]
        self._slices = [slice(a, b) for a, b in pairwise(cuts)]
        self._threads = ThreadPoolExecutor(workers)

    def run(self, work: Callable[[slice], None]) -> None:
        """Call ``work`` once for each slice of the rows, and wait for all of them."""
        for done in [self._threads.submit(work, rows) for rows in self._slices]:
            done.result()

    def __enter__(self) -> "RowPool":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._threads.shutdown()
