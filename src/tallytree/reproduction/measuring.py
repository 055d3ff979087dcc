"""All jobs on one dataset, one after the other: nothing that is timed runs beside anything else.

Most mechanisms use all processors themselves.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from datetime import date
from functools import partial
from itertools import groupby

from tallytree.reproduction.cache import Cache
from tallytree.reproduction.children import Child, Failure
from tallytree.reproduction.machine import find_load
from tallytree.reproduction.outcomes import Outcome
from tallytree.reproduction.runs import Job, Run, Source, run_jobs
from tallytree.reproduction.settings import Settings
from tallytree.reproduction.timetable import Timetable
from tallytree.reproduction.variants import CHAIN_TABLES, TABLES, Variant, list_contenders

Tell = Callable[[str, int, int], None]
"""Told what is being done, how many jobs are done, and how many there are."""


def plan_jobs(settings: Settings, sizes: int) -> list[Job]:
    """For the large datasets: instance by instance, so that it soon turns out what each mechanism can do.

    First those that may fail, by themselves. The largest epsilon comes first, as the easiest. The instances
    are the same for all, but fewer where a general solver is needed or the mechanism is for small problems.
    """
    return [
        Job(variant, epsilon, seed, sizes)
        for group in _group(list_contenders())
        for seed in range(1, settings.instances + 1)
        for variant in group
        if seed <= _count_instances(variant, settings)
        for epsilon in sorted(settings.epsilons, key=float, reverse=True)
    ]


def plan_synthetic_jobs(settings: Settings) -> list[Job]:
    """For the runtime against N: mechanism by mechanism, the fewest sizes first.

    And the paper's cost tables, whose size depends on the noise, at the other epsilons too, on the fewest
    sizes.
    """
    sizes = sorted(settings.synthetic_sizes)
    epsilons = sorted(settings.epsilons, key=float, reverse=True)
    others = [epsilon for epsilon in epsilons if epsilon != settings.synthetic_epsilon]
    return [
        Job(variant, epsilon, 1, number)
        for variant in list_contenders()
        for epsilon in (settings.synthetic_epsilon, *(others if variant in (TABLES, CHAIN_TABLES) else ()))
        for number in (sizes if epsilon == settings.synthetic_epsilon else sizes[:1])
    ]


def find_limit(job: Job, settings: Settings) -> float:
    """The seconds that a job on a large dataset has."""
    return settings.small_seconds if job.variant.is_small else settings.run_seconds


class Work:
    """Jobs on one dataset, with the results so far."""

    def __init__(
        self, name: str, jobs: Sequence[Job], source: Source, cache: Cache, limit: Callable[[Job], float],
        calls: int,
    ) -> None:  # fmt: skip
        self.name = name
        self.jobs = jobs
        self._source = source
        self._cache = cache
        self._limit = limit
        self._calls = calls

    def find_kind(self, job: Job) -> tuple[str, str]:
        """Jobs that take about as long."""
        return self.name, job.variant.label

    def run(self, timetable: Timetable, tell: Tell) -> None:
        """All that are not done yet; every one is kept as soon as it is done.

        What fails, or takes too long, ends its process, and what it rules out is not tried.
        """
        waiting = list(self.jobs)
        while waiting := self._skip(waiting, timetable):
            with Child(partial(run_jobs, waiting, self._source, self._calls)) as child:
                while waiting:
                    job = waiting[0]
                    kind = self.find_kind(job)
                    told = f"{self.name}: {job.variant.label}, epsilon {job.epsilon}, N = {job.sizes:,}"
                    tell(f"{told}; {timetable.describe()}", timetable.done, timetable.total)
                    start = time.perf_counter()
                    outcome = self._receive(child, job)
                    self._cache.add(outcome)
                    timetable.finish(kind, time.perf_counter() - start)
                    waiting = waiting[1:]
                    if isinstance(outcome.result, Failure):
                        break

    def _skip(self, jobs: Sequence[Job], timetable: Timetable) -> list[Job]:
        left = []
        for job in jobs:
            limit = self._limit(job)
            if self._cache.find(job, limit) or self._cache.find_obstacle(job, limit):
                timetable.finish(self.find_kind(job))
            else:
                left.append(job)
        return left

    def _receive(self, child: Child[Run | None], job: Job) -> Outcome:
        limit = self._limit(job)
        load = find_load()
        result = child.receive()  # loaded and warm
        is_passing = result is not None
        if result is None:
            result = child.receive(limit)
        if result is None or (isinstance(result, Run) and result.job != job):
            raise AssertionError("A run was taken for another.")
        return Outcome(job, result, limit, date.today().isoformat(), round(load, 2), is_passing)

    def list_outcomes(self) -> Iterator[Outcome]:
        """Of these jobs, also those that were ruled out, with what ruled them out."""
        for job in self.jobs:
            limit = self._limit(job)
            outcome = self._cache.find(job, limit) or self._cache.find_obstacle(job, limit)
            if outcome:
                yield Outcome(job, outcome.result, outcome.limit, outcome.day, outcome.load)


def _group(variants: Sequence[Variant]) -> list[list[Variant]]:
    """Those for small problems, those that need a solver, and the rest."""

    def place(variant: Variant) -> tuple[bool, bool]:
        return not variant.is_small, not variant.needs_solver

    return [list(group) for _, group in groupby(sorted(variants, key=place), key=place)]


def _count_instances(variant: Variant, settings: Settings) -> int:
    few = variant.is_small or variant.needs_solver
    return min(settings.instances, settings.solver_instances) if few else settings.instances
