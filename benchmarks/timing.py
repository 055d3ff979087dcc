"""How long a call takes, and on how many processors."""

import math
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

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
