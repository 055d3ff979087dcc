"""Work in a fresh process: its memory is its own, and it can be stopped."""

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Generic, TypeVar

R = TypeVar("R")

MOST_BYTES = 16 * 2**30
MOST_SECONDS = 600.0


@dataclass(frozen=True)
class Failure:
    """Why there is no result."""

    reason: str
    timed_out: bool = False


class Child(Generic[R]):
    """A new process that hands over what ``job`` (which must pickle) yields, within the limits.

    It is ended, whatever it is doing, when its context is left. It is deaf to the keyboard's interruption,
    which its parent hears too: that one ends it.
    """

    def __init__(self, job: Callable[[], Iterable[R | Failure]]) -> None:
        context = multiprocessing.get_context("spawn")
        self._receiver, sender = context.Pipe(duplex=False)
        self.process = context.Process(target=_work, args=(job, sender), daemon=True)
        _start_deaf(self.process.start)
        sender.close()  # so that the child's end is the only one, and its death is seen

    def receive(self, most_seconds: float = MOST_SECONDS) -> R | Failure:
        """What it yields next; after a failure there is nothing more to come."""
        if not self._receiver.poll(most_seconds):
            return Failure(f"no answer within {most_seconds:.0f} s", timed_out=True)
        try:
            outcome: R | Failure | Exception = self._receiver.recv()
        except EOFError:
            self.process.join()
            return Failure(f"ended with exit code {self.process.exitcode}")
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def __enter__(self) -> "Child[R]":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.process.kill()
        self.process.join()
        self._receiver.close()


def run_in_child(job: Callable[[], R | Failure]) -> R | Failure:
    """The result of ``job`` (which must pickle), computed by a new process."""
    with Child(partial(_run_once, job)) as child:
        return child.receive()


def _run_once(job: Callable[[], R]) -> Iterator[R]:
    yield job()


def _work(job: Callable[[], Iterable[object]], sender: Connection) -> None:
    _limit_memory()
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        for outcome in job():
            sender.send(outcome)
    except MemoryError:
        sender.send(Failure(f"needs more than {MOST_BYTES / 2**30:.0f} GB"))
    except Exception as error:
        sender.send(error)


def _end_with_parent() -> None:
    """A solver must not go on for hours after whoever waited for it was killed."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _limit_memory() -> None:
    if sys.platform != "win32":
        import resource

        with suppress(ValueError, OSError):  # some systems cannot
            resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))


def _start_deaf(start: Callable[[], None]) -> None:
    """A new process inherits which signals are blocked."""
    if sys.platform == "win32":
        start()
        return
    resource_tracker.ensure_running()  # starting it later would undo what follows
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
