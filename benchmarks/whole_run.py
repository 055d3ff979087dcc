"""All that `make bench` measures, one part after the other: nothing that is timed runs beside another."""

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from functools import partial
from pathlib import Path

from benchmarks.direct import (
    DirectReport,
    draw_direct,
    judge_direct,
    measure_direct,
    write_cost_tables,
    write_growth,
    write_memory,
    write_piqp,
)
from benchmarks.fits import FitContest, compare_chain, compare_rows, write_fits
from benchmarks.instances import make_nation
from benchmarks.joint import JointReport, draw_joint, judge_joint, measure_joint, write_joint
from benchmarks.ladders import (
    EPSILON,
    Ladder,
    draw_ladder,
    judge_ladders,
    list_models,
    measure_ladder,
    write_ladder,
)
from benchmarks.markdown import write_goals, write_table
from benchmarks.mechanisms import Case, Survey, judge_mechanisms, list_variants, measure_series, write_nation
from benchmarks.noise import NoiseReport, judge_noise, measure_noise, write_noise
from benchmarks.people import Measured, judge_people, measure_share, write_people_section
from benchmarks.reconciliation import Reconciliation, run_reconciliation, write_reconciliation
from benchmarks.settings import Settings
from benchmarks.solvers.piqp_solver import describe_tolerances
from benchmarks.timing import Missing, attempt, attempt_all, tell
from tallytree.research.reproduction.document import Goal
from tallytree.research.reproduction.measuring import describe_machine
from tallytree.research.reproduction.paper_figures import Variant


@dataclass(frozen=True)
class Report:
    """The numbers, before they are put into words."""

    day: date
    machine: dict[str, str]
    quick: bool
    piqp_tolerances: str
    direct: DirectReport
    joint: JointReport
    nation: Survey
    """Up to Census size."""
    fits: Sequence[FitContest]
    fit_rounds: int
    ladders: Sequence[Ladder]
    """General solvers, on either model."""
    reconciliations: Sequence[Reconciliation]
    noise: NoiseReport | None
    people: Sequence[Measured]
    people_rounds: int
    missing: Sequence[Missing]


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


DIRECT_PLOT, JOINT_PLOT = "scaling.svg", "joint.svg"
LADDER_PLOTS = ("solvers-direct.svg", "solvers-joint.svg")


def draw_pictures(report: Report) -> dict[str, str]:
    """The pictures beside RESULTS.md, by file name."""
    return {
        DIRECT_PLOT: draw_direct(report.direct),
        JOINT_PLOT: draw_joint(report.joint),
        **{name: draw_ladder(ladder) for name, ladder in zip(LADDER_PLOTS, report.ladders, strict=True)},
    }


def write_results(report: Report, *, pictures: bool) -> str:
    """RESULTS.md, which shows the pictures or not."""
    sections = [
        _write_opening(report),
        _write_goals(report),
        write_nation(report.nation),
        write_fits(report.fits, report.fit_rounds),
        write_growth(report.direct, DIRECT_PLOT if pictures else None),
        write_memory(report.direct),
        write_piqp(report.direct, report.piqp_tolerances),
        write_cost_tables(report.direct, quick=report.quick),
        write_joint(report.joint, JOINT_PLOT if pictures else None),
        *(
            write_ladder(ladder, plot if pictures else None)
            for plot, ladder in zip(LADDER_PLOTS, report.ladders, strict=True)
        ),
        write_reconciliation(report.reconciliations),
        write_noise(report.noise),
        write_people_section(report.people, report.people_rounds),
        _write_missing(report),
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def _write_opening(report: Report) -> str:
    smoke = "\n\n**A smoke run: too small for its numbers to mean anything.**" if report.quick else ""
    rows = [("Date", report.day.isoformat()), *report.machine.items(), ("Command", "`make bench`")]
    return f"""# Benchmarks{smoke}

How long the post-processing of every mechanism takes; how fast `direct-dp` finds the integer optimum of
Model M_H, and `cumulative-joint` the relaxed optimum of Model M_c and whole numbers near it, beside other
ways to solve these models: general solvers, forecast reconciliation, the paper's own algorithms; and how fast
noise is drawn and people are counted, beside OpenDP and DuckDB. Everything was measured in one run on one
machine; this page is written by that run.

{write_table(("", ""), rows)}

Unless it says otherwise, the data is an invented nation with the shape of the United States
({_regions(report)} regions on three levels), with seeded noise, epsilon split evenly over the levels. A
*cell* is one region and one size. Times are of the whole post-processing: for `direct-dp`, laying out the
tree, relaxing, rounding, exchanging, the certificate and the exact objective. Our own kernels use all
processors, and are loaded before anything is timed. All times are wall-clock seconds, the best of several
calls. On every instance the solution was also checked: it keeps the conditions that its mechanism promises
(whole and not negative; for all but the rounded relaxations, it adds up, to the total too), and where there
is a certificate, it says optimal."""


def list_goals(report: Report) -> list[Goal]:
    """Every goal for speed, memory and agreement that there ever was."""
    return [
        *judge_direct(report.direct),
        *judge_mechanisms(report.nation, report.fits),
        *judge_joint(report.joint),
        *judge_ladders(report.ladders),
        *judge_noise(report.noise),
        *judge_people(report.people),
    ]


def _write_goals(report: Report) -> str:
    return "## Goals\n\n" + write_goals(list_goals(report))


def _write_missing(report: Report) -> str:
    if not report.missing:
        return ""
    return "## Not measured\n\n" + write_table(
        ("what", "why"), [(part.what, part.reason) for part in report.missing]
    )


def _regions(report: Report) -> str:
    record = report.direct.growth.scaling[0]
    return f"{record.cells // record.sizes:,}"
