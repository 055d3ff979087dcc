"""Runs of one mechanism with seeded noise, and how far each is from the truth."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

import tallytree as tt
from benchmarks.children import Failure
from benchmarks.variants import Variant
from tallytree.datasets.county_tables import LEAST_LARGE
from tallytree.errors import MechanismError


@dataclass(frozen=True)
class Job:
    """One run to make."""

    variant: Variant
    epsilon: str
    seed: int


@dataclass(frozen=True)
class Run:
    """One run and its errors, level by level from the root."""

    job: Job
    real_epsilon: Fraction
    """What the noise is worth; other than asked for only where a calibration is not sound."""
    l1: tuple[int, ...]
    emd: tuple[float, ...]
    violations: int
    """Regions and sizes, over all levels, whose subregions do not add up to them."""
    leaf_scale: Fraction
    """Of the last level's noise."""
    leaf_l1_to_seven: int
    """The part of the last level's L1 error that is in the sizes up to 7."""
    seconds: float


def run_jobs_on(
    jobs: Sequence[Job],
    hierarchy: tt.Hierarchy,
    sizes: tuple[int, int],
    leaf: npt.NDArray[np.int64],
    bounds: tt.Bounds,
) -> Iterator[Run | Failure]:
    """The jobs in another process. Counts refuse to be pickled, so it gets their parts: these are public."""
    yield from run_jobs(jobs, tt.GroupCounts(hierarchy, sizes, leaf, bounds=bounds))


def run_jobs(jobs: Sequence[Job], counts: tt.GroupCounts) -> Iterator[Run | Failure]:
    """To be called in a fresh process; it ends with the first failure."""
    try:
        for job in jobs:
            yield run_job(job, counts)
    except MechanismError as error:  # a solver that is missing, or that did not manage
        yield Failure(str(error))


def run_job(job: Job, counts: tt.GroupCounts) -> Run:
    """Simulate, and compare with the truth."""
    start = time.perf_counter()
    run = tt.simulate(counts, epsilon=job.epsilon, mechanism=job.variant.make(), seed=job.seed)
    errors = tt.evaluate(run, counts).to_pylist()
    plan = run.measurements.plan
    first = slice(0, LEAST_LARGE - counts.sizes[0] + 1)
    return Run(
        job=job,
        real_epsilon=plan.epsilon,
        l1=tuple(level["l1"] for level in errors),
        emd=tuple(level["emd"] for level in errors),
        violations=sum(level["violations"] for level in errors),
        leaf_scale=plan.levels[-1].scale,
        leaf_l1_to_seven=int(np.abs(run.counts[-1][:, first] - counts.array(-1)[:, first]).sum()),
        seconds=time.perf_counter() - start,
    )
