"""Work in a fresh process: its memory is its own, and it can be stopped."""

import multiprocessing
import resource
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import TypeVar

R = TypeVar("R")

MOST_BYTES = 16 * 2**30
MOST_SECONDS = 600.0


@dataclass(frozen=True)
class Failure:
    """Why there is no result."""

    reason: str


def run_in_child(job: Callable[[], R]) -> R | Failure:
    """The result of ``job`` (which must pickle), computed by a new process within the limits."""
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=_work, args=(job, sender), daemon=True)
    child.start()
    sender.close()  # so that the child's end is the only one, and its death is seen
    try:
        if not receiver.poll(MOST_SECONDS):
            return Failure(f"stopped after {MOST_SECONDS:.0f} s")
        outcome: R | Failure | Exception = receiver.recv()
    except EOFError:
        child.join()
        return Failure(f"ended with exit code {child.exitcode}")
    finally:
        child.kill()
        child.join()
    if isinstance(outcome, Exception):
        raise outcome
    return outcome


def _work(job: Callable[[], R], sender: Connection) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    try:
        sender.send(job())
    except MemoryError:
        sender.send(Failure(f"needs more than {MOST_BYTES / 2**30:.0f} GB"))
    except Exception as error:
        sender.send(error)
