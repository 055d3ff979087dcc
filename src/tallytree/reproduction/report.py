"""Everything that is put into words: what was measured, on what, by which command."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from tallytree.reproduction.children import Failure
from tallytree.reproduction.outcomes import Outcome
from tallytree.reproduction.results import Summary, summarise
from tallytree.reproduction.runs import Run
from tallytree.reproduction.settings import Settings
from tallytree.reproduction.study import Study
from tallytree.reproduction.variants import Variant


@dataclass(frozen=True)
class Stop:
    """The first N that a mechanism could not do, and how long it had."""

    sizes: int
    failure: Failure
    limit: float


@dataclass(frozen=True)
class Series:
    """One mechanism on ever more sizes, at one epsilon."""

    variant: Variant
    seconds: dict[int, float]
    """By N."""
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
    """All of them: for when, and beside what, they were measured."""

    @property
    def synthetic_limit(self) -> float:
        """The longest that any mechanism had on the synthetic data, also in an earlier run."""
        limits = [outcome.limit for outcome in self.synthetic if isinstance(outcome.result, Failure)]
        return max([self.settings.synthetic_seconds, *limits])

    def list_series(self) -> list[Series]:
        """Of the runtime against N."""
        epsilon = self.settings.synthetic_epsilon
        here = [outcome for outcome in self.synthetic if outcome.job.epsilon == epsilon]
        return [
            _make_series(variant, [outcome for outcome in here if outcome.job.variant == variant])
            for variant in dict.fromkeys(outcome.job.variant for outcome in here)
        ]


def make_report(study: Study, part: str, *, machine: dict[str, str], command: str, quick: bool) -> Report:
    """From what was measured."""
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
