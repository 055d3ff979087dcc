"""Kernels that several processes need at once, where nothing is kept yet: one compiles, the others load."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import Dispatcher

from tallytree.kernels import CACHE

_held: set[Path] = set()
"""What this process compiles: a kernel with those that it calls."""


def share_kernels() -> None:
    """From now on, wait where another process compiles the same kernel: it is then on disk."""
    compile_or_load = Dispatcher.compile

    def compile_alone(self: Any, signature: Any) -> Any:
        # Threads first: one that has the file must not wait for one that waits for the file.
        with global_compiler_lock, _hold(f"{self.py_func.__module__}.{self.py_func.__qualname__}"):
            return compile_or_load(self, signature)

    if CACHE is not None:
        CACHE.mkdir(parents=True, exist_ok=True)
        Dispatcher.compile = compile_alone


@contextmanager
def _hold(kernel: str) -> Iterator[None]:
    assert CACHE is not None
    path = CACHE / f"{kernel}.lock"
    if path in _held:
        yield
        return
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # let go when the file is closed
        _held.add(path)
        try:
            yield
        finally:
            _held.remove(path)
