"""Runs of one mechanism with seeded noise: how long each takes, and how far it is from the truth."""

import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Generic, Protocol, TypeVar

import numpy as np

from tallytree.counts.group_counts import GroupCounts
from tallytree.datasets.invented import generate_city
from tallytree.errors import MechanismError
from tallytree.hierarchy import Hierarchy
from tallytree.mechanisms.base import Mechanism
from tallytree.privacy.door import measure_with_seed
from tallytree.privacy.noise import SeededNoise
from tallytree.research.evaluation import Simulation, evaluate
from tallytree.research.reproduction.paper_figures import Variant
from tallytree.sizes import get_ends

# The extent of the runs: as in the paper, or a quick look.

PAPER_SECONDS = 30 * 60
"""How long the paper waited for a mechanism."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The runs of each mechanism, and how long each may take before the mechanism is given up."""

    epsilons: tuple[str, ...] = ("0.1", "0.5", "1")
    instances: int
    solver_instances: int
    """The most instances for mechanisms whose model goes to a general solver."""
    synthetic_sizes: tuple[int, ...]
    synthetic_epsilon: str = "1"
    """The paper does not say which epsilon it used."""
    synthetic_calls: int = 20
    """The most calls for the best time of a run on the synthetic data; slow ones get fewer."""
    synthetic_seconds: float
    run_seconds: float
    small_seconds: float
    """The limit on the large datasets for mechanisms that are for small problems."""

    def wait(self, seconds: float) -> "Settings":
        """Return the same settings with another limit for everything."""
        return replace(self, synthetic_seconds=seconds, run_seconds=seconds, small_seconds=seconds)


FULL = Settings(
    instances=30,
    solver_instances=3,
    synthetic_sizes=tuple(range(5, 51, 5)),
    synthetic_seconds=120.0,
    run_seconds=120.0,
    small_seconds=120.0,
)
QUICK = Settings(
    instances=3,
    solver_instances=1,
    synthetic_sizes=(5, 10, 20, 30, 40, 50),
    synthetic_seconds=10.0,
    run_seconds=40.0,
    small_seconds=5.0,
)


# Work in a fresh process, which has its own memory, and can be stopped.

R = TypeVar("R")

MOST_BYTES = 16 * 2**30
MOST_SECONDS = 600.0


@dataclass(frozen=True)
class Failure:
    """Why there is no result."""

    reason: str
    timed_out: bool = False


class Child(Generic[R]):
    """A new process that sends back what ``job`` (which must pickle) yields, within the limits.

    It is killed, whatever it is doing, when its context is left. It ignores keyboard interrupts, which its
    parent receives too: the parent ends it.
    """

    def __init__(self, job: Callable[[], Iterable[R | Failure]]) -> None:
        context = multiprocessing.get_context("spawn")
        self._receiver, sender = context.Pipe(duplex=False)
        self.process = context.Process(target=_work, args=(job, sender), daemon=True)
        _start_deaf(self.process.start)
        sender.close()  # only the child's end stays open, so that its death is noticed

    def receive(self, most_seconds: float = MOST_SECONDS) -> R | Failure:
        """Return what it yields next; after a failure nothing more will come."""
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
    """Run ``job`` (which must pickle) in a new process, and return its result."""
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
    """Exit with the parent: a solver must not run on for hours after its parent was killed."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _limit_memory() -> None:
    if sys.platform != "win32":
        import resource

        with suppress(ValueError, OSError):  # not supported by all systems
            resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))


def _start_deaf(start: Callable[[], None]) -> None:
    """Start a process that ignores keyboard interrupts: a new process inherits the blocked signals."""
    if sys.platform == "win32":
        start()
        return
    resource_tracker.ensure_running()  # starting it later would undo what follows
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


ENOUGH_SECONDS = 0.5
"""A call is repeated, for a better time, while all of them together took less."""
FEW_CALLS = 5
"""The least number of calls, where one takes less than that."""

WARM_SIZES = 10


class Source(Protocol):
    """Where the counts come from; it must pickle."""

    @property
    def small(self) -> int:
        """The largest of the sizes that count as small."""
        ...

    def load(self, sizes: int) -> GroupCounts:
        """Return the counts with this number of sizes."""
        ...


@dataclass(frozen=True)
class Job:
    """One run to make."""

    variant: Variant
    epsilon: str
    seed: int
    sizes: int
    """N, the largest size."""


@dataclass(frozen=True)
class Run:
    """One run; errors are level by level from the root."""

    job: Job
    real_epsilon: Fraction
    """The epsilon that the noise gives; not the requested one only if a calibration is not sound."""
    leaf_scale: Fraction
    """The scale of the last level's noise."""
    l1: tuple[int, ...]
    small_l1: tuple[int, ...]
    """The part of the L1 error that is in the small sizes."""
    emd: tuple[float, ...]
    violations: int
    """Regions and sizes, over all levels, whose subregions do not add up to them."""
    seconds: float
    """The seconds of the post-processing alone: of the best call, if there were several."""


def run_jobs(jobs: Sequence[Job], source: Source, calls: int) -> Iterator[Run | Failure | None]:
    """Run jobs, in a fresh process; stop at the first failure.

    Before each run it yields None, when all is loaded and warm and the noise drawn: then the time starts.
    """
    try:
        known: dict[int, GroupCounts] = {}
        warm: set[str] = set()
        for job in jobs:
            method = job.variant.make()
            if job.variant.label not in warm:
                _warm(method)
                warm.add(job.variant.label)
            if job.sizes not in known:
                known = {job.sizes: source.load(job.sizes)}
            yield from run_job(job, method, known[job.sizes], source.small, calls)
    except MechanismError as error:  # a solver that is missing, or that failed
        yield Failure(str(error))


def run_job(job: Job, method: Mechanism, counts: GroupCounts, small: int, calls: int) -> Iterator[Run | None]:
    """Measure, post-process, which is timed, and compare with the truth."""
    plan = method.plan(counts.hierarchy, sizes=counts.sizes, epsilon=job.epsilon, bounds=counts.bounds)
    noisy = measure_with_seed(plan, counts, noise=SeededNoise(job.seed))
    yield None
    times: list[float] = []
    while not times or (len(times) < calls and _is_worth_another(times)):
        start = time.perf_counter()
        solution = method.postprocess(noisy, total=counts.total)
        times.append(time.perf_counter() - start)
    run = Simulation(noisy, solution, counts.total)
    errors = evaluate(run, counts).to_pylist()
    first = slice(0, max(small - get_ends(counts.sizes)[0] + 1, 0))
    yield Run(
        job=job,
        real_epsilon=plan.epsilon,
        leaf_scale=plan.levels[-1].scale,
        l1=tuple(level["l1"] for level in errors),
        small_l1=tuple(
            int(np.abs(found[:, first] - counts.array(index)[:, first]).sum())
            for index, found in enumerate(run.counts)
        ),
        emd=tuple(level["emd"] for level in errors),
        violations=sum(level["violations"] for level in errors),
        seconds=min(times),
    )


def _is_worth_another(times: Sequence[float]) -> bool:
    """Return whether a better time may be found soon: other processes may have disturbed the first calls."""
    return sum(times) < ENOUGH_SECONDS or (len(times) < FEW_CALLS and min(times) < ENOUGH_SECONDS)


def _warm(method: Mechanism) -> None:
    """Load all that a mechanism needs, libraries and compiled kernels, by solving a small problem.

    It is large enough for every kernel to be called, and tiny for mechanisms that would take long.
    """
    counts = _make_tiny_counts() if method.small else generate_city(WARM_SIZES)
    plan = method.plan(counts.hierarchy, sizes=counts.sizes, epsilon="1")
    method.postprocess(measure_with_seed(plan, counts, noise=SeededNoise(1)), total=counts.total)


def _make_tiny_counts() -> GroupCounts:
    hierarchy = Hierarchy.from_paths(["all", "half"], [("all", "one"), ("all", "other")])
    return GroupCounts(hierarchy, (1, 2), [[1, 2], [3, 4]])
