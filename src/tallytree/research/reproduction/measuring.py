"""All jobs on one dataset, one after the other: nothing else runs while a job is timed.

Most mechanisms use all processors themselves.
"""

from __future__ import annotations

import math
import os
import platform
import time
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from datetime import date
from fractions import Fraction
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pa_parquet

from tallytree.errors import FolderError, show
from tallytree.files import write_whole
from tallytree.progress import count_processors
from tallytree.releases.manifest import find_versions
from tallytree.research.reproduction.paper_figures import CHAIN_TABLES, TABLES, Variant, list_contenders
from tallytree.research.reproduction.run_results import Outcome
from tallytree.research.reproduction.runs import Child, Failure, Job, Run, Settings, Source, run_jobs

# The machine that the numbers were measured on: no names and no paths.

PACKAGES = ("tallytree", "numpy", "numba", "scipy", "piqp")


def describe_machine(more: Sequence[str] = ()) -> dict[str, str]:
    """Describe processor, memory and versions; ``more`` are further packages."""
    return {
        "Processor": _processor(),
        "Processors for this run": str(count_processors()),
        "Load average at the start": _describe_load(),
        "Memory": _describe_memory(),
        "System": f"{platform.system()} {platform.machine()}",
        "Python": platform.python_version(),
        "Packages": ", ".join(
            f"{name} {version}" for name, version in find_versions([*PACKAGES, *more]).items()
        ),
    }


def _processor() -> str:
    facts = Path("/proc/cpuinfo")
    if facts.exists():
        for line in facts.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def find_load() -> float:
    """Return the load average over a minute; 0 where the system does not provide it."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0


def _describe_load() -> str:
    return f"{find_load():.1f}, over a minute"


def _describe_memory() -> str:
    try:
        return f"{os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') / 2**30:.0f} GB"
    except (AttributeError, ValueError, OSError):  # not every system has it
        return "unknown"


# The time that the remaining jobs will take, estimated from the finished ones.

GUESS = 1.0
"""Assumed seconds of a kind of job that has not run yet."""


class Timetable:
    """The remaining jobs of each kind, and the seconds that the latest of the kind took."""

    def __init__(self, kinds: Iterable[Hashable]) -> None:
        self._left = Counter(kinds)
        self._seconds: dict[Hashable, float] = {}
        self._all = self._left.total()

    @property
    def total(self) -> int:
        """The number of all jobs."""
        return self._all

    @property
    def done(self) -> int:
        """The number of jobs that are done."""
        return self._all - self._left.total()

    def finish(self, kind: Hashable, seconds: float | None = None) -> None:
        """Record that a job is done; ``seconds`` is None for one that was done earlier."""
        self._left[kind] -= 1
        if seconds is not None:
            self._seconds[kind] = seconds

    def describe(self) -> str:
        """Describe the progress in words."""
        left = self._left.total()
        seconds = sum(count * self._seconds.get(kind, GUESS) for kind, count in self._left.items())
        return f"{self.done} of {self._all} runs, {_tell(seconds)} left" if left else f"{self._all} runs"


def _tell(seconds: float) -> str:
    if seconds < 60:
        return f"about {seconds:.0f} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"about {hours} h {minutes} min" if hours else f"about {minutes} min"


# Results are kept as Parquet: an interrupted run continues where it stopped.
#
# There is a file for each dataset. It is rewritten as a whole after every finished job: a few hundred short
# rows.

FIELDS: list[pa.Field[Any]] = [
    pa.field("mechanism", pa.string(), nullable=False),
    pa.field("epsilon", pa.string(), nullable=False),
    pa.field("instance", pa.int64(), nullable=False),
    pa.field("sizes", pa.int64(), nullable=False),
    pa.field("failure", pa.string()),
    pa.field("timed_out", pa.bool_()),
    pa.field("real_epsilon", pa.string()),
    pa.field("leaf_scale", pa.string()),
    pa.field("l1", pa.list_(pa.int64())),
    pa.field("small_l1", pa.list_(pa.int64())),
    pa.field("emd", pa.list_(pa.float64())),
    pa.field("violations", pa.int64()),
    pa.field("seconds", pa.float64()),
    pa.field("limit", pa.float64(), nullable=False),
    pa.field("day", pa.string(), nullable=False),
    pa.field("load", pa.float64(), nullable=False),
]
SCHEMA = pa.schema(FIELDS)


class Cache:
    """The outcomes of one dataset."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known = {outcome.job: outcome for outcome in _read(path)} if path.exists() else {}

    def list_outcomes(self) -> list[Outcome]:
        """Return all known outcomes."""
        return list(self._known.values())

    def find(self, job: Job, limit: float) -> Outcome | None:
        """Return the outcome of a job, if it is known and would be the same with this limit."""
        outcome = self._known.get(job)
        return outcome if outcome and outcome.is_settled(limit) else None

    def find_obstacle(self, job: Job, limit: float) -> Outcome | None:
        """Return an earlier failure that rules the job out."""
        return next(
            (known for known in self._known.values() if known.rules_out(job) and known.is_settled(limit)),
            None,
        )

    def add(self, outcome: Outcome) -> None:
        """Keep an outcome, also on disk unless it is only temporary."""
        self._known[outcome.job] = outcome
        kept = [_write_row(each) for each in self._known.values() if not each.is_passing]
        table = pa.Table.from_pylist(kept, SCHEMA)
        sink = pa.BufferOutputStream()
        pa_parquet.write_table(table, sink)
        write_whole(self._path, sink.getvalue().to_pybytes())


def _read(path: Path) -> list[Outcome]:
    damaged = FolderError(
        f"The results in {show(path, most=150)} are damaged: remove the file to measure them anew."
    )
    try:
        table = pa_parquet.read_table(path)
        table.validate(full=True)
        if not table.schema.equals(SCHEMA):
            raise damaged
        outcomes = [_read_row(row) for row in table.to_pylist()]
    except (OSError, pa.ArrowException, ValueError, TypeError, KeyError, ZeroDivisionError):
        raise damaged from None
    if len({outcome.job for outcome in outcomes}) < len(outcomes):
        raise damaged
    return outcomes


def _write_row(outcome: Outcome) -> dict[str, Any]:
    job, result = outcome.job, outcome.result
    row: dict[str, Any] = {
        "mechanism": job.variant.label,
        "epsilon": job.epsilon,
        "instance": job.seed,
        "sizes": job.sizes,
        "limit": outcome.limit,
        "day": outcome.day,
        "load": outcome.load,
    }
    if isinstance(result, Failure):
        return {**row, "failure": result.reason, "timed_out": result.timed_out}
    return {
        **row,
        "real_epsilon": str(result.real_epsilon),
        "leaf_scale": str(result.leaf_scale),
        "l1": result.l1,
        "small_l1": result.small_l1,
        "emd": result.emd,
        "violations": result.violations,
        "seconds": result.seconds,
    }


def _read_row(row: dict[str, Any]) -> Outcome:
    variants = {variant.label: variant for variant in list_contenders()}
    job = Job(variants[row["mechanism"]], row["epsilon"], row["instance"], row["sizes"])
    float(job.epsilon)  # fails if it is not a number
    result: Run | Failure
    if row["failure"] is not None:
        result = Failure(row["failure"], timed_out=bool(row["timed_out"]))
    else:
        result = Run(
            job=job,
            real_epsilon=Fraction(row["real_epsilon"]),
            leaf_scale=Fraction(row["leaf_scale"]),
            l1=tuple(row["l1"]),
            small_l1=tuple(row["small_l1"]),
            emd=tuple(row["emd"]),
            violations=row["violations"],
            seconds=row["seconds"],
        )
        _check(result)
    return Outcome(job, result, row["limit"], row["day"], row["load"])


def _check(run: Run) -> None:
    numbers = [*run.l1, *run.small_l1, *run.emd, run.violations, run.seconds]
    if not all(math.isfinite(number) and number >= 0 for number in numbers):
        raise ValueError
    if not run.l1 or not len(run.l1) == len(run.small_l1) == len(run.emd) or run.seconds == 0:
        raise ValueError


Tell = Callable[[str, int, int], None]
"""Receives what is being done, how many jobs are done, and how many there are."""


def plan_jobs(settings: Settings, sizes: int) -> list[Job]:
    """Plan the jobs on a large dataset: instance by instance, to find out early what each mechanism can do.

    Mechanisms that may fail come first, separately. The largest epsilon comes first, as the easiest. The
    instances are the same for all, but fewer where a general solver is needed or the mechanism is for small
    problems.
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
    """Plan the jobs for the runtime against N: mechanism by mechanism, the fewest sizes first.

    The paper's cost tables, whose size depends on the noise, also run at the other epsilons, on the fewest
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
    """Return the time limit of a job on a large dataset, in seconds."""
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
        """Return the kind of a job: jobs of one kind take about as long."""
        return self.name, job.variant.label

    def run(self, timetable: Timetable, tell: Tell) -> None:
        """Run all jobs that are not done yet; keep every outcome as soon as it is known.

        A job that fails, or takes too long, ends its process, and the jobs that it rules out are not tried.
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
        result = child.receive()  # None once everything is loaded and warm
        is_passing = result is not None
        if result is None:
            result = child.receive(limit)
        if result is None or (isinstance(result, Run) and result.job != job):
            raise AssertionError("A run was taken for another.")
        return Outcome(job, result, limit, date.today().isoformat(), round(load, 2), is_passing)

    def list_outcomes(self) -> Iterator[Outcome]:
        """Yield the outcomes of these jobs; for one that was ruled out, the outcome that ruled it out."""
        for job in self.jobs:
            limit = self._limit(job)
            outcome = self._cache.find(job, limit) or self._cache.find_obstacle(job, limit)
            if outcome:
                yield Outcome(job, outcome.result, outcome.limit, outcome.day, outcome.load)


def _group(variants: Sequence[Variant]) -> list[list[Variant]]:
    """Group the variants: those for small problems, those that need a solver, and the rest."""

    def place(variant: Variant) -> tuple[bool, bool]:
        return not variant.is_small, not variant.needs_solver

    return [list(group) for _, group in groupby(sorted(variants, key=place), key=place)]


def _count_instances(variant: Variant, settings: Settings) -> int:
    few = variant.is_small or variant.needs_solver
    return min(settings.instances, settings.solver_instances) if few else settings.instances
