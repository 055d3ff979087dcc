"""All that `make bench` measures, one part after the other: nothing that is timed runs beside another."""

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks import direct, fits, joint, ladders, mechanisms, noise, people, reconciliation
from benchmarks.records import GOALS, Data, Table, join_parts, list_facts, write_facts
from benchmarks.settings import Settings
from benchmarks.timing import Missing, attempt
from tallytree.research.reproduction.document import Goal


@dataclass(frozen=True)
class Report:
    """The numbers, before they are judged and put into words."""

    facts: dict[str, str]
    quick: bool
    direct: direct.DirectReport
    joint: joint.JointReport
    nation: mechanisms.Survey
    """Up to Census size."""
    fits: Sequence[fits.FitContest]
    fit_rounds: int
    ladders: Sequence[ladders.Ladder]
    """General solvers, on either model."""
    reconciliations: Sequence[reconciliation.Reconciliation]
    noise: noise.NoiseReport | None
    people: Sequence[people.Measured]
    people_rounds: int
    missing: Sequence[Missing]


PEERS = ("clarabel", "osqp", "highspy", "pyscipopt", "hierarchicalforecast", "opendp", "duckdb")


def measure(settings: Settings, *, quick: bool) -> Report:
    """The whole report."""
    missing: list[Missing] = []
    facts = list_facts("make bench", PEERS)
    return Report(
        facts=facts,
        quick=quick,
        direct=direct.measure(settings, missing),
        joint=joint.measure(settings, missing),
        nation=mechanisms.measure(settings),
        fits=fits.measure(settings, missing),
        fit_rounds=settings.fit_rounds,
        ladders=[
            ladders.measure(model, settings.ladder, settings.ladder_seconds)
            for model in ladders.list_models()
        ],
        reconciliations=reconciliation.measure(settings, missing),
        noise=_measure_noise(settings, missing),
        people=_measure_people(settings, missing),
        people_rounds=settings.people_rounds,
        missing=missing,
    )


def _measure_noise(settings: Settings, missing: list[Missing]) -> noise.NoiseReport | None:
    job = partial(
        noise.measure_noise,
        settings.noise_turns,
        draws=settings.noise_draws,
        peer_draws=settings.noise_peer_draws,
        sizes=settings.noise_sizes,
    )
    return attempt("noise", job, missing)


def _measure_people(settings: Settings, missing: list[Missing]) -> list[people.Measured]:
    """Here and not in a child: every command is a process anyway, and its memory is its own."""
    found = []
    with tempfile.TemporaryDirectory(prefix="people-") as folder:
        for share in settings.people_shares:
            try:
                found.append(people.measure_share(share, Path(folder), settings.people_rounds, persons=False))
            except (OSError, RuntimeError) as error:  # a full disk; a command that failed
                missing.append(Missing(f"{share:g} of the nation's people", str(error)))
    return found


def draw_pictures(report: Report) -> dict[str, str]:
    """The pictures beside RESULTS.md, by file name."""
    return {
        direct.PLOT: direct.draw(report.direct),
        joint.PLOT: joint.draw(report.joint),
        **{ladders.PLOTS[ladder.model.name]: ladders.draw_times(ladder) for ladder in report.ladders},
    }


def list_goals(report: Report) -> list[Goal]:
    """Every goal for speed, memory and agreement that there ever was."""
    return [
        *direct.judge(report.direct),
        *mechanisms.judge(report.nation, report.fits),
        *joint.judge(report.joint),
        *ladders.judge(report.ladders),
        *noise.judge(report.noise),
        *people.judge(report.people),
    ]


MISSING = Table[Missing](("what", lambda part: part.what, "{}"), ("why", lambda part: part.reason, "{}"))


def record(report: Report) -> Data:
    """The data of RESULTS.md."""
    return {
        "facts": report.facts,
        "quick": report.quick,
        "goals": GOALS.record(list_goals(report)),
        "nation": mechanisms.record(report.nation),
        "fits": {"rounds": report.fit_rounds, "contests": fits.FITS.record(report.fits)},
        "direct": direct.record(report.direct),
        "joint": joint.record(report.joint),
        "ladders": [ladders.record(ladder) for ladder in report.ladders],
        "reconciliation": reconciliation.record(report.reconciliations),
        "noise": noise.record(report.noise) if report.noise else None,
        "people": people.record_section(report.people, report.people_rounds),
        "missing": MISSING.record(report.missing),
    }


def write_page(data: Data) -> str:
    """RESULTS.md."""
    return join_parts(
        _write_opening(data),
        "## Goals",
        GOALS.write(data["goals"]),
        mechanisms.write(data["nation"]),
        fits.write(data["fits"]),
        direct.write(data["direct"]),
        joint.write(data["joint"]),
        *map(ladders.write, data["ladders"]),
        reconciliation.write(data["reconciliation"]),
        noise.write_section(data["noise"]),
        people.write_section(data["people"]),
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
