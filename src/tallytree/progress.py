"""How work is run: on how many processors, with which reports of progress, and with signals deferred."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from threading import get_ident, main_thread
from types import FrameType

# Deferred signals: some work must not be interrupted by an exception that a signal's handler raises.
#
# Python runs the handler of a signal between any two lines of its main thread, and the handler's exception
# passes through libraries that are not made for it, which then crash. Blocking the signals would not be
# enough: another thread may receive them, and the main thread runs the handler all the same. Other threads
# never run handlers.

NUMBERS = (signal.SIGINT, signal.SIGTERM)

Handler = Callable[[int, FrameType | None], object]

READY, HOLDING = 1, 2
"""READY: the handlers were replaced by ones that can wait; HOLDING: they do wait."""


def are_held() -> bool:
    """Return whether a signal's handler would wait anyway, or never runs in this thread."""
    return _Block.state == HOLDING or get_ident() != main_thread().ident


def hold_signals() -> AbstractContextManager[None]:
    """Defer an interruption (SIGINT, SIGTERM) until the block has ended."""
    return _Block(HOLDING)


def expect_holds() -> AbstractContextManager[None]:
    """Make :func:`hold_signals` in the block cost next to nothing: handlers are replaced only once."""
    return _Block(READY)


_waiting: list[int] = []
"""The signals that came meanwhile."""


class _Block:
    """A block in the main thread; in other threads it does nothing."""

    state = 0

    def __init__(self, state: int) -> None:
        self._state = state
        self._before: int | None = None
        self._handlers: dict[int, Handler] = {}

    def __enter__(self) -> None:
        if get_ident() != main_thread().ident:
            return
        self._before = _Block.state
        try:
            _Block.state = max(self._before, self._state)
            if not self._before:
                self._exchange_handlers()
        except BaseException:  # of a handler that was still in place
            self.__exit__()
            raise

    def _exchange_handlers(self) -> None:
        for number in NUMBERS:
            handler = signal.getsignal(number)
            if callable(handler):  # else it is ignored, or ends the process: nothing is raised
                self._handlers[number] = handler
                signal.signal(number, _defer(handler))

    def __exit__(self, *error: object) -> None:
        if self._before is None:
            return
        try:
            for number, handler in self._handlers.items():
                signal.signal(number, handler)
        finally:
            _Block.state = self._before
            if _waiting and self._before < HOLDING:
                first = _waiting[0]
                _waiting.clear()  # further ones would interrupt the cleaning up
                signal.raise_signal(first)


def _defer(handler: Handler) -> Handler:
    """The handler, as one that can wait."""

    def handle(number: int, frame: FrameType | None) -> None:
        if _Block.state == HOLDING:
            _waiting.append(number)
        else:
            handler(number, frame)

    return handle


Progress = Callable[[str, int], Callable[[int], None]]
"""Called with the name of a task and its number of steps; returns a function to call with the steps done."""


def no_progress(what: str, steps: int) -> Callable[[int], None]:
    """Report nothing."""
    return lambda done: None


# How many processors this process may use.

_MOST: ContextVar[int | None] = ContextVar("most", default=None)


def count_processors() -> int:
    """Return how many processors this process may use (fewer than the machine's under a CPU limit)."""
    most = _MOST.get()
    if most == 1:
        return 1
    found = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(found, most or found)


@contextmanager
def one_processor() -> Iterator[None]:
    """Use only one processor within the block.

    On a few rows, handing them to a thread takes longer than the work itself.
    """
    before = _MOST.set(1)
    try:
        yield
    finally:
        _MOST.reset(before)
