"""The whole study: what there is to measure, measured and kept, and what was found."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tallytree.reproduction.cache import Cache
from tallytree.reproduction.datasets import SYNTHETIC, Cut, Dataset, fingerprint
from tallytree.reproduction.measuring import Tell, Work, find_limit, plan_jobs, plan_synthetic_jobs
from tallytree.reproduction.outcomes import Outcome
from tallytree.reproduction.settings import Settings
from tallytree.reproduction.timetable import Timetable

PARTS = ("scalability", "runtime", "accuracy", "table", "all")
"""Runtime, accuracy and the table are about the same runs."""
RESULTS = "results"


@dataclass(frozen=True)
class Study:
    """Everything that was measured."""

    settings: Settings
    datasets: Sequence[Dataset]
    synthetic: Sequence[Outcome]
    """Of the runtime against N; empty if that was not asked for."""
    runs: dict[str, Sequence[Outcome]]
    """By the dataset's name; empty if only the scalability was asked for."""


def measure_study(
    part: str, datasets: Sequence[Dataset], settings: Settings, folder: Path, tell: Tell
) -> Study:
    """Measure what is not known yet, and keep it in ``folder``."""
    place = folder / RESULTS
    synthetic = [_plan_synthetic(settings, place)] if part in ("scalability", "all") else []
    large = [] if part == "scalability" else [_plan_large(dataset, settings, place) for dataset in datasets]
    works = [*synthetic, *large]
    timetable = Timetable(work.find_kind(job) for work in works for job in work.jobs)
    for work in works:
        work.run(timetable, tell)
    return Study(
        settings,
        datasets,
        [outcome for work in synthetic for outcome in work.list_outcomes()],
        {work.name: list(work.list_outcomes()) for work in large},
    )


def _plan_synthetic(settings: Settings, place: Path) -> Work:
    source = Cut()
    key = fingerprint(source.load(max(settings.synthetic_sizes)), source.small)
    return Work(
        SYNTHETIC,
        plan_synthetic_jobs(settings),
        source,
        Cache(place / f"{SYNTHETIC}-{key}.parquet"),
        lambda job: settings.synthetic_seconds,
        settings.synthetic_calls,
    )


def _plan_large(dataset: Dataset, settings: Settings, place: Path) -> Work:
    return Work(
        dataset.name,
        plan_jobs(settings, dataset.sizes),
        dataset.source,
        Cache(place / f"{dataset.key}.parquet"),
        lambda job: find_limit(job, settings),
        calls=1,
    )
