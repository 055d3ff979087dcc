"""Telling whoever waits how far the work is."""

import signal
from collections.abc import Callable
from contextlib import AbstractContextManager
from threading import get_ident, main_thread
from types import FrameType

# Signals that wait: some work must not be broken off in the middle by what a signal's handler raises.
#
# Python runs the handler of a signal between any two lines of its main thread, and what the handler raises
# passes through libraries that are not made for it, which then crash. To block the signals would not be
# enough: another thread may receive them, and the main thread runs the handler all the same. Other threads
# never do.

NUMBERS = (signal.SIGINT, signal.SIGTERM)

Handler = Callable[[int, FrameType | None], object]

READY, HOLDING = 1, 2
"""The handlers were exchanged for such as can wait; and they do wait."""


def are_held() -> bool:
    """Whether a signal's handler would wait anyway, or never runs in this thread."""
    return _Block.state == HOLDING or get_ident() != main_thread().ident


def hold_signals() -> AbstractContextManager[None]:
    """Let an interruption (SIGINT, SIGTERM) wait until the block has ended, and then take its course."""
    return _Block(HOLDING)


def expect_holds() -> AbstractContextManager[None]:
    """Make :func:`hold_signals` in the block cost next to nothing: handlers are exchanged only once."""
    return _Block(READY)


_waiting: list[int] = []
"""The signals that came meanwhile."""


class _Block:
    """A block of the main thread; those of other threads do nothing."""

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
                _waiting.clear()  # more of them would break off the cleaning up
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
"""Called with what begins and how many steps it has; returns a function told of each few steps done."""


def no_progress(what: str, steps: int) -> Callable[[int], None]:
    """Tell nobody."""
    return lambda done: None
