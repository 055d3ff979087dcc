"""The whole study: the measurements, how they are kept, and what was found."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from tallytree.research.reproduction.measuring import (
    Cache,
    Tell,
    Timetable,
    Work,
    find_limit,
    plan_jobs,
    plan_synthetic_jobs,
)
from tallytree.research.reproduction.paper_figures import Variant
from tallytree.research.reproduction.run_results import Outcome, Summary, summarise
from tallytree.research.reproduction.runs import Failure, Run, Settings
from tallytree.research.reproduction.study_data import SYNTHETIC, Cut, Dataset, fingerprint

PARTS = ("scalability", "runtime", "accuracy", "table", "all")
"""Runtime, accuracy and the table use the same runs."""
RESULTS = "results"


@dataclass(frozen=True)
class Study:
    """Everything that was measured."""

    settings: Settings
    datasets: Sequence[Dataset]
    synthetic: Sequence[Outcome]
    """The outcomes for the runtime against N; empty if that was not requested."""
    runs: dict[str, Sequence[Outcome]]
    """The outcomes by the dataset's name; empty if only the scalability was requested."""


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


# The input of the page: what was measured, on what, by which command.


@dataclass(frozen=True)
class Stop:
    """The first N at which a mechanism failed, and its time limit."""

    sizes: int
    failure: Failure
    limit: float


@dataclass(frozen=True)
class Series:
    """One mechanism on ever more sizes, at one epsilon."""

    variant: Variant
    seconds: dict[int, float]
    """The seconds by N."""
    stop: Stop | None


@dataclass(frozen=True)
class Report:
    """The numbers, before they are put into words."""

    day: date
    machine: dict[str, str]
    command: str
    quick: bool
    part: str
    settings: Settings
    summaries: Sequence[Summary]
    synthetic: Sequence[Outcome]
    outcomes: Sequence[Outcome]
    """All outcomes, which say when, and at what load, they were measured."""

    @property
    def synthetic_limit(self) -> float:
        """The longest time limit of any mechanism on the synthetic data, also in an earlier run."""
        limits = [outcome.limit for outcome in self.synthetic if isinstance(outcome.result, Failure)]
        return max([self.settings.synthetic_seconds, *limits])

    def list_series(self) -> list[Series]:
        """Return the series of the runtime against N."""
        epsilon = self.settings.synthetic_epsilon
        here = [outcome for outcome in self.synthetic if outcome.job.epsilon == epsilon]
        return [
            _make_series(variant, [outcome for outcome in here if outcome.job.variant == variant])
            for variant in dict.fromkeys(outcome.job.variant for outcome in here)
        ]


def make_report(study: Study, part: str, *, machine: dict[str, str], command: str, quick: bool) -> Report:
    """Make the report of a study."""
    return Report(
        day=date.today(),
        machine=machine,
        command=command,
        quick=quick,
        part=part,
        settings=study.settings,
        summaries=[
            summarise(dataset, study.runs[dataset.name], study.settings.epsilons)
            for dataset in study.datasets
            if dataset.name in study.runs
        ],
        synthetic=study.synthetic,
        outcomes=[*study.synthetic, *(outcome for runs in study.runs.values() for outcome in runs)],
    )


def _make_series(variant: Variant, outcomes: Sequence[Outcome]) -> Series:
    seconds = {
        outcome.job.sizes: outcome.result.seconds for outcome in outcomes if isinstance(outcome.result, Run)
    }
    stops = [
        Stop(outcome.job.sizes, outcome.result, outcome.limit)
        for outcome in outcomes
        if isinstance(outcome.result, Failure)
    ]
    return Series(variant, seconds, min(stops, key=lambda stop: stop.sizes, default=None))
