"""All parts of the benchmarks, one after the other: nothing that is timed runs beside anything else."""

import sys
from collections.abc import Callable, Sequence
from datetime import date
from functools import partial
from typing import TypeVar

from benchmarks.children import Failure, run_in_child
from benchmarks.fits import FitContest, compare_chain, compare_rows
from benchmarks.instances import make_nation
from benchmarks.machine import describe_machine
from benchmarks.memory import measure_memory
from benchmarks.piqp_peer import FORMS, PiqpRun, describe_tolerances, run_piqp
from benchmarks.report import Missing, Report
from benchmarks.runtimes import Case, Survey, measure_series
from benchmarks.scaling import measure_scaling
from benchmarks.settings import Settings
from benchmarks.tables_peer import TablesRun, most_sizes, run_tables
from benchmarks.taxi import generate_city
from benchmarks.variants import Variant, list_variants

R = TypeVar("R")


def measure(settings: Settings, *, quick: bool) -> Report:
    """The whole report."""
    missing: list[Missing] = []
    machine = describe_machine()  # first: the load is then not our own
    everyone = list_variants()
    able = [variant for variant in everyone if not variant.make().small]
    city_cases = [Case(generate_city, sizes, settings.city_epsilon) for sizes in settings.city_sizes]
    nation_cases = [
        Case(make_nation, sizes, epsilon)
        for sizes in settings.nation_sizes
        for epsilon in settings.peer_epsilons
    ]
    _tell("direct-dp, all sizes")
    scaling = measure_scaling(
        settings.scaling_sizes, settings.scaling_epsilons, repeats=settings.scaling_repeats
    )
    memory_job = partial(measure_memory, settings.largest, settings.scaling_epsilons[0])
    return Report(
        day=date.today(),
        machine=machine,
        quick=quick,
        rounds=settings.rounds,
        repeats=settings.scaling_repeats,
        scaling=scaling,
        memory=_attempt(f"memory of direct-dp, {settings.largest} sizes", memory_job, missing),
        piqp=_measure_piqp(settings, missing),
        piqp_tolerances=describe_tolerances(),
        tables=_measure_tables(settings, missing),
        city=_survey(everyone, city_cases, settings.city_seconds, settings.calls),
        nation=_survey(able, nation_cases, settings.nation_seconds, settings.calls),
        fits=_measure_fits(settings, missing),
        fit_rounds=settings.fit_rounds,
        missing=missing,
    )


def _attempt(what: str, job: Callable[[], R | Failure], missing: list[Missing]) -> R | None:
    _tell(what)
    outcome = run_in_child(job)
    if isinstance(outcome, Failure):
        _tell(f"  {outcome.reason}")
        missing.append(Missing(what, outcome.reason))
        return None
    return outcome


def _measure_piqp(settings: Settings, missing: list[Missing]) -> list[PiqpRun]:
    runs = [
        _attempt(
            f"PIQP {form}, {sizes} sizes, epsilon {epsilon}",
            partial(run_piqp, sizes, epsilon, form, settings.rounds),
            missing,
        )
        for sizes in settings.piqp_sizes
        for epsilon in settings.peer_epsilons
        for form in FORMS
    ]
    return [run for run in runs if run]


def _measure_tables(settings: Settings, missing: list[Missing]) -> list[TablesRun]:
    runs = []
    for epsilon in settings.peer_epsilons:
        sizes = min(most_sizes(epsilon), settings.most_table_sizes or settings.largest)
        job = partial(run_tables, sizes, epsilon, settings.rounds)
        runs.append(_attempt(f"cost tables, {sizes} sizes, epsilon {epsilon}", job, missing))
    return [run for run in runs if run]


def _measure_fits(settings: Settings, missing: list[Missing]) -> list[FitContest]:
    contests = [
        _attempt(
            f"{what}, {settings.largest} sizes, epsilon {epsilon}",
            partial(compare, settings.largest, epsilon, settings.fit_rounds),
            missing,
        )
        for what, compare in (("isotonic fits of rows", compare_rows), ("one isotonic fit", compare_chain))
        for epsilon in settings.peer_epsilons
    ]
    return [contest for contest in contests if contest]


def _survey(variants: Sequence[Variant], cases: Sequence[Case], most_seconds: float, calls: int) -> Survey:
    found = []
    for variant in variants:
        _tell(f"{variant.label}, up to {cases[-1].sizes} sizes")
        found.append(measure_series(variant, cases, most_seconds=most_seconds, calls=calls))
        if stop := found[-1].stop:
            _tell(f"  at {stop.case.sizes} sizes, epsilon {stop.case.epsilon}: {stop.failure.reason}")
    return Survey(cases, most_seconds, found)


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
