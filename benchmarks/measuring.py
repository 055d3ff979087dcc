"""All parts of the benchmarks, one after the other: nothing that is timed runs beside anything else."""

import tempfile
from collections.abc import Sequence
from datetime import date
from functools import partial
from pathlib import Path

from benchmarks.attempts import Missing, attempt, attempt_all, tell
from benchmarks.direct_measuring import measure_direct
from benchmarks.fits import FitContest, compare_chain, compare_rows
from benchmarks.instances import make_nation
from benchmarks.joint_measuring import measure_joint
from benchmarks.ladders import EPSILON, list_models, measure_ladder
from benchmarks.noise_measuring import NoiseReport, measure_noise
from benchmarks.people.measuring import Measured
from benchmarks.people.measuring import measure as measure_share
from benchmarks.reconciliation_peer import Reconciliation, run_reconciliation
from benchmarks.report import Report
from benchmarks.runtimes import Case, Survey, measure_series
from benchmarks.settings import Settings
from benchmarks.solvers.piqp_solver import describe_tolerances
from benchmarks.variants import list_variants
from tallytree.research.reproduction.measuring import describe_machine
from tallytree.research.reproduction.paper_figures import Variant

PEERS = ("clarabel", "osqp", "highspy", "pyscipopt", "hierarchicalforecast", "opendp", "duckdb")


def measure(settings: Settings, *, quick: bool) -> Report:
    """The whole report."""
    missing: list[Missing] = []
    machine = describe_machine(PEERS)  # first: the load is then not our own
    able = [variant for variant in list_variants() if not variant.make().small]
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
        nation=_survey(able, nation_cases, settings.nation_seconds, settings.calls),
        fits=_measure_fits(settings, missing),
        fit_rounds=settings.fit_rounds,
        ladders=[measure_ladder(model, settings.ladder, settings.ladder_seconds) for model in list_models()],
        reconciliations=_measure_reconciliations(settings, missing),
        noise=_measure_noise(settings, missing),
        people=_measure_people(settings, missing),
        people_rounds=settings.people_rounds,
        missing=missing,
    )


def _measure_reconciliations(settings: Settings, missing: list[Missing]) -> list[Reconciliation]:
    jobs = [
        (f"forecast reconciliation, {sizes} sizes", partial(run_reconciliation, sizes, EPSILON))
        for sizes in settings.reconciliation_sizes
    ]
    return attempt_all(jobs, missing)


def _measure_noise(settings: Settings, missing: list[Missing]) -> NoiseReport | None:
    job = partial(
        measure_noise,
        settings.noise_turns,
        draws=settings.noise_draws,
        peer_draws=settings.noise_peer_draws,
        sizes=settings.noise_sizes,
    )
    return attempt("noise", job, missing)


def _measure_people(settings: Settings, missing: list[Missing]) -> list[Measured]:
    """Here and not in a child: every command is a process anyway, and its memory is its own."""
    found = []
    with tempfile.TemporaryDirectory(prefix="people-") as folder:
        for share in settings.people_shares:
            try:
                found.append(measure_share(share, Path(folder), settings.people_rounds, persons=False))
            except (OSError, RuntimeError) as error:  # a full disk; a command that failed
                missing.append(Missing(f"{share:g} of the nation's people", str(error)))
    return found


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
