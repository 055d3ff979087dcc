"""The report in words and tables: RESULTS.md."""

from benchmarks.direct_goals import judge_direct
from benchmarks.direct_results import draw_direct, write_cost_tables, write_growth, write_memory, write_piqp
from benchmarks.goals import write_goals
from benchmarks.joint_goals import judge_joint
from benchmarks.joint_results import draw_joint, write_joint
from benchmarks.ladder_goals import judge_ladders
from benchmarks.ladder_results import draw_ladder, write_ladder
from benchmarks.markdown import write_table
from benchmarks.mechanism_goals import judge_mechanisms
from benchmarks.mechanism_results import write_fits, write_nation
from benchmarks.noise_goals import judge_noise
from benchmarks.noise_results import write_noise
from benchmarks.people.goals import judge_people
from benchmarks.people.section import write_people_section
from benchmarks.reconciliation_results import write_reconciliation
from benchmarks.report import Report
from tallytree.research.reproduction.document import Goal

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
        write_nation(report),
        write_fits(report),
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
        *judge_mechanisms(report),
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
