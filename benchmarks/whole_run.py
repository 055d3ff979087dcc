"""All that `make bench` measures, one part after the other: nothing that is timed runs beside another."""

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks.direct import PLOT as DIRECT_PLOT
from benchmarks.direct import (
    DirectReport,
    draw_direct,
    judge_direct,
    measure_direct,
    record_direct,
    write_direct,
)
from benchmarks.fits import FITS, FitContest, compare_chain, compare_rows, write_fits
from benchmarks.instances import make_nation
from benchmarks.joint import PLOT as JOINT_PLOT
from benchmarks.joint import JointReport, draw_joint, judge_joint, measure_joint, record_joint, write_joint
from benchmarks.ladders import (
    EPSILON,
    PLOTS,
    Ladder,
    draw_ladder,
    judge_ladders,
    list_models,
    measure_ladder,
    record_ladder,
    write_ladder,
)
from benchmarks.mechanisms import (
    Case,
    Survey,
    judge_mechanisms,
    list_variants,
    measure_series,
    record_nation,
    write_nation,
)
from benchmarks.noise import NoiseReport, judge_noise, measure_noise, record_noise, write_noise
from benchmarks.people import Measured, judge_people, measure_share, record_people, write_section
from benchmarks.reconciliation import (
    Reconciliation,
    record_reconciliation,
    run_reconciliation,
    write_reconciliation,
)
from benchmarks.records import GOALS, Data, Table, join_parts, list_facts, write_facts
from benchmarks.settings import Settings
from benchmarks.timing import Missing, attempt, attempt_all, tell
from tallytree.research.reproduction.document import Goal
from tallytree.research.reproduction.paper_figures import Variant


@dataclass(frozen=True)
class Report:
    """The numbers, before they are judged and put into words."""

    facts: dict[str, str]
    quick: bool
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
    facts = list_facts("make bench", PEERS)
    able = [variant for variant in list_variants() if not variant.make().small]
    nation_cases = [
        Case(make_nation, sizes, epsilon)
        for sizes in settings.nation_sizes
        for epsilon in settings.peer_epsilons
    ]
    return Report(
        facts=facts,
        quick=quick,
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


def draw_pictures(report: Report) -> dict[str, str]:
    """The pictures beside RESULTS.md, by file name."""
    return {
        DIRECT_PLOT: draw_direct(report.direct),
        JOINT_PLOT: draw_joint(report.joint),
        **{PLOTS[ladder.model.name]: draw_ladder(ladder) for ladder in report.ladders},
    }


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


MISSING = Table[Missing](("what", lambda part: part.what, "{}"), ("why", lambda part: part.reason, "{}"))


def record(report: Report) -> Data:
    """The data of RESULTS.md."""
    return {
        "facts": report.facts,
        "quick": report.quick,
        "goals": GOALS.record(list_goals(report)),
        "nation": record_nation(report.nation),
        "fits": {"rounds": report.fit_rounds, "contests": FITS.record(report.fits)},
        "direct": record_direct(report.direct),
        "joint": record_joint(report.joint),
        "ladders": [record_ladder(ladder) for ladder in report.ladders],
        "reconciliation": record_reconciliation(report.reconciliations),
        "noise": record_noise(report.noise) if report.noise else None,
        "people": record_people(report.people, report.people_rounds),
        "missing": MISSING.record(report.missing),
    }


def write_page(data: Data) -> str:
    """RESULTS.md."""
    return join_parts(
        _write_opening(data),
        "## Goals",
        GOALS.write(data["goals"]),
        write_nation(data["nation"]),
        write_fits(data["fits"]),
        write_direct(data["direct"]),
        write_joint(data["joint"]),
        *map(write_ladder, data["ladders"]),
        write_reconciliation(data["reconciliation"]),
        write_noise(data["noise"]),
        write_section(data["people"]),
        "## Not measured\n\n" + MISSING.write(data["missing"]) if data["missing"] else "",
    )


def _write_opening(data: Data) -> str:
    smoke = "\n\n**A smoke run: too small for its numbers to mean anything.**" if data["quick"] else ""
    largest = data["direct"]["growth"]["rows"][-1]
    regions = largest["cells"] // largest["sizes"]
    return f"""# Benchmarks{smoke}

How long the post-processing of every mechanism takes; how fast `direct-dp` finds the integer optimum of
Model M_H, and `cumulative-joint` the relaxed optimum of Model M_c and whole numbers near it, beside other
ways to solve these models: general solvers, forecast reconciliation, the paper's own algorithms; and how fast
noise is drawn and people are counted, beside OpenDP and DuckDB. Everything was measured in one run on one
machine; this page is written by that run.

{write_facts(data)}

Unless it says otherwise, the data is an invented nation with the shape of the United States
({regions:,} regions on three levels), with seeded noise, epsilon split evenly over the levels. A
*cell* is one region and one size. Times are of the whole post-processing: for `direct-dp`, laying out the
tree, relaxing, rounding, exchanging, the certificate and the exact objective. Our own kernels use all
processors, and are loaded before anything is timed. All times are wall-clock seconds, the best of several
calls. On every instance the solution was also checked: it keeps the conditions that its mechanism promises
(whole and not negative; for all but the rounded relaxations, it adds up, to the total too), and where there
is a certificate, it says optimal."""
