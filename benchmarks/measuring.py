"""All parts of the benchmarks, one after the other: nothing that is timed runs beside anything else."""

from collections.abc import Sequence
from datetime import date
from functools import partial

from benchmarks.attempts import Missing, attempt_all, tell
from benchmarks.direct_measuring import measure_direct
from benchmarks.fits import FitContest, compare_chain, compare_rows
from benchmarks.instances import make_nation
from benchmarks.joint_measuring import measure_joint
from benchmarks.machine import describe_machine
from benchmarks.piqp_peer import describe_tolerances
from benchmarks.report import Report
from benchmarks.runtimes import Case, Survey, measure_series
from benchmarks.settings import Settings
from benchmarks.taxi import generate_city
from benchmarks.variants import Variant, list_variants


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
    return Report(
        day=date.today(),
        machine=machine,
        quick=quick,
        piqp_tolerances=describe_tolerances(),
        direct=measure_direct(settings, missing),
        joint=measure_joint(settings, missing),
        city=_survey(everyone, city_cases, settings.city_seconds, settings.calls),
        nation=_survey(able, nation_cases, settings.nation_seconds, settings.calls),
        fits=_measure_fits(settings, missing),
        fit_rounds=settings.fit_rounds,
        missing=missing,
    )


def _measure_fits(settings: Settings, missing: list[Missing]) -> list[FitContest]:
    kinds = (
        ("isotonic fits of rows", partial(compare_rows, Variant("cumulative-dp"))),
        ("one isotonic fit", compare_chain),
    )
    return attempt_all(
        [
            (
                f"{what}, {settings.largest} sizes, epsilon {epsilon}",
                partial(compare, settings.largest, epsilon, settings.fit_rounds),
            )
            for what, compare in kinds
            for epsilon in settings.peer_epsilons
        ],
        missing,
    )


def _survey(variants: Sequence[Variant], cases: Sequence[Case], most_seconds: float, calls: int) -> Survey:
    found = []
    for variant in variants:
        tell(f"{variant.label}, up to {cases[-1].sizes} sizes")
        found.append(measure_series(variant, cases, most_seconds=most_seconds, calls=calls))
        if stop := found[-1].stop:
            tell(f"  at {stop.case.sizes} sizes, epsilon {stop.case.epsilon}: {stop.failure.reason}")
    return Survey(cases, most_seconds, found)
