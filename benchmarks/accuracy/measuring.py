"""All runs of all mechanisms, one after the other: most mechanisms use all processors themselves."""

import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from multiprocessing import resource_tracker

import tallytree as tt
from benchmarks.accuracy.contenders import needs_solver
from benchmarks.accuracy.runs import Job, Run, run_jobs_on
from benchmarks.accuracy.settings import Settings
from benchmarks.accuracy.timetable import Timetable
from benchmarks.children import Child, Failure
from benchmarks.variants import Variant


@dataclass(frozen=True)
class Measured:
    """A mechanism with all its runs, or with the reason why there are none."""

    variant: Variant
    runs: Sequence[Run]
    reason: str = ""


def measure_all(
    variants: Sequence[Variant], counts: tt.GroupCounts, settings: Settings, tell: Callable[[str], None]
) -> list[Measured]:
    """Every job of every variant, in a process of their own; ``tell`` is told how far it is.

    A mechanism that fails, or takes too long for one run, is given up, and the process replaced. It has
    no results then: the runs that it managed may well be the easier ones.
    """
    waiting = plan_jobs(variants, settings)
    timetable = Timetable(job.variant.label for job in waiting)
    runs: dict[str, list[Run]] = {variant.label: [] for variant in variants}
    reasons: dict[str, str] = {}
    while waiting:
        rest = iter(waiting)
        with _start(waiting, counts) as child:
            for job in rest:
                label = job.variant.label
                tell(f"{label}, epsilon {job.epsilon}, seed {job.seed}: {timetable.describe()}")
                outcome = child.receive(settings.most_seconds)
                if isinstance(outcome, Failure):
                    reasons[label] = outcome.reason
                    timetable.drop(label)
                    break
                runs[label].append(outcome)
                timetable.finish(label, outcome.seconds)
        waiting = [job for job in rest if job.variant.label not in reasons]
    return [
        Measured(variant, [], reasons[variant.label])
        if variant.label in reasons
        else Measured(variant, runs[variant.label])
        for variant in variants
    ]


def plan_jobs(variants: Sequence[Variant], settings: Settings) -> list[Job]:
    """Seed by seed, so that it soon turns out what each mechanism can do, and how fast.

    The seeds are the same for all, but fewer where a general solver is needed.
    """
    seeds = {variant.label: settings.seeds for variant in variants}
    seeds |= {v.label: min(settings.seeds, settings.solver_seeds) for v in variants if needs_solver(v)}
    return [
        Job(variant, epsilon, seed)
        for seed in range(1, settings.seeds + 1)
        for variant in variants
        for epsilon in settings.epsilons
        if seed <= seeds[variant.label]
    ]


def _start(jobs: Sequence[Job], counts: tt.GroupCounts) -> Child[Run]:
    """The process at work. It is deaf to interruptions, which its parent hears too: that one ends it."""
    resource_tracker.ensure_running()  # starting it later would undo what follows
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # a new process inherits it
    try:
        parts = (counts.hierarchy, counts.sizes, counts.leaf, counts.bounds)
        return Child(partial(run_jobs_on, jobs, *parts))
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
