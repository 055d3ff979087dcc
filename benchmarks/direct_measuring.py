"""The part of the benchmarks that is about ``direct-dp``."""

from functools import partial

from benchmarks.attempts import Missing, attempt_all
from benchmarks.growth_measuring import measure_growth
from benchmarks.piqp_peer import PiqpRun, run_piqp
from benchmarks.programs import DIRECT_FORMS
from benchmarks.report import DirectReport
from benchmarks.settings import Settings
from benchmarks.tables_peer import TablesRun, most_sizes, run_tables
from benchmarks.variants import DIRECT


def measure_direct(settings: Settings, missing: list[Missing]) -> DirectReport:
    """Its growth, its memory, and its peers."""
    return DirectReport(
        growth=measure_growth(DIRECT, settings, settings.scaling_repeats, missing),
        rounds=settings.rounds,
        piqp=_measure_piqp(settings, missing),
        tables=_measure_tables(settings, missing),
    )


def _measure_piqp(settings: Settings, missing: list[Missing]) -> list[PiqpRun]:
    return attempt_all(
        [
            (
                f"PIQP {form.label}, {sizes} sizes, epsilon {epsilon}",
                partial(run_piqp, DIRECT, sizes, epsilon, form, settings.rounds),
            )
            for sizes in settings.piqp_sizes
            for epsilon in settings.peer_epsilons
            for form in DIRECT_FORMS
        ],
        missing,
    )


def _measure_tables(settings: Settings, missing: list[Missing]) -> list[TablesRun]:
    jobs = []
    for epsilon in settings.peer_epsilons:
        sizes = min(most_sizes(epsilon), settings.most_table_sizes or settings.largest)
        job = partial(run_tables, sizes, epsilon, settings.rounds)
        jobs.append((f"cost tables, {sizes} sizes, epsilon {epsilon}", job))
    return attempt_all(jobs, missing)
