"""Runs of one mechanism with seeded noise: how long each takes, and how far it is from the truth."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np

from tallytree.city import generate_city
from tallytree.counts import GroupCounts
from tallytree.errors import MechanismError
from tallytree.evaluation import Simulation, evaluate
from tallytree.hierarchy import Hierarchy
from tallytree.measurement import measure_with_seed
from tallytree.mechanisms.base import Mechanism
from tallytree.privacy.noise import SeededNoise
from tallytree.reproduction.children import Failure
from tallytree.reproduction.variants import Variant

ENOUGH_SECONDS = 0.5
"""A call is made again, for a better time, while all of them together took less."""
FEW_CALLS = 5
"""At least so many, where one takes less than that."""

WARM_SIZES = 10


class Source(Protocol):
    """Where the counts come from; it must pickle."""

    @property
    def small(self) -> int:
        """The largest of the sizes that count as small."""
        ...

    def load(self, sizes: int) -> GroupCounts:
        """The counts with so many sizes."""
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
    """What the noise is worth; other than asked for only where a calibration is not sound."""
    leaf_scale: Fraction
    """Of the last level's noise."""
    l1: tuple[int, ...]
    small_l1: tuple[int, ...]
    """The part of it that is in the small sizes."""
    emd: tuple[float, ...]
    violations: int
    """Regions and sizes, over all levels, whose subregions do not add up to them."""
    seconds: float
    """Of the post-processing alone: the best call, where there were several."""


def run_jobs(jobs: Sequence[Job], source: Source, calls: int) -> Iterator[Run | Failure | None]:
    """To be called in a fresh process; it ends with the first failure.

    Before each run comes None, when all is loaded and warm and the noise drawn: from there on time counts.
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
    except MechanismError as error:  # a solver that is missing, or that did not manage
        yield Failure(str(error))


def run_job(job: Job, method: Mechanism, counts: GroupCounts, small: int, calls: int) -> Iterator[Run | None]:
    """Measure; post-process, which is timed; compare with the truth."""
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
    first = slice(0, max(small - counts.sizes[0] + 1, 0))
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
    """Whether a better time may be found soon: something else may have disturbed the first few calls."""
    return sum(times) < ENOUGH_SECONDS or (len(times) < FEW_CALLS and min(times) < ENOUGH_SECONDS)


def _warm(method: Mechanism) -> None:
    """Load all that a mechanism needs, libraries and compiled kernels, by solving something small.

    Enough of it for every kernel to be called; next to nothing for mechanisms that would take long.
    """
    counts = _make_tiny_counts() if method.small else generate_city(WARM_SIZES)
    plan = method.plan(counts.hierarchy, sizes=counts.sizes, epsilon="1")
    method.postprocess(measure_with_seed(plan, counts, noise=SeededNoise(1)), total=counts.total)


def _make_tiny_counts() -> GroupCounts:
    hierarchy = Hierarchy.from_paths(["all", "half"], [("all", "one"), ("all", "other")])
    return GroupCounts(hierarchy, (1, 2), [[1, 2], [3, 4]])
