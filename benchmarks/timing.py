"""What a call takes: time, processors and memory; here, or in a fresh process."""

import ctypes
import math
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from tallytree.research.reproduction.runs import Failure, run_in_child

R = TypeVar("R")


@dataclass(frozen=True)
class Timing:
    """One call: its wall-clock seconds and the processor seconds of all its threads."""

    seconds: float
    processor_seconds: float

    @property
    def processors(self) -> float:
        """How many processors it kept busy, on average."""
        return self.processor_seconds / self.seconds


def time_call(call: Callable[[], R]) -> tuple[Timing, R]:
    """Run ``call`` once."""
    wall, processor = time.perf_counter(), time.process_time()
    result = call()
    return Timing(time.perf_counter() - wall, time.process_time() - processor), result


def best(timings: Sequence[Timing]) -> Timing:
    """The fastest: what else the machine did can only have added to the others."""
    return min(timings, key=lambda timing: timing.seconds)


LEAST_SIZES = 4
"""For a growth exponent that is to say something."""


def find_growth(amounts: Sequence[float], seconds: Sequence[float]) -> float | None:
    """The growth exponent, if there are enough sizes for one."""
    return growth_exponent(amounts, seconds) if len(amounts) >= LEAST_SIZES else None


def growth_exponent(amounts: Sequence[float], seconds: Sequence[float]) -> float:
    """The least-squares slope of log seconds on log amounts: 1 is linear growth."""
    xs, ys = [math.log(a) for a in amounts], [math.log(s) for s in seconds]
    x_mean, y_mean = sum(xs) / len(xs), sum(ys) / len(ys)
    covariance = sum((x - x_mean) * (y - y_mean) for x, y in zip(xs, ys, strict=True))
    return covariance / sum((x - x_mean) ** 2 for x in xs)


@contextmanager
def one_processor() -> Iterator[None]:
    """Confine this thread, and the threads it starts meanwhile, to a single processor."""
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)


def resident_memory() -> int:
    """Bytes that this process has in memory now."""
    return _read_status("VmRSS")


def peak_memory() -> int:
    """The most bytes it has had in memory since it started, or since the last reset.

    Not from getrusage, whose figure survives exec, and so starts at the memory of the process that
    started this one.
    """
    return _read_status("VmHWM")


def return_freed_memory() -> None:
    """Let the allocator (glibc's) give back what it keeps for later."""
    ctypes.CDLL(None).malloc_trim(0)


def reset_peak() -> None:
    """Let the peak start anew, from the present."""
    Path("/proc/self/clear_refs").write_text("5")


def _read_status(field: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(field))


@dataclass(frozen=True)
class Missing:
    """A part that could not be measured, and why."""

    what: str
    reason: str


def attempt(what: str, job: Callable[[], R | Failure], missing: list[Missing]) -> R | None:
    """What ``job`` measures; if it cannot, that goes to ``missing``."""
    tell(what)
    outcome = run_in_child(job)
    if isinstance(outcome, Failure):
        tell(f"  {outcome.reason}")
        missing.append(Missing(what, outcome.reason))
        return None
    return outcome


def attempt_all(jobs: Iterable[tuple[str, Callable[[], R | Failure]]], missing: list[Missing]) -> list[R]:
    """One after the other: what those measure that can."""
    outcomes = [attempt(what, job, missing) for what, job in jobs]
    return [outcome for outcome in outcomes if outcome is not None]


def tell(line: str) -> None:
    """Say what is being done."""
    print(line, file=sys.stderr, flush=True)


GROWTH = 1.1
"""Linear, with room for caches that no longer hold the data."""
